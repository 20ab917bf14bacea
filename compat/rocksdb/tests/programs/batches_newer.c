/* Batches: handlers of families, limits, timestamps, and pinned reads of a batch with an index. */

#include "check.h"
#include "joining.h"

static void seen_put(void* state, uint32_t family, const char* key, size_t key_length,
                     const char* text, size_t length) {
  (void)state;
  printf("  family %u, put ", family);
  quote(key, key_length);
  bytes("", text, length);
}

static void seen_delete(void* state, uint32_t family, const char* key, size_t key_length) {
  (void)state;
  printf("  family %u, delete", family);
  bytes("", key, key_length);
}

static void seen_merge(void* state, uint32_t family, const char* key, size_t key_length,
                       const char* text, size_t length) {
  (void)state;
  printf("  family %u, merge ", family);
  quote(key, key_length);
  bytes("", text, length);
}

static void handlers(rocksdb_column_family_handle_t* family) {
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, TEXT("a"), TEXT("1"));
  rocksdb_writebatch_put_cf(batch, family, TEXT("b"), TEXT("2"));
  rocksdb_writebatch_merge(batch, TEXT("c"), TEXT("3"));
  rocksdb_writebatch_merge_cf(batch, family, TEXT("d"), TEXT("4"));
  rocksdb_writebatch_delete(batch, TEXT("e"));
  rocksdb_writebatch_delete_cf(batch, family, TEXT("f"));
  rocksdb_writebatch_put_log_data(batch, TEXT("note"));
  rocksdb_writebatch_iterate_cf(batch, NULL, seen_put, seen_delete, seen_merge);
  rocksdb_writebatch_destroy(batch);
}

static void limits(rocksdb_t* db) {
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create_with_params(0, 0, 0, 0);
  rocksdb_writebatch_put(batch, TEXT("limits"), TEXT("value"));
  number("count", (uint64_t)rocksdb_writebatch_count(batch));
  rocksdb_write(db, writes, batch, &error);
  result("write");
  get(db, "limits");
  rocksdb_writebatch_destroy(batch);
  batch = rocksdb_writebatch_create_with_params(0, 40, 0, 0);
  rocksdb_writebatch_put(batch, TEXT("small"), TEXT("value"));
  number("within 40 bytes", (uint64_t)rocksdb_writebatch_count(batch));
  rocksdb_writebatch_put(batch, TEXT("large"), TEXT("a value that is too long for the batch"));
  number("the second is left out", (uint64_t)rocksdb_writebatch_count(batch));
  rocksdb_write(db, writes, batch, &error);
  result("write");
  get(db, "small");
  get(db, "large");
  rocksdb_writebatch_destroy(batch);
}

static int by_bytes(void* state, const char* left, size_t left_length, const char* right,
                    size_t right_length) {
  (void)state;
  const size_t shorter = left_length < right_length ? left_length : right_length;
  const int order = memcmp(left, right, shorter);
  return order != 0 ? order : (left_length > right_length) - (left_length < right_length);
}

static const char* name_of_order(void* state) {
  (void)state;
  return "by bytes";
}

static void pinned_in_both(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  rocksdb_comparator_t* order =
      rocksdb_comparator_create(NULL, nothing, by_bytes, name_of_order);
  rocksdb_writebatch_wi_t* batch =
      rocksdb_writebatch_wi_create_with_params(order, 0, 1, 0, 0);
  put(db, "p1", "of the database");
  put(db, "p2", "of the database");
  rocksdb_put_cf(db, writes, family, TEXT("p1"), TEXT("of the family"), &error);
  must("put");
  rocksdb_writebatch_wi_put(batch, TEXT("p1"), TEXT("of the batch"));
  rocksdb_writebatch_wi_delete_cf(batch, family, TEXT("p1"));
  pinned("p1", rocksdb_writebatch_wi_get_pinned_from_batch_and_db(batch, db, reads, TEXT("p1"),
                                                                 &error));
  pinned("p2", rocksdb_writebatch_wi_get_pinned_from_batch_and_db(batch, db, reads, TEXT("p2"),
                                                                 &error));
  rocksdb_pinnableslice_t* none = rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(
      batch, db, reads, family, TEXT("p1"), &error);
  printf("p1 of the family: %s\n", none == NULL ? "NULL" : "a slice");
  rocksdb_readoptions_t* bounded = rocksdb_readoptions_create();
  rocksdb_readoptions_set_iterate_upper_bound(bounded, TEXT("p2"));
  walk("below p2", rocksdb_writebatch_wi_create_iterator_with_base_readopts(
                       batch, rocksdb_create_iterator(db, bounded), bounded));
  walk("of the family", rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
                            batch, rocksdb_create_iterator_cf(db, bounded, family), family,
                            bounded));
  rocksdb_readoptions_destroy(bounded);
  rocksdb_writebatch_wi_destroy(batch);
  rocksdb_comparator_destroy(order);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  rocksdb_t* db = opened(options, "db");
  rocksdb_column_family_handle_t* family =
      rocksdb_create_column_family(db, options, "family", &error);
  must("create");
  handlers(family);
  limits(db);
  pinned_in_both(db, family);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return finish();
}
