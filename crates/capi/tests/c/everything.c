// Calls the functions of foldb.h and checks their answers. Run it with a directory that does not
// exist yet. environment.c does the same for environments, listeners and runtimes.
// tests/c_programs.rs checks that no function is left out.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foldb.h"

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

static void ok(foldb_error_t *error, int line) {
  if (error == NULL) return;
  fprintf(stderr, "%s:%d: %s\n", __FILE__, line, foldb_error_message(error));
  exit(1);
}

#define OK(call) ok((call), __LINE__)

// The call fails with `code`, and with a message.
#define FAILS(expected, call)                              \
  do {                                                     \
    foldb_error_t *error_ = (call);                        \
    CHECK(foldb_error_code(error_) == (expected));         \
    CHECK(strlen(foldb_error_message(error_)) > 0);        \
    foldb_error_free(error_);                              \
  } while (0)

#define BYTES(text) (const uint8_t *)(text), strlen(text)

static foldb_bytes_t bytes(const char *text) {
  foldb_bytes_t own = {(const uint8_t *)text, strlen(text)};
  return own;
}

static void path_in(char *out, size_t size, const char *dir, const char *name) {
  CHECK((size_t)snprintf(out, size, "%s/%s", dir, name) < size);
}

// Returns whether the key's value is `expected`; NULL is no value.
static bool has(foldb_t *db, foldb_keyspace_t *keyspace, foldb_read_options_t *options,
                const char *key, const char *expected) {
  foldb_value_t *value;
  OK(foldb_get(db, keyspace, options, BYTES(key), &value));
  bool found;
  OK(foldb_contains_key(db, keyspace, options, BYTES(key), &found));
  CHECK(found == (value != NULL));
  bool same = value == NULL || expected == NULL
                  ? value == NULL && expected == NULL
                  : foldb_value_len(value) == strlen(expected) &&
                        memcmp(foldb_value_data(value), expected, strlen(expected)) == 0;
  foldb_value_free(value);
  return same;
}

static bool same_bytes(foldb_bytes_t bytes, foldb_value_t *value) {
  return bytes.len == foldb_value_len(value) &&
         memcmp(bytes.data, foldb_value_data(value), bytes.len) == 0;
}

// Checks that the first and the last entry are those that an iterator finds.
static void ends_are_entries(foldb_t *db, foldb_keyspace_t *keyspace,
                             foldb_read_options_t *options) {
  foldb_iter_t *iter;
  OK(foldb_iter(db, keyspace, options, NULL, NULL, &iter));
  bool empty;
  OK(foldb_is_empty(db, keyspace, options, &empty));
  for (int last = 0; last < 2; last++) {
    foldb_entry_t entry;
    OK(foldb_iter_move(iter, last ? FOLDB_MOVE_LAST : FOLDB_MOVE_FIRST, NULL, 0, &entry));
    CHECK(entry.valid == !empty);
    foldb_value_t *key, *value;
    if (last) {
      OK(foldb_last(db, keyspace, options, &key, &value));
    } else {
      OK(foldb_first(db, keyspace, options, &key, &value));
    }
    CHECK((key != NULL) == entry.valid && (value != NULL) == entry.valid);
    if (entry.valid) {
      CHECK(same_bytes(entry.key, key) && same_bytes(entry.value, value));
    }
    foldb_value_free(key);
    foldb_value_free(value);
  }
  foldb_iter_free(iter);
}

// An operator that keeps the longest operand, and fails for one that begins with '!'.

static int longest_destroyed = 0;

static void longest_destructor(void *state) {
  CHECK(strcmp(state, "the state") == 0);
  longest_destroyed++;
}

static int longest(const foldb_bytes_t *base, const foldb_bytes_t *operands, size_t count,
                   foldb_output_t *output) {
  foldb_bytes_t best = base != NULL ? *base : operands[0];
  for (size_t i = 0; i < count; i++) {
    if (operands[i].len > 0 && operands[i].data[0] == '!') return FOLDB_FOLD_FAILED;
    if (operands[i].len >= best.len) best = operands[i];
  }
  if (best.len == 0) return FOLDB_FOLD_DELETE;
  foldb_output_append(output, best.data, best.len);
  return FOLDB_FOLD_VALUE;
}

static int longest_full(void *state, foldb_bytes_t key, const foldb_bytes_t *base,
                        const foldb_bytes_t *operands, size_t count, foldb_output_t *output) {
  CHECK(strcmp(state, "the state") == 0);
  CHECK(key.len > 0 && count > 0);
  return longest(base, operands, count, output);
}

static int longest_partial(void *state, foldb_bytes_t key, const foldb_bytes_t *operands,
                           size_t count, foldb_output_t *output) {
  (void)key;
  CHECK(strcmp(state, "the state") == 0);
  CHECK(count > 1);
  int folded = longest(NULL, operands, count, output);
  // An empty longest operand deletes only where there is no longer base.
  return folded == FOLDB_FOLD_VALUE ? FOLDB_FOLD_OPERAND : FOLDB_FOLD_FAILED;
}

static char the_state[] = "the state";

static foldb_operator_t longest_operator(void) {
  foldb_operator_t own = {sizeof own,     the_state, longest_destructor,
                          "test.longest", 0,         longest_full,
                          longest_partial, true};
  return own;
}

// The order of the bytes, backwards.

static int backwards(void *state, foldb_bytes_t a, foldb_bytes_t b) {
  (void)state;
  size_t least = a.len < b.len ? a.len : b.len;
  int order = least == 0 ? 0 : memcmp(b.data, a.data, least);
  if (order != 0) return order;
  return a.len == b.len ? 0 : a.len < b.len ? 1 : -1;
}

// The shortest beginning of the larger key that is still larger than the smaller one.

static int separators_made = 0;

static void backwards_separator(void *state, foldb_bytes_t start, foldb_bytes_t limit,
                                foldb_output_t *output) {
  CHECK(backwards(state, start, limit) < 0);
  size_t len = 1;
  while (len < start.len && (len <= limit.len && memcmp(start.data, limit.data, len) == 0)) len++;
  foldb_output_append(output, start.data, len);
  separators_made++;
}

static void backwards_successor(void *state, foldb_bytes_t key, foldb_output_t *output) {
  (void)state;
  (void)key;
  (void)output;  // the empty key is behind all others
}

static foldb_comparator_t backwards_comparator(void) {
  foldb_comparator_t own = {
      .size = sizeof own,
      .name = "test.backwards",
      .compare = backwards,
      .separator = backwards_separator,
      .successor = backwards_successor,
  };
  return own;
}

// An order in which letters of either case are equal.

static int without_case(void *state, foldb_bytes_t a, foldb_bytes_t b) {
  (void)state;
  for (size_t i = 0; i < a.len && i < b.len; i++) {
    int order = tolower(a.data[i]) - tolower(b.data[i]);
    if (order != 0) return order;
  }
  return a.len == b.len ? 0 : a.len < b.len ? -1 : 1;
}

// A filter of the last bytes of keys.

static int filters_made = 0, filters_asked = 0, policies_destroyed = 0;

static void policy_destructor(void *state) {
  CHECK(strcmp(state, "the state") == 0);
  policies_destroyed++;
}

static uint8_t last_byte(foldb_bytes_t key) { return key.len == 0 ? 0 : key.data[key.len - 1]; }

static void last_bytes(void *state, const foldb_bytes_t *keys, size_t count,
                       foldb_output_t *output) {
  CHECK(strcmp(state, "the state") == 0);
  CHECK(count > 0);
  for (size_t i = 0; i < count; i++) {
    const uint8_t last = last_byte(keys[i]);
    foldb_output_append(output, &last, 1);
  }
  filters_made++;
}

static bool may_have_last_byte(void *state, foldb_bytes_t key, foldb_bytes_t filter) {
  CHECK(strcmp(state, "the state") == 0);
  filters_asked++;
  return memchr(filter.data, last_byte(key), filter.len) != NULL;
}

static foldb_filter_policy_t last_byte_policy(void) {
  foldb_filter_policy_t own = {
      .size = sizeof own,
      .state = the_state,
      .destructor = policy_destructor,
      .name = "test.last_byte",
      .create_filter = last_bytes,
      .may_contain = may_have_last_byte,
  };
  return own;
}

static foldb_options_t *options_of_the_test(void) {
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  OK(foldb_options_set(options, "merge_operator", "stringappend"));
  OK(foldb_options_set(options, "value_separation_min", "4096"));
  foldb_operator_t operator_ = longest_operator();
  OK(foldb_options_add_operator(options, &operator_));
  foldb_comparator_t comparator = backwards_comparator();
  OK(foldb_options_add_comparator(options, &comparator));
  return options;
}

static void bad_calls_are_refused(const char *dir) {
  foldb_options_t *options = foldb_options_new();
  foldb_t *db;
  FAILS(FOLDB_DATABASE_MISSING, foldb_open(dir, options, &db));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_open(NULL, options, &db));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_open(dir, options, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_options_set(options, "no_such_option", "1"));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_options_set(options, "write_buffer_size", "large"));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_options_set(NULL, "write_buffer_size", "1"));
  foldb_operator_t sizeless = longest_operator();
  sizeless.size = 0;
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_options_add_operator(options, &sizeless));
  sizeless.size = sizeof sizeless + 8;
  FAILS(FOLDB_UNSUPPORTED, foldb_options_add_operator(options, &sizeless));
  CHECK(longest_destroyed == 0);
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_write_options_set_sync(NULL, true));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_read_options_set_fill_cache(NULL, true));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_batch_set_lifetime_seconds(NULL, 1));
  CHECK(foldb_version_number() == FOLDB_VERSION_NUMBER);
  foldb_operator_t nameless = longest_operator();
  nameless.name = NULL;
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_options_add_operator(options, &nameless));
  CHECK(longest_destroyed == 1);
  foldb_comparator_t empty = backwards_comparator();
  empty.compare = NULL;
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_options_set_comparator(options, &empty));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_options_add_comparator(options, NULL));
  foldb_filter_policy_t mute = last_byte_policy();
  mute.may_contain = NULL;
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_options_set_filter_policy(options, &mute));
  mute = last_byte_policy();
  mute.create_filter = NULL;
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_options_add_filter_policy(options, &mute));
  CHECK(policies_destroyed == 2);
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_options_set_filter_policy(options, NULL));
  foldb_keyspace_options_t *of_keyspace = foldb_keyspace_options_new();
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_keyspace_options_set_filter_policy(of_keyspace, NULL));
  foldb_keyspace_options_free(of_keyspace);
  foldb_options_free(options);
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_put(NULL, NULL, NULL, BYTES("key"), BYTES("value")));
  CHECK(foldb_error_code(NULL) == FOLDB_OK);
  foldb_error_free(NULL);
  OK(foldb_close(NULL));
}

static void single_writes(foldb_t *db) {
  OK(foldb_put(db, NULL, NULL, BYTES("a"), BYTES("one")));
  OK(foldb_put(db, NULL, NULL, NULL, 0, NULL, 0));
  CHECK(has(db, NULL, NULL, "a", "one") && has(db, NULL, NULL, "", ""));
  OK(foldb_merge(db, NULL, NULL, BYTES("a"), BYTES("two")));
  CHECK(has(db, NULL, NULL, "a", "one,two"));
  OK(foldb_delete(db, NULL, NULL, BYTES("a")));
  CHECK(has(db, NULL, NULL, "a", NULL));

  foldb_write_options_t *options = foldb_write_options_new();
  OK(foldb_write_options_set_sync(options, true));
  OK(foldb_put(db, NULL, options, BYTES("synced"), BYTES("1")));
  OK(foldb_write_options_set_sync(options, false));
  OK(foldb_write_options_set_disable_wal(options, true));
  OK(foldb_write_options_set_deadline_micros(options, 1000 * 1000));
  OK(foldb_put(db, NULL, options, BYTES("unlogged"), BYTES("2")));
  foldb_write_options_free(options);

  for (char i = 'a'; i <= 'e'; i++) {
    const uint8_t key[2] = {'r', (uint8_t)i};
    OK(foldb_put(db, NULL, NULL, key, 2, key, 2));
  }
  foldb_bytes_t lower = bytes("rb"), upper = bytes("rd");
  OK(foldb_delete_range(db, NULL, NULL, &lower, &upper));
  CHECK(has(db, NULL, NULL, "ra", "ra") && has(db, NULL, NULL, "rd", "rd"));
  CHECK(has(db, NULL, NULL, "rb", NULL) && has(db, NULL, NULL, "rc", NULL));

  FAILS(FOLDB_INVALID_ARGUMENT, foldb_put(db, NULL, NULL, NULL, 5, BYTES("value")));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_merge_with(db, NULL, NULL, NULL, BYTES("k"), BYTES("v")));
  FAILS(FOLDB_UNKNOWN_OPERATOR,
        foldb_merge_with(db, NULL, NULL, "app.missing", BYTES("k"), BYTES("v")));
}

static void reads(foldb_t *db) {
  OK(foldb_put(db, NULL, NULL, BYTES("read"), BYTES("12345678")));
  uint8_t buffer[8];
  int64_t len;
  OK(foldb_get_into(db, NULL, NULL, BYTES("read"), buffer, sizeof buffer, &len));
  CHECK(len == 8 && memcmp(buffer, "12345678", 8) == 0);
  memset(buffer, 0, sizeof buffer);
  OK(foldb_get_into(db, NULL, NULL, BYTES("read"), buffer, 7, &len));
  CHECK(len == 8 && buffer[0] == 0);
  OK(foldb_get_into(db, NULL, NULL, BYTES("missing"), NULL, 0, &len));
  CHECK(len == -1);

  foldb_bytes_t keys[3] = {bytes("read"), bytes("missing"), bytes("synced")};
  foldb_value_t *values[3];
  foldb_error_t *errors[3];
  OK(foldb_multi_get(db, NULL, NULL, keys, 3, values, errors));
  CHECK(foldb_value_len(values[0]) == 8 && values[1] == NULL && foldb_value_len(values[2]) == 1);
  for (int i = 0; i < 3; i++) {
    CHECK(errors[i] == NULL);
    foldb_value_free(values[i]);
  }

  foldb_snapshot_t *snapshot;
  OK(foldb_snapshot(db, &snapshot));
  foldb_read_options_t *options = foldb_read_options_new();
  OK(foldb_read_options_set_snapshot(options, snapshot));
  OK(foldb_read_options_set_fill_cache(options, false));
  foldb_snapshot_free(snapshot);
  OK(foldb_put(db, NULL, NULL, BYTES("read"), BYTES("newer")));
  CHECK(has(db, NULL, options, "read", "12345678") && has(db, NULL, NULL, "read", "newer"));
  OK(foldb_read_options_set_snapshot(options, NULL));
  CHECK(has(db, NULL, options, "read", "newer"));
  foldb_read_options_free(options);
}

static void operators_of_the_program(foldb_t *db) {
  const char *operands[] = {"four", "fifteen", "two"};
  for (int i = 0; i < 3; i++) {
    OK(foldb_merge_with(db, NULL, NULL, "test.longest", BYTES("longest"), BYTES(operands[i])));
  }
  CHECK(has(db, NULL, NULL, "longest", "fifteen"));
  OK(foldb_flush(db));
  CHECK(has(db, NULL, NULL, "longest", "fifteen"));
  OK(foldb_merge_with(db, NULL, NULL, "test.longest", BYTES("fails"), BYTES("!")));
  foldb_value_t *value;
  FAILS(FOLDB_MERGE_FAILED, foldb_get(db, NULL, NULL, BYTES("fails"), &value));
  foldb_bytes_t keys[2] = {bytes("fails"), bytes("longest")};
  foldb_value_t *values[2];
  foldb_error_t *errors[2];
  OK(foldb_multi_get(db, NULL, NULL, keys, 2, values, errors));
  CHECK(foldb_error_code(errors[0]) == FOLDB_MERGE_FAILED && values[0] == NULL);
  CHECK(errors[1] == NULL && foldb_value_len(values[1]) == 7);
  foldb_error_free(errors[0]);
  foldb_value_free(values[1]);
  OK(foldb_delete(db, NULL, NULL, BYTES("fails")));
}

static void keyspaces(foldb_t *db) {
  foldb_keyspace_options_t *options = foldb_keyspace_options_new();
  OK(foldb_keyspace_options_set(options, "merge_operator", "uint64add"));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_keyspace_options_set(options, "no_such_option", "1"));
  foldb_comparator_t comparator = backwards_comparator();
  OK(foldb_keyspace_options_set_comparator(options, &comparator));
  foldb_keyspace_t *counters, *again, *old;
  FAILS(FOLDB_KEYSPACE_MISSING, foldb_keyspace_open(db, "counters", &counters));
  OK(foldb_keyspace_create(db, "counters", options, &counters));
  FAILS(FOLDB_KEYSPACE_EXISTS, foldb_keyspace_create(db, "counters", options, &again));
  OK(foldb_keyspace_open_or_create(db, "counters", options, &again));
  OK(foldb_keyspace_open_or_create(db, "old", NULL, &old));
  foldb_keyspace_options_free(options);

  const uint8_t two[8] = {2};
  OK(foldb_merge(db, counters, NULL, BYTES("n"), two, 8));
  OK(foldb_merge(db, again, NULL, BYTES("n"), two, 8));
  uint8_t sum[8];
  int64_t len;
  OK(foldb_get_into(db, counters, NULL, BYTES("n"), sum, 8, &len));
  CHECK(len == 8 && sum[0] == 4);
  OK(foldb_merge(db, counters, NULL, BYTES("m"), two, 8));

  foldb_iter_t *iter;
  OK(foldb_iter(db, counters, NULL, NULL, NULL, &iter));
  OK(foldb_iter_next(iter));
  size_t key_len;
  CHECK(foldb_iter_key(iter, &key_len)[0] == 'n' && key_len == 1);
  foldb_iter_free(iter);

  char *names;
  OK(foldb_keyspace_names(db, &names));
  CHECK(strcmp(names, "counters\ndefault\nold") == 0);
  foldb_string_free(names);
  OK(foldb_keyspace_drop(db, "old"));
  FAILS(FOLDB_KEYSPACE_DROPPED, foldb_put(db, old, NULL, BYTES("k"), BYTES("v")));
  foldb_keyspace_free(old);
  foldb_keyspace_free(again);
  foldb_keyspace_free(counters);
}

static void entries_that_expire(foldb_t *db) {
  foldb_keyspace_options_t *options = foldb_keyspace_options_new();
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_keyspace_options_set(options, "expiry", "soon"));
  OK(foldb_keyspace_options_set(options, "expiry", "after-last-write:3600"));
  foldb_keyspace_t *sessions;
  OK(foldb_keyspace_create(db, "sessions", options, &sessions));
  foldb_keyspace_options_free(options);

  foldb_write_options_t *longer = foldb_write_options_new();
  OK(foldb_write_options_set_lifetime_seconds(longer, 86400));
  OK(foldb_put(db, sessions, NULL, BYTES("hour"), BYTES("")));
  OK(foldb_put(db, sessions, longer, BYTES("day"), BYTES("")));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_put(db, NULL, longer, BYTES("day"), BYTES("")));
  foldb_write_options_free(longer);
  foldb_batch_t *batch = foldb_batch_new(db);
  OK(foldb_batch_set_lifetime_seconds(batch, -1));
  OK(foldb_batch_put(batch, sessions, BYTES("ever"), BYTES("")));
  OK(foldb_batch_write(batch, NULL));
  foldb_batch_free(batch);

  int64_t hour, day, ever, missing;
  OK(foldb_expires_at(db, sessions, NULL, BYTES("hour"), &hour));
  OK(foldb_expires_at(db, sessions, NULL, BYTES("day"), &day));
  OK(foldb_expires_at(db, sessions, NULL, BYTES("ever"), &ever));
  OK(foldb_expires_at(db, sessions, NULL, BYTES("missing"), &missing));
  CHECK(hour > 0 && day - hour >= 82799 * 1000LL && day - hour <= 82801 * 1000LL);
  CHECK(ever == -1 && missing == -1);
  foldb_keyspace_free(sessions);
  OK(foldb_keyspace_drop(db, "sessions"));
}

static void keys_of_several_spellings(const char *parent) {
  char dir[1024];
  path_in(dir, sizeof dir, parent, "spelled");
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  foldb_comparator_t comparator = {.size = sizeof comparator,
                                   .name = "test.without_case",
                                   .compare = without_case,
                                   .equal_keys_may_differ = true};
  OK(foldb_options_set_comparator(options, &comparator));
  foldb_t *db;
  OK(foldb_open(dir, options, &db));
  foldb_options_free(options);
  OK(foldb_put(db, NULL, NULL, BYTES("Key"), BYTES("one")));
  OK(foldb_put(db, NULL, NULL, BYTES("KEY"), BYTES("two")));
  for (int flushed = 0; flushed < 2; flushed++) {
    CHECK(has(db, NULL, NULL, "key", "two") && has(db, NULL, NULL, "Key", "two"));
    foldb_iter_t *iter;
    OK(foldb_iter(db, NULL, NULL, NULL, NULL, &iter));
    OK(foldb_iter_seek_to_first(iter));
    size_t len;
    const uint8_t *key = foldb_iter_key(iter, &len);
    CHECK(len == 3 && memcmp(key, "KEY", 3) == 0);
    OK(foldb_iter_next(iter));
    CHECK(!foldb_iter_valid(iter));
    foldb_iter_free(iter);
    OK(foldb_flush(db));
  }
  OK(foldb_delete(db, NULL, NULL, BYTES("kEY")));
  CHECK(has(db, NULL, NULL, "Key", NULL));
  OK(foldb_close(db));
}

static void filters_and_separators(const char *parent) {
  char dir[1024];
  path_in(dir, sizeof dir, parent, "filtered");
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  foldb_filter_policy_t policy = last_byte_policy();
  OK(foldb_options_set_filter_policy(options, &policy));
  foldb_comparator_t comparator = backwards_comparator();
  OK(foldb_options_set_comparator(options, &comparator));
  foldb_t *db;
  OK(foldb_open(dir, options, &db));
  foldb_options_free(options);
  foldb_keyspace_options_t *own = foldb_keyspace_options_new();
  policies_destroyed = 0;
  OK(foldb_keyspace_options_set_filter_policy(own, &policy));
  foldb_keyspace_t *keyspace;
  OK(foldb_keyspace_create(db, "own", own, &keyspace));
  foldb_keyspace_options_free(own);
  char key[64];
  for (int i = 0; i < 2000; i++) {
    snprintf(key, sizeof key, "%05d.the.rest.of.a.long.key.0", i);
    OK(foldb_put(db, NULL, NULL, BYTES(key), BYTES(key)));
  }
  OK(foldb_put(db, keyspace, NULL, BYTES("10"), BYTES("ten")));
  OK(foldb_flush(db));
  CHECK(filters_made >= 2 && separators_made > 10);
  for (int i = 0; i < 2000; i += 7) {
    snprintf(key, sizeof key, "%05d.the.rest.of.a.long.key.0", i);
    CHECK(has(db, NULL, NULL, key, key));
    key[strlen(key) - 1] = '1';
    CHECK(has(db, NULL, NULL, key, NULL));
  }
  CHECK(has(db, keyspace, NULL, "10", "ten") && has(db, keyspace, NULL, "11", NULL));
  CHECK(filters_asked >= 2 * 2000 / 7);
  foldb_keyspace_free(keyspace);
  OK(foldb_close(db));
  CHECK(policies_destroyed == 2);

  // A registered policy is found by its name.
  filters_asked = 0;
  options = foldb_options_new();
  OK(foldb_options_set_comparator(options, &comparator));
  OK(foldb_options_add_filter_policy(options, &policy));
  OK(foldb_open(dir, options, &db));
  foldb_options_free(options);
  OK(foldb_keyspace_open(db, "own", &keyspace));
  CHECK(has(db, keyspace, NULL, "10", "ten") && filters_asked > 0);
  foldb_keyspace_free(keyspace);
  OK(foldb_close(db));
}

static void batches(foldb_t *db) {
  foldb_batch_t *batch = foldb_batch_new(db);
  OK(foldb_batch_put(batch, NULL, BYTES("batch.1"), BYTES("put")));
  OK(foldb_batch_put(batch, NULL, BYTES("batch.2"), BYTES("gone")));
  OK(foldb_batch_delete(batch, NULL, BYTES("batch.2")));
  OK(foldb_batch_merge(batch, NULL, BYTES("batch.1"), BYTES("merged")));
  OK(foldb_batch_merge_with(batch, NULL, "test.longest", BYTES("batch.3"), BYTES("long")));
  foldb_bytes_t lower = bytes("synced"), upper = bytes("synced\1");
  OK(foldb_batch_delete_range(batch, NULL, &lower, &upper));
  CHECK(foldb_batch_len(batch) == 6);
  CHECK(has(db, NULL, NULL, "batch.1", NULL));
  OK(foldb_batch_write(batch, NULL));
  CHECK(has(db, NULL, NULL, "batch.1", "put,merged") && has(db, NULL, NULL, "batch.2", NULL));
  CHECK(has(db, NULL, NULL, "batch.3", "long") && has(db, NULL, NULL, "synced", NULL));
  OK(foldb_batch_clear(batch));
  CHECK(foldb_batch_len(batch) == 0);
  OK(foldb_batch_write(batch, NULL));
  foldb_batch_free(batch);
  CHECK(foldb_batch_new(NULL) == NULL);
}

// Collects the bytes of values.
typedef struct {
  size_t len, calls;
  char text[256];
} collected_t;

static void collect(void *state, foldb_bytes_t value) {
  collected_t *own = state;
  own->calls++;
  CHECK(own->len + value.len <= sizeof own->text);
  if (value.len > 0) memcpy(own->text + own->len, value.data, value.len);
  own->len += value.len;
}

static void received_values(foldb_t *db) {
  collected_t got = {0};
  bool found = false;
  OK(foldb_put(db, NULL, NULL, BYTES("received"), BYTES("a value")));
  OK(foldb_get_with(db, NULL, NULL, BYTES("received"), collect, &got, &found));
  CHECK(found && got.calls == 1 && got.len == 7 && memcmp(got.text, "a value", 7) == 0);
  OK(foldb_get_with(db, NULL, NULL, BYTES("missing"), collect, &got, &found));
  CHECK(!found && got.calls == 1);
  OK(foldb_merge_with(db, NULL, NULL, "test.longest", BYTES("rejected"), BYTES("!")));
  FAILS(FOLDB_MERGE_FAILED,
        foldb_get_with(db, NULL, NULL, BYTES("rejected"), collect, &got, &found));
  FAILS(FOLDB_INVALID_ARGUMENT,
        foldb_get_with(db, NULL, NULL, BYTES("received"), NULL, &got, &found));
  CHECK(got.calls == 1);
  OK(foldb_delete(db, NULL, NULL, BYTES("rejected")));
}

static void moves(foldb_iter_t *iter) {
  // Each move, the key it seeks, and the entry that it leads to; 0 for none.
  const struct {
    int how;
    const char *key;
    char expected;
  } plan[] = {
      {FOLDB_MOVE_NEXT, "", '1'},       {FOLDB_MOVE_NEXT, "", '2'},
      {FOLDB_MOVE_PREV, "", '1'},       {FOLDB_MOVE_PREV, "", 0},
      {FOLDB_MOVE_LAST, "", '4'},       {FOLDB_MOVE_NEXT, "", 0},
      {FOLDB_MOVE_FIRST, "", '1'},      {FOLDB_MOVE_SEEK, "i2x", '3'},
      {FOLDB_MOVE_SEEK, "i9", 0},       {FOLDB_MOVE_SEEK_FOR_PREV, "i2x", '2'},
  };
  for (size_t i = 0; i < sizeof plan / sizeof *plan; i++) {
    foldb_entry_t entry;
    OK(foldb_iter_move(iter, plan[i].how, BYTES(plan[i].key), &entry));
    CHECK(entry.valid == (plan[i].expected != 0) && entry.valid == foldb_iter_valid(iter));
    CHECK(entry.key.len == (entry.valid ? 2u : 0u) && entry.value.len == entry.key.len / 2);
    if (entry.valid) {
      CHECK(entry.key.data[1] == plan[i].expected && entry.value.data[0] == plan[i].expected);
    }
  }
  foldb_entry_t entry;
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_iter_move(iter, 6, NULL, 0, &entry));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_iter_move(iter, FOLDB_MOVE_NEXT, NULL, 0, NULL));
}

static void count_table(void *state, const foldb_table_t *table) {
  size_t *count = state;
  CHECK(table->bytes > 0 && table->records > 0 && table->number > 0 && table->level < 32);
  CHECK(table->largest.len > 0);
  CHECK(table->smallest_seqno <= table->largest_seqno);
  ++*count;
}

static void shape(foldb_t *db) {
  uint64_t whole = 0, none = 7;
  OK(foldb_flush(db));
  OK(foldb_approximate_size(db, NULL, NULL, NULL, &whole));
  foldb_bytes_t lower = bytes("\xfe"), upper = bytes("\xff");
  OK(foldb_approximate_size(db, NULL, &lower, &upper, &none));
  CHECK(whole > 0 && none == 0);
  size_t tables = 0;
  OK(foldb_tables(db, NULL, count_table, &tables));
  CHECK(tables > 0);
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_tables(db, NULL, NULL, NULL));
}

static void iterators(foldb_t *db) {
  for (char i = '1'; i <= '5'; i++) {
    const uint8_t key[2] = {'i', (uint8_t)i};
    OK(foldb_put(db, NULL, NULL, key, 2, key + 1, 1));
  }
  foldb_bytes_t lower = bytes("i1"), upper = bytes("i5");
  foldb_iter_t *iter;
  OK(foldb_iter(db, NULL, NULL, &lower, &upper, &iter));
  const uint8_t *value;
  size_t len;
  CHECK(!foldb_iter_valid(iter) && foldb_iter_key(iter, &len) == NULL && len == 0);
  OK(foldb_iter_value(iter, &value, &len));
  CHECK(value == NULL && len == 0);
  char seen[8];
  size_t count = 0;
  for (OK(foldb_iter_seek_to_first(iter)); foldb_iter_valid(iter); OK(foldb_iter_next(iter))) {
    OK(foldb_iter_value(iter, &value, &len));
    CHECK(len == 1 && count < sizeof seen);
    seen[count++] = (char)value[0];
  }
  CHECK(count == 4 && memcmp(seen, "1234", 4) == 0);
  OK(foldb_iter_seek_to_last(iter));
  CHECK(foldb_iter_key(iter, &len)[1] == '4' && len == 2);
  OK(foldb_iter_prev(iter));
  CHECK(foldb_iter_key(iter, NULL)[1] == '3');
  OK(foldb_iter_seek(iter, BYTES("i2")));
  CHECK(foldb_iter_key(iter, NULL)[1] == '2');
  OK(foldb_iter_seek_for_prev(iter, BYTES("i2x")));
  CHECK(foldb_iter_key(iter, NULL)[1] == '2');
  foldb_iter_free(iter);

  OK(foldb_iter(db, NULL, NULL, &lower, &upper, &iter));
  moves(iter);
  foldb_iter_free(iter);
}

static void sorted_loads(foldb_t *db) {
  static const uint8_t one[8] = {1};
  foldb_keyspace_t *counters;
  OK(foldb_keyspace_open(db, "counters", &counters));
  foldb_load_t *load;
  OK(foldb_load_begin(db, counters, &load));
  // The keyspace is in backwards order.
  OK(foldb_load_merge(load, BYTES("load3"), one, 8));
  OK(foldb_load_put(load, BYTES("load2"), one, 8));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_load_put(load, BYTES("load2"), one, 8));
  OK(foldb_load_merge_with(load, "stringappend:,", BYTES("load1"), BYTES("x")));
  CHECK(has(db, counters, NULL, "load1", NULL));
  foldb_load_report_t report;
  memset(&report, 0xff, sizeof report);
  OK(foldb_load_finish(load, &report));
  CHECK(report.entries == 3 && report.tables == 1 && report.bytes > 0);
  CHECK(report.sequence_number > 0 && has(db, counters, NULL, "load1", "x"));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_load_put(load, BYTES("load0"), one, 8));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_load_finish(load, NULL));
  foldb_load_free(load);

  // A load that is not finished adds nothing.
  OK(foldb_load_begin(db, NULL, &load));
  OK(foldb_load_put(load, BYTES("load1"), one, 8));
  foldb_load_free(load);
  foldb_load_free(NULL);
  CHECK(has(db, NULL, NULL, "load1", NULL));
  OK(foldb_delete_range(db, counters, NULL, NULL, NULL));
  foldb_keyspace_free(counters);
}

static int is_absent_or_short(void *state, const uint8_t *value, size_t value_len) {
  *(int *)state += 1;
  return value == NULL || value_len < 3;
}

static void conditional_writes(foldb_t *db) {
  static const uint8_t one[8] = {1};
  bool done;
  foldb_value_t *value;
  OK(foldb_put_if_absent(db, NULL, NULL, BYTES("only"), BYTES("1"), &done));
  CHECK(done);
  OK(foldb_put_if_absent(db, NULL, NULL, BYTES("only"), BYTES("2"), &done));
  CHECK(!done && has(db, NULL, NULL, "only", "1"));

  foldb_bytes_t first = {(const uint8_t *)"1", 1}, second = {(const uint8_t *)"2", 1};
  OK(foldb_compare_and_swap(db, NULL, NULL, BYTES("only"), &second, NULL, &done, &value));
  CHECK(!done && foldb_value_len(value) == 1 && foldb_value_data(value)[0] == '1');
  foldb_value_free(value);
  OK(foldb_compare_and_swap(db, NULL, NULL, BYTES("only"), &first, &second, &done, NULL));
  CHECK(done && has(db, NULL, NULL, "only", "2"));
  OK(foldb_take(db, NULL, NULL, BYTES("only"), &value));
  CHECK(foldb_value_len(value) == 1 && has(db, NULL, NULL, "only", NULL));
  foldb_value_free(value);
  OK(foldb_take(db, NULL, NULL, BYTES("only"), &value));
  CHECK(value == NULL);

  foldb_keyspace_t *counters;
  OK(foldb_keyspace_open(db, "counters", &counters));
  OK(foldb_merge_get(db, counters, NULL, BYTES("ticket"), one, 8, &value));
  CHECK(foldb_value_len(value) == 8 && foldb_value_data(value)[0] == 1);
  foldb_value_free(value);
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_merge_get(db, counters, NULL, BYTES("t"), one, 3, &value));
  int calls = 0;
  OK(foldb_merge_if(db, counters, NULL, BYTES("fresh"), is_absent_or_short, &calls, one, 8, &done));
  CHECK(done && calls == 1);
  OK(foldb_merge_if(db, counters, NULL, BYTES("fresh"), is_absent_or_short, &calls, one, 8, &done));
  CHECK(!done && calls == 2);
  FAILS(FOLDB_INVALID_ARGUMENT,
        foldb_merge_if(db, counters, NULL, BYTES("fresh"), NULL, NULL, one, 8, &done));
  OK(foldb_delete_range(db, counters, NULL, NULL, NULL));
  foldb_keyspace_free(counters);
}

static void transactions(foldb_t *db) {
  static const uint8_t one[8] = {1};
  foldb_keyspace_t *counters;
  OK(foldb_keyspace_open(db, "counters", &counters));
  foldb_transaction_t *first, *second;
  foldb_value_t *value;
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_transaction_begin(db, 7, NULL, &first));
  OK(foldb_transaction_begin(db, FOLDB_SERIALIZABLE, NULL, &first));
  OK(foldb_transaction_begin(db, FOLDB_SERIALIZABLE, NULL, &second));
  foldb_transaction_t *both[2] = {first, second};
  for (int i = 0; i < 2; i++) {
    OK(foldb_transaction_get(both[i], NULL, BYTES("stock"), &value));
    CHECK(value == NULL);
    OK(foldb_transaction_put(both[i], NULL, BYTES("stock"), BYTES("none")));
    OK(foldb_transaction_merge(both[i], counters, BYTES("orders"), one, 8));
  }
  OK(foldb_transaction_commit(first));
  FAILS(FOLDB_CONFLICT, foldb_transaction_commit(second));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_transaction_commit(second));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_transaction_put(second, NULL, BYTES("x"), BYTES("x")));
  foldb_transaction_free(first);
  foldb_transaction_free(second);
  CHECK(has(db, NULL, NULL, "stock", "none"));

  OK(foldb_transaction_begin(db, FOLDB_SNAPSHOT_ISOLATION, NULL, &first));
  OK(foldb_transaction_delete_range(first, NULL, NULL, NULL));
  OK(foldb_transaction_put(first, NULL, BYTES("kept"), BYTES("1")));
  OK(foldb_transaction_savepoint(first));
  OK(foldb_transaction_delete(first, NULL, BYTES("kept")));
  OK(foldb_transaction_merge_with(first, NULL, "stringappend:,", BYTES("undone"), BYTES("1")));
  OK(foldb_transaction_rollback_to_savepoint(first));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_transaction_rollback_to_savepoint(first));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_transaction_release_savepoint(first));
  OK(foldb_transaction_savepoint(first));
  OK(foldb_transaction_release_savepoint(first));
  foldb_iter_t *iter;
  OK(foldb_transaction_iter(first, NULL, NULL, NULL, &iter));
  OK(foldb_iter_seek_to_first(iter));
  CHECK(foldb_iter_valid(iter));
  OK(foldb_iter_next(iter));
  CHECK(!foldb_iter_valid(iter));
  foldb_iter_free(iter);
  foldb_transaction_free(first);
  CHECK(has(db, NULL, NULL, "stock", "none"));
  foldb_transaction_free(NULL);
  OK(foldb_delete(db, NULL, NULL, BYTES("stock")));
  OK(foldb_delete_range(db, counters, NULL, NULL, NULL));
  foldb_keyspace_free(counters);
}

static void upkeep(foldb_t *db, const char *dir) {
  uint8_t *large = malloc(100000);
  CHECK(large != NULL);
  memset(large, 'x', 100000);
  for (int i = 0; i < 20; i++) {
    OK(foldb_put(db, NULL, NULL, BYTES("large"), large, 100000));
    OK(foldb_flush(db));
  }
  free(large);
  OK(foldb_sync(db));
  OK(foldb_compact(db, NULL, NULL, NULL));
  foldb_gc_report_t report;
  memset(&report, 0xff, sizeof report);
  OK(foldb_collect_garbage(db, 0.0, &report));
  OK(foldb_collect_garbage(db, 0.0, NULL));
  CHECK(report.bytes_after <= report.bytes_before && report.bytes_after < 300000);
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_collect_garbage(db, 2.0, NULL));
  OK(foldb_wait_for_background(db));

  char *text;
  int64_t of_database = 0, of_machine = 0;
  OK(foldb_clock(db, &of_database, &of_machine));
  CHECK(of_database == of_machine && of_machine > 1577836800);
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_clock(db, NULL, &of_machine));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_clock(db, &of_database, NULL));
  uint64_t ahead = 7;
  OK(foldb_reset_clock(db, &ahead));
  CHECK(ahead == 0);
  OK(foldb_reset_clock(db, NULL));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_reset_clock(NULL, &ahead));

  OK(foldb_stats(db, &text));
  CHECK(strstr(text, "foldb_") != NULL);
  foldb_string_free(text);

  char copy[1024];
  path_in(copy, sizeof copy, dir, "copy");
  OK(foldb_checkpoint(db, copy));
  FAILS(FOLDB_DATABASE_EXISTS, foldb_checkpoint(db, copy));
  foldb_options_t *options = options_of_the_test();
  size_t faults = 7;
  OK(foldb_verify(copy, options, &faults, &text));
  CHECK(faults == 0 && strcmp(text, "") == 0);
  foldb_string_free(text);
  size_t lost = 7;
  char repaired[1024];
  path_in(repaired, sizeof repaired, dir, "repaired");
  OK(foldb_repair(copy, options, repaired, &lost));
  CHECK(lost == 0);
  OK(foldb_repair(copy, options, NULL, &lost));
  CHECK(lost == 0);
  foldb_t *reader;
  OK(foldb_open_read_only(repaired, options, &reader));
  CHECK(has(reader, NULL, NULL, "longest", "fifteen"));
  FAILS(FOLDB_READ_ONLY, foldb_put(reader, NULL, NULL, BYTES("k"), BYTES("v")));
  FAILS(FOLDB_READ_ONLY, foldb_flush(reader));
  FAILS(FOLDB_READ_ONLY, foldb_compact(reader, NULL, NULL, NULL));
  FAILS(FOLDB_READ_ONLY, foldb_collect_garbage(reader, 0.5, NULL));
  FAILS(FOLDB_READ_ONLY, foldb_checkpoint(reader, dir));
  FAILS(FOLDB_READ_ONLY, foldb_keyspace_drop(reader, "counters"));
  foldb_load_t *unbegun;
  FAILS(FOLDB_READ_ONLY, foldb_load_begin(reader, NULL, &unbegun));
  foldb_batch_t *refused = foldb_batch_new(reader);
  FAILS(FOLDB_READ_ONLY, foldb_batch_put(refused, NULL, BYTES("k"), BYTES("v")));
  FAILS(FOLDB_READ_ONLY, foldb_batch_write(refused, NULL));
  foldb_batch_free(refused);
  foldb_keyspace_t *shown, *new;
  FAILS(FOLDB_READ_ONLY, foldb_keyspace_create(reader, "new", NULL, &new));
  FAILS(FOLDB_READ_ONLY, foldb_keyspace_open_or_create(reader, "new", NULL, &new));
  OK(foldb_keyspace_open_or_create(reader, "counters", NULL, &shown));
  FAILS(FOLDB_READ_ONLY, foldb_delete(reader, shown, NULL, BYTES("k")));
  OK(foldb_wait_for_background(reader));
  foldb_snapshot_t *moment;
  OK(foldb_snapshot(reader, &moment));
  foldb_read_options_t *then = foldb_read_options_new();
  OK(foldb_read_options_set_snapshot(then, moment));
  CHECK(has(reader, NULL, then, "longest", "fifteen"));
  ends_are_entries(reader, NULL, then);
  ends_are_entries(reader, shown, NULL);
  foldb_read_options_free(then);
  foldb_snapshot_free(moment);
  foldb_keyspace_free(shown);

  foldb_keyspace_t *foreign;
  OK(foldb_keyspace_open(db, "counters", &foreign));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_put(reader, foreign, NULL, BYTES("k"), BYTES("v")));
  foldb_keyspace_free(foreign);
  OK(foldb_close(reader));
  OK(foldb_destroy(copy, options));
  OK(foldb_destroy(repaired, options));
  foldb_options_free(options);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  CHECK(strcmp(foldb_version(), VERSION) == 0);
  bad_calls_are_refused(argv[1]);
  char dir[1024];
  path_in(dir, sizeof dir, argv[1], "db");
  foldb_options_t *options = options_of_the_test();
  foldb_t *db, *rival;
  OK(foldb_open(dir, options, &db));
  FAILS(FOLDB_LOCKED, foldb_open(dir, options, &rival));
  foldb_options_free(options);
  CHECK(longest_destroyed == 1);  // the database still has the operator

  single_writes(db);
  reads(db);
  operators_of_the_program(db);
  keyspaces(db);
  entries_that_expire(db);
  batches(db);
  iterators(db);
  received_values(db);
  shape(db);
  sorted_loads(db);
  conditional_writes(db);
  transactions(db);
  upkeep(db, argv[1]);
  filters_and_separators(argv[1]);
  keys_of_several_spellings(argv[1]);

  // Handles may outlive the database, and are freed in any order.
  foldb_iter_t *iter;
  foldb_snapshot_t *snapshot;
  foldb_keyspace_t *keyspace;
  foldb_value_t *value;
  OK(foldb_get(db, NULL, NULL, BYTES("large"), &value));
  OK(foldb_iter(db, NULL, NULL, NULL, NULL, &iter));
  OK(foldb_snapshot(db, &snapshot));
  OK(foldb_keyspace_open(db, "counters", &keyspace));
  foldb_batch_t *batch = foldb_batch_new(db);
  OK(foldb_batch_put(batch, NULL, BYTES("late"), BYTES("late")));
  OK(foldb_close(db));
  FAILS(FOLDB_CLOSED, foldb_batch_write(batch, NULL));
  CHECK(foldb_value_len(value) == 100000 && foldb_value_data(value)[99999] == 'x');
  foldb_value_free(value);
  foldb_batch_free(batch);
  foldb_keyspace_free(keyspace);
  foldb_snapshot_free(snapshot);
  foldb_iter_free(iter);

  // Everything is there again, and the operators of the options were destroyed each once.
  options = options_of_the_test();
  OK(foldb_open(dir, options, &db));
  foldb_options_free(options);
  CHECK(has(db, NULL, NULL, "longest", "fifteen") && has(db, NULL, NULL, "late", NULL));
  OK(foldb_close(db));
  CHECK(longest_destroyed == 4);

  // Another order is refused, and the order of the default keyspace can be the program's.
  options = options_of_the_test();
  foldb_comparator_t comparator = backwards_comparator();
  OK(foldb_options_set_comparator(options, &comparator));
  FAILS(FOLDB_INVALID_ARGUMENT, foldb_open(dir, options, &db));
  path_in(dir, sizeof dir, argv[1], "backwards");
  OK(foldb_open(dir, options, &db));
  OK(foldb_put(db, NULL, NULL, BYTES("1"), BYTES("")));
  OK(foldb_put(db, NULL, NULL, BYTES("2"), BYTES("")));
  OK(foldb_iter(db, NULL, NULL, NULL, NULL, &iter));
  OK(foldb_iter_seek_to_first(iter));
  CHECK(foldb_iter_key(iter, NULL)[0] == '2');
  foldb_iter_free(iter);
  OK(foldb_close(db));
  OK(foldb_destroy(dir, options));
  foldb_options_free(options);
  puts("every call answered as it should");
  return 0;
}
