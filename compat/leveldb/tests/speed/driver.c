/* The C side of the speed comparison; see driver.cc.
 *
 *   driver DIRECTORY ENTRIES
 *
 * Invariant: the source is the same for every library. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "leveldb/c.h"
#include "workload.h"

static void check(const char* error) {
  if (error == NULL) return;
  fprintf(stderr, "driver: %s\n", error);
  exit(1);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const uint64_t entries = strtoull(argv[2], NULL, 10);
  char* pool = malloc(POOL_VALUES * VALUE_BYTES);
  fill_pool(pool);
  char* error = NULL;
  leveldb_options_t* options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  leveldb_t* db = leveldb_open(options, argv[1], &error);
  check(error);

  leveldb_writeoptions_t* write = leveldb_writeoptions_create();
  leveldb_readoptions_t* read = leveldb_readoptions_create();
  char key[KEY_BYTES];
  uint64_t state = 1;
  double begin = nanoseconds();
  for (uint64_t i = 0; i < entries; i++) {
    key_of(next_number(&state) % entries, key);
    leveldb_put(db, write, key, KEY_BYTES, value_of(pool, i), VALUE_BYTES, &error);
    check(error);
  }
  printf("%f\n", (nanoseconds() - begin) / (double)entries);

  uint64_t found = 0, bytes = 0, seen = 0;
  size_t length = 0, value_length = 0;
  begin = nanoseconds();
  for (uint64_t i = 0; i < entries; i++) {
    key_of(next_number(&state) % entries, key);
    char* value = leveldb_get(db, read, key, KEY_BYTES, &length, &error);
    check(error);
    found += value != NULL;
    leveldb_free(value);
  }
  printf("%f\n", (nanoseconds() - begin) / (double)entries);

  begin = nanoseconds();
  leveldb_iterator_t* iterator = leveldb_create_iterator(db, read);
  for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator);
       leveldb_iter_next(iterator)) {
    leveldb_iter_key(iterator, &length);
    leveldb_iter_value(iterator, &value_length);
    bytes += length + value_length;
    seen++;
  }
  leveldb_iter_get_error(iterator, &error);
  check(error);
  leveldb_iter_destroy(iterator);
  printf("%f\n", (nanoseconds() - begin) / (double)seen);
  printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", found, seen, bytes);

  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_destroy(write);
  leveldb_close(db);
  leveldb_options_destroy(options);
  free(pool);
  return 0;
}
