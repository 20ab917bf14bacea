/* What the programs of this directory share: the directory they work in, and how they print.
 *
 * A program runs once with RocksDB and once with our library, and the outputs are compared.
 * Invariant: a line holds no path, address, size of a file or time. */

#ifndef COMPAT_ROCKSDB_TESTS_CHECK_H_
#define COMPAT_ROCKSDB_TESTS_CHECK_H_

#include <rocksdb/c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text as the two arguments that the interface takes for bytes. */
#define TEXT(text) (text), strlen(text)

/* The error of the last call. `result` prints it and frees it. */
static char* error = NULL;

/* The options of reads and writes that a program does not choose itself. */
static rocksdb_readoptions_t* reads;
static rocksdb_writeoptions_t* writes;

static const char* directory;

/* Each program begins with this call. The first argument is a directory that is empty. */
static inline void start(int count, char** arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
    exit(2);
  }
  directory = arguments[1];
  reads = rocksdb_readoptions_create();
  writes = rocksdb_writeoptions_create();
}

/* Each program ends with this call. */
static inline int finish(void) {
  rocksdb_readoptions_destroy(reads);
  rocksdb_writeoptions_destroy(writes);
  return 0;
}

/* Returns a path below the directory. The text stays until the eighth call after this one. */
static inline const char* path_of(const char* name) {
  static char paths[8][4096];
  static unsigned next = 0;
  char* path = paths[next++ % 8];
  snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
  return path;
}

/* Prints a text, with the directory as DIR. */
static inline void say(const char* what, const char* text) {
  const size_t length = strlen(directory);
  printf("%s: ", what);
  while (*text != '\0') {
    if (strncmp(text, directory, length) == 0) {
      printf("DIR");
      text += length;
    } else {
      putchar(*text++);
    }
  }
  putchar('\n');
  fflush(stdout);
}

static inline void number(const char* what, uint64_t seen) {
  printf("%s: %llu\n", what, (unsigned long long)seen);
  fflush(stdout);
}

static inline void quote(const char* data, size_t length) {
  putchar('\'');
  for (size_t i = 0; i < length; i++) {
    const unsigned char byte = (unsigned char)data[i];
    if (byte >= ' ' && byte <= '~' && byte != '\'' && byte != '\\') {
      putchar(byte);
    } else {
      printf("\\x%02x", byte);
    }
  }
  putchar('\'');
}

/* Prints bytes, or "none" for NULL. */
static inline void bytes(const char* what, const char* data, size_t length) {
  printf("%s: ", what);
  if (data == NULL) {
    printf("none");
  } else {
    quote(data, length);
  }
  putchar('\n');
  fflush(stdout);
}

/* Prints the whole text of the last error, or "ok", and frees it. */
static inline void result(const char* what) {
  say(what, error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

/* Prints how the text of the last error begins: the part that names the kind of the error. */
static inline void kind(const char* what) {
  if (error != NULL && strchr(error, ':') != NULL) *strchr(error, ':') = '\0';
  result(what);
}

/* Ends the program if the last call failed. It is for calls that are not the program's subject. */
static inline void must(const char* what) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n", what, error);
  exit(1);
}

/* Prints the value that a read returned, and frees it; or the error of the read. */
static inline void value(const char* what, char* found, size_t length) {
  if (error != NULL) {
    result(what);
  } else {
    bytes(what, found, length);
  }
  rocksdb_free(found);
}

/* The same for a pinned value. */
static inline void pinned(const char* what, rocksdb_pinnableslice_t* found) {
  size_t length = 0;
  if (error != NULL) {
    result(what);
  } else {
    const char* data = found == NULL ? NULL : rocksdb_pinnableslice_value(found, &length);
    bytes(what, data, length);
  }
  if (found != NULL) rocksdb_pinnableslice_destroy(found);
}

static inline rocksdb_options_t* creating(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  return options;
}

/* Opens a database below the directory, which must work. */
static inline rocksdb_t* opened(const rocksdb_options_t* options, const char* name) {
  rocksdb_t* db = rocksdb_open(options, path_of(name), &error);
  must("open");
  return db;
}

static inline void put(rocksdb_t* db, const char* key, const char* text) {
  rocksdb_put(db, writes, TEXT(key), TEXT(text), &error);
  must("put");
}

/* Prints the value of a key. */
static inline void get(rocksdb_t* db, const char* key) {
  size_t length = 0;
  char* found = rocksdb_get(db, reads, TEXT(key), &length, &error);
  value(key, found, length);
}

static inline void get_cf(rocksdb_t* db, rocksdb_column_family_handle_t* family,
                          const char* key) {
  size_t length = 0;
  char* found = rocksdb_get_cf(db, reads, family, TEXT(key), &length, &error);
  value(key, found, length);
}

/* Prints where an iterator is, and its error if it has one. */
static inline void at(const char* what, const rocksdb_iterator_t* iterator) {
  size_t key_length = 0, value_length = 0;
  printf("%s: ", what);
  if (rocksdb_iter_valid(iterator)) {
    const char* key = rocksdb_iter_key(iterator, &key_length);
    quote(key, key_length);
    const char* text = rocksdb_iter_value(iterator, &value_length);
    putchar('=');
    quote(text, value_length);
    putchar('\n');
    return;
  }
  rocksdb_iter_get_error(iterator, &error);
  result("no entry");
}

/* Prints the entries of an iterator in both directions, and frees it. */
static inline void walk(const char* what, rocksdb_iterator_t* iterator) {
  printf("%s\n", what);
  rocksdb_iter_seek_to_first(iterator);
  for (; rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) at("  next", iterator);
  at("  end", iterator);
  rocksdb_iter_seek_to_last(iterator);
  for (; rocksdb_iter_valid(iterator); rocksdb_iter_prev(iterator)) at("  prev", iterator);
  at("  end", iterator);
  rocksdb_iter_destroy(iterator);
}

/* Prints all entries of the default column family. */
static inline void entries(const char* what, rocksdb_t* db) {
  walk(what, rocksdb_create_iterator(db, reads));
}

static inline void flush(rocksdb_t* db) {
  rocksdb_flushoptions_t* options = rocksdb_flushoptions_create();
  rocksdb_flush(db, options, &error);
  must("flush");
  rocksdb_flushoptions_destroy(options);
}

/* Flushes and compacts everything. */
static inline void compact(rocksdb_t* db) {
  flush(db);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
}

#endif
