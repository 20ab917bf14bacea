/* Iterators: both directions, seeks, bounds, prefixes, snapshots, tailing, and several at once. */

#include "check.h"

static void seek(const char* what, rocksdb_iterator_t* iterator, const char* key) {
  rocksdb_iter_seek(iterator, TEXT(key));
  at(what, iterator);
}

static void seek_for_prev(const char* what, rocksdb_iterator_t* iterator, const char* key) {
  rocksdb_iter_seek_for_prev(iterator, TEXT(key));
  at(what, iterator);
}

static void turns_and_seeks(rocksdb_t* db) {
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, reads);
  at("before a seek", iterator);
  seek("seek to a key", iterator, "c");
  seek("seek between keys", iterator, "cc");
  seek("seek before all", iterator, "");
  seek("seek after all", iterator, "z");
  seek_for_prev("seek back to a key", iterator, "c");
  seek_for_prev("seek back between keys", iterator, "cc");
  seek_for_prev("seek back before all", iterator, "A");
  seek_for_prev("seek back after all", iterator, "z");
  seek("seek", iterator, "c");
  rocksdb_iter_next(iterator);
  at("next", iterator);
  rocksdb_iter_prev(iterator);
  at("prev", iterator);
  rocksdb_iter_prev(iterator);
  at("prev", iterator);
  rocksdb_iter_next(iterator);
  at("next", iterator);
  rocksdb_iter_seek_to_first(iterator);
  at("first", iterator);
  rocksdb_iter_prev(iterator);
  at("before the first", iterator);
  rocksdb_iter_seek_to_last(iterator);
  at("last", iterator);
  rocksdb_iter_next(iterator);
  at("after the last", iterator);
  rocksdb_iter_destroy(iterator);
}

/* An iterator sees the database as it was when the program made it. */
static void sees_its_moment(rocksdb_t* db) {
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, reads);
  put(db, "bb", "written later");
  rocksdb_delete(db, writes, TEXT("d"), &error);
  must("delete");
  walk("the moment before", iterator);
  entries("the moment after", db);
  compact(db);
  entries("after a compaction", db);
}

static void bounds(rocksdb_t* db, const char* what, const char* lower, const char* upper) {
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  if (lower != NULL) rocksdb_readoptions_set_iterate_lower_bound(options, TEXT(lower));
  if (upper != NULL) rocksdb_readoptions_set_iterate_upper_bound(options, TEXT(upper));
  walk(what, rocksdb_create_iterator(db, options));
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, options);
  seek("  seek before", iterator, "a");
  seek("  seek inside", iterator, "c");
  seek("  seek after", iterator, "f");
  seek_for_prev("  seek back before", iterator, "a");
  seek_for_prev("  seek back inside", iterator, "c");
  seek_for_prev("  seek back after", iterator, "f");
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_destroy(options);
}

static void snapshots(rocksdb_t* db) {
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  put(db, "c", "changed");
  put(db, "cd", "new");
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_readoptions_set_snapshot(options, snapshot);
  walk("at the snapshot", rocksdb_create_iterator(db, options));
  rocksdb_readoptions_set_snapshot(options, NULL);
  walk("now", rocksdb_create_iterator(db, options));
  rocksdb_readoptions_destroy(options);
  rocksdb_release_snapshot(db, snapshot);
}

static void prefixes(void) {
  rocksdb_options_t* options = creating();
  rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create_fixed_prefix(2));
  rocksdb_t* db = opened(options, "prefixes");
  const char* const keys[] = {"aa1", "aa2", "ab1", "ab2", "ab3", "b0", "ba1"};
  for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) put(db, keys[i], keys[i]);
  for (int flushed = 0; flushed < 2; flushed++) {
    rocksdb_readoptions_t* same = rocksdb_readoptions_create();
    rocksdb_readoptions_set_prefix_same_as_start(same, 1);
    rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, same);
    for (seek("seek ab1", iterator, "ab1"); rocksdb_iter_valid(iterator);) {
      rocksdb_iter_next(iterator);
      at("  next", iterator);
    }
    seek("seek aa3", iterator, "aa3");
    seek("seek ac", iterator, "ac");
    seek("seek ba", iterator, "ba");
    for (seek_for_prev("seek back to ab9", iterator, "ab9"); rocksdb_iter_valid(iterator);) {
      rocksdb_iter_prev(iterator);
      at("  prev", iterator);
    }
    rocksdb_iter_destroy(iterator);
    rocksdb_readoptions_destroy(same);
    rocksdb_readoptions_t* total = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(total, 1);
    walk("in total order", rocksdb_create_iterator(db, total));
    iterator = rocksdb_create_iterator(db, total);
    seek("seek aa3", iterator, "aa3");
    rocksdb_iter_destroy(iterator);
    rocksdb_readoptions_destroy(total);
    flush(db);
  }
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

/* A tailing iterator sees what was written after it was made. */
static void tailing(void) {
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "tailing");
  rocksdb_readoptions_t* tail = rocksdb_readoptions_create();
  rocksdb_readoptions_set_tailing(tail, 1);
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, tail);
  seek("empty", iterator, "a");
  put(db, "a", "1");
  put(db, "b", "2");
  seek("after two writes", iterator, "a");
  rocksdb_iter_next(iterator);
  at("next", iterator);
  rocksdb_iter_next(iterator);
  at("end", iterator);
  flush(db);
  put(db, "c", "3");
  seek("after a flush and a write", iterator, "b");
  rocksdb_iter_next(iterator);
  at("next", iterator);
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_destroy(tail);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void families(void) {
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "families");
  rocksdb_column_family_handle_t* family[2];
  const char* const names[] = {"one", "two"};
  for (int i = 0; i < 2; i++) {
    family[i] = rocksdb_create_column_family(db, options, names[i], &error);
    must("create");
    rocksdb_put_cf(db, writes, family[i], TEXT("key"), TEXT(names[i]), &error);
    must("put");
    rocksdb_put_cf(db, writes, family[i], TEXT(names[i]), TEXT("value"), &error);
    must("put");
  }
  rocksdb_iterator_t* iterators[2];
  rocksdb_create_iterators(db, reads, family, iterators, 2, &error);
  result("iterators of two families");
  walk("one", iterators[0]);
  walk("two", iterators[1]);
  walk("default", rocksdb_create_iterator(db, reads));
  for (int i = 0; i < 2; i++) rocksdb_column_family_handle_destroy(family[i]);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

/* A pinned iterator gives the same entries; so do the options that only change how it reads. */
static void ways_to_read(rocksdb_t* db) {
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_readoptions_set_pin_data(options, 1);
  rocksdb_readoptions_set_fill_cache(options, 0);
  rocksdb_readoptions_set_verify_checksums(options, 1);
  rocksdb_readoptions_set_readahead_size(options, 1 << 20);
  rocksdb_readoptions_set_background_purge_on_iterator_cleanup(options, 1);
  rocksdb_readoptions_set_max_skippable_internal_keys(options, 0);
  rocksdb_readoptions_set_ignore_range_deletions(options, 0);
  walk("with other options", rocksdb_create_iterator(db, options));
  rocksdb_readoptions_destroy(options);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "db");
  entries("an empty database", db);
  const char* const keys[] = {"a", "b", "c", "d", "e"};
  for (size_t i = 0; i < 5; i++) put(db, keys[i], keys[i]);
  turns_and_seeks(db);
  flush(db);
  turns_and_seeks(db);
  sees_its_moment(db);
  bounds(db, "no bounds", NULL, NULL);
  bounds(db, "lower bound b", "b", NULL);
  bounds(db, "upper bound e", NULL, "e");
  bounds(db, "bounds b and e", "b", "e");
  bounds(db, "bounds bc and cc", "bc", "cc");
  bounds(db, "bounds x and y", "x", "y");
  snapshots(db);
  ways_to_read(db);
  prefixes();
  tailing();
  families();
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return finish();
}
