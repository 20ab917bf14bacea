/* Checkpoints: a copy that opens as a database, and does not follow the original. */

#include "check.h"

static void opened_and_shown(const rocksdb_options_t* options, const char* name) {
  rocksdb_t* db = rocksdb_open(options, path_of(name), &error);
  result(name);
  entries("entries", db);
  put(db, "only in the copy", "value");
  get(db, "only in the copy");
  rocksdb_close(db);
}

static void copied(rocksdb_t* db, const char* name, uint64_t log_size_for_flush) {
  rocksdb_checkpoint_t* checkpoint = rocksdb_checkpoint_object_create(db, &error);
  result("object");
  rocksdb_checkpoint_create(checkpoint, path_of(name), log_size_for_flush, &error);
  result(name);
  rocksdb_checkpoint_object_destroy(checkpoint);
}

static void wrong_place(rocksdb_t* db) {
  rocksdb_checkpoint_t* checkpoint = rocksdb_checkpoint_object_create(db, &error);
  result("object");
  rocksdb_checkpoint_create(checkpoint, path_of("copy 1"), 0, &error);
  kind("a checkpoint that is there already");
  rocksdb_checkpoint_object_destroy(checkpoint);
}

static void families(const rocksdb_options_t* options) {
  rocksdb_t* db = opened(options, "families");
  rocksdb_column_family_handle_t* family =
      rocksdb_create_column_family(db, options, "family", &error);
  must("create");
  rocksdb_put_cf(db, writes, family, TEXT("key"), TEXT("of the family"), &error);
  must("put");
  put(db, "key", "of the default family");
  copied(db, "copy of families", 0);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  const char* const names[] = {"default", "family"};
  const rocksdb_options_t* all[] = {options, options};
  rocksdb_column_family_handle_t* handles[2];
  db = rocksdb_open_column_families(options, path_of("copy of families"), 2, names, all, handles,
                                    &error);
  result("open the copy");
  get_cf(db, handles[0], "key");
  get_cf(db, handles[1], "key");
  for (int i = 0; i < 2; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "db");
  put(db, "in a file", "value");
  flush(db);
  put(db, "in the memtable", "value");
  copied(db, "copy 1", 0);
  copied(db, "copy 2", UINT64_MAX);
  wrong_place(db);
  put(db, "in the memtable", "changed");
  rocksdb_delete(db, writes, TEXT("in a file"), &error);
  must("delete");
  compact(db);
  opened_and_shown(options, "copy 1");
  opened_and_shown(options, "copy 2");
  entries("the original", db);
  rocksdb_close(db);
  families(options);
  rocksdb_destroy_db(options, path_of("db"), &error);
  result("destroy the original");
  opened_and_shown(options, "copy 1");
  rocksdb_options_destroy(options);
  return finish();
}
