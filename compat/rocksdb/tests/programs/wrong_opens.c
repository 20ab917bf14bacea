/* The texts of errors of databases that cannot be opened, and of calls with wrong arguments. */

#include "check.h"

static void open_fails(const char* what, const rocksdb_options_t* options, const char* name) {
  rocksdb_t* db = rocksdb_open(options, path_of(name), &error);
  if (db != NULL) rocksdb_close(db);
  result(what);
}

static void missing_and_existing(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  open_fails("missing", options, "missing");
  rocksdb_options_set_create_if_missing(options, 1);
  open_fails("create", options, "db");
  rocksdb_options_set_error_if_exists(options, 1);
  open_fails("exists", options, "db");
  rocksdb_options_destroy(options);
}

static void opened_twice(void) {
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "db");
  rocksdb_t* second = rocksdb_open(options, path_of("db"), &error);
  printf("second: %s\n", second == NULL ? "none" : "open");
  kind("opened twice");
  rocksdb_destroy_db(options, path_of("db"), &error);
  kind("destroy an open database");
  put(db, "still", "here");
  get(db, "still");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void families_not_named(void) {
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "families");
  rocksdb_column_family_handle_t* family = NULL;
  const char* const created[] = {"one", "two", "three"};
  for (int i = 0; i < 3; i++) {
    family = rocksdb_create_column_family(db, options, created[i], &error);
    result("create a family");
    rocksdb_column_family_handle_destroy(family);
  }
  // What a failed call returns is not to be used.
  rocksdb_create_column_family(db, options, "one", &error);
  result("create a family twice");
  rocksdb_create_column_family(db, options, "default", &error);
  result("create the default family");
  rocksdb_close(db);
  const char* const names[] = {"default", "one", "two", "three", "unknown"};
  const rocksdb_options_t* all[] = {options, options, options, options, options};
  rocksdb_column_family_handle_t* handles[5];
  db = rocksdb_open_column_families(options, path_of("families"), 3, names, all, handles, &error);
  result("open with two of three families");
  db = rocksdb_open_column_families(options, path_of("families"), 5, names, all, handles, &error);
  result("open with a family that is not there");
  db = rocksdb_open_column_families(options, path_of("families"), 1, names + 1, all, handles,
                                    &error);
  printf("database: %s\n", db == NULL ? "none" : "open");
  result("open without the default family");
  rocksdb_options_destroy(options);
}

static void read_only(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_t* db = rocksdb_open_for_read_only(options, path_of("nothing"), 0, &error);
  printf("database: %s\n", db == NULL ? "none" : "open");
  kind("read-only, missing");
  rocksdb_options_set_create_if_missing(options, 1);
  db = rocksdb_open_for_read_only(options, path_of("nothing"), 0, &error);
  printf("database: %s\n", db == NULL ? "none" : "open");
  kind("read-only, missing, and to be created");
  db = rocksdb_open_for_read_only(options, path_of("db"), 0, &error);
  result("read-only");
  get(db, "still");
  rocksdb_put(db, writes, TEXT("key"), TEXT("value"), &error);
  result("put");
  rocksdb_delete(db, writes, TEXT("key"), &error);
  result("delete");
  rocksdb_merge(db, writes, TEXT("key"), TEXT("value"), &error);
  kind("merge");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, TEXT("key"), TEXT("value"));
  rocksdb_write(db, writes, batch, &error);
  result("write");
  rocksdb_writebatch_destroy(batch);
  rocksdb_flushoptions_t* flushes = rocksdb_flushoptions_create();
  rocksdb_flush(db, flushes, &error);
  result("flush");
  rocksdb_flushoptions_destroy(flushes);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void lists_and_removals(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  size_t length = 77;
  rocksdb_list_column_families(options, path_of("nothing here"), &length, &error);
  kind("list the families of nothing");
  char** list = rocksdb_list_column_families(options, path_of("families"), &length, &error);
  result("list the families");
  for (size_t i = 0; i < length; i++) say("  family", list[i]);
  rocksdb_list_column_families_destroy(list, length);
  rocksdb_destroy_db(options, path_of("families"), &error);
  result("destroy");
  open_fails("open what was destroyed", options, "families");
  rocksdb_destroy_db(options, path_of("families"), &error);
  result("destroy again");
  rocksdb_options_destroy(options);
}

static void wrong_settings(void) {
  rocksdb_options_t* options = creating();
  rocksdb_options_set_unordered_write(options, 1);
  open_fails("unordered writes", options, "settings");
  rocksdb_options_destroy(options);
}

static void file_in_the_way(void) {
  rocksdb_options_t* options = creating();
  FILE* file = fopen(path_of("file"), "w");
  fputs("a file", file);
  fclose(file);
  rocksdb_t* db = rocksdb_open(options, path_of("file"), &error);
  printf("database: %s\n", db == NULL ? "none" : "open");
  kind("a file instead of a directory");
  db = rocksdb_open(options, path_of("file/below"), &error);
  printf("database: %s\n", db == NULL ? "none" : "open");
  kind("below a file");
  rocksdb_options_destroy(options);
}

static void dropped_families(void) {
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "dropped");
  rocksdb_column_family_handle_t* family =
      rocksdb_create_column_family(db, options, "family", &error);
  must("create");
  rocksdb_put_cf(db, writes, family, TEXT("key"), TEXT("value"), &error);
  must("put");
  rocksdb_drop_column_family(db, family, &error);
  result("drop");
  rocksdb_drop_column_family(db, family, &error);
  kind("drop again");
  rocksdb_column_family_handle_t* again =
      rocksdb_create_column_family(db, options, "family", &error);
  result("create again");
  get_cf(db, again, "key");
  rocksdb_column_family_handle_destroy(again);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void wrong_writes(void) {
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "writes");
  rocksdb_writeoptions_t* wrong = rocksdb_writeoptions_create();
  rocksdb_writeoptions_set_sync(wrong, 1);
  rocksdb_writeoptions_disable_WAL(wrong, 1);
  rocksdb_put(db, wrong, TEXT("key"), TEXT("value"), &error);
  result("sync without a log");
  rocksdb_writeoptions_destroy(wrong);
  rocksdb_column_family_handle_t* family =
      rocksdb_create_column_family(db, options, "family", &error);
  must("create");
  rocksdb_delete_range_cf(db, writes, family, TEXT("b"), TEXT("a"), &error);
  kind("delete a range whose end is before its begin");
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

int main(int count, char** arguments) {
  start(count, arguments);
  missing_and_existing();
  opened_twice();
  families_not_named();
  read_only();
  lists_and_removals();
  wrong_settings();
  file_in_the_way();
  dropped_families();
  wrong_writes();
  return finish();
}
