/* Iterators: refreshing, and sequence numbers of snapshots. */

#include "check.h"

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "db");
  put(db, "a", "1");
  put(db, "b", "1");
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, reads);
  rocksdb_iter_seek_to_first(iterator);
  at("first", iterator);
  put(db, "a", "2");
  put(db, "c", "2");
  rocksdb_iter_seek_to_first(iterator);
  at("first, not refreshed", iterator);
  rocksdb_iter_refresh(iterator, &error);
  result("refresh");
  printf("valid: %d\n", rocksdb_iter_valid(iterator));
  rocksdb_iter_seek_to_first(iterator);
  at("first, refreshed", iterator);
  flush(db);
  rocksdb_delete(db, writes, TEXT("b"), &error);
  must("delete");
  rocksdb_iter_refresh(iterator, &error);
  result("refresh after a flush");
  walk("entries", iterator);
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  printf("number of the snapshot is the latest: %d\n",
         rocksdb_snapshot_get_sequence_number(snapshot) ==
             rocksdb_get_latest_sequence_number(db));
  put(db, "d", "3");
  printf("after a write it is one less: %d\n",
         rocksdb_snapshot_get_sequence_number(snapshot) + 1 ==
             rocksdb_get_latest_sequence_number(db));
  rocksdb_readoptions_t* at_snapshot = rocksdb_readoptions_create();
  rocksdb_readoptions_set_snapshot(at_snapshot, snapshot);
  rocksdb_readoptions_set_async_io(at_snapshot, 1);
  rocksdb_readoptions_set_auto_readahead_size(at_snapshot, 1);
  walk("at the snapshot", rocksdb_create_iterator(db, at_snapshot));
  rocksdb_readoptions_destroy(at_snapshot);
  rocksdb_release_snapshot(db, snapshot);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return finish();
}
