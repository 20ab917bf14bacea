/* Single reads and writes: put, delete, single delete, and each way to get. */

#include "check.h"

static void single_writes(rocksdb_t* db) {
  get(db, "key");
  put(db, "key", "value");
  get(db, "key");
  put(db, "key", "");
  get(db, "key");
  rocksdb_put(db, writes, "nul\0key", 7, "nul\0value", 9, &error);
  result("put zero bytes");
  size_t length = 0;
  char* found = rocksdb_get(db, reads, "nul\0key", 7, &length, &error);
  value("get zero bytes", found, length);
  rocksdb_put(db, writes, "", 0, TEXT("of the empty key"), &error);
  result("put the empty key");
  get(db, "");
  rocksdb_delete(db, writes, TEXT("key"), &error);
  result("delete");
  get(db, "key");
  rocksdb_delete(db, writes, TEXT("never written"), &error);
  result("delete what is not there");
  put(db, "once", "value");
  rocksdb_singledelete(db, writes, TEXT("once"), &error);
  result("delete once");
  get(db, "once");
}

static void long_values(rocksdb_t* db) {
  const size_t size = 3 << 20;
  char* long_value = malloc(size);
  for (size_t i = 0; i < size; i++) long_value[i] = (char)(i * 7 + i / 251);
  rocksdb_put(db, writes, TEXT("long"), long_value, size, &error);
  result("put a long value");
  for (int flushed = 0; flushed < 2; flushed++) {
    size_t length = 0;
    char* found = rocksdb_get(db, reads, TEXT("long"), &length, &error);
    number("length", length);
    printf("same: %d\n", found != NULL && length == size && memcmp(found, long_value, size) == 0);
    rocksdb_free(found);
    flush(db);
  }
  rocksdb_put(db, writes, long_value, 70000, TEXT("of a long key"), &error);
  result("put a long key");
  size_t length = 0;
  char* found = rocksdb_get(db, reads, long_value, 70000, &length, &error);
  value("get a long key", found, length);
  rocksdb_delete(db, writes, long_value, 70000, &error);
  result("delete a long key");
  rocksdb_delete(db, writes, TEXT("long"), &error);
  result("delete a long value");
  free(long_value);
}

static void pinned_reads(rocksdb_t* db) {
  put(db, "pinned", "value");
  put(db, "empty", "");
  pinned("pinned", rocksdb_get_pinned(db, reads, TEXT("pinned"), &error));
  pinned("pinned empty", rocksdb_get_pinned(db, reads, TEXT("empty"), &error));
  rocksdb_pinnableslice_t* none = rocksdb_get_pinned(db, reads, TEXT("none"), &error);
  printf("pinned none: %s\n", none == NULL ? "NULL" : "a slice");
  flush(db);
  rocksdb_pinnableslice_t* kept = rocksdb_get_pinned(db, reads, TEXT("pinned"), &error);
  put(db, "pinned", "changed");
  compact(db);
  pinned("still pinned", kept);
  pinned("pinned anew", rocksdb_get_pinned(db, reads, TEXT("pinned"), &error));
}

#define KEYS 5

static void many_reads(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  const char* const keys[KEYS] = {"m1", "none", "m2", "m1", "m3"};
  const size_t sizes[KEYS] = {2, 4, 2, 2, 2};
  char* values[KEYS];
  size_t lengths[KEYS];
  char* errors[KEYS] = {NULL};
  put(db, "m1", "one");
  put(db, "m2", "");
  put(db, "m3", "three");
  rocksdb_multi_get(db, reads, KEYS, keys, sizes, values, lengths, errors);
  for (int i = 0; i < KEYS; i++) {
    error = errors[i];
    value(keys[i], values[i], lengths[i]);
  }
  rocksdb_put_cf(db, writes, family, TEXT("m1"), TEXT("one of the family"), &error);
  must("put");
  const rocksdb_column_family_handle_t* families[KEYS];
  for (int i = 0; i < KEYS; i++) families[i] = family;
  memset(errors, 0, sizeof(errors));
  rocksdb_multi_get_cf(db, reads, families, KEYS, keys, sizes, values, lengths, errors);
  for (int i = 0; i < KEYS; i++) {
    error = errors[i];
    value(keys[i], values[i], lengths[i]);
  }
  rocksdb_pinnableslice_t* slices[KEYS];
  memset(errors, 0, sizeof(errors));
  rocksdb_batched_multi_get_cf(db, reads, family, KEYS, keys, sizes, slices, errors, false);
  for (int i = 0; i < KEYS; i++) {
    error = errors[i];
    if (slices[i] == NULL && error == NULL) {
      printf("%s: no slice\n", keys[i]);
    } else {
      pinned(keys[i], slices[i]);
    }
  }
}

/* A key that is there may exist. One that is not there may exist too. */
static void may_exist(rocksdb_t* db) {
  put(db, "there", "value");
  char* found = NULL;
  size_t length = 0;
  unsigned char known = 7;
  printf("there: %d\n", rocksdb_key_may_exist(db, reads, TEXT("there"), &found, &length, NULL, 0,
                                              &known));
  if (known) {
    bytes("its value", found, length);
    rocksdb_free(found);
  }
  printf("there, without a value: %d\n",
         rocksdb_key_may_exist(db, reads, TEXT("there"), NULL, NULL, NULL, 0, NULL));
  rocksdb_delete(db, writes, TEXT("there"), &error);
  must("delete");
  printf("deleted: %d\n",
         rocksdb_key_may_exist(db, reads, TEXT("there"), NULL, NULL, NULL, 0, NULL));
}

static void ways_to_write(rocksdb_t* db) {
  rocksdb_writeoptions_t* options = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(options, 1);
  rocksdb_put(db, options, TEXT("w1"), TEXT("synced"), &error);
  result("a synced write");
  rocksdb_writeoptions_set_sync(options, 0);
  rocksdb_writeoptions_disable_WAL(options, 1);
  rocksdb_put(db, options, TEXT("w2"), TEXT("without the log"), &error);
  result("a write without the log");
  rocksdb_writeoptions_disable_WAL(options, 0);
  rocksdb_writeoptions_set_no_slowdown(options, 1);
  rocksdb_writeoptions_set_low_pri(options, 0);
  rocksdb_put(db, options, TEXT("w3"), TEXT("at once or never"), &error);
  result("a write that does not wait");
  rocksdb_writeoptions_destroy(options);
  rocksdb_flush_wal(db, 1, &error);
  result("flush the log");
  get(db, "w1");
  get(db, "w2");
  get(db, "w3");
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "db");
  rocksdb_column_family_handle_t* family =
      rocksdb_create_column_family(db, options, "family", &error);
  must("create");
  single_writes(db);
  long_values(db);
  pinned_reads(db);
  many_reads(db, family);
  may_exist(db);
  ways_to_write(db);
  entries("entries", db);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  const char* const names[] = {"default", "family"};
  const rocksdb_options_t* all[] = {options, options};
  rocksdb_column_family_handle_t* handles[2];
  db = rocksdb_open_column_families(options, path_of("db"), 2, names, all, handles, &error);
  result("open anew");
  entries("entries", db);
  walk("entries of the family", rocksdb_create_iterator_cf(db, reads, handles[1]));
  for (int i = 0; i < 2; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return finish();
}
