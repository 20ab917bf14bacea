/* Column families: several at once, the default one, and the identity of a database. */

#include "check.h"

static void about(rocksdb_column_family_handle_t* family) {
  size_t length = 0;
  char* name = rocksdb_column_family_handle_get_name(family, &length);
  bytes("name", name, length);
  number("id", rocksdb_column_family_handle_get_id(family));
  rocksdb_free(name);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "db");
  rocksdb_column_family_handle_t* first = rocksdb_get_default_column_family_handle(db);
  about(first);
  put(db, "key", "value");
  get_cf(db, first, "key");
  rocksdb_column_family_handle_destroy(first);
  const char* const names[] = {"one", "two", "three"};
  size_t made = 77;
  rocksdb_column_family_handle_t** families =
      rocksdb_create_column_families(db, options, 3, names, &made, &error);
  result("create three");
  number("made", made);
  for (size_t i = 0; i < made; i++) {
    about(families[i]);
    rocksdb_put_cf(db, writes, families[i], TEXT("key"), TEXT(names[i]), &error);
    must("put");
  }
  rocksdb_flushoptions_t* flushes = rocksdb_flushoptions_create();
  rocksdb_flush_cfs(db, flushes, families, 3, &error);
  result("flush three");
  rocksdb_flushoptions_destroy(flushes);
  for (size_t i = 0; i < made; i++) {
    get_cf(db, families[i], "key");
    rocksdb_column_family_handle_destroy(families[i]);
  }
  rocksdb_create_column_families_destroy(families);
  size_t length = 0;
  char* identity = rocksdb_get_db_identity(db, &length);
  printf("an identity: %s\n", length > 0 ? "yes" : "no");
  rocksdb_close(db);
  const char* const all_names[] = {"default", "one", "two", "three"};
  const rocksdb_options_t* all[] = {options, options, options, options};
  rocksdb_column_family_handle_t* handles[4];
  db = rocksdb_open_column_families(options, path_of("db"), 4, all_names, all, handles, &error);
  result("open anew");
  size_t length_again = 0;
  char* again = rocksdb_get_db_identity(db, &length_again);
  printf("the same identity: %s\n",
         length == length_again && memcmp(identity, again, length) == 0 ? "yes" : "no");
  rocksdb_free(identity);
  rocksdb_free(again);
  for (int i = 0; i < 4; i++) rocksdb_column_family_handle_destroy(handles[i]);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  return finish();
}
