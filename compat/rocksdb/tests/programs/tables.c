/* Tables that the program writes itself, and gives to a database. */

#include "check.h"
#include "joining.h"

static rocksdb_options_t* options;
static rocksdb_envoptions_t* files;

static rocksdb_sstfilewriter_t* begun(const char* name) {
  rocksdb_sstfilewriter_t* writer = rocksdb_sstfilewriter_create(files, options);
  rocksdb_sstfilewriter_open(writer, path_of(name), &error);
  must("open a table");
  return writer;
}

static void finished(const char* what, rocksdb_sstfilewriter_t* writer) {
  rocksdb_sstfilewriter_finish(writer, &error);
  result(what);
  rocksdb_sstfilewriter_destroy(writer);
}

static void ingest(const char* what, rocksdb_t* db, const char* first, const char* second) {
  rocksdb_ingestexternalfileoptions_t* ingesting = rocksdb_ingestexternalfileoptions_create();
  const char* paths[2] = {path_of(first), second == NULL ? NULL : path_of(second)};
  rocksdb_ingest_external_file(db, paths, second == NULL ? 1 : 2, ingesting, &error);
  result(what);
  rocksdb_ingestexternalfileoptions_destroy(ingesting);
}

static void each_kind_of_record(void) {
  rocksdb_sstfilewriter_t* writer = begun("first.sst");
  rocksdb_sstfilewriter_put(writer, TEXT("a"), TEXT("of the table"), &error);
  result("put");
  rocksdb_sstfilewriter_add(writer, TEXT("b"), TEXT("added"), &error);
  result("add");
  rocksdb_sstfilewriter_merge(writer, TEXT("c"), TEXT("merged"), &error);
  result("merge");
  rocksdb_sstfilewriter_delete(writer, TEXT("d"), &error);
  result("delete");
  rocksdb_sstfilewriter_delete_range(writer, TEXT("f"), TEXT("h"), &error);
  result("delete a range");
  rocksdb_sstfilewriter_put(writer, TEXT("x"), TEXT(""), &error);
  result("put an empty value");
  uint64_t size = 0;
  rocksdb_sstfilewriter_file_size(writer, &size);
  finished("finish", writer);
}

static void wrong_orders(void) {
  rocksdb_sstfilewriter_t* writer = begun("wrong.sst");
  rocksdb_sstfilewriter_put(writer, TEXT("m"), TEXT("value"), &error);
  result("put m");
  rocksdb_sstfilewriter_put(writer, TEXT("l"), TEXT("value"), &error);
  kind("put l after m");
  rocksdb_sstfilewriter_put(writer, TEXT("m"), TEXT("value"), &error);
  kind("put m again");
  finished("finish", writer);
  writer = begun("empty.sst");
  rocksdb_sstfilewriter_finish(writer, &error);
  kind("finish an empty table");
  rocksdb_sstfilewriter_destroy(writer);
  writer = rocksdb_sstfilewriter_create(files, options);
  rocksdb_sstfilewriter_put(writer, TEXT("m"), TEXT("value"), &error);
  kind("put before open");
  rocksdb_sstfilewriter_open(writer, path_of("no/such/directory.sst"), &error);
  kind("open below a directory that is not there");
  rocksdb_sstfilewriter_destroy(writer);
}

static void over_a_database(rocksdb_t* db) {
  const char* const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  for (size_t i = 0; i < 8; i++) put(db, keys[i], "of the database");
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  ingest("ingest", db, "first.sst", NULL);
  entries("entries", db);
  rocksdb_readoptions_set_snapshot(reads, snapshot);
  entries("at the snapshot before", db);
  rocksdb_readoptions_set_snapshot(reads, NULL);
  rocksdb_release_snapshot(db, snapshot);
  put(db, "a", "written later");
  compact(db);
  entries("compacted", db);
}

static void several_tables(rocksdb_t* db) {
  rocksdb_sstfilewriter_t* writer = begun("second.sst");
  rocksdb_sstfilewriter_put(writer, TEXT("s1"), TEXT("second"), &error);
  rocksdb_sstfilewriter_put(writer, TEXT("s3"), TEXT("second"), &error);
  finished("finish", writer);
  writer = begun("third.sst");
  rocksdb_sstfilewriter_put(writer, TEXT("t1"), TEXT("third"), &error);
  finished("finish", writer);
  writer = begun("overlapping.sst");
  rocksdb_sstfilewriter_put(writer, TEXT("s1"), TEXT("overlapping"), &error);
  rocksdb_sstfilewriter_put(writer, TEXT("s2"), TEXT("overlapping"), &error);
  finished("finish", writer);
  ingest("ingest two tables", db, "second.sst", "third.sst");
  ingest("ingest one that overlaps", db, "overlapping.sst", NULL);
  get(db, "s1");
  get(db, "s2");
  get(db, "s3");
  get(db, "t1");
}

static void wrong_tables(rocksdb_t* db) {
  rocksdb_ingestexternalfileoptions_t* ingesting = rocksdb_ingestexternalfileoptions_create();
  const char* paths[1] = {path_of("missing.sst")};
  rocksdb_ingest_external_file(db, paths, 1, ingesting, &error);
  kind("ingest what is not there");
  FILE* file = fopen(path_of("text.sst"), "w");
  fputs("this is a text, and no table, although it is long enough to be looked at\n", file);
  fclose(file);
  paths[0] = path_of("text.sst");
  rocksdb_ingest_external_file(db, paths, 1, ingesting, &error);
  kind("ingest a text");
  rocksdb_ingest_external_file(db, paths, 0, ingesting, &error);
  kind("ingest no table");
  rocksdb_ingestexternalfileoptions_destroy(ingesting);
}

static void moved_into_a_family(rocksdb_t* db) {
  rocksdb_column_family_handle_t* family =
      rocksdb_create_column_family(db, options, "family", &error);
  must("create");
  rocksdb_sstfilewriter_t* writer = begun("family.sst");
  rocksdb_sstfilewriter_put(writer, TEXT("key"), TEXT("of the table"), &error);
  finished("finish", writer);
  rocksdb_ingestexternalfileoptions_t* ingesting = rocksdb_ingestexternalfileoptions_create();
  rocksdb_ingestexternalfileoptions_set_move_files(ingesting, 1);
  const char* const paths[1] = {path_of("family.sst")};
  rocksdb_ingest_external_file_cf(db, family, paths, 1, ingesting, &error);
  result("move a table into a family");
  get_cf(db, family, "key");
  get(db, "key");
  FILE* left = fopen(paths[0], "r");
  printf("the table is left: %s\n", left == NULL ? "no" : "yes");
  if (left != NULL) fclose(left);
  rocksdb_ingestexternalfileoptions_destroy(ingesting);
  rocksdb_column_family_handle_destroy(family);
}

int main(int count, char** arguments) {
  start(count, arguments);
  options = creating();
  rocksdb_options_set_merge_operator(options, joining());
  files = rocksdb_envoptions_create();
  rocksdb_t* db = opened(options, "db");
  each_kind_of_record();
  wrong_orders();
  over_a_database(db);
  several_tables(db);
  wrong_tables(db);
  entries("entries", db);
  moved_into_a_family(db);
  rocksdb_close(db);
  rocksdb_envoptions_destroy(files);
  rocksdb_options_destroy(options);
  return finish();
}
