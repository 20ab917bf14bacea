// The C side of benches/overhead.rs: fills, reads at random, reads in order. Prints the nanoseconds
// of each operation, in the order of the work.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "foldb.h"

static void check(foldb_error_t *error) {
  if (error == NULL) return;
  fprintf(stderr, "driver: %s\n", foldb_error_message(error));
  exit(1);
}

static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

// The numbers of Marsaglia's xorshift, as in overhead.rs.
static uint64_t next(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

// A key of 16 digits.
static void key_of(uint64_t number, uint8_t key[16]) {
  for (int i = 15; i >= 0; i--) {
    key[i] = (uint8_t)('0' + number % 10);
    number /= 10;
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const uint64_t entries = strtoull(argv[2], NULL, 10);
  foldb_options_t *options = foldb_options_new();
  check(foldb_options_set(options, "create_if_missing", "true"));
  foldb_t *db;
  check(foldb_open(argv[1], options, &db));
  foldb_options_free(options);

  uint8_t key[16], value[100];
  memset(value, 'v', sizeof value);
  uint64_t state = 1;
  double begin = now();
  for (uint64_t i = 0; i < entries; i++) {
    key_of(next(&state) % entries, key);
    check(foldb_put(db, NULL, NULL, key, sizeof key, value, sizeof value));
  }
  printf("%f\n", (now() - begin) / (double)entries);

  check(foldb_compact(db, NULL, NULL, NULL));
  check(foldb_wait_for_background(db));
  uint64_t found = 0, bytes = 0;
  begin = now();
  for (uint64_t i = 0; i < entries; i++) {
    key_of(next(&state) % entries, key);
    int64_t len;
    check(foldb_get_into(db, NULL, NULL, key, sizeof key, value, sizeof value, &len));
    found += len >= 0;
  }
  printf("%f\n", (now() - begin) / (double)entries);

  state = 2;
  begin = now();
  for (uint64_t i = 0; i < entries; i++) {
    key_of(next(&state) % entries, key);
    foldb_value_t *own;
    check(foldb_get(db, NULL, NULL, key, sizeof key, &own));
    bytes += foldb_value_len(own);
    foldb_value_free(own);
  }
  printf("%f\n", (now() - begin) / (double)entries);

  foldb_iter_t *iter;
  uint64_t seen = 0;
  begin = now();
  check(foldb_iter(db, NULL, NULL, NULL, NULL, &iter));
  for (check(foldb_iter_seek_to_first(iter)); foldb_iter_valid(iter); check(foldb_iter_next(iter))) {
    const uint8_t *data;
    size_t key_len, len;
    foldb_iter_key(iter, &key_len);
    check(foldb_iter_value(iter, &data, &len));
    bytes += key_len + len;
    seen++;
  }
  printf("%f\n", (now() - begin) / (double)seen);
  foldb_iter_free(iter);
  check(foldb_close(db));
  return found > 0 && bytes > 0 ? 0 : 1;
}
