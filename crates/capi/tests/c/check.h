// Checks of the C test programs. A check that fails ends the program with its line.

#ifndef FOLDB_TESTS_CHECK_H
#define FOLDB_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foldb.h"

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

static inline void ok(foldb_error_t *error, int line) {
  if (error == NULL) return;
  fprintf(stderr, "%s:%d: %s\n", __FILE__, line, foldb_error_message(error));
  exit(1);
}

#define OK(call) ok((call), __LINE__)

// The call fails with `code`, and its message contains `text`.
#define FAILS_WITH(expected, text, call)                                            \
  do {                                                                              \
    foldb_error_t *error_ = (call);                                                 \
    if (foldb_error_code(error_) != (expected) ||                                   \
        strstr(foldb_error_message(error_), (text)) == NULL) {                      \
      fprintf(stderr, "%s:%d: %d, %s\n", __FILE__, __LINE__,                        \
              (int)foldb_error_code(error_), foldb_error_message(error_));          \
      exit(1);                                                                      \
    }                                                                               \
    foldb_error_free(error_);                                                       \
  } while (0)

#define BYTES(text) (const uint8_t *)(text), strlen(text)

static inline void path_in(char *out, size_t size, const char *dir, const char *name) {
  CHECK((size_t)snprintf(out, size, "%s/%s", dir, name) < size);
}

// Returns whether the key's value is `expected`; NULL is no value.
static inline bool has(foldb_t *db, const char *key, const char *expected) {
  foldb_value_t *value;
  OK(foldb_get(db, NULL, NULL, BYTES(key), &value));
  bool same = expected == NULL ? value == NULL
                               : foldb_value_len(value) == strlen(expected) &&
                                     memcmp(foldb_value_data(value), expected,
                                            strlen(expected)) == 0;
  foldb_value_free(value);
  return same;
}

static inline void put(foldb_t *db, const char *key, const char *value) {
  OK(foldb_put(db, NULL, NULL, BYTES(key), BYTES(value)));
}

#endif
