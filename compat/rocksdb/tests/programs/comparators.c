/* Comparators: an order of the program's own, and opening with another one. */

#include "check.h"

static void nothing(void* state) { (void)state; }

/* Texts by length, then by bytes from the last to the first. */
static int by_length(void* state, const char* left, size_t left_length, const char* right,
                     size_t right_length) {
  (void)state;
  if (left_length != right_length) return left_length < right_length ? -1 : 1;
  for (size_t i = left_length; i > 0; i--) {
    if (left[i - 1] != right[i - 1]) {
      return (unsigned char)left[i - 1] < (unsigned char)right[i - 1] ? -1 : 1;
    }
  }
  return 0;
}

/* Letters of both cases are equal. */
static int without_case(void* state, const char* left, size_t left_length, const char* right,
                        size_t right_length) {
  (void)state;
  const size_t shorter = left_length < right_length ? left_length : right_length;
  for (size_t i = 0; i < shorter; i++) {
    const int order = (left[i] | 0x20) - (right[i] | 0x20);
    if (order != 0) return order;
  }
  return (left_length > right_length) - (left_length < right_length);
}

static const char* name_by_length(void* state) {
  (void)state;
  return "by length";
}

static const char* name_without_case(void* state) {
  (void)state;
  return "without case";
}

static void own_order(void) {
  rocksdb_options_t* options = creating();
  rocksdb_comparator_t* order =
      rocksdb_comparator_create(NULL, nothing, by_length, name_by_length);
  rocksdb_options_set_comparator(options, order);
  rocksdb_t* db = opened(options, "own");
  const char* const keys[] = {"bbb", "a", "", "zz", "za", "az", "c", "aab", "baa"};
  for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) put(db, keys[i], keys[i]);
  for (int round = 0; round < 2; round++) {
    entries("entries", db);
    rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, reads);
    rocksdb_iter_seek(iterator, TEXT("d"));
    at("seek d", iterator);
    rocksdb_iter_seek_for_prev(iterator, TEXT("d"));
    at("seek back d", iterator);
    rocksdb_iter_seek(iterator, TEXT("aaa"));
    at("seek aaa", iterator);
    rocksdb_iter_destroy(iterator);
    rocksdb_readoptions_t* bounded = rocksdb_readoptions_create();
    rocksdb_readoptions_set_iterate_lower_bound(bounded, TEXT("c"));
    rocksdb_readoptions_set_iterate_upper_bound(bounded, TEXT("aab"));
    walk("bounds", rocksdb_create_iterator(db, bounded));
    rocksdb_readoptions_destroy(bounded);
    compact(db);
  }
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_delete_range(batch, TEXT("c"), TEXT("az"));
  rocksdb_write(db, writes, batch, &error);
  result("delete a range in the own order");
  rocksdb_writebatch_destroy(batch);
  entries("entries", db);
  rocksdb_close(db);
  db = opened(options, "own");
  entries("opened anew", db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(order);
}

static void equal_keys(void) {
  rocksdb_options_t* options = creating();
  rocksdb_comparator_t* order =
      rocksdb_comparator_create(NULL, nothing, without_case, name_without_case);
  rocksdb_options_set_comparator(options, order);
  rocksdb_t* db = opened(options, "equal");
  put(db, "Key", "first");
  get(db, "kEY");
  put(db, "key", "second");
  get(db, "KEY");
  compact(db);
  get(db, "KEY");
  rocksdb_delete(db, writes, TEXT("kEy"), &error);
  result("delete");
  get(db, "Key");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(order);
}

static void another_order(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_t* db = rocksdb_open(options, path_of("own"), &error);
  printf("database: %s\n", db == NULL ? "none" : "open");
  kind("open with the order of bytes");
  rocksdb_comparator_t* order =
      rocksdb_comparator_create(NULL, nothing, without_case, name_without_case);
  rocksdb_options_set_comparator(options, order);
  db = rocksdb_open(options, path_of("own"), &error);
  printf("database: %s\n", db == NULL ? "none" : "open");
  kind("open with another order");
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(order);
}

int main(int count, char** arguments) {
  start(count, arguments);
  own_order();
  equal_keys();
  another_order();
  return finish();
}
