/* Optimistic transactions: they lock nothing, and look for conflicts when they commit. */

#include "transactions.h"
#include "joining.h"

static rocksdb_optimistictransactiondb_t* transactions;
static rocksdb_t* db;
static rocksdb_optimistictransaction_options_t* plain;

static rocksdb_transaction_t* begun(void) {
  return rocksdb_optimistictransaction_begin(transactions, writes, plain, NULL);
}

static void own_writes(void) {
  put(db, "a", "of the database");
  rocksdb_transaction_t* one = begun();
  get_in(one, "a");
  get_in(one, "b");
  put_in(one, "a", "of the transaction");
  put_in(one, "b", "of the transaction");
  get_in(one, "a");
  get(db, "a");
  get(db, "b");
  rocksdb_transaction_delete(one, TEXT("a"), &error);
  result("delete");
  get_in(one, "a");
  rocksdb_transaction_merge(one, TEXT("m"), TEXT("1"), &error);
  result("merge");
  rocksdb_transaction_merge(one, TEXT("m"), TEXT("2"), &error);
  result("merge");
  get_in(one, "m");
  pinned("b, pinned", rocksdb_transaction_get_pinned(one, reads, TEXT("b"), &error));
  walk_in("inside", one);
  entries("outside", db);
  commit("commit", one);
  entries("committed", db);
  rocksdb_transaction_destroy(one);
  one = begun();
  put_in(one, "c", "rolled back");
  roll_back("roll back", one);
  get_in(one, "c");
  put_in(one, "d", "after a rollback");
  commit("commit after a rollback", one);
  rocksdb_transaction_destroy(one);
  one = begun();
  put_in(one, "e", "never committed");
  rocksdb_transaction_destroy(one);
  entries("entries", db);
}

static void conflicts(void) {
  rocksdb_transaction_t* one = begun();
  put_in(one, "x", "of one");
  put(db, "x", "from outside");
  rocksdb_transaction_commit(one, &error);
  result("commit over a later write");
  get(db, "x");
  rocksdb_transaction_destroy(one);
  one = begun();
  rocksdb_transaction_t* two = begun();
  put_in(one, "y", "of one");
  put_in(two, "y", "of two");
  commit("the first commits", one);
  commit("the second conflicts", two);
  get(db, "y");
  roll_back("roll back the second", two);
  put_in(two, "y", "of two");
  commit("the second once more", two);
  get(db, "y");
  rocksdb_transaction_destroy(one);
  rocksdb_transaction_destroy(two);
  one = begun();
  two = begun();
  put_in(one, "p", "of one");
  put_in(two, "q", "of two");
  commit("other keys: one", one);
  commit("other keys: two", two);
  rocksdb_transaction_destroy(one);
  rocksdb_transaction_destroy(two);
}

static void reads_that_count(void) {
  rocksdb_transaction_t* one = begun();
  get_in(one, "x");
  put(db, "x", "read, then changed");
  put_in(one, "z", "1");
  commit("a plain read does not count", one);
  rocksdb_transaction_destroy(one);
  one = begun();
  get_for_update("read for update", one, "x", 1);
  put(db, "x", "changed again");
  put_in(one, "z", "2");
  commit("a read for update counts", one);
  rocksdb_transaction_destroy(one);
  one = begun();
  get_for_update("read nothing for update", one, "absent", 1);
  put(db, "absent", "no more");
  put_in(one, "z", "3");
  commit("so does a read of nothing", one);
  rocksdb_transaction_destroy(one);
  get(db, "z");
}

static void snapshots(void) {
  rocksdb_optimistictransaction_options_t* options = rocksdb_optimistictransaction_options_create();
  rocksdb_optimistictransaction_options_set_set_snapshot(options, 1);
  rocksdb_transaction_t* one = rocksdb_optimistictransaction_begin(transactions, writes, options,
                                                                   NULL);
  put(db, "x", "after the snapshot");
  const rocksdb_snapshot_t* snapshot = rocksdb_transaction_get_snapshot(one);
  printf("snapshot: %s\n", snapshot == NULL ? "none" : "there");
  rocksdb_readoptions_set_snapshot(reads, snapshot);
  get_in(one, "x");
  rocksdb_readoptions_set_snapshot(reads, NULL);
  get_in(one, "x");
  put_in(one, "x", "of one");
  commit("a write after the snapshot conflicts", one);
  rocksdb_free((void*)(uintptr_t)snapshot);
  rocksdb_transaction_destroy(one);
  rocksdb_optimistictransaction_options_destroy(options);
}

static void savepoints(void) {
  rocksdb_transaction_t* one = begun();
  rocksdb_transaction_rollback_to_savepoint(one, &error);
  kind("roll back without a savepoint");
  put_in(one, "s1", "1");
  rocksdb_transaction_set_savepoint(one);
  put_in(one, "s2", "2");
  put_in(one, "s1", "changed");
  rocksdb_transaction_set_savepoint(one);
  put_in(one, "s3", "3");
  rocksdb_transaction_rollback_to_savepoint(one, &error);
  result("roll back to the second");
  walk_in("inside", one);
  rocksdb_transaction_rollback_to_savepoint(one, &error);
  result("roll back to the first");
  get_in(one, "s1");
  get_in(one, "s2");
  put(db, "s2", "no conflict");
  commit("commit", one);
  get(db, "s1");
  rocksdb_transaction_destroy(one);
}

/* A handle can serve one transaction after another. */
static void begun_again(void) {
  rocksdb_transaction_t* one = begun();
  put_in(one, "again", "1");
  commit("commit", one);
  one = rocksdb_optimistictransaction_begin(transactions, writes, plain, one);
  get_in(one, "again");
  put_in(one, "again", "2");
  commit("commit", one);
  get(db, "again");
  rocksdb_transaction_destroy(one);
}

static void writes_beside(void) {
  rocksdb_transaction_t* one = begun();
  put_in(one, "beside", "of one");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, TEXT("beside"), TEXT("of a batch"));
  rocksdb_optimistictransactiondb_write(transactions, writes, batch, &error);
  result("write beside a transaction");
  commit("commit", one);
  get(db, "beside");
  rocksdb_writebatch_destroy(batch);
  rocksdb_transaction_destroy(one);
}

static void families(const rocksdb_options_t* options) {
  const char* const names[] = {"default", "family"};
  const rocksdb_options_t* all[] = {options, options};
  rocksdb_column_family_handle_t* handles[2];
  transactions = rocksdb_optimistictransactiondb_open_column_families(
      options, path_of("families"), 2, names, all, handles, &error);
  result("open families");
  db = rocksdb_optimistictransactiondb_get_base_db(transactions);
  rocksdb_transaction_t* one = begun();
  rocksdb_transaction_put_cf(one, handles[1], TEXT("key"), TEXT("value"), &error);
  result("put into the family");
  size_t length = 0;
  char* found = rocksdb_transaction_get_cf(one, reads, handles[1], TEXT("key"), &length, &error);
  value("inside", found, length);
  get_in(one, "key");
  put_in(one, "key", "of the default family");
  rocksdb_transaction_merge_cf(one, handles[1], TEXT("key"), TEXT("more"), &error);
  result("merge into the family");
  rocksdb_transaction_delete_cf(one, handles[1], TEXT("none"), &error);
  result("delete in the family");
  walk("inside", rocksdb_transaction_create_iterator_cf(one, reads, handles[1]));
  get_cf(db, handles[1], "key");
  commit("commit", one);
  get_cf(db, handles[1], "key");
  get(db, "key");
  rocksdb_transaction_destroy(one);
  one = begun();
  rocksdb_transaction_put_cf(one, handles[1], TEXT("key"), TEXT("of one"), &error);
  put(db, "key", "no conflict: another family");
  commit("commit", one);
  rocksdb_transaction_destroy(one);
  one = begun();
  rocksdb_transaction_put_cf(one, handles[1], TEXT("key"), TEXT("of one"), &error);
  rocksdb_put_cf(db, writes, handles[1], TEXT("key"), TEXT("from outside"), &error);
  commit("commit", one);
  rocksdb_transaction_destroy(one);
  rocksdb_optimistictransactiondb_close_base_db(db);
  for (int i = 0; i < 2; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_optimistictransactiondb_close(transactions);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_options_set_create_missing_column_families(options, 1);
  rocksdb_options_set_merge_operator(options, joining());
  plain = rocksdb_optimistictransaction_options_create();
  transactions = rocksdb_optimistictransactiondb_open(options, path_of("db"), &error);
  result("open");
  db = rocksdb_optimistictransactiondb_get_base_db(transactions);
  own_writes();
  conflicts();
  reads_that_count();
  snapshots();
  savepoints();
  begun_again();
  writes_beside();
  rocksdb_optimistictransactiondb_close_base_db(db);
  rocksdb_optimistictransactiondb_close(transactions);
  families(options);
  db = opened(options, "db");
  entries("opened as a plain database", db);
  rocksdb_close(db);
  rocksdb_optimistictransaction_options_destroy(plain);
  rocksdb_options_destroy(options);
  return finish();
}
