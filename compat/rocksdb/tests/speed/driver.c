/* The C side of the speed comparison: fills, reads at random, reads in order, merges counters, with
 * RocksDB's default options. Prints the nanoseconds of an entry, in the order of the work, and
 * then what it counted.
 *
 *   driver DIRECTORY ENTRIES
 *
 * Invariant: the source is the same for every library. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "rocksdb/c.h"
#include "workload.h"

/* What the reads of a run found. */
struct counted {
  uint64_t found, pinned, seen, bytes, keys, sum;
};

static void check(const char* error) {
  if (error == NULL) return;
  fprintf(stderr, "driver: %s\n", error);
  exit(1);
}

static void print_since(double begin, uint64_t entries) {
  printf("%f\n", (nanoseconds() - begin) / (double)entries);
}

static rocksdb_t* opened(const char* parent, const char* name, rocksdb_options_t* options) {
  char directory[4096];
  snprintf(directory, sizeof directory, "%s/%s", parent, name);
  char* error = NULL;
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = rocksdb_open(options, directory, &error);
  check(error);
  return db;
}

static void fill(rocksdb_t* db, uint64_t* state, uint64_t entries) {
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  char* pool = malloc(POOL_VALUES * VALUE_BYTES);
  char key[KEY_BYTES];
  char* error = NULL;
  fill_pool(pool);
  const double begin = nanoseconds();
  for (uint64_t i = 0; i < entries; i++) {
    key_of(next_number(state) % entries, key);
    rocksdb_put(db, options, key, KEY_BYTES, value_of(pool, i), VALUE_BYTES, &error);
    check(error);
  }
  print_since(begin, entries);
  free(pool);
  rocksdb_writeoptions_destroy(options);
}

static void read_copies(rocksdb_t* db, rocksdb_readoptions_t* options, uint64_t* state,
                        uint64_t entries, struct counted* counted) {
  char key[KEY_BYTES];
  char* error = NULL;
  size_t length = 0;
  const double begin = nanoseconds();
  for (uint64_t i = 0; i < entries; i++) {
    key_of(next_number(state) % entries, key);
    char* value = rocksdb_get(db, options, key, KEY_BYTES, &length, &error);
    check(error);
    counted->found += value != NULL;
    rocksdb_free(value);
  }
  print_since(begin, entries);
}

static void read_pinned(rocksdb_t* db, rocksdb_readoptions_t* options, uint64_t* state,
                        uint64_t entries, struct counted* counted) {
  char key[KEY_BYTES];
  char* error = NULL;
  const double begin = nanoseconds();
  for (uint64_t i = 0; i < entries; i++) {
    key_of(next_number(state) % entries, key);
    rocksdb_pinnableslice_t* slice = rocksdb_get_pinned(db, options, key, KEY_BYTES, &error);
    check(error);
    size_t length = 0;
    rocksdb_pinnableslice_value(slice, &length);
    counted->pinned += length;
    rocksdb_pinnableslice_destroy(slice);
  }
  print_since(begin, entries);
}

static void scan(rocksdb_t* db, rocksdb_readoptions_t* options, struct counted* counted) {
  char* error = NULL;
  size_t key_length = 0, value_length = 0;
  const double begin = nanoseconds();
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, options);
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator);
       rocksdb_iter_next(iterator)) {
    rocksdb_iter_key(iterator, &key_length);
    rocksdb_iter_value(iterator, &value_length);
    counted->bytes += key_length + value_length;
    counted->seen++;
  }
  rocksdb_iter_get_error(iterator, &error);
  check(error);
  rocksdb_iter_destroy(iterator);
  print_since(begin, counted->seen);
}

/* Fills a database with values, and reads it. */
static void values(const char* directory, uint64_t entries, struct counted* counted) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  rocksdb_t* db = opened(directory, "values", options);
  uint64_t state = 1;
  fill(db, &state, entries);
  read_copies(db, read, &state, entries, counted);
  read_pinned(db, read, &state, entries, counted);
  scan(db, read, counted);
  rocksdb_close(db);
  rocksdb_readoptions_destroy(read);
  rocksdb_options_destroy(options);
}

/* Adds up the counters of a database, which proves that no merge was lost. */
static void add_up(rocksdb_t* db, struct counted* counted) {
  rocksdb_readoptions_t* options = rocksdb_readoptions_create();
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, options);
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator);
       rocksdb_iter_next(iterator)) {
    size_t length = 0;
    uint64_t counter = 0;
    const char* value = rocksdb_iter_value(iterator, &length);
    if (length == sizeof counter) memcpy(&counter, value, sizeof counter);
    counted->sum += counter;
    counted->keys++;
  }
  char* error = NULL;
  rocksdb_iter_get_error(iterator, &error);
  check(error);
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_destroy(options);
}

/* Merges into counters. */
static void counters(const char* directory, const char* name, rocksdb_options_t* options,
                     uint64_t entries, struct counted* counted) {
  rocksdb_t* db = opened(directory, name, options);
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  char key[KEY_BYTES];
  char* error = NULL;
  uint64_t state = 1;
  const double begin = nanoseconds();
  for (uint64_t i = 0; i < entries; i++) {
    const uint64_t operand = i % 8;
    key_of(next_number(&state) % entries, key);
    rocksdb_merge(db, write, key, KEY_BYTES, (const char*)&operand, sizeof operand, &error);
    check(error);
  }
  print_since(begin, entries);
  add_up(db, counted);
  rocksdb_close(db);
  rocksdb_writeoptions_destroy(write);
  rocksdb_options_destroy(options);
}

/* Adds operands up, as a program's own operator. */
static char* sum(const char* const* operands, const size_t* lengths, int count, uint64_t from,
                 unsigned char* success, size_t* new_length) {
  for (int i = 0; i < count; i++) {
    uint64_t operand = 0;
    if (lengths[i] == sizeof operand) memcpy(&operand, operands[i], sizeof operand);
    from += operand;
  }
  char* result = malloc(sizeof from);
  memcpy(result, &from, sizeof from);
  *success = 1;
  *new_length = sizeof from;
  return result;
}

static char* full_merge(void* state, const char* key, size_t key_length, const char* base,
                        size_t base_length, const char* const* operands, const size_t* lengths,
                        int count, unsigned char* success, size_t* new_length) {
  (void)state, (void)key, (void)key_length;
  uint64_t from = 0;
  if (base != NULL && base_length == sizeof from) memcpy(&from, base, sizeof from);
  return sum(operands, lengths, count, from, success, new_length);
}

static char* partial_merge(void* state, const char* key, size_t key_length,
                           const char* const* operands, const size_t* lengths, int count,
                           unsigned char* success, size_t* new_length) {
  (void)state, (void)key, (void)key_length;
  return sum(operands, lengths, count, 0, success, new_length);
}

static void drop_state(void* state) { (void)state; }

static const char* operator_name(void* state) {
  (void)state;
  return "sum";
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const uint64_t entries = strtoull(argv[2], NULL, 10);
  struct counted counted = {0};
  values(argv[1], entries, &counted);

  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_uint64add_merge_operator(options);
  counters(argv[1], "counters", options, entries, &counted);

  options = rocksdb_options_create();
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create(NULL, drop_state, full_merge, partial_merge, NULL,
                                            operator_name));
  counters(argv[1], "own_counters", options, entries, &counted);

  printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
         counted.found, counted.pinned, counted.seen, counted.bytes, counted.keys, counted.sum);
  return 0;
}
