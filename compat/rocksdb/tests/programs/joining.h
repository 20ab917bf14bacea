/* A merge operator that joins its operands with commas. However the library groups the operands, a
 * reader sees the same value.
 *
 * An operand "fail" makes the full merge fail. */

#ifndef COMPAT_ROCKSDB_TESTS_JOINING_H_
#define COMPAT_ROCKSDB_TESTS_JOINING_H_

#include "check.h"

/* Returns the texts with a comma between each two. */
static inline char* joined(const char* const* texts, const size_t* lengths, int count,
                           size_t* length) {
  *length = count > 0 ? (size_t)count - 1 : 0;
  for (int i = 0; i < count; i++) *length += lengths[i];
  char* whole = malloc(*length + 1);
  char* end = whole;
  for (int i = 0; i < count; i++) {
    if (i > 0) *end++ = ',';
    memcpy(end, texts[i], lengths[i]);
    end += lengths[i];
  }
  return whole;
}

static inline char* join_with_value(void* state, const char* key, size_t key_length,
                                    const char* existing, size_t existing_length,
                                    const char* const* operands, const size_t* lengths, int count,
                                    unsigned char* success, size_t* length) {
  const char* texts[64];
  size_t all_lengths[64];
  int all = 0;
  (void)state, (void)key, (void)key_length;
  *success = 0;
  *length = 0;
  if (count > 63) return NULL;
  if (existing != NULL) {
    texts[all] = existing;
    all_lengths[all++] = existing_length;
  }
  for (int i = 0; i < count; i++) {
    if (lengths[i] == 4 && memcmp(operands[i], "fail", 4) == 0) return NULL;
    texts[all] = operands[i];
    all_lengths[all++] = lengths[i];
  }
  *success = 1;
  return joined(texts, all_lengths, all, length);
}

/* Leaves operands that fail to the full merge. */
static inline char* join_operands(void* state, const char* key, size_t key_length,
                                  const char* const* operands, const size_t* lengths, int count,
                                  unsigned char* success, size_t* length) {
  (void)state, (void)key, (void)key_length;
  *success = 0;
  *length = 0;
  for (int i = 0; i < count; i++) {
    if (lengths[i] == 4 && memcmp(operands[i], "fail", 4) == 0) return NULL;
  }
  *success = 1;
  return joined(operands, lengths, count, length);
}

static inline void free_joined(void* state, const char* text, size_t length) {
  (void)state, (void)length;
  free((char*)(uintptr_t)text);
}

static inline const char* joining_name(void* state) {
  (void)state;
  return "joining";
}

static inline void nothing(void* state) { (void)state; }

static inline rocksdb_mergeoperator_t* joining(void) {
  return rocksdb_mergeoperator_create(NULL, nothing, join_with_value, join_operands, free_joined,
                                      joining_name);
}

/* Merges an operand into the value of a key. */
static inline void merge(rocksdb_t* db, const char* key, const char* operand) {
  rocksdb_merge(db, writes, TEXT(key), TEXT(operand), &error);
  must("merge");
}

#endif
