/* Snapshots: reads of an earlier moment, across writes, flushes and compactions. */

#include "check.h"
#include "joining.h"

static void at_snapshot(rocksdb_t* db, const rocksdb_snapshot_t* snapshot, const char* what) {
  rocksdb_readoptions_set_snapshot(reads, snapshot);
  printf("%s\n", what);
  get(db, "a");
  get(db, "b");
  get(db, "c");
  get(db, "m");
  pinned("a, pinned", rocksdb_get_pinned(db, reads, TEXT("a"), &error));
  entries("entries", db);
  rocksdb_readoptions_set_snapshot(reads, NULL);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  rocksdb_t* db = opened(options, "db");
  const rocksdb_snapshot_t* empty = rocksdb_create_snapshot(db);
  put(db, "a", "1");
  put(db, "b", "1");
  merge(db, "m", "1");
  const rocksdb_snapshot_t* first = rocksdb_create_snapshot(db);
  put(db, "a", "2");
  rocksdb_delete(db, writes, TEXT("b"), &error);
  must("delete");
  put(db, "c", "2");
  merge(db, "m", "2");
  const rocksdb_snapshot_t* second = rocksdb_create_snapshot(db);
  const rocksdb_snapshot_t* same = rocksdb_create_snapshot(db);
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_delete_range(batch, TEXT("a"), TEXT("z"));
  rocksdb_write(db, writes, batch, &error);
  must("delete a range");
  rocksdb_writebatch_destroy(batch);
  for (int round = 0; round < 3; round++) {
    at_snapshot(db, empty, "before all");
    at_snapshot(db, first, "the first");
    at_snapshot(db, second, "the second");
    at_snapshot(db, same, "the same");
    at_snapshot(db, NULL, "now");
    if (round == 0) flush(db);
    if (round == 1) rocksdb_compact_range(db, NULL, 0, NULL, 0);
  }
  rocksdb_release_snapshot(db, second);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  at_snapshot(db, first, "the first, with the second released");
  at_snapshot(db, same, "the same, with the second released");
  rocksdb_release_snapshot(db, empty);
  rocksdb_release_snapshot(db, first);
  rocksdb_release_snapshot(db, same);
  compact(db);
  at_snapshot(db, NULL, "now");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return finish();
}
