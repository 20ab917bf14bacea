// The change feed, dumps and backups: follows a database, copies it in both ways, and compares the
// copies. Run it with a directory that does not exist yet.

#include "check.h"

static foldb_t *open_kept(const char *dir) {
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  OK(foldb_options_set(options, "merge_operator", "stringappend:,"));
  OK(foldb_options_set(options, "wal_retention_bytes", "1000000"));
  foldb_t *db;
  OK(foldb_open(dir, options, &db));
  foldb_options_free(options);
  return db;
}

static foldb_t *open_plain(const char *dir) {
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  foldb_t *db;
  OK(foldb_open(dir, options, &db));
  foldb_options_free(options);
  return db;
}

static bool is(foldb_bytes_t bytes, const char *text) {
  return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

// Moves to the next update and returns its changes.
static const foldb_change_t *next(foldb_updates_t *updates, size_t expected) {
  bool found;
  OK(foldb_updates_next(updates, &found));
  CHECK(found);
  const foldb_change_t *changes;
  size_t count;
  OK(foldb_updates_changes(updates, &changes, &count));
  CHECK(count == expected);
  return changes;
}

static void ends(foldb_updates_t *updates) {
  bool found = true;
  OK(foldb_updates_next(updates, &found));
  CHECK(!found);
  const foldb_change_t *changes;
  size_t count = 7;
  OK(foldb_updates_changes(updates, &changes, &count));
  CHECK(count == 0);
}

static bool has_feed(const char *dir) {
  bool found;
  OK(foldb_has_feed(dir, NULL, &found));
  return found;
}

static void the_feed_has_every_kind_of_change(foldb_t *db) {
  foldb_keyspace_t *shelf;
  OK(foldb_keyspace_create(db, "shelf", NULL, &shelf));
  foldb_batch_t *batch = foldb_batch_new(db);
  OK(foldb_batch_put(batch, NULL, BYTES("a"), BYTES("1")));
  OK(foldb_batch_delete(batch, shelf, BYTES("b")));
  OK(foldb_batch_merge(batch, NULL, BYTES("c"), BYTES("x")));
  foldb_bytes_t lower = {(const uint8_t *)"m", 1};
  OK(foldb_batch_delete_range(batch, NULL, &lower, NULL));
  OK(foldb_batch_write(batch, NULL));
  foldb_batch_free(batch);
  OK(foldb_keyspace_drop(db, "shelf"));
  foldb_keyspace_free(shelf);

  foldb_updates_t *updates;
  OK(foldb_updates_since(db, NULL, false, &updates));
  bool found = false;
  OK(foldb_sync(db));
  OK(foldb_updates_wait(updates, 10000000, &found));
  CHECK(found);
  const foldb_change_t *change = next(updates, 1);
  CHECK(change->kind == FOLDB_CHANGE_KEYSPACE_CREATED && strcmp(change->keyspace, "shelf") == 0);
  CHECK(strcmp(change->comparator, "foldb.bytewise") == 0);
  // The database's operator is that of its keyspaces, unless they have their own.
  CHECK(strcmp(change->merge_operator, "stringappend:,") == 0);
  const char *name = change->keyspace;

  foldb_position_t before, after;
  OK(foldb_updates_position(updates, &before));
  change = next(updates, 4);
  OK(foldb_updates_position(updates, &after));
  CHECK(memcmp(before.bytes, after.bytes, sizeof before.bytes) < 0);
  CHECK(change[0].kind == FOLDB_CHANGE_PUT && strcmp(change[0].keyspace, "default") == 0);
  CHECK(is(change[0].key, "a") && is(change[0].value, "1") && change[0].expires_millis == -1);
  CHECK(change[1].kind == FOLDB_CHANGE_DELETE && is(change[1].key, "b"));
  CHECK(change[1].keyspace == name && change[1].value.len == 0);
  CHECK(change[2].kind == FOLDB_CHANGE_MERGE && is(change[2].key, "c") && is(change[2].value, "x"));
  CHECK(strcmp(change[2].merge_operator, "stringappend:,") == 0);
  CHECK(change[3].kind == FOLDB_CHANGE_DELETE_RANGE && is(change[3].key, "m"));
  CHECK(change[3].start == FOLDB_INCLUDED && change[3].end == FOLDB_UNBOUNDED);
  change = next(updates, 1);
  CHECK(change->kind == FOLDB_CHANGE_KEYSPACE_DROPPED && strcmp(change->keyspace, "shelf") == 0);
  ends(updates);
  OK(foldb_updates_wait(updates, 1000, &found));
  CHECK(!found);
  foldb_updates_free(updates);

  // A stored position continues after its update.
  OK(foldb_updates_since(db, &before, false, &updates));
  CHECK(next(updates, 4)->kind == FOLDB_CHANGE_PUT);
  foldb_updates_free(updates);

  foldb_load_t *load;
  OK(foldb_load_begin(db, NULL, &load));
  OK(foldb_load_put(load, BYTES("loaded"), BYTES("1")));
  foldb_load_report_t report;
  OK(foldb_load_finish(load, &report));
  foldb_load_free(load);
  OK(foldb_updates_since(db, &after, false, &updates));
  next(updates, 1);
  change = next(updates, 1);
  CHECK(change->kind == FOLDB_CHANGE_UNLOGGED && change->keyspace == NULL);
  CHECK(change->first == report.sequence_number && change->last == report.sequence_number);
  foldb_updates_free(updates);
  foldb_updates_free(NULL);
}

static void a_follower_gets_each_write_once(foldb_t *db, const char *dir) {
  char path[1024];
  path_in(path, sizeof path, dir, "follower");
  foldb_t *copy = open_plain(path);
  foldb_snapshot_t *snapshot;
  foldb_position_t position, now;
  OK(foldb_snapshot_and_position(db, &snapshot, &position));
  OK(foldb_position(db, &now));
  CHECK(memcmp(&now, &position, sizeof now) == 0);
  foldb_snapshot_free(snapshot);
  OK(foldb_merge(db, NULL, NULL, BYTES("c"), BYTES("y")));
  OK(foldb_put(db, NULL, NULL, BYTES("d"), BYTES("2")));
  foldb_updates_t *updates;
  OK(foldb_updates_since(db, &position, true, &updates));
  for (int i = 0; i < 2; i++) {
    next(updates, 1);
    foldb_batch_t *batch = foldb_batch_new(copy);
    OK(foldb_batch_add_update(batch, updates));
    OK(foldb_updates_position(updates, &now));
    OK(foldb_batch_put(batch, NULL, BYTES("position"), now.bytes, sizeof now.bytes));
    OK(foldb_batch_write(batch, NULL));
    foldb_batch_free(batch);
  }
  ends(updates);
  foldb_updates_free(updates);
  CHECK(has(copy, "c", "y") && has(copy, "d", "2") && has(copy, "a", NULL));
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "wal_retention_bytes", foldb_position(copy, &now));

  OK(foldb_oldest_position(db, &now));
  foldb_position_t beginning = {{0}};
  CHECK(memcmp(&now, &beginning, sizeof now) == 0);
  position.bytes[31] ^= 1;
  FAILS_WITH(FOLDB_POSITION_LOST, "copy the database anew",
             foldb_updates_since(db, &position, false, &updates));
  OK(foldb_close(copy));
}

static void a_dump_makes_an_equal_database(foldb_t *db, const char *dir) {
  char file[1024], to[1024], missing[1024];
  path_in(file, sizeof file, dir, "dump");
  path_in(to, sizeof to, dir, "restored");
  path_in(missing, sizeof missing, dir, "missing/dump");
  OK(foldb_dump(db, file));
  FAILS_WITH(FOLDB_IO, "dump", foldb_dump(db, file));
  FAILS_WITH(FOLDB_IO, "missing", foldb_dump(db, missing));
  OK(foldb_restore(file, to, NULL));
  FAILS_WITH(FOLDB_DATABASE_EXISTS, "restored", foldb_restore(file, to, NULL));
  foldb_t *restored = open_plain(to);
  CHECK(has(restored, "a", "1") && has(restored, "c", "x,y") && has(restored, "loaded", "1"));
  put(restored, "mark", "");
  OK(foldb_close(restored));
  FAILS_WITH(FOLDB_IO, "missing", foldb_restore(missing, to, NULL));
  FAILS_WITH(FOLDB_CORRUPTION, "copies.c", foldb_restore(__FILE__, missing, NULL));
}

static void sum(void *state, const foldb_backup_t *backup) {
  uint64_t *ids = state;
  *ids = *ids * 10 + backup->id;
}

static void backups_share_files(foldb_t *db, const char *dir) {
  char backups[1024], to[1024];
  path_in(backups, sizeof backups, dir, "backups");
  path_in(to, sizeof to, dir, "of-backup");
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "backups", foldb_backup_list(backups, NULL, sum, NULL));
  foldb_backup_t first, second, shown;
  OK(foldb_flush(db));
  OK(foldb_backup_create(db, backups, NULL, &first));
  CHECK(first.id == 1 && first.files == first.new_files && first.bytes == first.new_bytes);
  put(db, "e", "3");
  OK(foldb_backup_create(db, backups, NULL, &second));
  CHECK(second.id == 2 && second.new_files < second.files);
  OK(foldb_backup_create(db, backups, NULL, NULL));
  uint64_t ids = 0;
  OK(foldb_backup_list(backups, NULL, sum, &ids));
  CHECK(ids == 123);
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "receive", foldb_backup_list(backups, NULL, NULL, &ids));
  OK(foldb_backup_delete(backups, 3, NULL));
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "backup 3", foldb_backup_delete(backups, 3, NULL));

  OK(foldb_backup_restore(backups, 1, to, NULL, &shown));
  CHECK(shown.id == 1 && shown.files == first.files);
  foldb_t *restored = open_plain(to);
  CHECK(has(restored, "d", "2") && has(restored, "e", NULL));
  OK(foldb_close(restored));
  FAILS_WITH(FOLDB_DATABASE_EXISTS, "", foldb_backup_restore(backups, 0, to, NULL, NULL));
  OK(foldb_destroy(to, NULL));
  OK(foldb_backup_restore(backups, 0, to, NULL, NULL));
  restored = open_plain(to);
  CHECK(has(restored, "e", "3"));
  OK(foldb_close(restored));

  size_t faults = 7;
  char *report;
  OK(foldb_backup_verify(backups, NULL, &faults, &report));
  CHECK(faults == 0 && strcmp(report, "") == 0);
  foldb_string_free(report);
  char record[1100];
  path_in(record, sizeof record, backups, "000002.backup");
  FILE *file = fopen(record, "r+b");
  CHECK(file != NULL && fputc('?', file) != EOF && fclose(file) == 0);
  OK(foldb_backup_verify(backups, NULL, &faults, &report));
  CHECK(faults == 1 && strstr(report, "000002.backup") != NULL);
  foldb_string_free(report);
  OK(foldb_backup_verify(backups, NULL, &faults, NULL));
  FAILS_WITH(FOLDB_CORRUPTION, "000002.backup", foldb_backup_list(backups, NULL, sum, &ids));
}

// What a read-only handle can do: dump, and follow.
static void a_reader_dumps_and_follows(const char *dir) {
  char path[1024], file[1024];
  path_in(path, sizeof path, dir, "db");
  path_in(file, sizeof file, dir, "dump-of-reader");
  foldb_t *reader;
  OK(foldb_open_read_only(path, NULL, &reader));
  OK(foldb_dump(reader, file));
  foldb_position_t position;
  OK(foldb_oldest_position(reader, &position));
  foldb_updates_t *updates;
  OK(foldb_updates_since(reader, &position, false, &updates));
  CHECK(next(updates, 1)->kind == FOLDB_CHANGE_KEYSPACE_CREATED);
  foldb_updates_free(updates);
  foldb_snapshot_t *snapshot;
  FAILS_WITH(FOLDB_READ_ONLY, "", foldb_snapshot_and_position(reader, &snapshot, &position));
  FAILS_WITH(FOLDB_READ_ONLY, "", foldb_position(reader, &position));
  FAILS_WITH(FOLDB_READ_ONLY, "", foldb_backup_create(reader, dir, NULL, NULL));
  OK(foldb_close(reader));
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  char path[1024];
  path_in(path, sizeof path, argv[1], "db");
  foldb_t *db = open_kept(path);
  the_feed_has_every_kind_of_change(db);
  a_follower_gets_each_write_once(db, argv[1]);
  a_dump_makes_an_equal_database(db, argv[1]);
  backups_share_files(db, argv[1]);
  OK(foldb_close(db));
  CHECK(has_feed(path));
  a_reader_dumps_and_follows(argv[1]);
  path_in(path, sizeof path, argv[1], "plain");
  OK(foldb_close(open_plain(path)));
  CHECK(!has_feed(path));
  puts("the copies are equal");
  return 0;
}
