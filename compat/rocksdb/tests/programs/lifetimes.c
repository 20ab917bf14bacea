/* Databases whose entries have a lifetime. */

#include <time.h>

#include "check.h"

static rocksdb_t* open_it(const rocksdb_options_t* options, const char* name, int seconds) {
  rocksdb_t* db = rocksdb_open_with_ttl(options, path_of(name), seconds, &error);
  result("open");
  return db;
}

static void seconds_pass(int seconds) {
  const struct timespec pause = {seconds, 0};
  nanosleep(&pause, NULL);
}

static void long_lives(const rocksdb_options_t* options) {
  rocksdb_t* db = open_it(options, "long", 3600);
  put(db, "a", "value");
  put(db, "b", "");
  entries("entries", db);
  compact(db);
  entries("compacted", db);
  rocksdb_close(db);
  db = open_it(options, "long", 3600);
  entries("opened anew", db);
  pinned("a, pinned", rocksdb_get_pinned(db, reads, TEXT("a"), &error));
  rocksdb_close(db);
  // A lifetime of 0 never ends.
  db = open_it(options, "long", 0);
  compact(db);
  entries("without an end", db);
  rocksdb_close(db);
}

/* A compaction removes what is too old. Reads before it may see it still. */
static void short_lives(const rocksdb_options_t* options) {
  rocksdb_t* db = open_it(options, "short", 1);
  put(db, "old", "value");
  flush(db);
  seconds_pass(3);
  put(db, "fresh", "value");
  compact(db);
  get(db, "old");
  get(db, "fresh");
  rocksdb_close(db);
}

static void families(const rocksdb_options_t* options) {
  const char* const names[] = {"default", "short", "long"};
  const rocksdb_options_t* all[] = {options, options, options};
  const int lifetimes[] = {3600, 1, 3600};
  rocksdb_column_family_handle_t* handles[3];
  rocksdb_t* db = rocksdb_open_column_families_with_ttl(options, path_of("families"), 3, names,
                                                        all, handles, lifetimes, &error);
  result("open families");
  for (int i = 0; i < 3; i++) {
    rocksdb_put_cf(db, writes, handles[i], TEXT("key"), TEXT(names[i]), &error);
    must("put");
  }
  rocksdb_column_family_handle_t* made =
      rocksdb_create_column_family_with_ttl(db, options, "made", 1, &error);
  result("create a family with a lifetime");
  rocksdb_put_cf(db, writes, made, TEXT("key"), TEXT("made"), &error);
  must("put");
  get_cf(db, made, "key");
  rocksdb_flushoptions_t* flushes = rocksdb_flushoptions_create();
  for (int i = 0; i < 3; i++) rocksdb_flush_cf(db, flushes, handles[i], &error);
  rocksdb_flush_cf(db, flushes, made, &error);
  must("flush");
  rocksdb_flushoptions_destroy(flushes);
  seconds_pass(3);
  for (int i = 0; i < 3; i++) {
    rocksdb_compact_range_cf(db, handles[i], NULL, 0, NULL, 0);
    get_cf(db, handles[i], "key");
    rocksdb_column_family_handle_destroy(handles[i]);
  }
  rocksdb_compact_range_cf(db, made, NULL, 0, NULL, 0);
  get_cf(db, made, "key");
  rocksdb_column_family_handle_destroy(made);
  rocksdb_close(db);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_options_set_create_missing_column_families(options, 1);
  long_lives(options);
  short_lives(options);
  families(options);
  rocksdb_options_destroy(options);
  return finish();
}
