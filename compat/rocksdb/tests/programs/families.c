/* Column families: create, list, open, name, drop, and their own settings. */

#include "check.h"

static void list(const char* what, const rocksdb_options_t* options, const char* name) {
  size_t count = 0;
  char** names = rocksdb_list_column_families(options, path_of(name), &count, &error);
  must("list");
  number(what, count);
  for (size_t i = 0; i < count; i++) say("  family", names[i]);
  rocksdb_list_column_families_destroy(names, count);
}

static void put_cf(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* key,
                   const char* text) {
  rocksdb_put_cf(db, writes, family, TEXT(key), TEXT(text), &error);
  must("put");
}

static void about(rocksdb_column_family_handle_t* family) {
  size_t length = 0;
  char* name = rocksdb_column_family_handle_get_name(family, &length);
  bytes("name", name, length);
  number("id", rocksdb_column_family_handle_get_id(family));
  rocksdb_free(name);
}

static void created(const rocksdb_options_t* options) {
  rocksdb_t* db = opened(options, "db");
  rocksdb_column_family_handle_t* one = rocksdb_create_column_family(db, options, "one", &error);
  result("create one");
  rocksdb_column_family_handle_t* two = rocksdb_create_column_family(db, options, "two", &error);
  result("create two");
  about(one);
  about(two);
  put(db, "key", "of the default family");
  put_cf(db, one, "key", "of one");
  put_cf(db, two, "only here", "of two");
  get(db, "key");
  get_cf(db, one, "key");
  get_cf(db, two, "key");
  get_cf(db, two, "only here");
  rocksdb_delete_cf(db, writes, one, TEXT("key"), &error);
  result("delete in one");
  get_cf(db, one, "key");
  get(db, "key");
  put_cf(db, one, "a", "1");
  put_cf(db, one, "b", "2");
  put_cf(db, one, "c", "3");
  rocksdb_delete_range_cf(db, writes, one, TEXT("a"), TEXT("c"), &error);
  result("delete a range in one");
  walk("one", rocksdb_create_iterator_cf(db, reads, one));
  rocksdb_flushoptions_t* flushes = rocksdb_flushoptions_create();
  rocksdb_flush_cf(db, flushes, one, &error);
  result("flush one");
  rocksdb_flushoptions_destroy(flushes);
  rocksdb_compact_range_cf(db, one, NULL, 0, NULL, 0);
  walk("one", rocksdb_create_iterator_cf(db, reads, one));
  rocksdb_column_family_handle_destroy(one);
  rocksdb_column_family_handle_destroy(two);
  rocksdb_close(db);
}

static void opened_anew(const rocksdb_options_t* options) {
  list("families", options, "db");
  const char* const names[] = {"two", "default", "one", "new"};
  const rocksdb_options_t* all[] = {options, options, options, options};
  rocksdb_column_family_handle_t* handles[4];
  rocksdb_t* db =
      rocksdb_open_column_families(options, path_of("db"), 3, names, all, handles, &error);
  result("open three families");
  for (int i = 0; i < 3; i++) {
    about(handles[i]);
    walk(names[i], rocksdb_create_iterator_cf(db, reads, handles[i]));
  }
  get(db, "key");
  rocksdb_drop_column_family(db, handles[0], &error);
  result("drop two");
  for (int i = 0; i < 3; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);
  list("families", options, "db");
  rocksdb_options_t* creates = rocksdb_options_create();
  rocksdb_options_set_create_missing_column_families(creates, 1);
  db = rocksdb_open_column_families(creates, path_of("db"), 3, names + 1, all, handles, &error);
  result("open with a missing family that is created");
  about(handles[2]);
  put_cf(db, handles[2], "key", "of the new family");
  get_cf(db, handles[2], "key");
  for (int i = 0; i < 3; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);
  list("families", options, "db");
  rocksdb_options_destroy(creates);
}

static void read_only(const rocksdb_options_t* options) {
  const char* const names[] = {"default", "new"};
  const rocksdb_options_t* all[] = {options, options};
  rocksdb_column_family_handle_t* handles[2];
  rocksdb_t* db = rocksdb_open_for_read_only_column_families(options, path_of("db"), 2, names,
                                                             all, handles, 0, &error);
  result("open two of three families for reading");
  get_cf(db, handles[1], "key");
  rocksdb_put_cf(db, writes, handles[1], TEXT("key"), TEXT("other"), &error);
  result("put");
  for (int i = 0; i < 2; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);
}

/* A family that was dropped and created again is another one. */
static void created_again(const rocksdb_options_t* options) {
  rocksdb_t* db = opened(options, "again");
  for (int round = 0; round < 3; round++) {
    rocksdb_column_family_handle_t* family =
        rocksdb_create_column_family(db, options, "family", &error);
    result("create");
    about(family);
    get_cf(db, family, "key");
    put_cf(db, family, "key", "value");
    get_cf(db, family, "key");
    rocksdb_drop_column_family(db, family, &error);
    result("drop");
    rocksdb_column_family_handle_destroy(family);
  }
  rocksdb_close(db);
  list("families", options, "again");
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  created(options);
  opened_anew(options);
  read_only(options);
  created_again(options);
  rocksdb_options_destroy(options);
  return finish();
}
