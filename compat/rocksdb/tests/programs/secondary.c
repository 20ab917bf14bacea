/* A secondary: a second opening of one database, which reads and catches up. */

#include "check.h"

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_t* primary = opened(options, "db");
  put(primary, "a", "1");
  put(primary, "b", "1");
  flush(primary);
  put(primary, "c", "1");
  rocksdb_options_t* reading = rocksdb_options_create();
  rocksdb_options_set_max_open_files(reading, -1);
  rocksdb_t* second =
      rocksdb_open_as_secondary(reading, path_of("db"), path_of("secondary"), &error);
  result("open");
  entries("at once", second);
  put(primary, "a", "2");
  rocksdb_delete(primary, writes, TEXT("b"), &error);
  must("delete");
  put(primary, "d", "2");
  entries("before it catches up", second);
  rocksdb_try_catch_up_with_primary(second, &error);
  result("catch up");
  entries("after it", second);
  rocksdb_put(second, writes, TEXT("a"), TEXT("3"), &error);
  result("put");
  rocksdb_delete(second, writes, TEXT("a"), &error);
  result("delete");
  compact(primary);
  put(primary, "e", "3");
  rocksdb_try_catch_up_with_primary(second, &error);
  result("catch up with a compaction");
  entries("after it", second);
  get(second, "a");
  get(second, "b");
  rocksdb_close(second);
  get(primary, "a");
  rocksdb_close(primary);
  second = rocksdb_open_as_secondary(reading, path_of("none"), path_of("secondary 2"), &error);
  printf("secondary: %s\n", second == NULL ? "none" : "open");
  kind("of nothing");
  rocksdb_options_destroy(reading);
  rocksdb_options_destroy(options);
  return finish();
}
