/* The keys and values of the speed comparisons, in C and C++; workload.rs has the same in Rust.
 *
 * Invariant: every driver writes and reads the same keys and values in the same order. */

#ifndef COMPAT_SPEED_WORKLOAD_H_
#define COMPAT_SPEED_WORKLOAD_H_

#include <stdint.h>
#include <string.h>
#include <time.h>

enum { KEY_BYTES = 16, VALUE_BYTES = 100, POOL_VALUES = 10000 };

/* Marsaglia's xorshift. */
static inline uint64_t next_number(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* A key of 16 digits. */
static inline void key_of(uint64_t number, char* key) {
  for (int i = KEY_BYTES - 1; i >= 0; i--) {
    key[i] = (char)('0' + number % 10);
    number /= 10;
  }
}

/* Fills the pool of values. Each value is 50 random bytes twice, so it shrinks to about a half. */
static inline void fill_pool(char* pool) {
  uint64_t state = 7;
  for (int i = 0; i < POOL_VALUES; i++) {
    char* value = pool + i * VALUE_BYTES;
    for (int at = 0; at < VALUE_BYTES / 2; at++) {
      value[at] = (char)(' ' + next_number(&state) % 95);
    }
    memcpy(value + VALUE_BYTES / 2, value, VALUE_BYTES / 2);
  }
}

static inline const char* value_of(const char* pool, uint64_t i) {
  return pool + i % POOL_VALUES * VALUE_BYTES;
}

static inline double nanoseconds(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

#endif
