/* The backup engine: several backups of one database, and restoring any of them. */

#include "check.h"

static uint32_t list(rocksdb_backup_engine_t* engine) {
  const rocksdb_backup_engine_info_t* info = rocksdb_backup_engine_get_backup_info(engine);
  const int count = rocksdb_backup_engine_info_count(info);
  uint32_t last = 0;
  number("backups", (uint64_t)count);
  for (int i = 0; i < count; i++) {
    last = rocksdb_backup_engine_info_backup_id(info, i);
    number("  id", last);
    printf("  a time: %s, a size: %s, files: %s\n",
           rocksdb_backup_engine_info_timestamp(info, i) > 0 ? "yes" : "no",
           rocksdb_backup_engine_info_size(info, i) > 0 ? "yes" : "no",
           rocksdb_backup_engine_info_number_files(info, i) > 0 ? "yes" : "no");
  }
  rocksdb_backup_engine_info_destroy(info);
  return last;
}

static void restored(const rocksdb_options_t* options, const char* name) {
  rocksdb_t* db = rocksdb_open(options, path_of(name), &error);
  result(name);
  entries("entries", db);
  rocksdb_close(db);
}

static void made(rocksdb_backup_engine_t* engine, const rocksdb_options_t* options) {
  rocksdb_t* db = opened(options, "db");
  put(db, "key", "of the first backup");
  rocksdb_backup_engine_create_new_backup(engine, db, &error);
  result("the first");
  put(db, "key", "of the second backup");
  put(db, "other", "value");
  rocksdb_backup_engine_create_new_backup_flush(engine, db, 1, &error);
  result("the second");
  rocksdb_delete(db, writes, TEXT("other"), &error);
  must("delete");
  rocksdb_backup_engine_create_new_backup(engine, db, &error);
  result("the third");
  put(db, "key", "of no backup");
  rocksdb_close(db);
  list(engine);
}

static void read_back(rocksdb_backup_engine_t* engine, const rocksdb_options_t* options) {
  rocksdb_restore_options_t* restoring = rocksdb_restore_options_create();
  rocksdb_restore_options_set_keep_log_files(restoring, 0);
  for (uint32_t id = 1; id <= 3; id++) {
    rocksdb_backup_engine_verify_backup(engine, id, &error);
    result("verify");
  }
  rocksdb_backup_engine_verify_backup(engine, 9, &error);
  kind("verify what is not there");
  rocksdb_backup_engine_restore_db_from_backup(engine, path_of("old"), path_of("old"), restoring,
                                               1, &error);
  result("restore the first");
  restored(options, "old");
  rocksdb_backup_engine_restore_db_from_backup(engine, path_of("old"), path_of("old"), restoring,
                                               2, &error);
  result("restore the second over it");
  restored(options, "old");
  rocksdb_backup_engine_restore_db_from_latest_backup(engine, path_of("db"), path_of("db"),
                                                      restoring, &error);
  result("restore the latest over the database");
  restored(options, "db");
  rocksdb_backup_engine_restore_db_from_backup(engine, path_of("none"), path_of("none"),
                                               restoring, 9, &error);
  kind("restore what is not there");
  rocksdb_restore_options_destroy(restoring);
}

int main(int count, char** arguments) {
  start(count, arguments);
  rocksdb_options_t* options = creating();
  rocksdb_backup_engine_t* engine =
      rocksdb_backup_engine_open(options, path_of("backups"), &error);
  result("open");
  list(engine);
  made(engine, options);
  read_back(engine, options);
  rocksdb_backup_engine_close(engine);
  engine = rocksdb_backup_engine_open(options, path_of("backups"), &error);
  result("open again");
  list(engine);
  rocksdb_backup_engine_purge_old_backups(engine, 2, &error);
  result("keep two");
  list(engine);
  rocksdb_t* db = opened(options, "db");
  put(db, "key", "of the fourth backup");
  rocksdb_backup_engine_create_new_backup(engine, db, &error);
  result("the fourth");
  rocksdb_close(db);
  list(engine);
  rocksdb_restore_options_t* restoring = rocksdb_restore_options_create();
  rocksdb_backup_engine_restore_db_from_backup(engine, path_of("gone"), path_of("gone"),
                                               restoring, 1, &error);
  kind("restore what was purged");
  rocksdb_backup_engine_restore_db_from_backup(engine, path_of("third"), path_of("third"),
                                               restoring, 3, &error);
  result("restore the third");
  restored(options, "third");
  rocksdb_restore_options_destroy(restoring);
  rocksdb_backup_engine_purge_old_backups(engine, 0, &error);
  result("keep none");
  list(engine);
  rocksdb_backup_engine_close(engine);
  rocksdb_options_destroy(options);
  return finish();
}
