/* Transactions: the database below, several reads for update, and flushes of families. */

#include "transactions.h"

#define KEYS 3

static void several_reads(rocksdb_transactiondb_t* db, rocksdb_transaction_t* transaction) {
  const char* const keys[KEYS] = {"a", "none", "b"};
  const size_t sizes[KEYS] = {1, 4, 1};
  char* values[KEYS];
  size_t lengths[KEYS];
  char* errors[KEYS] = {NULL};
  rocksdb_transaction_multi_get_for_update(transaction, reads, KEYS, keys, sizes, values, lengths,
                                           errors);
  for (int i = 0; i < KEYS; i++) {
    error = errors[i];
    value(keys[i], values[i], lengths[i]);
  }
  for (int i = 0; i < KEYS; i++) {
    rocksdb_transactiondb_put(db, writes, TEXT(keys[i]), TEXT("from outside"), &error);
    result("put over the lock");
  }
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_transactiondb_options_t* locking = rocksdb_transactiondb_options_create();
  rocksdb_transactiondb_options_set_transaction_lock_timeout(locking, 20);
  rocksdb_transactiondb_options_set_default_lock_timeout(locking, 20);
  rocksdb_transaction_options_t* plain = rocksdb_transaction_options_create();
  rocksdb_transactiondb_t* db =
      rocksdb_transactiondb_open(options, locking, path_of("db"), &error);
  result("open");
  rocksdb_transactiondb_put(db, writes, TEXT("a"), TEXT("1"), &error);
  rocksdb_transactiondb_put(db, writes, TEXT("b"), TEXT("2"), &error);
  must("put");
  rocksdb_transaction_t* one = rocksdb_transaction_begin(db, writes, plain, NULL);
  several_reads(db, one);
  put_in(one, "none", "there now");
  commit("commit", one);
  rocksdb_transaction_destroy(one);
  rocksdb_t* base = rocksdb_transactiondb_get_base_db(db);
  get(base, "a");
  get(base, "none");
  uint64_t snapshots = 77;
  printf("a property: %d\n", rocksdb_property_int(base, "rocksdb.num-snapshots", &snapshots));
  number("snapshots", snapshots);
  rocksdb_column_family_handle_t* family =
      rocksdb_transactiondb_create_column_family(db, options, "family", &error);
  result("create a family");
  rocksdb_transactiondb_put_cf(db, writes, family, TEXT("key"), TEXT("value"), &error);
  result("put");
  rocksdb_column_family_handle_t* both[] = {family,
                                            rocksdb_get_default_column_family_handle(base)};
  rocksdb_flushoptions_t* flushes = rocksdb_flushoptions_create();
  rocksdb_transactiondb_flush_cfs(db, flushes, both, 2, &error);
  result("flush both families");
  rocksdb_flushoptions_destroy(flushes);
  size_t length = 0;
  char* found = rocksdb_transactiondb_get_cf(db, reads, family, TEXT("key"), &length, &error);
  value("key", found, length);
  rocksdb_column_family_handle_destroy(both[1]);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_transactiondb_close_base_db(base);
  rocksdb_transactiondb_close(db);
  rocksdb_transaction_options_destroy(plain);
  rocksdb_transactiondb_options_destroy(locking);
  rocksdb_options_destroy(options);
  return finish();
}
