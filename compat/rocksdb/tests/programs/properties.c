/* Properties, lists of files, and calls of upkeep. It prints no number that a machine decides. */

#include "check.h"

static void has(rocksdb_t* db, const char* name) {
  char* text = rocksdb_property_value(db, name);
  printf("%s: %s\n", name, text == NULL ? "none" : "there");
  rocksdb_free(text);
}

static void has_number(rocksdb_t* db, const char* name) {
  uint64_t seen = 0;
  printf("%s: %s\n", name, rocksdb_property_int(db, name, &seen) == 0 ? "a number" : "none");
}

static void exact(rocksdb_t* db, const char* name) {
  uint64_t seen = 77;
  if (rocksdb_property_int(db, name, &seen) != 0) {
    printf("%s: none\n", name);
  } else {
    number(name, seen);
  }
}

static void known_and_unknown(rocksdb_t* db) {
  const char* const texts[] = {
      "rocksdb.stats",   "rocksdb.num-files-at-level0", "rocksdb.num-files-at-level99",
      "rocksdb.unknown", "",                            "leveldb.stats"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) has(db, texts[i]);
  const char* const numbers[] = {
      "rocksdb.cur-size-all-mem-tables", "rocksdb.cur-size-active-mem-table",
      "rocksdb.size-all-mem-tables",     "rocksdb.estimate-num-keys",
      "rocksdb.estimate-live-data-size", "rocksdb.total-sst-files-size",
      "rocksdb.live-sst-files-size",     "rocksdb.block-cache-capacity",
      "rocksdb.block-cache-usage",       "rocksdb.unknown"};
  for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) has_number(db, numbers[i]);
}

static void counts(rocksdb_t* db) {
  exact(db, "rocksdb.num-snapshots");
  exact(db, "rocksdb.background-errors");
  exact(db, "rocksdb.is-write-stopped");
  exact(db, "rocksdb.is-file-deletions-enabled");
}

static void files(rocksdb_t* db) {
  const rocksdb_livefiles_t* list = rocksdb_livefiles(db);
  const int count = rocksdb_livefiles_count(list);
  number("files", (uint64_t)count);
  for (int i = 0; i < count; i++) {
    size_t length = 0;
    say("  family", rocksdb_livefiles_column_family_name(list, i));
    const char* key = rocksdb_livefiles_smallestkey(list, i, &length);
    bytes("  smallest", key, length);
    key = rocksdb_livefiles_largestkey(list, i, &length);
    bytes("  largest", key, length);
    number("  entries", rocksdb_livefiles_entries(list, i));
    number("  deletions", rocksdb_livefiles_deletions(list, i));
    printf("  a name: %s, a size: %s, a level: %s\n",
           strlen(rocksdb_livefiles_name(list, i)) > 0 ? "yes" : "no",
           rocksdb_livefiles_size(list, i) > 0 ? "yes" : "no",
           rocksdb_livefiles_level(list, i) >= 0 ? "yes" : "no");
  }
  rocksdb_livefiles_destroy(list);
}

/* Prints what the levels of a family hold together: which one holds a file is open. */
static void metadata(rocksdb_t* db) {
  rocksdb_column_family_metadata_t* family = rocksdb_get_column_family_metadata(db);
  char* name = rocksdb_column_family_metadata_get_name(family);
  say("name", name);
  rocksdb_free(name);
  number("files", rocksdb_column_family_metadata_get_file_count(family));
  size_t count = 0;
  uint64_t size = 0;
  const size_t levels = rocksdb_column_family_metadata_get_level_count(family);
  printf("levels: %s\n", levels > 0 ? "some" : "none");
  for (size_t i = 0; i < levels; i++) {
    rocksdb_level_metadata_t* level =
        rocksdb_column_family_metadata_get_level_metadata(family, i);
    if (rocksdb_level_metadata_get_level(level) != (int)i) printf("another level\n");
    size += rocksdb_level_metadata_get_size(level);
    const size_t here = rocksdb_level_metadata_get_file_count(level);
    count += here;
    for (size_t j = 0; j < here; j++) {
      rocksdb_sst_file_metadata_t* file =
          rocksdb_level_metadata_get_sst_file_metadata(level, j);
      size_t length = 0;
      char* key = rocksdb_sst_file_metadata_get_smallestkey(file, &length);
      bytes("  smallest", key, length);
      rocksdb_free(key);
      key = rocksdb_sst_file_metadata_get_largestkey(file, &length);
      bytes("  largest", key, length);
      rocksdb_free(key);
      char* file_name = rocksdb_sst_file_metadata_get_relative_filename(file);
      printf("  a name: %s, a size: %s\n", strlen(file_name) > 0 ? "yes" : "no",
             rocksdb_sst_file_metadata_get_size(file) > 0 ? "yes" : "no");
      rocksdb_free(file_name);
      rocksdb_sst_file_metadata_destroy(file);
    }
    rocksdb_level_metadata_destroy(level);
  }
  number("files of all levels", count);
  printf("sizes add up: %s\n",
         size == rocksdb_column_family_metadata_get_size(family) ? "yes" : "no");
  rocksdb_column_family_metadata_destroy(family);
}

static void sizes(rocksdb_t* db) {
  const char* const begins[] = {"a", "x"};
  const char* const ends[] = {"z", "y"};
  const size_t lengths[] = {1, 1};
  uint64_t found[2] = {77, 77};
  rocksdb_approximate_sizes(db, 2, begins, lengths, ends, lengths, found, &error);
  result("sizes");
  printf("of all: %s\n", found[0] > 0 ? "some" : "none");
  printf("of nothing: %s\n", found[1] > 0 ? "some" : "none");
}

static void upkeep(rocksdb_t* db) {
  rocksdb_suggest_compact_range(db, TEXT("a"), TEXT("z"), &error);
  result("suggest a compaction");
  rocksdb_compactoptions_t* options = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_exclusive_manual_compaction(options, 1);
  rocksdb_compactoptions_set_bottommost_level_compaction(options, 2);
  rocksdb_compact_range_opt(db, options, TEXT("a"), TEXT("z"));
  rocksdb_compactoptions_destroy(options);
  rocksdb_delete_file_in_range(db, TEXT("y"), TEXT("z"), &error);
  result("delete files in a range without any");
  rocksdb_disable_manual_compaction(db);
  rocksdb_enable_manual_compaction(db);
  entries("entries", db);
  rocksdb_cancel_all_background_work(db, 1);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_t* db = opened(options, "db");
  known_and_unknown(db);
  counts(db);
  files(db);
  put(db, "b", "1");
  put(db, "c", "2");
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  counts(db);
  rocksdb_release_snapshot(db, snapshot);
  flush(db);
  counts(db);
  files(db);
  metadata(db);
  sizes(db);
  put(db, "k", "3");
  upkeep(db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return finish();
}
