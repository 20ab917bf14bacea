/* The log of writes: every batch since a sequence number. */

#include "check.h"
#include "joining.h"

static void seen_put(void* state, const char* key, size_t key_length, const char* text,
                     size_t length) {
  (void)state;
  printf("  put ");
  quote(key, key_length);
  bytes("", text, length);
}

static void seen_delete(void* state, const char* key, size_t key_length) {
  (void)state;
  bytes("  delete", key, key_length);
}

/* The first batch may begin before the number. */
static void since(rocksdb_t* db, uint64_t number_of_first) {
  printf("since %llu\n", (unsigned long long)number_of_first);
  rocksdb_wal_iterator_t* iterator =
      rocksdb_get_updates_since(db, number_of_first, NULL, &error);
  if (error != NULL) {
    kind("updates");
    return;
  }
  for (; rocksdb_wal_iter_valid(iterator); rocksdb_wal_iter_next(iterator)) {
    uint64_t sequence = 0;
    rocksdb_writebatch_t* batch = rocksdb_wal_iter_get_batch(iterator, &sequence);
    number("  sequence", sequence);
    number("  records", (uint64_t)rocksdb_writebatch_count(batch));
    rocksdb_writebatch_iterate(batch, NULL, seen_put, seen_delete);
    rocksdb_writebatch_destroy(batch);
  }
  rocksdb_wal_iter_status(iterator, &error);
  kind("  status");
  rocksdb_wal_iter_destroy(iterator);
}

/* Applies the log of one database to another. */
static void replicate(rocksdb_t* from, rocksdb_t* to) {
  rocksdb_wal_iterator_t* iterator = rocksdb_get_updates_since(
      from, rocksdb_get_latest_sequence_number(to) + 1, NULL, &error);
  must("updates");
  for (; rocksdb_wal_iter_valid(iterator); rocksdb_wal_iter_next(iterator)) {
    uint64_t sequence = 0;
    rocksdb_writebatch_t* batch = rocksdb_wal_iter_get_batch(iterator, &sequence);
    rocksdb_write(to, writes, batch, &error);
    must("write");
    rocksdb_writebatch_destroy(batch);
  }
  rocksdb_wal_iter_destroy(iterator);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  rocksdb_options_set_WAL_ttl_seconds(options, 3600);
  rocksdb_t* db = opened(options, "db");
  number("latest", rocksdb_get_latest_sequence_number(db));
  put(db, "a", "1");
  number("latest", rocksdb_get_latest_sequence_number(db));
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, TEXT("b"), TEXT("2"));
  rocksdb_writebatch_delete(batch, TEXT("a"));
  rocksdb_writebatch_put(batch, TEXT("c"), TEXT("3"));
  rocksdb_write(db, writes, batch, &error);
  must("write");
  rocksdb_writebatch_destroy(batch);
  number("latest", rocksdb_get_latest_sequence_number(db));
  put(db, "d", "5");
  number("latest", rocksdb_get_latest_sequence_number(db));
  since(db, 0);
  since(db, 1);
  since(db, 2);
  since(db, 5);
  since(db, 100);
  rocksdb_t* copy = opened(options, "copy");
  replicate(db, copy);
  entries("the copy", copy);
  number("latest of the copy", rocksdb_get_latest_sequence_number(copy));
  put(db, "e", "6");
  replicate(db, copy);
  merge(db, "a", "7");
  rocksdb_delete(db, writes, TEXT("d"), &error);
  must("delete");
  replicate(db, copy);
  entries("the copy", copy);
  number("latest of the copy", rocksdb_get_latest_sequence_number(copy));
  entries("the original", db);
  rocksdb_close(copy);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return finish();
}
