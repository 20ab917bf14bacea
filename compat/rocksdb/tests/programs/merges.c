/* Merge operators: of the program, the one that adds numbers, and none. */

#include "check.h"
#include "joining.h"

static int destroyed = 0;

static void count_destroyed(void* state) { ++*(int*)state; }

static void operands_of_one_key(rocksdb_t* db) {
  merge(db, "no value", "a");
  get(db, "no value");
  merge(db, "no value", "b");
  merge(db, "no value", "");
  merge(db, "no value", "c");
  get(db, "no value");
  put(db, "a value", "base");
  merge(db, "a value", "1");
  merge(db, "a value", "2");
  get(db, "a value");
  put(db, "written over", "old");
  merge(db, "written over", "lost");
  put(db, "written over", "new");
  merge(db, "written over", "kept");
  get(db, "written over");
  put(db, "deleted", "old");
  merge(db, "deleted", "lost");
  rocksdb_delete(db, writes, TEXT("deleted"), &error);
  result("delete");
  get(db, "deleted");
  merge(db, "deleted", "again");
  get(db, "deleted");
  put(db, "an empty value", "");
  merge(db, "an empty value", "x");
  get(db, "an empty value");
}

static void operands_in_many_files(rocksdb_t* db) {
  put(db, "files", "0");
  for (int i = 1; i <= 9; i++) {
    const char operand[2] = {(char)('0' + i), '\0'};
    merge(db, "files", operand);
    if (i % 3 == 0) flush(db);
  }
  get(db, "files");
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  merge(db, "files", "after");
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  get(db, "files");
  rocksdb_readoptions_set_snapshot(reads, snapshot);
  get(db, "files");
  rocksdb_readoptions_set_snapshot(reads, NULL);
  rocksdb_release_snapshot(db, snapshot);
  compact(db);
  get(db, "files");
}

static void operands_below_a_deleted_range(rocksdb_t* db) {
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  merge(db, "range 1", "lost");
  merge(db, "range 2", "lost");
  merge(db, "range 3", "kept");
  rocksdb_writebatch_delete_range(batch, TEXT("range 1"), TEXT("range 3"));
  rocksdb_writebatch_merge(batch, TEXT("range 2"), TEXT("anew"));
  rocksdb_write(db, writes, batch, &error);
  result("delete a range");
  get(db, "range 1");
  get(db, "range 2");
  get(db, "range 3");
  flush(db);
  get(db, "range 2");
  rocksdb_writebatch_destroy(batch);
}

static void own_operator(void) {
  rocksdb_options_t* options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  rocksdb_t* db = opened(options, "own");
  operands_of_one_key(db);
  operands_in_many_files(db);
  operands_below_a_deleted_range(db);
  entries("entries", db);
  rocksdb_close(db);
  db = opened(options, "own");
  entries("entries after opening anew", db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

/* An operand that the operator refuses is the error of each read that meets it. */
static void failing_operator(void) {
  rocksdb_options_t* options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  rocksdb_t* db = opened(options, "failing");
  put(db, "a", "1");
  put(db, "b", "1");
  merge(db, "b", "fail");
  merge(db, "b", "2");
  put(db, "c", "1");
  size_t length = 0;
  char* found = rocksdb_get(db, reads, TEXT("b"), &length, &error);
  printf("a value: %s\n", found == NULL ? "no" : "yes");
  kind("get b");
  get(db, "a");
  get(db, "c");
  put(db, "b", "3");
  get(db, "b");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void number_of(rocksdb_t* db, const char* key) {
  size_t length = 0;
  char* found = rocksdb_get(db, reads, TEXT(key), &length, &error);
  value(key, found, length);
}

static void add(rocksdb_t* db, const char* key, uint64_t number) {
  char operand[8];
  for (int i = 0; i < 8; i++) operand[i] = (char)(number >> (8 * i));
  rocksdb_merge(db, writes, TEXT(key), operand, 8, &error);
  must("merge");
}

static void adding_operator(void) {
  rocksdb_options_t* options = creating();
  rocksdb_options_set_uint64add_merge_operator(options);
  rocksdb_t* db = opened(options, "adding");
  add(db, "sum", 1);
  number_of(db, "sum");
  add(db, "sum", 255);
  add(db, "sum", 1u << 20);
  number_of(db, "sum");
  add(db, "wraps", UINT64_MAX);
  add(db, "wraps", 2);
  number_of(db, "wraps");
  compact(db);
  add(db, "sum", 1);
  number_of(db, "sum");
  put(db, "no number", "abc");
  add(db, "no number", 7);
  number_of(db, "no number");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void no_operator(void) {
  rocksdb_options_t* options = creating();
  rocksdb_t* db = opened(options, "none");
  put(db, "key", "value");
  rocksdb_merge(db, writes, TEXT("key"), TEXT("operand"), &error);
  result("merge without an operator");
  get(db, "key");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

/* Operands outlive the options: other keys are readable without the operator. */
static void operator_left_out(void) {
  rocksdb_options_t* options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  rocksdb_t* db = opened(options, "left out");
  put(db, "other", "value");
  merge(db, "merged", "a");
  merge(db, "merged", "b");
  // A log of operands could not be replayed without the operator.
  flush(db);
  rocksdb_close(db);
  rocksdb_options_t* without = rocksdb_options_create();
  db = rocksdb_open(without, path_of("left out"), &error);
  result("open without the operator");
  get(db, "other");
  rocksdb_close(db);
  db = opened(options, "left out");
  get(db, "merged");
  rocksdb_close(db);
  rocksdb_options_destroy(without);
  rocksdb_options_destroy(options);
}

/* The library calls the destructor when nothing needs the operator any more. */
static void destructor(void) {
  rocksdb_options_t* options = creating();
  rocksdb_options_set_merge_operator(
      options, rocksdb_mergeoperator_create(&destroyed, count_destroyed, join_with_value,
                                            join_operands, free_joined, joining_name));
  rocksdb_t* db = opened(options, "destructor");
  rocksdb_options_destroy(options);
  number("destroyed with the database open", (uint64_t)destroyed);
  merge(db, "key", "a");
  merge(db, "key", "b");
  get(db, "key");
  rocksdb_close(db);
  number("destroyed at the end", (uint64_t)destroyed);
}

static void families_with_and_without(void) {
  rocksdb_options_t* options = creating();
  rocksdb_options_t* with = rocksdb_options_create();
  rocksdb_options_set_merge_operator(with, joining());
  rocksdb_t* db = opened(options, "families");
  rocksdb_column_family_handle_t* family =
      rocksdb_create_column_family(db, with, "joined", &error);
  result("create");
  rocksdb_merge_cf(db, writes, family, TEXT("key"), TEXT("a"), &error);
  result("merge into the family");
  rocksdb_merge_cf(db, writes, family, TEXT("key"), TEXT("b"), &error);
  result("merge into the family");
  get_cf(db, family, "key");
  rocksdb_merge(db, writes, TEXT("key"), TEXT("a"), &error);
  result("merge into the default family");
  walk("entries of the family", rocksdb_create_iterator_cf(db, reads, family));
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(with);
  rocksdb_options_destroy(options);
}

int main(int count, char** arguments) {
  start(count, arguments);
  own_operator();
  failing_operator();
  adding_operator();
  no_operator();
  operator_left_out();
  destructor();
  families_with_and_without();
  return finish();
}
