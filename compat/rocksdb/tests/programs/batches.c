/* Batches: what they hold, their handlers, save points, and their bytes. */

#include "check.h"
#include "joining.h"

static const char state_of_handlers[] = "state";

static void seen_put(void* state, const char* key, size_t key_length, const char* text,
                     size_t length) {
  printf("  %s put ", (const char*)state);
  quote(key, key_length);
  bytes("", text, length);
}

static void seen_delete(void* state, const char* key, size_t key_length) {
  printf("  %s delete", (const char*)state);
  bytes("", key, key_length);
}

static void show(const char* what, rocksdb_writebatch_t* batch) {
  number(what, (uint64_t)rocksdb_writebatch_count(batch));
  rocksdb_writebatch_iterate(batch, (void*)(uintptr_t)state_of_handlers, seen_put, seen_delete);
}

static void written(const char* what, rocksdb_t* db, rocksdb_writebatch_t* batch) {
  rocksdb_write(db, writes, batch, &error);
  result(what);
}

static void order_decides(rocksdb_t* db) {
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  show("empty", batch);
  written("write an empty batch", db, batch);
  rocksdb_writebatch_put(batch, TEXT("a"), TEXT("first"));
  rocksdb_writebatch_delete(batch, TEXT("a"));
  rocksdb_writebatch_put(batch, TEXT("a"), TEXT("second"));
  rocksdb_writebatch_put(batch, TEXT("b"), TEXT("gone"));
  rocksdb_writebatch_delete(batch, TEXT("b"));
  rocksdb_writebatch_put(batch, TEXT(""), TEXT("of the empty key"));
  rocksdb_writebatch_put(batch, "nul\0key", 7, "nul\0value", 9);
  rocksdb_writebatch_put_log_data(batch, TEXT("not a record"));
  show("six records", batch);
  written("write", db, batch);
  entries("entries", db);
  written("write again", db, batch);
  rocksdb_writebatch_clear(batch);
  show("cleared", batch);
  rocksdb_writebatch_singledelete(batch, TEXT("a"));
  rocksdb_writebatch_merge(batch, TEXT("m"), TEXT("1"));
  rocksdb_writebatch_merge(batch, TEXT("m"), TEXT("2"));
  number("with merges", (uint64_t)rocksdb_writebatch_count(batch));
  written("write", db, batch);
  entries("entries", db);
  rocksdb_writebatch_destroy(batch);
}

static void deleted_ranges(rocksdb_t* db) {
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  const char* const begins[] = {"r1", "r5"};
  const char* const ends[] = {"r3", "r7"};
  const size_t lengths[] = {2, 2};
  for (char digit = '0'; digit <= '9'; digit++) {
    const char key[3] = {'r', digit, '\0'};
    rocksdb_writebatch_put(batch, TEXT(key), TEXT("value"));
  }
  rocksdb_writebatch_delete_range(batch, TEXT("r0"), TEXT("r1"));
  rocksdb_writebatch_delete_rangev(batch, 1, begins, lengths, ends, lengths);
  rocksdb_writebatch_put(batch, TEXT("r2"), TEXT("after"));
  rocksdb_writebatch_delete_range(batch, TEXT("r8"), TEXT("r8"));
  number("with ranges", (uint64_t)rocksdb_writebatch_count(batch));
  written("write", db, batch);
  entries("entries", db);
  compact(db);
  entries("entries after a compaction", db);
  rocksdb_writebatch_destroy(batch);
}

/* The lists of a call in parts are the parts of one key and of one value. */
static void keys_in_parts(rocksdb_t* db) {
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  const char* const keys[] = {"par", "ts"};
  const size_t key_lengths[] = {3, 2};
  const char* const values[] = {"x", "", "yz"};
  const size_t value_lengths[] = {1, 0, 2};
  rocksdb_writebatch_putv(batch, 2, keys, key_lengths, 3, values, value_lengths);
  rocksdb_writebatch_mergev(batch, 2, keys, key_lengths, 1, values, value_lengths);
  number("in parts", (uint64_t)rocksdb_writebatch_count(batch));
  written("write", db, batch);
  get(db, "parts");
  rocksdb_writebatch_clear(batch);
  rocksdb_writebatch_deletev(batch, 2, keys, key_lengths);
  show("a deletion in parts", batch);
  written("write", db, batch);
  get(db, "parts");
  rocksdb_writebatch_destroy(batch);
}

static void save_points(rocksdb_t* db) {
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_rollback_to_save_point(batch, &error);
  kind("roll back without a save point");
  rocksdb_writebatch_pop_save_point(batch, &error);
  kind("pop without a save point");
  rocksdb_writebatch_set_save_point(batch);
  rocksdb_writebatch_put(batch, TEXT("s1"), TEXT("1"));
  rocksdb_writebatch_set_save_point(batch);
  rocksdb_writebatch_put(batch, TEXT("s2"), TEXT("2"));
  rocksdb_writebatch_set_save_point(batch);
  rocksdb_writebatch_delete(batch, TEXT("s1"));
  rocksdb_writebatch_rollback_to_save_point(batch, &error);
  result("roll back a deletion");
  show("two puts", batch);
  rocksdb_writebatch_rollback_to_save_point(batch, &error);
  result("roll back the second put");
  show("one put", batch);
  rocksdb_writebatch_set_save_point(batch);
  rocksdb_writebatch_pop_save_point(batch, &error);
  result("pop");
  rocksdb_writebatch_put(batch, TEXT("s3"), TEXT("3"));
  show("two puts", batch);
  rocksdb_writebatch_rollback_to_save_point(batch, &error);
  result("roll back everything");
  show("empty", batch);
  rocksdb_writebatch_set_save_point(batch);
  rocksdb_writebatch_clear(batch);
  rocksdb_writebatch_rollback_to_save_point(batch, &error);
  kind("roll back after clear");
  written("write", db, batch);
  rocksdb_writebatch_destroy(batch);
}

/* The bytes of a batch are a public format: replication sends them. */
static void bytes_of_a_batch(rocksdb_t* db) {
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  size_t length = 0;
  const char* data = rocksdb_writebatch_data(batch, &length);
  bytes("bytes of the empty batch", data, length);
  rocksdb_writebatch_put(batch, TEXT("key"), TEXT("value"));
  rocksdb_writebatch_delete(batch, TEXT("other"));
  rocksdb_writebatch_merge(batch, TEXT("key"), TEXT("more"));
  rocksdb_writebatch_singledelete(batch, TEXT("once"));
  rocksdb_writebatch_delete_range(batch, TEXT("x"), TEXT("y"));
  rocksdb_writebatch_put_log_data(batch, TEXT("note"));
  data = rocksdb_writebatch_data(batch, &length);
  bytes("bytes", data, length);
  rocksdb_writebatch_t* copy = rocksdb_writebatch_create_from(data, length);
  number("count of the copy", (uint64_t)rocksdb_writebatch_count(copy));
  rocksdb_writebatch_destroy(batch);
  data = rocksdb_writebatch_data(copy, &length);
  bytes("bytes of the copy", data, length);
  written("write the copy", db, copy);
  get(db, "key");
  rocksdb_writebatch_destroy(copy);
}

/* The database is not used any more after a batch that could not be applied. */
static void broken_bytes(const rocksdb_options_t* options) {
  rocksdb_t* db = opened(options, "broken");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, TEXT("broken"), TEXT("value"));
  size_t length = 0;
  char data[64];
  const char* whole = rocksdb_writebatch_data(batch, &length);
  memcpy(data, whole, length < sizeof(data) ? length : sizeof(data));
  rocksdb_writebatch_t* shorter = rocksdb_writebatch_create_from(data, length - 1);
  rocksdb_write(db, writes, shorter, &error);
  kind("write a batch that is cut off");
  data[12] = 0x7f;
  rocksdb_writebatch_t* unknown = rocksdb_writebatch_create_from(data, length);
  rocksdb_write(db, writes, unknown, &error);
  kind("write a batch with an unknown record");
  get(db, "broken");
  rocksdb_writebatch_destroy(unknown);
  rocksdb_writebatch_destroy(shorter);
  rocksdb_writebatch_destroy(batch);
  rocksdb_close(db);
}

static void families(rocksdb_t* db, rocksdb_options_t* options) {
  rocksdb_column_family_handle_t* family =
      rocksdb_create_column_family(db, options, "second", &error);
  result("create a family");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, TEXT("key"), TEXT("in the default family"));
  rocksdb_writebatch_put_cf(batch, family, TEXT("key"), TEXT("in the second"));
  rocksdb_writebatch_put_cf(batch, family, TEXT("gone"), TEXT("value"));
  rocksdb_writebatch_put_cf(batch, family, TEXT("once"), TEXT("value"));
  rocksdb_writebatch_merge_cf(batch, family, TEXT("key"), TEXT("merged"));
  rocksdb_writebatch_delete_cf(batch, family, TEXT("gone"));
  rocksdb_writebatch_singledelete_cf(batch, family, TEXT("once"));
  rocksdb_writebatch_put_cf(batch, family, TEXT("x"), TEXT("value"));
  rocksdb_writebatch_delete_range_cf(batch, family, TEXT("x"), TEXT("y"));
  size_t length = 0;
  const char* data = rocksdb_writebatch_data(batch, &length);
  bytes("bytes with families", data, length);
  written("write to two families", db, batch);
  get(db, "key");
  walk("entries of the second", rocksdb_create_iterator_cf(db, reads, family));
  rocksdb_drop_column_family(db, family, &error);
  result("drop the family");
  rocksdb_writebatch_destroy(batch);
  rocksdb_column_family_handle_destroy(family);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  rocksdb_t* db = opened(options, "db");
  order_decides(db);
  deleted_ranges(db);
  keys_in_parts(db);
  save_points(db);
  bytes_of_a_batch(db);
  families(db, options);
  entries("entries at the end", db);
  rocksdb_close(db);
  broken_bytes(options);
  rocksdb_options_destroy(options);
  return finish();
}
