/* Upkeep: waiting for compactions, limits of memory, listeners, and statistics. */

#include "check.h"

static void waits(rocksdb_t* db) {
  rocksdb_wait_for_compact_options_t* options = rocksdb_wait_for_compact_options_create();
  put(db, "a", "1");
  rocksdb_wait_for_compact_options_set_flush(options, 1);
  rocksdb_wait_for_compact(db, options, &error);
  result("wait");
  rocksdb_wait_for_compact_options_destroy(options);
  uint64_t entries = 77;
  printf("a property: %d\n",
         rocksdb_property_int(db, "rocksdb.num-entries-active-mem-table", &entries));
  number("entries that are not flushed", entries);
}

static void limits_of_memory(void) {
  rocksdb_options_t* options = creating();
  rocksdb_write_buffer_manager_t* manager = rocksdb_write_buffer_manager_create(8 << 20, false);
  number("size", rocksdb_write_buffer_manager_buffer_size(manager));
  printf("enabled: %d\n", rocksdb_write_buffer_manager_enabled(manager));
  printf("costs to a cache: %d\n", rocksdb_write_buffer_manager_cost_to_cache(manager));
  rocksdb_options_set_write_buffer_manager(options, manager);
  rocksdb_t* db = opened(options, "managed");
  put(db, "key", "value");
  get(db, "key");
  rocksdb_write_buffer_manager_set_buffer_size(manager, 4 << 20);
  number("size", rocksdb_write_buffer_manager_buffer_size(manager));
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_write_buffer_manager_destroy(manager);
}

struct seen {
  int flushes_begun;
  int flushes_completed;
  int compactions_completed;
  int tables_ingested;
};

static void nothing(void* state) { (void)state; }

static void flush_begun(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  (void)db, (void)info;
  ((struct seen*)state)->flushes_begun++;
}

static void flush_completed(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  size_t length = 0;
  (void)db;
  ((struct seen*)state)->flushes_completed++;
  const char* family = rocksdb_flushjobinfo_cf_name(info, &length);
  if (length != 7 || memcmp(family, "default", 7) != 0) printf("another family was flushed\n");
}

static void compaction_begun(void* state, rocksdb_t* db, const rocksdb_compactionjobinfo_t* info) {
  (void)state, (void)db, (void)info;
}

static void compaction_completed(void* state, rocksdb_t* db,
                                 const rocksdb_compactionjobinfo_t* info) {
  (void)db;
  ((struct seen*)state)->compactions_completed++;
  char* failure = NULL;
  rocksdb_compactionjobinfo_status(info, &failure);
  if (failure != NULL) printf("a compaction failed: %s\n", failure);
  rocksdb_free(failure);
}

static void part_of_compaction(void* state, const rocksdb_subcompactionjobinfo_t* info) {
  (void)state, (void)info;
}

static void table_ingested(void* state, rocksdb_t* db,
                           const rocksdb_externalfileingestioninfo_t* info) {
  (void)db, (void)info;
  ((struct seen*)state)->tables_ingested++;
}

static void background_error(void* state, uint32_t reason, rocksdb_status_ptr_t* status) {
  (void)state, (void)reason, (void)status;
  printf("an error in the background\n");
}

static void stalled(void* state, const rocksdb_writestallinfo_t* info) { (void)state, (void)info; }

static void sealed(void* state, const rocksdb_memtableinfo_t* info) { (void)state, (void)info; }

static void listeners(void) {
  struct seen seen = {0, 0, 0, 0};
  rocksdb_options_t* options = creating();
  rocksdb_eventlistener_t* listener = rocksdb_eventlistener_create(
      &seen, nothing, flush_begun, flush_completed, compaction_begun, compaction_completed,
      part_of_compaction, part_of_compaction, table_ingested, background_error, stalled, sealed);
  rocksdb_options_add_eventlistener(options, listener);
  rocksdb_t* db = opened(options, "listened");
  for (int round = 0; round < 3; round++) {
    put(db, "key", "value");
    flush(db);
  }
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  get(db, "key");
  rocksdb_close(db);
  printf("each flush was seen: %s\n",
         seen.flushes_begun >= 3 && seen.flushes_completed >= 3 ? "yes" : "no");
  printf("a compaction was seen: %s\n", seen.compactions_completed > 0 ? "yes" : "no");
  rocksdb_options_destroy(options);
}

static void statistics(void) {
  rocksdb_options_t* options = creating();
  rocksdb_options_enable_statistics(options);
  rocksdb_t* db = opened(options, "counted");
  put(db, "key", "value");
  get(db, "key");
  char* text = rocksdb_options_statistics_get_string(options);
  printf("statistics: %s\n", text != NULL && strlen(text) > 0 ? "there" : "none");
  rocksdb_free(text);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "db");
  waits(db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  limits_of_memory();
  listeners();
  statistics();
  return finish();
}
