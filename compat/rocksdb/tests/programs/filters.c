/* Compaction filters: of the program, and made by a factory. */

#include "check.h"

static void nothing(void* state) { (void)state; }

static const char* name_of(void* state) {
  (void)state;
  return "filter";
}

/* Removes keys that begin with "gone", changes values "change", keeps the rest. */
static unsigned char filter(void* state, int level, const char* key, size_t key_length,
                            const char* existing, size_t existing_length, char** changed,
                            size_t* changed_length, unsigned char* is_changed) {
  static char text[] = "changed";
  (void)level;
  if (state != NULL) ++*(int*)state;
  if (key_length >= 4 && memcmp(key, "gone", 4) == 0) return 1;
  if (existing_length == 6 && memcmp(existing, "change", 6) == 0) {
    *changed = text;
    *changed_length = strlen(text);
    *is_changed = 1;
  }
  return 0;
}

static void fill(rocksdb_t* db) {
  put(db, "gone 1", "value");
  put(db, "gone 2", "change");
  put(db, "kept", "value");
  put(db, "other", "change");
  put(db, "deleted", "change");
  rocksdb_delete(db, writes, TEXT("deleted"), &error);
  must("delete");
}

static void own_filter(void) {
  rocksdb_options_t* options = creating();
  int calls = 0;
  rocksdb_compactionfilter_t* own =
      rocksdb_compactionfilter_create(&calls, nothing, filter, name_of);
  rocksdb_options_set_compaction_filter(options, own);
  rocksdb_t* db = opened(options, "own");
  fill(db);
  entries("written", db);
  compact(db);
  entries("compacted", db);
  printf("called: %s\n", calls > 0 ? "yes" : "no");
  put(db, "gone 3", "value");
  get(db, "gone 3");
  compact(db);
  get(db, "gone 3");
  rocksdb_close(db);
  db = opened(options, "own");
  entries("opened anew", db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_compactionfilter_destroy(own);
}

struct factory {
  int made;
  int destroyed;
  int filters_destroyed;
};

static void destroy_factory(void* state) { ((struct factory*)state)->destroyed++; }

static void destroy_filter(void* state) { ((struct factory*)state)->filters_destroyed++; }

static unsigned char filter_of_factory(void* state, int level, const char* key, size_t key_length,
                                       const char* existing, size_t existing_length,
                                       char** changed, size_t* changed_length,
                                       unsigned char* is_changed) {
  (void)state;
  return filter(NULL, level, key, key_length, existing, existing_length, changed, changed_length,
                is_changed);
}

static rocksdb_compactionfilter_t* make(void* state, rocksdb_compactionfiltercontext_t* context) {
  if (rocksdb_compactionfiltercontext_is_manual_compaction(context)) {
    ((struct factory*)state)->made++;
  }
  return rocksdb_compactionfilter_create(state, destroy_filter, filter_of_factory, name_of);
}

static void factory(void) {
  rocksdb_options_t* options = creating();
  struct factory counts = {0, 0, 0};
  rocksdb_options_set_compaction_filter_factory(
      options, rocksdb_compactionfilterfactory_create(&counts, destroy_factory, make, name_of));
  rocksdb_t* db = opened(options, "factory");
  fill(db);
  compact(db);
  entries("compacted", db);
  printf("made for a manual compaction: %s\n", counts.made > 0 ? "yes" : "no");
  rocksdb_close(db);
  printf("all filters destroyed: %s\n", counts.filters_destroyed >= counts.made ? "yes" : "no");
  rocksdb_options_destroy(options);
  number("factories destroyed", (uint64_t)counts.destroyed);
}

int main(int count, char** arguments) {
  start(count, arguments);
  own_filter();
  factory();
  return finish();
}
