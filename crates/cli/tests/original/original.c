/* Runs the original LevelDB for the tests of import and export.
 *
 *   original write DIR SEED COUNT FLAGS   makes COUNT random writes; the same for each SEED
 *   original fill DIR SEED FLAGS          writes until it is killed
 *   original dump DIR                     prints all entries: key, TAB, value, in hexadecimal
 *   original hold DIR                     opens DIR, prints a line, and waits for the end of input
 *   original compact DIR                  writes one more key, and compacts everything
 *   original repair DIR
 *
 * FLAGS is a text with any of these letters: z small buffers, so that there are many tables;
 * u no compression; r a comparator in reverse order; l some values of a megabyte; c compactions
 * between the writes; b a Bloom filter; o the database is opened several times; s synced writes;
 * e an empty text for no flag.
 *
 * Invariant: any error of LevelDB is printed, and the program ends with 1.
 */
#include <leveldb/c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(char* error) {
  if (error != NULL) {
    fprintf(stderr, "%s\n", error);
    exit(1);
  }
}

static int reverse(void* state, const char* a, size_t a_len, const char* b, size_t b_len) {
  (void)state;
  size_t shorter = a_len < b_len ? a_len : b_len;
  int order = memcmp(b, a, shorter);
  if (order != 0) return order;
  return a_len < b_len ? 1 : a_len > b_len ? -1 : 0;
}

static void nothing(void* state) { (void)state; }

static const char* reverse_name(void* state) {
  (void)state;
  return "test.Reverse";
}

static leveldb_t* open_with(const char* dir, const char* flags) {
  leveldb_options_t* options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  if (strchr(flags, 'z')) {
    leveldb_options_set_write_buffer_size(options, 64 << 10);
    leveldb_options_set_max_file_size(options, 1 << 20);
    leveldb_options_set_block_size(options, 512);
  }
  leveldb_options_set_compression(options, strchr(flags, 'u') ? 0 : 1);
  if (strchr(flags, 'b')) {
    leveldb_options_set_filter_policy(options, leveldb_filterpolicy_create_bloom(10));
  }
  if (strchr(flags, 'r')) {
    leveldb_options_set_comparator(
        options, leveldb_comparator_create(NULL, nothing, reverse, reverse_name));
  }
  char* error = NULL;
  leveldb_t* db = leveldb_open(options, dir, &error);
  check(error);
  return db;
}

static uint64_t state;

static uint32_t below(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

/* One write: a put, a delete, or a batch of several. */
static void one_write(leveldb_t* db, const char* flags) {
  static char value[1 << 20];
  char key[32];
  char* error = NULL;
  leveldb_writeoptions_t* how = leveldb_writeoptions_create();
  leveldb_writeoptions_set_sync(how, strchr(flags, 's') != NULL);
  leveldb_writebatch_t* batch = leveldb_writebatch_create();
  uint32_t writes = below(10) == 0 ? below(200) : 1;
  for (uint32_t n = 0; n < writes; n++) {
    /* The empty key is a key, and so are bytes that are no text. */
    int key_len = 0;
    if (below(500) != 0) {
      key_len = snprintf(key, sizeof key, "key%c%06u", below(256), below(9000));
    }
    if (below(5) == 0) {
      leveldb_writebatch_delete(batch, key, key_len);
      continue;
    }
    uint32_t len = below(200);
    if (strchr(flags, 'l') && below(200) == 0) len = below(sizeof value);
    for (uint32_t i = 0; i < len; i++) value[i] = (char)(i % 7 == 0 ? below(256) : i / 16);
    leveldb_writebatch_put(batch, key, key_len, value, len);
  }
  leveldb_write(db, how, batch, &error);
  check(error);
  leveldb_writebatch_destroy(batch);
  leveldb_writeoptions_destroy(how);
}

static void print_hex(const char* bytes, size_t len) {
  for (size_t i = 0; i < len; i++) {
    putchar("0123456789abcdef"[(unsigned char)bytes[i] >> 4]);
    putchar("0123456789abcdef"[bytes[i] & 15]);
  }
}

static void dump(leveldb_t* db) {
  leveldb_readoptions_t* how = leveldb_readoptions_create();
  leveldb_readoptions_set_verify_checksums(how, 1);
  leveldb_iterator_t* entries = leveldb_create_iterator(db, how);
  char* error = NULL;
  for (leveldb_iter_seek_to_first(entries); leveldb_iter_valid(entries);
       leveldb_iter_next(entries)) {
    size_t key_len, value_len;
    const char* key = leveldb_iter_key(entries, &key_len);
    const char* value = leveldb_iter_value(entries, &value_len);
    print_hex(key, key_len);
    putchar('\t');
    print_hex(value, value_len);
    putchar('\n');
  }
  leveldb_iter_get_error(entries, &error);
  check(error);
  leveldb_iter_destroy(entries);
  leveldb_readoptions_destroy(how);
}

int main(int argc, char** argv) {
  const char* command = argv[1];
  const char* dir = argv[2];
  char* error = NULL;
  if (strcmp(command, "repair") == 0) {
    leveldb_repair_db(leveldb_options_create(), dir, &error);
    check(error);
    return 0;
  }
  int is_fill = strcmp(command, "fill") == 0;
  int is_write = strcmp(command, "write") == 0;
  const char* flags = is_fill || is_write ? argv[argc - 1] : "";
  leveldb_t* db = open_with(dir, flags);
  if (is_fill || is_write) {
    state = strtoull(argv[3], NULL, 10) * 2 + 1;
    uint32_t count = is_fill ? UINT32_MAX : (uint32_t)strtoul(argv[4], NULL, 10);
    puts("open");
    fflush(stdout);
    for (uint32_t n = 0; n < count; n++) {
      one_write(db, flags);
      if (strchr(flags, 'c') && below(2000) == 0) leveldb_compact_range(db, NULL, 0, NULL, 0);
      if (strchr(flags, 'o') && below(1500) == 0) {
        leveldb_close(db);
        db = open_with(dir, flags);
      }
    }
  } else if (strcmp(command, "dump") == 0) {
    dump(db);
  } else if (strcmp(command, "hold") == 0) {
    puts("open");
    fflush(stdout);
    while (getchar() != EOF) {
    }
  } else if (strcmp(command, "compact") == 0) {
    leveldb_writeoptions_t* how = leveldb_writeoptions_create();
    leveldb_put(db, how, "zz", 2, "more", 4, &error);
    check(error);
    leveldb_compact_range(db, NULL, 0, NULL, 0);
  } else {
    fprintf(stderr, "unknown command %s\n", command);
    return 1;
  }
  leveldb_close(db);
  return 0;
}
