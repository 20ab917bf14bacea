/* The merges of leveldb/c.h, on the library that has them.

     merge_c DIRECTORY */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leveldb/c.h"

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);      \
      exit(1);                                                                     \
    }                                                                              \
  } while (0)

#define TEXT(text) (text), strlen(text)

static char* error = NULL;

static void check_ok(int line) {
  if (error == NULL) return;
  fprintf(stderr, "%s:%d: %s\n", __FILE__, line, error);
  exit(1);
}

#define OK check_ok(__LINE__)

/* The next call failed. */
static void check_failed(int line) {
  if (error == NULL) {
    fprintf(stderr, "%s:%d: no error\n", __FILE__, line);
    exit(1);
  }
  leveldb_free(error);
  error = NULL;
}

#define FAILED check_failed(__LINE__)

static leveldb_options_t* options;
static leveldb_readoptions_t* reading;
static leveldb_writeoptions_t* writing;

/* Returns whether the key has this value; NULL is none. */
static int has(leveldb_t* db, const char* key, const char* expected, size_t length) {
  size_t found = 0;
  char* value = leveldb_get(db, reading, TEXT(key), &found, &error);
  OK;
  int same = value == NULL || expected == NULL
                 ? value == NULL && expected == NULL
                 : found == length && memcmp(value, expected, length) == 0;
  leveldb_free(value);
  return same;
}

static void built_in(const char* path) {
  const char two[8] = {2}, six[8] = {6}, eight[8] = {8};
  leveldb_mergeoperator_t* add = leveldb_mergeoperator_create_builtin("uint64add");
  leveldb_options_set_merge_operator(options, add);
  leveldb_t* db = leveldb_open(options, path, &error);
  OK;
  for (int i = 0; i < 3; i++) {
    leveldb_merge(db, writing, TEXT("n"), two, 8, &error);
    OK;
  }
  CHECK(has(db, "n", six, 8));
  leveldb_close(db);
  leveldb_options_set_merge_operator(options, NULL);
  leveldb_mergeoperator_destroy(add);
  db = leveldb_open(options, path, &error);
  OK;
  leveldb_merge(db, writing, TEXT("n"), two, 8, &error);
  OK;
  CHECK(has(db, "n", eight, 8));
  leveldb_close(db);

  leveldb_mergeoperator_t* unknown = leveldb_mergeoperator_create_builtin("no.such");
  leveldb_options_set_merge_operator(options, unknown);
  CHECK(leveldb_open(options, path, &error) == NULL);
  FAILED;
  leveldb_options_set_merge_operator(options, NULL);
  leveldb_mergeoperator_destroy(unknown);
}

/* An operator that joins operands with its state between them. "bad" cannot be folded, and "none"
   deletes the key. */

static int joined(void* state, const char* key, size_t key_length, const char* base,
                  size_t base_length, const char* const* operands, const size_t* lengths,
                  size_t count, leveldb_mergeresult_t* result) {
  CHECK(key != NULL && key_length > 0 && count > 0);
  if (lengths[count - 1] == 3 && memcmp(operands[count - 1], "bad", 3) == 0) {
    return leveldb_merge_failed;
  }
  if (lengths[count - 1] == 4 && memcmp(operands[count - 1], "none", 4) == 0) {
    return leveldb_merge_delete;
  }
  if (base != NULL) leveldb_mergeresult_append(result, base, base_length);
  for (size_t i = 0; i < count; i++) {
    if (base != NULL || i > 0) leveldb_mergeresult_append(result, state, 1);
    leveldb_mergeresult_append(result, operands[i], lengths[i]);
  }
  return leveldb_merge_value;
}

static const char* join_name(void* state) {
  CHECK(*(char*)state == '+');
  return "test.join";
}

static int destroyed = 0;

static void join_destructor(void* state) {
  CHECK(*(char*)state == '+');
  destroyed++;
}

static char seen[256];

static void on_put(void* state, const char* k, size_t klen, const char* v, size_t vlen) {
  (void)state;
  sprintf(seen + strlen(seen), "put %.*s %.*s;", (int)klen, k, (int)vlen, v);
}

static void on_delete(void* state, const char* k, size_t klen) {
  (void)state;
  sprintf(seen + strlen(seen), "delete %.*s;", (int)klen, k);
}

static void on_merge(void* state, const char* k, size_t klen, const char* operand, size_t length) {
  (void)state;
  sprintf(seen + strlen(seen), "merge %.*s %.*s;", (int)klen, k, (int)length, operand);
}

static void own(const char* path) {
  char plus = '+';
  leveldb_mergeoperator_t* join =
      leveldb_mergeoperator_create(&plus, join_destructor, joined, NULL, join_name);
  leveldb_options_set_merge_operator(options, join);
  leveldb_t* db = leveldb_open(options, path, &error);
  OK;
  leveldb_writebatch_t* batch = leveldb_writebatch_create();
  leveldb_writebatch_put(batch, TEXT("k"), TEXT("a"));
  leveldb_writebatch_merge(batch, TEXT("k"), TEXT("b"));
  leveldb_writebatch_delete(batch, TEXT("gone"));
  leveldb_writebatch_iterate_with_merges(batch, NULL, on_put, on_delete, on_merge);
  CHECK(strcmp(seen, "put k a;merge k b;delete gone;") == 0);
  seen[0] = '\0';
  leveldb_writebatch_iterate(batch, NULL, on_put, on_delete);
  CHECK(strcmp(seen, "put k a;") == 0);
  leveldb_write(db, writing, batch, &error);
  OK;
  leveldb_writebatch_destroy(batch);
  CHECK(has(db, "k", TEXT("a+b")));
  leveldb_merge(db, writing, TEXT("k"), TEXT("c"), &error);
  OK;
  leveldb_compact_range(db, NULL, 0, NULL, 0);
  CHECK(has(db, "k", TEXT("a+b+c")));
  leveldb_merge(db, writing, TEXT("k"), TEXT("none"), &error);
  OK;
  CHECK(has(db, "k", NULL, 0));
  leveldb_merge(db, writing, TEXT("k"), TEXT("bad"), &error);
  OK;
  size_t length = 0;
  CHECK(leveldb_get(db, reading, TEXT("k"), &length, &error) == NULL);
  FAILED;
  leveldb_close(db);
  leveldb_options_set_merge_operator(options, NULL);
  CHECK(leveldb_open(options, path, &error) == NULL);
  FAILED;
  CHECK(destroyed == 0);
  leveldb_mergeoperator_destroy(join);
  CHECK(destroyed == 1);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  char path[4096];
  options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  reading = leveldb_readoptions_create();
  writing = leveldb_writeoptions_create();
  snprintf(path, sizeof path, "%s/builtin_c", argv[1]);
  built_in(path);
  snprintf(path, sizeof path, "%s/own_c", argv[1]);
  own(path);
  leveldb_options_destroy(options);
  leveldb_readoptions_destroy(reading);
  leveldb_writeoptions_destroy(writing);
  puts("every merge is as it should be");
  return 0;
}
