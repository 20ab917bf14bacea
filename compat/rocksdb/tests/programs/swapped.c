/* A database with merges and column families, of a program whose library is swapped.
 *
 *   swapped DIRECTORY write   makes the database `db`, and leaves operands unfolded
 *   swapped DIRECTORY         opens it again, prints it, and goes on
 *
 * Invariant: what the second run prints does not depend on the library of either run. */

#include "joining.h"

enum { FAMILIES = 3 };

static const char* const names[FAMILIES] = {"default", "visits", "plain"};
static rocksdb_column_family_handle_t* families[FAMILIES];

static rocksdb_t* open_all(void) {
  rocksdb_options_t* counting = creating();
  rocksdb_options_set_create_missing_column_families(counting, 1);
  rocksdb_options_set_uint64add_merge_operator(counting);
  rocksdb_options_t* joins = rocksdb_options_create();
  rocksdb_options_set_merge_operator(joins, joining());
  rocksdb_options_t* plain = rocksdb_options_create();
  const rocksdb_options_t* all[FAMILIES] = {counting, joins, plain};
  rocksdb_t* db = rocksdb_open_column_families(counting, path_of("db"), FAMILIES, names, all,
                                               families, &error);
  must("open");
  rocksdb_options_destroy(counting);
  rocksdb_options_destroy(joins);
  rocksdb_options_destroy(plain);
  return db;
}

static void add(rocksdb_t* db, const char* key, unsigned char amount) {
  const char operand[8] = {(char)amount};
  rocksdb_merge_cf(db, writes, families[0], TEXT(key), operand, sizeof(operand), &error);
  must("add");
}

static void visit(rocksdb_t* db, const char* key, const char* page) {
  rocksdb_merge_cf(db, writes, families[1], TEXT(key), TEXT(page), &error);
  must("visit");
}

static void flush_all(rocksdb_t* db) {
  rocksdb_flushoptions_t* options = rocksdb_flushoptions_create();
  for (int i = 0; i < FAMILIES; i++) {
    rocksdb_flush_cf(db, options, families[i], &error);
    must("flush");
  }
  rocksdb_flushoptions_destroy(options);
}

static void show(const char* what, rocksdb_t* db) {
  printf("%s\n", what);
  for (int i = 0; i < FAMILIES; i++) {
    walk(names[i], rocksdb_create_iterator_cf(db, reads, families[i]));
  }
}

static void change(rocksdb_t* db) {
  add(db, "a", 1);
  add(db, "b", 2);
  rocksdb_put_cf(db, writes, families[0], TEXT("c"), TEXT("no number"), &error);
  must("put");
  add(db, "c", 3);
  visit(db, "ann", "home");
  visit(db, "ann", "cart");
  rocksdb_put_cf(db, writes, families[1], TEXT("bob"), TEXT("old"), &error);
  must("put");
  visit(db, "bob", "new");
  rocksdb_put_cf(db, writes, families[2], TEXT("key"), TEXT("value"), &error);
  must("put");
  rocksdb_delete_cf(db, writes, families[2], TEXT("gone"), &error);
  must("delete");
}

int main(int count, char** arguments) {
  const int writes_only = count == 3 && strcmp(arguments[2], "write") == 0;
  start(writes_only ? 2 : count, arguments);
  rocksdb_t* db = open_all();
  if (writes_only) {
    change(db);
    flush_all(db);
    visit(db, "ann", "pay");
    visit(db, "eve", "home");
    add(db, "a", 40);
  } else {
    show("as it was", db);
    change(db);
    show("after more", db);
    flush_all(db);
    for (int i = 0; i < FAMILIES; i++) {
      rocksdb_compact_range_cf(db, families[i], NULL, 0, NULL, 0);
    }
    show("compacted", db);
  }
  for (int i = 0; i < FAMILIES; i++) rocksdb_column_family_handle_destroy(families[i]);
  rocksdb_close(db);
  return finish();
}
