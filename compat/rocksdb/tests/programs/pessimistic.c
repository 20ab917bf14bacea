/* Pessimistic transactions: locks, time-outs, deadlocks, snapshots and savepoints. */

#include <pthread.h>
#include <time.h>

#include "transactions.h"
#include "joining.h"

static rocksdb_transactiondb_t* db;
static rocksdb_transaction_options_t* plain;

static rocksdb_transaction_t* begun(void) {
  return rocksdb_transaction_begin(db, writes, plain, NULL);
}

static void outside_put(const char* what, const char* key, const char* text) {
  rocksdb_transactiondb_put(db, writes, TEXT(key), TEXT(text), &error);
  result(what);
}

static void outside(const char* key) {
  size_t length = 0;
  char* found = rocksdb_transactiondb_get(db, reads, TEXT(key), &length, &error);
  value(key, found, length);
}

static void all(const char* what) {
  walk(what, rocksdb_transactiondb_create_iterator(db, reads));
}

static void own_writes(void) {
  outside_put("put", "a", "of the database");
  rocksdb_transaction_t* one = begun();
  get_in(one, "a");
  put_in(one, "a", "of the transaction");
  put_in(one, "b", "new");
  rocksdb_transaction_merge(one, TEXT("a"), TEXT("merged"), &error);
  result("merge");
  rocksdb_transaction_delete(one, TEXT("c"), &error);
  result("delete");
  get_in(one, "a");
  outside("a");
  walk_in("inside", one);
  all("outside");
  commit("commit", one);
  all("committed");
  rocksdb_transaction_destroy(one);
  one = begun();
  put_in(one, "a", "rolled back");
  roll_back("roll back", one);
  outside("a");
  commit("commit after a rollback", one);
  rocksdb_transaction_destroy(one);
  one = begun();
  put_in(one, "a", "dropped");
  rocksdb_transaction_destroy(one);
  outside_put("the lock of a destroyed transaction is free", "a", "again");
}

static void locks(void) {
  rocksdb_transaction_t* one = begun();
  rocksdb_transaction_t* two = begun();
  put_in(one, "locked", "of one");
  rocksdb_transaction_put(two, TEXT("locked"), TEXT("of two"), &error);
  result("put over a lock");
  rocksdb_transaction_delete(two, TEXT("locked"), &error);
  result("delete over a lock");
  rocksdb_transaction_merge(two, TEXT("locked"), TEXT("of two"), &error);
  result("merge over a lock");
  get_for_update("read a locked key for update", two, "locked", 1);
  get_in(two, "locked");
  outside_put("put from outside over a lock", "locked", "from outside");
  rocksdb_transactiondb_delete(db, writes, TEXT("locked"), &error);
  result("delete from outside over a lock");
  put_in(two, "free", "of two");
  commit("one", one);
  rocksdb_transaction_put(two, TEXT("locked"), TEXT("of two"), &error);
  result("put after the commit");
  commit("two", two);
  outside("locked");
  outside("free");
  rocksdb_transaction_destroy(one);
  rocksdb_transaction_destroy(two);
}

static void shared_locks(void) {
  rocksdb_transaction_t* one = begun();
  rocksdb_transaction_t* two = begun();
  get_for_update("one shares", one, "locked", 0);
  get_for_update("two shares", two, "locked", 0);
  rocksdb_transaction_put(one, TEXT("locked"), TEXT("of one"), &error);
  result("one cannot write");
  roll_back("two lets go", two);
  rocksdb_transaction_put(one, TEXT("locked"), TEXT("of one"), &error);
  result("one writes");
  get_for_update("two cannot share", two, "locked", 0);
  commit("one", one);
  get_for_update("two shares", two, "locked", 0);
  commit("two", two);
  rocksdb_transaction_destroy(one);
  rocksdb_transaction_destroy(two);
}

static void snapshots(void) {
  rocksdb_transaction_options_t* options = rocksdb_transaction_options_create();
  rocksdb_transaction_options_set_set_snapshot(options, 1);
  rocksdb_transaction_t* one = rocksdb_transaction_begin(db, writes, options, NULL);
  outside_put("put from outside", "s", "after the snapshot");
  get_in(one, "s");
  const rocksdb_snapshot_t* snapshot = rocksdb_transaction_get_snapshot(one);
  rocksdb_readoptions_set_snapshot(reads, snapshot);
  get_in(one, "s");
  rocksdb_readoptions_set_snapshot(reads, NULL);
  rocksdb_free((void*)(uintptr_t)snapshot);
  rocksdb_transaction_put(one, TEXT("s"), TEXT("of one"), &error);
  result("put a key that changed since the snapshot");
  get_for_update("read it for update", one, "s", 1);
  rocksdb_transaction_put(one, TEXT("t"), TEXT("of one"), &error);
  result("put another key");
  commit("commit", one);
  outside("s");
  outside("t");
  rocksdb_transaction_destroy(one);
  rocksdb_transaction_options_destroy(options);
}

static void savepoints(void) {
  rocksdb_transaction_t* one = begun();
  rocksdb_transaction_t* two = begun();
  rocksdb_transaction_rollback_to_savepoint(one, &error);
  kind("roll back without a savepoint");
  put_in(one, "p1", "1");
  rocksdb_transaction_set_savepoint(one);
  put_in(one, "p2", "2");
  rocksdb_transaction_put(two, TEXT("p2"), TEXT("of two"), &error);
  result("the lock after a savepoint holds");
  rocksdb_transaction_rollback_to_savepoint(one, &error);
  result("roll back");
  rocksdb_transaction_put(two, TEXT("p2"), TEXT("of two"), &error);
  result("the rollback frees it");
  rocksdb_transaction_put(two, TEXT("p1"), TEXT("of two"), &error);
  result("but not the lock before");
  walk_in("inside one", one);
  commit("one", one);
  commit("two", two);
  outside("p1");
  outside("p2");
  rocksdb_transaction_destroy(one);
  rocksdb_transaction_destroy(two);
}

static void names(void) {
  rocksdb_transaction_t* one = begun();
  rocksdb_transaction_t* two = begun();
  size_t length = 77;
  rocksdb_transaction_prepare(one, &error);
  result("prepare without a name");
  rocksdb_transaction_set_name(one, TEXT("first"), &error);
  result("name");
  char* name = rocksdb_transaction_get_name(one, &length);
  bytes("its name", name, length);
  rocksdb_free(name);
  rocksdb_transaction_set_name(one, TEXT("another"), &error);
  result("name it again");
  rocksdb_transaction_set_name(two, TEXT("first"), &error);
  kind("a name that is taken");
  rocksdb_transaction_set_name(two, TEXT(""), &error);
  result("an empty name");
  put_in(one, "n", "1");
  commit("commit without a prepare", one);
  outside("n");
  rocksdb_transaction_set_name(two, TEXT("first"), &error);
  result("the name is free again");
  rocksdb_transaction_destroy(one);
  rocksdb_transaction_destroy(two);
}

static void after_the_end(void) {
  rocksdb_transaction_t* one = begun();
  put_in(one, "end", "1");
  commit("commit", one);
  commit("commit again", one);
  roll_back("roll back after the commit", one);
  one = rocksdb_transaction_begin(db, writes, plain, one);
  get_in(one, "end");
  put_in(one, "end", "2");
  commit("the handle begun again", one);
  outside("end");
  rocksdb_transaction_destroy(one);
}

/* The other end of a deadlock. */
static void* other_end(void* argument) {
  rocksdb_transaction_t* two = argument;
  char* failure = NULL;
  // It waits for the first key, and gets it when the first transaction gives up.
  rocksdb_transaction_put(two, TEXT("dead 1"), TEXT("of two"), &failure);
  rocksdb_transaction_commit(two, &failure);
  return failure;
}

/* One of two transactions that wait for each other is told so. */
static void deadlocks(void) {
  rocksdb_transaction_options_t* detecting = rocksdb_transaction_options_create();
  rocksdb_transaction_options_set_deadlock_detect(detecting, 1);
  rocksdb_transaction_options_set_lock_timeout(detecting, 20000);
  rocksdb_transaction_t* one = rocksdb_transaction_begin(db, writes, detecting, NULL);
  rocksdb_transaction_t* two = rocksdb_transaction_begin(db, writes, detecting, NULL);
  put_in(one, "dead 1", "of one");
  put_in(two, "dead 2", "of two");
  pthread_t thread;
  if (pthread_create(&thread, NULL, other_end, two) != 0) exit(1);
  const struct timespec pause = {0, 300 * 1000 * 1000};
  nanosleep(&pause, NULL);
  rocksdb_transaction_put(one, TEXT("dead 2"), TEXT("of one"), &error);
  result("a deadlock");
  roll_back("roll back", one);
  void* failure = NULL;
  pthread_join(thread, &failure);
  error = failure;
  result("the other end");
  outside("dead 1");
  outside("dead 2");
  rocksdb_transaction_destroy(one);
  rocksdb_transaction_destroy(two);
  rocksdb_transaction_options_destroy(detecting);
}

/* A transaction that expired loses its locks. */
static void expiry(void) {
  rocksdb_transaction_options_t* short_lived = rocksdb_transaction_options_create();
  rocksdb_transaction_options_set_expiration(short_lived, 50);
  rocksdb_transaction_t* one = rocksdb_transaction_begin(db, writes, short_lived, NULL);
  put_in(one, "expired", "of one");
  const struct timespec pause = {0, 200 * 1000 * 1000};
  nanosleep(&pause, NULL);
  outside_put("put over an expired lock", "expired", "from outside");
  rocksdb_transaction_commit(one, &error);
  result("commit an expired transaction");
  outside("expired");
  rocksdb_transaction_destroy(one);
  rocksdb_transaction_options_destroy(short_lived);
}

static void limits(void) {
  rocksdb_transaction_options_t* small = rocksdb_transaction_options_create();
  rocksdb_transaction_options_set_max_write_batch_size(small, 60);
  rocksdb_transaction_t* one = rocksdb_transaction_begin(db, writes, small, NULL);
  rocksdb_transaction_put(one, TEXT("l1"), TEXT("0123456789"), &error);
  result("a small write");
  rocksdb_transaction_put(one, TEXT("l2"), TEXT("01234567890123456789012345678901234567890"),
                          &error);
  kind("too large a batch");
  commit("commit the small write", one);
  outside("l1");
  outside("l2");
  rocksdb_transaction_destroy(one);
  rocksdb_transaction_options_destroy(small);
}

static void batches(void) {
  rocksdb_transaction_t* one = begun();
  put_in(one, "w1", "locked");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, TEXT("w2"), TEXT("of a batch"));
  rocksdb_transactiondb_write(db, writes, batch, &error);
  result("a batch beside a transaction");
  rocksdb_writebatch_put(batch, TEXT("w1"), TEXT("of a batch"));
  rocksdb_transactiondb_write(db, writes, batch, &error);
  result("a batch over a lock");
  commit("commit", one);
  outside("w1");
  outside("w2");
  rocksdb_writebatch_destroy(batch);
  rocksdb_transaction_destroy(one);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  rocksdb_transactiondb_options_t* locking = rocksdb_transactiondb_options_create();
  rocksdb_transactiondb_options_set_transaction_lock_timeout(locking, 50);
  rocksdb_transactiondb_options_set_default_lock_timeout(locking, 50);
  plain = rocksdb_transaction_options_create();
  db = rocksdb_transactiondb_open(options, locking, path_of("db"), &error);
  result("open");
  own_writes();
  locks();
  shared_locks();
  snapshots();
  savepoints();
  names();
  after_the_end();
  deadlocks();
  expiry();
  limits();
  batches();
  all("at the end");
  rocksdb_transactiondb_close(db);
  rocksdb_transaction_options_destroy(plain);
  rocksdb_transactiondb_options_destroy(locking);
  rocksdb_options_destroy(options);
  return finish();
}
