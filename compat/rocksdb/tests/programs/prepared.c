/* Two-phase commits: prepare, close, open, and decide about what was prepared. */

#include "transactions.h"
#include "joining.h"

static rocksdb_options_t* options;
static rocksdb_transactiondb_options_t* locking;
static rocksdb_transaction_options_t* plain;

static rocksdb_transactiondb_t* open_it(void) {
  rocksdb_transactiondb_t* db =
      rocksdb_transactiondb_open(options, locking, path_of("db"), &error);
  result("open");
  return db;
}

static void get_from(rocksdb_transactiondb_t* db, const char* key) {
  size_t length = 0;
  char* found = rocksdb_transactiondb_get(db, reads, TEXT(key), &length, &error);
  value(key, found, length);
}

static rocksdb_transaction_t* named(rocksdb_transactiondb_t* db, const char* name) {
  rocksdb_transaction_t* transaction = rocksdb_transaction_begin(db, writes, plain, NULL);
  rocksdb_transaction_set_name(transaction, TEXT(name), &error);
  must("name");
  return transaction;
}

static void prepare(const char* what, rocksdb_transaction_t* transaction) {
  rocksdb_transaction_prepare(transaction, &error);
  result(what);
}

static int by_name(const void* left, const void* right) {
  size_t left_length = 0, right_length = 0;
  char* left_name = rocksdb_transaction_get_name(*(rocksdb_transaction_t* const*)left,
                                                 &left_length);
  char* right_name = rocksdb_transaction_get_name(*(rocksdb_transaction_t* const*)right,
                                                  &right_length);
  const int order = memcmp(left_name, right_name,
                           left_length < right_length ? left_length : right_length);
  rocksdb_free(left_name);
  rocksdb_free(right_name);
  return order != 0 ? order : (left_length > right_length) - (left_length < right_length);
}

/* Returns the transactions that wait for a decision, in the order of their names. */
static rocksdb_transaction_t** waiting(rocksdb_transactiondb_t* db, size_t* count) {
  rocksdb_transaction_t** found = rocksdb_transactiondb_get_prepared_transactions(db, count);
  number("prepared", *count);
  if (*count > 0) qsort(found, *count, sizeof(*found), by_name);
  for (size_t i = 0; i < *count; i++) {
    size_t length = 0;
    char* name = rocksdb_transaction_get_name(found[i], &length);
    bytes("  name", name, length);
    rocksdb_free(name);
  }
  return found;
}

static void states(void) {
  rocksdb_transactiondb_t* db = open_it();
  rocksdb_transaction_t* one = named(db, "one");
  put_in(one, "one", "value");
  prepare("prepare", one);
  prepare("prepare again", one);
  get_in(one, "one");
  get_from(db, "one");
  commit("commit", one);
  get_from(db, "one");
  rocksdb_transaction_destroy(one);
  one = named(db, "one");
  put_in(one, "one", "rolled back");
  prepare("prepare", one);
  rocksdb_transactiondb_put(db, writes, TEXT("one"), TEXT("from outside"), &error);
  result("a prepared transaction keeps its lock");
  roll_back("roll back", one);
  get_from(db, "one");
  rocksdb_transactiondb_put(db, writes, TEXT("one"), TEXT("from outside"), &error);
  result("its rollback frees it");
  rocksdb_transaction_destroy(one);
  one = named(db, "empty");
  prepare("prepare nothing", one);
  commit("commit nothing", one);
  rocksdb_transaction_destroy(one);
  size_t count = 0;
  rocksdb_free(waiting(db, &count));
  rocksdb_transactiondb_close(db);
}

/* The handle of a prepared transaction lets go of its locks when it is destroyed, so that another
 * one can prepare writes of the same key. Opening does not fail over this. */
static void left_prepared(void) {
  rocksdb_transactiondb_t* db = open_it();
  const char* const names[] = {"a", "b", "c"};
  for (int i = 0; i < 3; i++) {
    rocksdb_transaction_t* transaction = named(db, names[i]);
    put_in(transaction, names[i], "prepared");
    rocksdb_transaction_merge(transaction, TEXT("merged"), TEXT(names[i]), &error);
    kind("merge");
    rocksdb_transaction_delete(transaction, TEXT("one"), &error);
    kind("delete");
    prepare("prepare", transaction);
    rocksdb_transaction_destroy(transaction);
  }
  rocksdb_transaction_t* open_one = named(db, "not prepared");
  put_in(open_one, "not prepared", "lost");
  rocksdb_transaction_destroy(open_one);
  rocksdb_transactiondb_close(db);
}

static void decided(void) {
  rocksdb_transactiondb_t* db = open_it();
  get_from(db, "a");
  get_from(db, "not prepared");
  size_t count = 0;
  rocksdb_transaction_t** found = waiting(db, &count);
  get_in(found[0], "a");
  commit("commit the first", found[0]);
  roll_back("roll back the second", found[1]);
  for (size_t i = 0; i < count; i++) rocksdb_transaction_destroy(found[i]);
  rocksdb_free(found);
  get_from(db, "a");
  get_from(db, "b");
  get_from(db, "merged");
  get_from(db, "one");
  rocksdb_transactiondb_close(db);
  db = open_it();
  found = waiting(db, &count);
  walk("before the last decision", rocksdb_transactiondb_create_iterator(db, reads));
  commit("commit the third", found[0]);
  rocksdb_transaction_destroy(found[0]);
  rocksdb_free(found);
  walk("after it", rocksdb_transactiondb_create_iterator(db, reads));
  rocksdb_transactiondb_close(db);
  db = open_it();
  found = waiting(db, &count);
  rocksdb_free(found);
  walk("at the end", rocksdb_transactiondb_create_iterator(db, reads));
  rocksdb_transactiondb_close(db);
}

int main(int count, char** arguments) {
  start(count, arguments);
  options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  locking = rocksdb_transactiondb_options_create();
  rocksdb_transactiondb_options_set_transaction_lock_timeout(locking, 20);
  rocksdb_transactiondb_options_set_default_lock_timeout(locking, 20);
  plain = rocksdb_transaction_options_create();
  states();
  left_prepared();
  decided();
  rocksdb_transaction_options_destroy(plain);
  rocksdb_transactiondb_options_destroy(locking);
  rocksdb_options_destroy(options);
  return finish();
}
