/* Batches with an index: reads from the batch, from both batch and database, and iterators. */

#include "check.h"
#include "joining.h"

static rocksdb_options_t* options;

static void from_batch(rocksdb_writebatch_wi_t* batch, const char* key) {
  size_t length = 0;
  char* found =
      rocksdb_writebatch_wi_get_from_batch(batch, options, TEXT(key), &length, &error);
  printf("batch ");
  value(key, found, length);
}

static void from_both(rocksdb_writebatch_wi_t* batch, rocksdb_t* db, const char* key) {
  size_t length = 0;
  char* found =
      rocksdb_writebatch_wi_get_from_batch_and_db(batch, db, reads, TEXT(key), &length, &error);
  printf("both ");
  value(key, found, length);
}

static void walk_both(const char* what, rocksdb_writebatch_wi_t* batch, rocksdb_t* db) {
  rocksdb_iterator_t* base = rocksdb_create_iterator(db, reads);
  walk(what, rocksdb_writebatch_wi_create_iterator_with_base(batch, base));
}

static void written_over(rocksdb_t* db, unsigned char overwrite) {
  printf("overwrite: %d\n", overwrite);
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, overwrite);
  number("count", (uint64_t)rocksdb_writebatch_wi_count(batch));
  from_batch(batch, "a");
  from_both(batch, db, "a");
  rocksdb_writebatch_wi_put(batch, TEXT("a"), TEXT("first"));
  rocksdb_writebatch_wi_put(batch, TEXT("a"), TEXT("second"));
  rocksdb_writebatch_wi_put(batch, TEXT("bb"), TEXT("new"));
  rocksdb_writebatch_wi_delete(batch, TEXT("c"));
  rocksdb_writebatch_wi_put(batch, TEXT("x"), TEXT("gone"));
  rocksdb_writebatch_wi_delete(batch, TEXT("x"));
  rocksdb_writebatch_wi_singledelete(batch, TEXT("d"));
  rocksdb_writebatch_wi_put(batch, TEXT("empty"), TEXT(""));
  number("count", (uint64_t)rocksdb_writebatch_wi_count(batch));
  const char* const keys[] = {"a", "b", "bb", "c", "d", "e", "empty", "x", "none"};
  for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
    from_batch(batch, keys[i]);
    from_both(batch, db, keys[i]);
  }
  walk_both("both", batch, db);
  rocksdb_iterator_t* iterator = rocksdb_writebatch_wi_create_iterator_with_base(
      batch, rocksdb_create_iterator(db, reads));
  rocksdb_iter_seek(iterator, TEXT("b"));
  at("seek b", iterator);
  rocksdb_iter_seek(iterator, TEXT("c"));
  at("seek c", iterator);
  rocksdb_iter_seek_for_prev(iterator, TEXT("d"));
  at("seek back d", iterator);
  rocksdb_iter_next(iterator);
  at("next", iterator);
  rocksdb_iter_prev(iterator);
  at("prev", iterator);
  rocksdb_iter_destroy(iterator);
  rocksdb_writebatch_wi_destroy(batch);
}

static void merge_in(rocksdb_writebatch_wi_t* batch, rocksdb_column_family_handle_t* family,
                     const char* key, const char* operand) {
  rocksdb_writebatch_wi_merge_cf(batch, family, TEXT(key), TEXT(operand));
}

/* A read of operands needs the operator of a column family, so each call names one. */
static void merges(rocksdb_t* db) {
  rocksdb_column_family_handle_t* family =
      rocksdb_create_column_family(db, options, "merges", &error);
  must("create");
  rocksdb_put_cf(db, writes, family, TEXT("b"), TEXT("of the database"), &error);
  rocksdb_put_cf(db, writes, family, TEXT("c"), TEXT("of the database"), &error);
  must("put");
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_writebatch_wi_put_cf(batch, family, TEXT("p"), TEXT("base"));
  merge_in(batch, family, "p", "1");
  merge_in(batch, family, "p", "2");
  merge_in(batch, family, "b", "3");
  merge_in(batch, family, "b", "4");
  rocksdb_writebatch_wi_delete_cf(batch, family, TEXT("c"));
  merge_in(batch, family, "c", "5");
  merge_in(batch, family, "nowhere", "6");
  const char* const keys[] = {"p", "b", "c", "nowhere"};
  for (size_t i = 0; i < 4; i++) {
    size_t length = 0;
    char* found = rocksdb_writebatch_wi_get_from_batch_cf(batch, options, family, TEXT(keys[i]),
                                                          &length, &error);
    printf("batch ");
    value(keys[i], found, length);
    found = rocksdb_writebatch_wi_get_from_batch_and_db_cf(batch, db, reads, family,
                                                           TEXT(keys[i]), &length, &error);
    printf("both ");
    value(keys[i], found, length);
  }
  rocksdb_iterator_t* base = rocksdb_create_iterator_cf(db, reads, family);
  walk("merges", rocksdb_writebatch_wi_create_iterator_with_base_cf(batch, base, family));
  rocksdb_write_writebatch_wi(db, writes, batch, &error);
  result("write");
  walk("written", rocksdb_create_iterator_cf(db, reads, family));
  rocksdb_writebatch_wi_destroy(batch);
  rocksdb_column_family_handle_destroy(family);
}

static void save_points(rocksdb_t* db) {
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_writebatch_wi_rollback_to_save_point(batch, &error);
  kind("roll back without a save point");
  rocksdb_writebatch_wi_put(batch, TEXT("a"), TEXT("kept"));
  rocksdb_writebatch_wi_set_save_point(batch);
  rocksdb_writebatch_wi_put(batch, TEXT("a"), TEXT("rolled back"));
  rocksdb_writebatch_wi_put(batch, TEXT("s"), TEXT("rolled back"));
  rocksdb_writebatch_wi_delete(batch, TEXT("e"));
  from_both(batch, db, "a");
  rocksdb_writebatch_wi_rollback_to_save_point(batch, &error);
  result("roll back");
  number("count", (uint64_t)rocksdb_writebatch_wi_count(batch));
  from_both(batch, db, "a");
  from_both(batch, db, "s");
  from_both(batch, db, "e");
  walk_both("rolled back", batch, db);
  rocksdb_writebatch_wi_clear(batch);
  number("cleared", (uint64_t)rocksdb_writebatch_wi_count(batch));
  walk_both("cleared", batch, db);
  rocksdb_writebatch_wi_destroy(batch);
}

static void seen_put(void* state, const char* key, size_t key_length, const char* text,
                     size_t length) {
  (void)state;
  printf("  put ");
  quote(key, key_length);
  bytes("", text, length);
}

static void seen_delete(void* state, const char* key, size_t key_length) {
  (void)state;
  bytes("  delete", key, key_length);
}

static void records(void) {
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, 0);
  const char* const keys[] = {"par", "ts"};
  const size_t lengths[] = {3, 2};
  rocksdb_writebatch_wi_put(batch, TEXT("a"), TEXT("1"));
  rocksdb_writebatch_wi_putv(batch, 2, keys, lengths, 2, keys, lengths);
  rocksdb_writebatch_wi_deletev(batch, 2, keys, lengths);
  rocksdb_writebatch_wi_put_log_data(batch, TEXT("note"));
  rocksdb_writebatch_wi_iterate(batch, NULL, seen_put, seen_delete);
  size_t length = 0;
  const char* data = rocksdb_writebatch_wi_data(batch, &length);
  bytes("bytes", data, length);
  rocksdb_writebatch_wi_destroy(batch);
}

static void families(rocksdb_t* db) {
  rocksdb_column_family_handle_t* family =
      rocksdb_create_column_family(db, options, "family", &error);
  must("create");
  rocksdb_put_cf(db, writes, family, TEXT("f1"), TEXT("of the database"), &error);
  must("put");
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_writebatch_wi_put_cf(batch, family, TEXT("f2"), TEXT("of the batch"));
  rocksdb_writebatch_wi_merge_cf(batch, family, TEXT("f1"), TEXT("merged"));
  rocksdb_writebatch_wi_delete_cf(batch, family, TEXT("f3"));
  rocksdb_writebatch_wi_put(batch, TEXT("f2"), TEXT("of the default family"));
  size_t length = 0;
  char* found = rocksdb_writebatch_wi_get_from_batch_cf(batch, options, family, TEXT("f2"),
                                                        &length, &error);
  value("batch f2", found, length);
  found = rocksdb_writebatch_wi_get_from_batch_and_db_cf(batch, db, reads, family, TEXT("f1"),
                                                         &length, &error);
  value("both f1", found, length);
  from_batch(batch, "f2");
  rocksdb_iterator_t* base = rocksdb_create_iterator_cf(db, reads, family);
  walk("family", rocksdb_writebatch_wi_create_iterator_with_base_cf(batch, base, family));
  rocksdb_write_writebatch_wi(db, writes, batch, &error);
  result("write");
  walk("family", rocksdb_create_iterator_cf(db, reads, family));
  rocksdb_writebatch_wi_destroy(batch);
  rocksdb_column_family_handle_destroy(family);
}

int main(int count, char** arguments) {
  start(count, arguments);
  options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  rocksdb_t* db = opened(options, "db");
  const char* const keys[] = {"a", "b", "c", "d", "e"};
  for (size_t i = 0; i < 5; i++) put(db, keys[i], "of the database");
  written_over(db, 0);
  written_over(db, 1);
  merges(db);
  save_points(db);
  records();
  families(db);
  entries("entries", db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return finish();
}
