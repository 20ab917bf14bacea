// Conditional writes and transactions with functions of the program, and ends of entries. Run it
// with a directory that does not exist yet.

#include <pthread.h>

#include "check.h"

#define FAILS(expected, call) FAILS_WITH(expected, "", call)

static foldb_t *open_in(const char *dir) {
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  OK(foldb_options_set(options, "merge_operator", "stringappend:,"));
  foldb_t *db;
  OK(foldb_open(dir, options, &db));
  foldb_options_free(options);
  return db;
}

// Returns whether the value is `expected`, NULL for none, and frees it.
static bool is(foldb_value_t *value, const char *expected) {
  bool same = value == NULL || expected == NULL
                  ? value == NULL && expected == NULL
                  : foldb_value_len(value) == strlen(expected) &&
                        memcmp(foldb_value_data(value), expected, strlen(expected)) == 0;
  foldb_value_free(value);
  return same;
}

static bool has_in(foldb_keyspace_t *keyspace, foldb_t *db, const char *key,
                   const char *expected) {
  foldb_value_t *value;
  OK(foldb_get(db, keyspace, NULL, BYTES(key), &value));
  return is(value, expected);
}

// A function of the program, and a rival that puts the key during its first call.
typedef struct {
  foldb_t *db;
  const char *suffix;   // appended to the value; NULL deletes the key
  const char *rival;    // what the rival puts; NULL for no rival
  int calls;
} change_t;

static void *put_as_rival(void *state) {
  change_t *own = state;
  OK(foldb_put(own->db, NULL, NULL, BYTES("path"), BYTES(own->rival)));
  return NULL;
}

static int change(void *state, const uint8_t *value, size_t value_len, foldb_output_t *new_value) {
  change_t *own = state;
  own->calls++;
  if (own->rival != NULL && own->calls == 1) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, put_as_rival, own) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  if (value != NULL) foldb_output_append(new_value, value, value_len);
  if (own->suffix == NULL) return 0;
  foldb_output_append(new_value, BYTES(own->suffix));
  return 1;
}

static void updates(foldb_t *db) {
  foldb_value_t *value;
  change_t own = {db, "/a", NULL, 0};
  OK(foldb_update(db, NULL, NULL, BYTES("path"), change, &own, &value));
  CHECK(is(value, "/a") && own.calls == 1);
  OK(foldb_fetch_update(db, NULL, NULL, BYTES("path"), change, &own, &value));
  CHECK(is(value, "/a") && has(db, "path", "/a/a"));

  // The function is called again with the value of the rival.
  change_t contested = {db, "/b", "/rival", 0};
  OK(foldb_update(db, NULL, NULL, BYTES("path"), change, &contested, &value));
  CHECK(contested.calls == 2 && is(value, "/rival/b") && has(db, "path", "/rival/b"));
  change_t fetched = {db, "/c", "/other", 0};
  OK(foldb_fetch_update(db, NULL, NULL, BYTES("path"), change, &fetched, &value));
  CHECK(fetched.calls == 2 && is(value, "/other") && has(db, "path", "/other/c"));

  // An empty value is a value; 0 deletes, whatever was appended.
  change_t empty = {db, "", NULL, 0};
  OK(foldb_update(db, NULL, NULL, BYTES("empty"), change, &empty, NULL));
  CHECK(has(db, "empty", ""));
  change_t none = {db, NULL, NULL, 0};
  OK(foldb_update(db, NULL, NULL, BYTES("path"), change, &none, &value));
  CHECK(value == NULL && has(db, "path", NULL));
  OK(foldb_fetch_update(db, NULL, NULL, BYTES("empty"), change, &none, NULL));
  CHECK(has(db, "empty", NULL));
  FAILS(FOLDB_INVALID_ARGUMENT,
        foldb_update(db, NULL, NULL, BYTES("path"), NULL, NULL, &value));
  FAILS(FOLDB_INVALID_ARGUMENT,
        foldb_fetch_update(db, NULL, NULL, BYTES("path"), NULL, NULL, &value));
}

static void queue(foldb_t *db) {
  const char *tasks[] = {"task 1", "task 2", "zzz 3"};
  for (int i = 0; i < 3; i++) OK(foldb_put(db, NULL, NULL, BYTES(tasks[i]), BYTES(tasks[i] + 5)));
  foldb_bytes_t lower = {BYTES("task ")}, upper = {BYTES("task:")};
  foldb_value_t *key, *value;
  for (int i = 0; i < 2; i++) {
    OK(foldb_take_first(db, NULL, NULL, &lower, &upper, &key, &value));
    CHECK(is(key, tasks[i]) && is(value, tasks[i] + 5) && has(db, tasks[i], NULL));
  }
  OK(foldb_take_first(db, NULL, NULL, &lower, &upper, &key, &value));
  CHECK(key == NULL && value == NULL && has(db, "zzz 3", ""));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_take_first(db, NULL, NULL, NULL, NULL, NULL, &value));
  CHECK(has(db, "zzz 3", ""));
  OK(foldb_take_first(db, NULL, NULL, NULL, NULL, &key, &value));
  CHECK(is(key, "zzz 3") && is(value, ""));
}

// A payment: takes one coin of `from` and gives it to `to`, as long as `from` has one.
typedef struct {
  foldb_t *db;
  int calls;
  int conflicts;  // so many runs lose to a write of the program
} payment_t;

static foldb_error_t *pay(void *state, foldb_transaction_t *transaction) {
  payment_t *own = state;
  own->calls++;
  foldb_value_t *value;
  foldb_error_t *error = foldb_transaction_get(transaction, NULL, BYTES("from"), &value);
  if (error != NULL) return error;
  size_t coins = foldb_value_len(value);
  foldb_value_free(value);
  if (coins == 0) return foldb_error_aborted("there is no coin left");
  char left[8] = "oooooooo";
  CHECK(coins <= sizeof left);
  if (own->calls <= own->conflicts) {
    OK(foldb_put(own->db, NULL, NULL, BYTES("from"), (const uint8_t *)left, coins));
  }
  OK(foldb_transaction_savepoint(transaction));
  OK(foldb_transaction_put(transaction, NULL, BYTES("to"), BYTES("undone")));
  OK(foldb_transaction_rollback_to_savepoint(transaction));
  OK(foldb_transaction_put(transaction, NULL, BYTES("from"), (const uint8_t *)left, coins - 1));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_transaction_commit(transaction));
  return foldb_transaction_merge(transaction, NULL, BYTES("to"), BYTES("o"));
}

static foldb_error_t *give_up_silently(void *state, foldb_transaction_t *transaction) {
  (void)state;
  OK(foldb_transaction_put(transaction, NULL, BYTES("from"), BYTES("forged")));
  return foldb_error_aborted(NULL);
}

static foldb_error_t *fail_as_a_call_does(void *state, foldb_transaction_t *transaction) {
  (void)state;
  return foldb_transaction_merge_with(transaction, NULL, "app.missing", BYTES("k"), BYTES("v"));
}

// Asks for another run with the error of a transaction of its own that lost.
static foldb_error_t *lose(void *state, foldb_transaction_t *transaction) {
  payment_t *own = state;
  own->calls++;
  OK(foldb_transaction_put(transaction, NULL, BYTES("lost"), BYTES("")));
  foldb_transaction_t *other;
  OK(foldb_transaction_begin(own->db, FOLDB_SERIALIZABLE, NULL, &other));
  foldb_value_t *value;
  OK(foldb_transaction_get(other, NULL, BYTES("rival"), &value));
  foldb_value_free(value);
  OK(foldb_put(own->db, NULL, NULL, BYTES("rival"), BYTES("")));
  OK(foldb_transaction_put(other, NULL, BYTES("lost"), BYTES("")));
  foldb_error_t *error = foldb_transaction_commit(other);
  foldb_transaction_free(other);
  return error;
}

static void transactions(foldb_t *db) {
  OK(foldb_put(db, NULL, NULL, BYTES("from"), BYTES("oo")));
  payment_t first = {db, 0, 3}, second = {db, 0, 0}, third = {db, 0, 0};
  OK(foldb_transact(db, FOLDB_SERIALIZABLE, NULL, pay, &first));
  CHECK(first.calls == 4 && has(db, "from", "o") && has(db, "to", "o"));
  OK(foldb_transact(db, FOLDB_SNAPSHOT_ISOLATION, NULL, pay, &second));
  CHECK(second.calls == 1 && has(db, "from", "") && has(db, "to", "o,o"));
  foldb_error_t *error = foldb_transact(db, FOLDB_SERIALIZABLE, NULL, pay, &third);
  CHECK(foldb_error_code(error) == FOLDB_ABORTED && third.calls == 1);
  CHECK(strcmp(foldb_error_message(error), "there is no coin left") == 0);
  foldb_error_free(error);
  CHECK(has(db, "from", "") && has(db, "to", "o,o"));

  FAILS(FOLDB_ABORTED, foldb_transact(db, FOLDB_SERIALIZABLE, NULL, give_up_silently, NULL));
  CHECK(has(db, "from", ""));
  FAILS(FOLDB_UNKNOWN_OPERATOR,
        foldb_transact(db, FOLDB_SERIALIZABLE, NULL, fail_as_a_call_does, NULL));
  payment_t loser = {db, 0, 0};
  FAILS(FOLDB_CONFLICT, foldb_transact(db, FOLDB_SERIALIZABLE, NULL, lose, &loser));
  // The conflict is that of a transaction inside the function, so it is the program's own.
  CHECK(loser.calls == 1 && has(db, "lost", NULL));
  foldb_write_options_t *at_once = foldb_write_options_new();
  OK(foldb_write_options_set_deadline_micros(at_once, 0));
  payment_t hurried = {db, 0, 0};
  FAILS(FOLDB_CONFLICT, foldb_transact(db, FOLDB_SERIALIZABLE, at_once, lose, &hurried));
  CHECK(hurried.calls == 1);
  foldb_write_options_free(at_once);
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_transact(db, 7, NULL, pay, &first));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_transact(db, FOLDB_SERIALIZABLE, NULL, NULL, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_transact(NULL, FOLDB_SERIALIZABLE, NULL, pay, &first));
  CHECK(first.calls == 4);
}

static int64_t end_of(foldb_t *db, foldb_keyspace_t *keyspace, const char *key) {
  int64_t millis;
  OK(foldb_expires_at(db, keyspace, NULL, BYTES(key), &millis));
  return millis;
}

// Steps inside a transaction that read and write at once.
static void steps_of_a_transaction(foldb_t *db) {
  foldb_transaction_t *own;
  foldb_value_t *key, *value;
  bool done;
  put(db, "step 1", "one");
  put(db, "step 2", "two");
  OK(foldb_transaction_begin(db, FOLDB_SNAPSHOT_ISOLATION, NULL, &own));
  OK(foldb_transaction_put_if_absent(own, NULL, BYTES("step 1"), BYTES("x"), &done));
  CHECK(!done);
  OK(foldb_transaction_put_if_absent(own, NULL, BYTES("step 3"), BYTES("three"), &done));
  CHECK(done);
  foldb_bytes_t expected = {(const uint8_t *)"two", 3}, new_value = {(const uint8_t *)"2", 1};
  OK(foldb_transaction_compare_and_swap(own, NULL, BYTES("step 2"), &expected, &new_value, &done,
                                        NULL));
  CHECK(done);
  OK(foldb_transaction_compare_and_swap(own, NULL, BYTES("step 2"), &expected, NULL, &done,
                                        &value));
  CHECK(!done && foldb_value_len(value) == 1);
  foldb_value_free(value);
  foldb_bytes_t lower = {(const uint8_t *)"step ", 5}, upper = {(const uint8_t *)"step:", 5};
  OK(foldb_transaction_take_first(own, NULL, &lower, &upper, &key, &value));
  CHECK(foldb_value_len(key) == 6 && memcmp(foldb_value_data(value), "one", 3) == 0);
  foldb_value_free(key);
  foldb_value_free(value);
  OK(foldb_transaction_take(own, NULL, BYTES("step 3"), &value));
  CHECK(foldb_value_len(value) == 5);
  foldb_value_free(value);
  OK(foldb_transaction_merge_get(own, NULL, BYTES("step 2"), BYTES("m"), &value));
  CHECK(value != NULL);
  foldb_value_free(value);
  OK(foldb_transaction_commit(own));
  foldb_transaction_free(own);
  CHECK(has(db, "step 1", NULL) && has(db, "step 3", NULL) && !has(db, "step 2", "two"));

  // A claimed read conflicts under snapshot isolation, an unclaimed one never does.
  for (int claims = 0; claims < 2; claims++) {
    const uint32_t isolation = claims ? FOLDB_SNAPSHOT_ISOLATION : FOLDB_SERIALIZABLE;
    OK(foldb_transaction_begin(db, isolation, NULL, &own));
    OK(claims ? foldb_transaction_get_for_update(own, NULL, BYTES("limit"), &value)
              : foldb_transaction_get_unclaimed(own, NULL, BYTES("limit"), &value));
    foldb_value_free(value);
    OK(foldb_transaction_put(own, NULL, BYTES("order"), BYTES("1")));
    put(db, "limit", "0");
    if (claims) {
      FAILS(FOLDB_CONFLICT, foldb_transaction_commit(own));
    } else {
      OK(foldb_transaction_commit(own));
    }
    foldb_transaction_free(own);
  }
}

static void ends_of_entries(foldb_t *db) {
  const int64_t end = 4000000000000;  // in the year 2096
  foldb_keyspace_options_t *of_keyspace = foldb_keyspace_options_new();
  OK(foldb_keyspace_options_set(of_keyspace, "expiry", "after-last-write:3600"));
  foldb_keyspace_t *own;
  OK(foldb_keyspace_create(db, "own", of_keyspace, &own));
  foldb_keyspace_options_free(of_keyspace);

  foldb_write_options_t *options = foldb_write_options_new();
  OK(foldb_write_options_set_expires_at_millis(options, end - 1));
  OK(foldb_put(db, own, options, BYTES("at"), BYTES("1")));
  CHECK(end_of(db, own, "at") == end);  // rounded up to a second
  OK(foldb_merge(db, own, options, BYTES("merged"), BYTES("1")));
  CHECK(end_of(db, own, "merged") == end);
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_put(db, NULL, options, BYTES("at"), BYTES("1")));

  // A conditional write takes the end, too.
  change_t change_of = {db, "2", NULL, 0};
  OK(foldb_update(db, own, options, BYTES("updated"), change, &change_of, NULL));
  CHECK(end_of(db, own, "updated") == end && has_in(own, db, "updated", "2"));

  OK(foldb_write_options_set_expires_at_millis(options, end_of(db, own, "missing")));
  OK(foldb_put(db, own, options, BYTES("ever"), BYTES("1")));
  CHECK(end_of(db, own, "ever") == -1 && has_in(own, db, "ever", "1"));
  OK(foldb_write_options_set_expires_at_millis(options, 1000));
  OK(foldb_put(db, own, options, BYTES("ever"), BYTES("1")));
  CHECK(has_in(own, db, "ever", NULL));
  OK(foldb_write_options_set_lifetime_seconds(options, 0));  // as the keyspace says
  OK(foldb_put(db, own, options, BYTES("usual"), BYTES("1")));
  CHECK(end_of(db, own, "usual") > 0 && end_of(db, own, "usual") < end);

  bool was_there;
  OK(foldb_touch(db, own, NULL, BYTES("at"), &was_there));
  CHECK(was_there && end_of(db, own, "at") < end && has_in(own, db, "at", "1"));
  OK(foldb_write_options_set_expires_at_millis(options, end));
  OK(foldb_touch(db, own, options, BYTES("at"), &was_there));
  CHECK(was_there && end_of(db, own, "at") == end);
  OK(foldb_touch(db, own, options, BYTES("ever"), &was_there));
  CHECK(!was_there && has_in(own, db, "ever", NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_touch(db, NULL, NULL, BYTES("at"), &was_there));
  foldb_write_options_free(options);

  foldb_batch_t *batch = foldb_batch_new(db);
  OK(foldb_batch_set_expires_at_millis(batch, end));
  OK(foldb_batch_put(batch, own, BYTES("batch 1"), BYTES("1")));
  OK(foldb_batch_set_expires_at_millis(batch, -1));
  OK(foldb_batch_put(batch, own, BYTES("batch 2"), BYTES("1")));
  OK(foldb_batch_set_lifetime_seconds(batch, 0));
  OK(foldb_batch_put(batch, own, BYTES("batch 3"), BYTES("1")));
  OK(foldb_batch_write(batch, NULL));
  foldb_batch_free(batch);
  CHECK(end_of(db, own, "batch 1") == end && end_of(db, own, "batch 2") == -1);

  foldb_transaction_t *transaction;
  int64_t millis;
  OK(foldb_transaction_begin(db, FOLDB_SERIALIZABLE, NULL, &transaction));
  OK(foldb_transaction_set_expires_at_millis(transaction, end));
  OK(foldb_transaction_put(transaction, own, BYTES("txn 1"), BYTES("1")));
  OK(foldb_transaction_expires_at(transaction, own, BYTES("txn 1"), &millis));
  CHECK(millis == end);
  OK(foldb_transaction_touch(transaction, own, BYTES("batch 2"), &was_there));
  CHECK(was_there);
  OK(foldb_transaction_touch(transaction, own, BYTES("missing"), &was_there));
  CHECK(!was_there);
  OK(foldb_transaction_set_lifetime_seconds(transaction, -1));
  OK(foldb_transaction_put(transaction, own, BYTES("txn 2"), BYTES("1")));
  OK(foldb_transaction_commit(transaction));
  foldb_transaction_free(transaction);
  CHECK(end_of(db, own, "txn 1") == end && end_of(db, own, "txn 2") == -1);
  CHECK(end_of(db, own, "batch 3") > 0 && end_of(db, own, "batch 3") < end);
  CHECK(has_in(own, db, "batch 2", "1") && end_of(db, own, "batch 2") == end);

  OK(foldb_ttl_millis(db, own, NULL, BYTES("missing"), &millis));
  CHECK(millis == -2);
  OK(foldb_ttl_millis(db, own, NULL, BYTES("txn 2"), &millis));
  CHECK(millis == -1);
  OK(foldb_ttl_millis(db, own, NULL, BYTES("batch 3"), &millis));
  CHECK(millis > 3500 * 1000 && millis <= 3602 * 1000);
  OK(foldb_keyspace_set_lifetime_seconds(db, own, 60));
  OK(foldb_put(db, own, NULL, BYTES("short"), BYTES("1")));
  OK(foldb_ttl_millis(db, own, NULL, BYTES("short"), &millis));
  CHECK(millis > 50 * 1000 && millis <= 62 * 1000);
  OK(foldb_ttl_millis(db, own, NULL, BYTES("batch 3"), &millis));
  CHECK(millis > 3500 * 1000);
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_keyspace_set_lifetime_seconds(db, own, 0));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_keyspace_set_lifetime_seconds(db, NULL, 60));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_keyspace_set_lifetime_seconds(NULL, own, 60));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_ttl_millis(db, own, NULL, BYTES("short"), NULL));
  foldb_keyspace_free(own);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  foldb_t *db = open_in(argv[1]);
  updates(db);
  queue(db);
  transactions(db);
  steps_of_a_transaction(db);
  ends_of_entries(db);
  OK(foldb_close(db));
  puts("every function of the program was asked");
  return 0;
}
