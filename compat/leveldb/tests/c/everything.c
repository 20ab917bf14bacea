/* Uses every function of leveldb/c.h and prints what it observes.
 *
 *   everything DIRECTORY
 *
 * Invariant: the output is the same with every library that behaves as LevelDB does. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leveldb/c.h"
#include "report.h"

static leveldb_options_t* creating(void) {
  leveldb_options_t* options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  return options;
}

static void versions(void) {
  number("major version", (uint64_t)leveldb_major_version());
  number("minor version", (uint64_t)leveldb_minor_version());
  number("no compression", leveldb_no_compression);
  number("snappy", leveldb_snappy_compression);
  leveldb_free(NULL);
}

static void errors(void) {
  char* error = NULL;
  leveldb_options_t* options = leveldb_options_create();
  yes_no("null", leveldb_open(options, path_of("opening"), &error) == NULL);
  /* The next failure frees this message and puts its own in its place. */
  leveldb_open(options, path_of("other"), &error);
  result("missing", &error);
  leveldb_options_set_create_if_missing(options, 1);
  leveldb_t* db = leveldb_open(options, path_of("opening"), &error);
  result("created", &error);
  yes_no("null", leveldb_open(options, path_of("opening"), &error) == NULL);
  result("open twice", &error);
  leveldb_destroy_db(options, path_of("opening"), &error);
  result("destroy while open", &error);
  leveldb_close(db);
  leveldb_options_set_error_if_exists(options, 1);
  leveldb_open(options, path_of("opening"), &error);
  result("exists", &error);
  leveldb_destroy_db(options, path_of("opening"), &error);
  result("destroy", &error);
  leveldb_destroy_db(options, path_of("opening"), &error);
  result("destroy of nothing", &error);
  leveldb_options_destroy(options);
  options = leveldb_options_create();
  leveldb_open(options, path_of("opening"), &error);
  result("gone", &error);
  leveldb_options_destroy(options);
}

static void note_put(void* state, const char* key, size_t key_length, const char* value,
                     size_t value_length) {
  ++*(int*)state;
  bytes("  put", key, key_length);
  bytes("    value", value, value_length);
}

static void note_deleted(void* state, const char* key, size_t length) {
  ++*(int*)state;
  bytes("  delete", key, length);
}

static void batches(leveldb_t* db, const leveldb_writeoptions_t* write) {
  char* error = NULL;
  int count = 0;
  leveldb_writebatch_t* batch = leveldb_writebatch_create();
  leveldb_writebatch_t* other = leveldb_writebatch_create();
  leveldb_writebatch_put(batch, "dropped", 7, "x", 1);
  leveldb_writebatch_clear(batch);
  leveldb_writebatch_put(batch, "a", 1, "1", 1);
  leveldb_writebatch_put(batch, "b\0b", 3, "2\0", 2);
  leveldb_writebatch_delete(batch, "a", 1);
  leveldb_writebatch_put(other, "", 0, "", 0);
  leveldb_writebatch_delete(other, "none", 4);
  leveldb_writebatch_append(batch, other);
  leveldb_writebatch_iterate(batch, &count, note_put, note_deleted);
  number("updates", (uint64_t)count);
  leveldb_write(db, write, batch, &error);
  result("write", &error);
  leveldb_writebatch_clear(batch);
  count = 0;
  leveldb_writebatch_iterate(batch, &count, note_put, note_deleted);
  number("updates after clear", (uint64_t)count);
  leveldb_write(db, write, batch, &error);
  result("write of nothing", &error);
  leveldb_writebatch_destroy(batch);
  leveldb_writebatch_destroy(other);
}

static void iterators(leveldb_t* db, const leveldb_readoptions_t* read) {
  leveldb_iterator_t* iterator = leveldb_create_iterator(db, read);
  at("new", iterator);
  const char* targets[] = {"", "a", "b", "c", "k0001", "k0005", "zz"};
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
    leveldb_iter_seek(iterator, targets[i], strlen(targets[i]));
    at(targets[i], iterator);
    if (!leveldb_iter_valid(iterator)) continue;
    leveldb_iter_next(iterator);
    at("  next", iterator);
    if (!leveldb_iter_valid(iterator)) continue;
    leveldb_iter_prev(iterator);
    at("  prev", iterator);
  }
  leveldb_iter_seek_to_first(iterator);
  at("first", iterator);
  leveldb_iter_prev(iterator);
  at("before the first", iterator);
  leveldb_iter_seek_to_last(iterator);
  at("last", iterator);
  leveldb_iter_next(iterator);
  at("after the last", iterator);
  char* error = NULL;
  leveldb_iter_get_error(iterator, &error);
  result("error", &error);
  leveldb_iter_destroy(iterator);
}

static void properties(leveldb_t* db) {
  const char* names[] = {"leveldb.num-files-at-level0",
                         "leveldb.num-files-at-level6",
                         "leveldb.num-files-at-level7",
                         "leveldb.stats",
                         "leveldb.sstables",
                         "leveldb.approximate-memory-usage",
                         "leveldb.unknown",
                         ""};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    char* value = leveldb_property_value(db, names[i]);
    yes_no(names[i], value != NULL);
    yes_no("  has text", value != NULL && value[0] != '\0');
    leveldb_free(value);
  }
}

static void ranges(leveldb_t* db) {
  const char* starts[] = {"k", "k", "x"};
  const char* limits[] = {"l", "k1000", "z"};
  const size_t start_lengths[] = {1, 1, 1}, limit_lengths[] = {1, 5, 1};
  uint64_t sizes[3] = {9, 9, 9};
  leveldb_compact_range(db, "k0", 2, "k1", 2);
  leveldb_compact_range(db, NULL, 0, "k1", 2);
  leveldb_compact_range(db, "k0", 2, NULL, 0);
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  leveldb_approximate_sizes(db, 3, starts, start_lengths, limits, limit_lengths, sizes);
  yes_no("all has a size", sizes[0] > 0);
  yes_no("half is smaller", sizes[1] < sizes[0] && sizes[1] > 0);
  number("nothing", sizes[2]);
}

static void database(void) {
  char* error = NULL;
  leveldb_env_t* env = leveldb_create_default_env();
  leveldb_cache_t* cache = leveldb_cache_create_lru(1 << 20);
  leveldb_filterpolicy_t* bloom = leveldb_filterpolicy_create_bloom(10);
  leveldb_options_t* options = creating();
  leveldb_options_set_env(options, env);
  leveldb_options_set_cache(options, cache);
  leveldb_options_set_filter_policy(options, bloom);
  leveldb_options_set_error_if_exists(options, 0);
  leveldb_options_set_paranoid_checks(options, 1);
  leveldb_options_set_info_log(options, NULL);
  leveldb_options_set_write_buffer_size(options, 100000);
  leveldb_options_set_max_open_files(options, 100);
  leveldb_options_set_block_size(options, 1024);
  leveldb_options_set_block_restart_interval(options, 8);
  leveldb_options_set_max_file_size(options, 1 << 20);
  leveldb_options_set_compression(options, leveldb_no_compression);
  leveldb_readoptions_t* read = leveldb_readoptions_create();
  leveldb_readoptions_set_verify_checksums(read, 1);
  leveldb_readoptions_set_fill_cache(read, 0);
  leveldb_writeoptions_t* write = leveldb_writeoptions_create();
  leveldb_t* db = leveldb_open(options, path_of("database"), &error);
  result("open", &error);
  get(db, read, "a", 1);
  leveldb_put(db, write, "a", 1, "old", 3, &error);
  leveldb_writeoptions_set_sync(write, 1);
  leveldb_put(db, write, "a", 1, "new\0!", 5, &error);
  result("put", &error);
  get(db, read, "a", 1);
  leveldb_put(db, write, "e", 1, "", 0, &error);
  get(db, read, "e", 1);
  leveldb_delete(db, write, "e", 1, &error);
  result("delete", &error);
  get(db, read, "e", 1);
  leveldb_writeoptions_set_sync(write, 0);
  batches(db, write);
  entries(db, read);

  const leveldb_snapshot_t* snapshot = leveldb_create_snapshot(db);
  leveldb_readoptions_t* old = leveldb_readoptions_create();
  leveldb_readoptions_set_snapshot(old, snapshot);
  char key[16], value[120];
  memset(value, 'v', sizeof(value));
  for (int i = 0; i < 2000; i++) {
    const int length = snprintf(key, sizeof(key), "k%04d", i * 7 % 2000);
    leveldb_put(db, write, key, (size_t)length, value, sizeof(value), &error);
  }
  result("puts", &error);
  ranges(db);
  properties(db);
  say("snapshot", "");
  entries(db, old);
  leveldb_release_snapshot(db, snapshot);
  leveldb_readoptions_set_snapshot(old, NULL);
  entries(db, old);
  iterators(db, read);
  leveldb_close(db);

  leveldb_repair_db(options, path_of("database"), &error);
  result("repair", &error);
  leveldb_repair_db(options, path_of("nothing/at all"), &error);
  yes_no("repair of nothing fails", error != NULL);
  leveldb_free(error);
  error = NULL;
  db = leveldb_open(options, path_of("database"), &error);
  result("open after repair", &error);
  entries(db, read);
  leveldb_close(db);

  char* directory = leveldb_env_get_test_directory(env);
  yes_no("test directory", directory != NULL && directory[0] == '/');
  leveldb_free(directory);
  leveldb_readoptions_destroy(old);
  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_destroy(write);
  leveldb_options_destroy(options);
  leveldb_filterpolicy_destroy(bloom);
  leveldb_cache_destroy(cache);
  leveldb_env_destroy(env);
}

/* A comparator and a filter policy of the program count their calls here. */
struct counts {
  int compared, created, asked, destroyed;
};

static void destroyed(void* state) { ((struct counts*)state)->destroyed++; }

static int compare_backward(void* state, const char* a, size_t a_length, const char* b,
                            size_t b_length) {
  ((struct counts*)state)->compared++;
  const int order = memcmp(b, a, a_length < b_length ? a_length : b_length);
  if (order != 0) return order;
  return a_length == b_length ? 0 : a_length < b_length ? 1 : -1;
}

static const char* comparator_name(void* state) {
  (void)state;
  return "test.Backward";
}

static char* create_filter(void* state, const char* const* keys, const size_t* lengths, int count,
                           size_t* length) {
  ((struct counts*)state)->created++;
  unsigned char* filter = calloc(32, 1);
  for (int i = 0; i < count; i++) {
    const unsigned char last = lengths[i] > 0 ? (unsigned char)keys[i][lengths[i] - 1] : 0;
    filter[last / 8] |= (unsigned char)(1 << last % 8);
  }
  *length = 32;
  return (char*)filter;
}

static uint8_t key_may_match(void* state, const char* key, size_t length, const char* filter,
                             size_t filter_length) {
  ((struct counts*)state)->asked++;
  const unsigned char last = length > 0 ? (unsigned char)key[length - 1] : 0;
  return filter_length != 32 || (filter[last / 8] >> last % 8 & 1);
}

static const char* filter_name(void* state) {
  (void)state;
  return "test.LastByte";
}

static void callbacks(void) {
  char* error = NULL;
  struct counts counts = {0, 0, 0, 0};
  leveldb_comparator_t* order =
      leveldb_comparator_create(&counts, destroyed, compare_backward, comparator_name);
  leveldb_filterpolicy_t* filter = leveldb_filterpolicy_create(
      &counts, destroyed, create_filter, key_may_match, filter_name);
  leveldb_options_t* options = creating();
  leveldb_options_set_comparator(options, order);
  leveldb_options_set_filter_policy(options, filter);
  leveldb_options_set_write_buffer_size(options, 1 << 16);
  leveldb_options_set_compression(options, leveldb_snappy_compression);
  leveldb_readoptions_t* read = leveldb_readoptions_create();
  leveldb_writeoptions_t* write = leveldb_writeoptions_create();
  leveldb_t* db = leveldb_open(options, path_of("callbacks"), &error);
  result("open", &error);
  char key[16];
  for (int i = 0; i < 3000; i++) {
    const int length = snprintf(key, sizeof(key), "k%d", i * 11 % 3000);
    leveldb_put(db, write, key, (size_t)length, key, (size_t)length, &error);
  }
  result("puts", &error);
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  for (int i = 2990; i < 3010; i++) {
    get(db, read, key, (size_t)snprintf(key, sizeof(key), "k%d", i));
  }
  get(db, read, "kx", 2);
  entries(db, read);
  leveldb_close(db);
  yes_no("compared", counts.compared > 0);
  yes_no("filters created", counts.created > 0);
  yes_no("filters asked", counts.asked > 0);
  leveldb_options_set_comparator(options, order);
  leveldb_options_t* bytewise = leveldb_options_create();
  yes_no("null", leveldb_open(bytewise, path_of("callbacks"), &error) == NULL);
  result("open as bytewise", &error);
  leveldb_options_destroy(bytewise);
  leveldb_options_destroy(options);
  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_destroy(write);
  number("destroyed before", (uint64_t)counts.destroyed);
  leveldb_comparator_destroy(order);
  leveldb_filterpolicy_destroy(filter);
  number("destroyed after", (uint64_t)counts.destroyed);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: everything DIRECTORY\n");
    return 2;
  }
  set_directory(argv[1]);
  versions();
  errors();
  database();
  callbacks();
  printf("every function was used\n");
  return 0;
}
