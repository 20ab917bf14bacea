/* Prints observations; see report.h.
 *
 * Invariant: no line holds the path of the test's directory. */

#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* directory = "";

void set_directory(const char* path) { directory = path; }

const char* path_of(const char* name) {
  static char path[4096];
  snprintf(path, sizeof(path), "%s/%s", directory, name);
  return path;
}

void say(const char* what, const char* observed) {
  const size_t length = strlen(directory);
  printf("%s: ", what);
  while (*observed != '\0') {
    if (length > 0 && strncmp(observed, directory, length) == 0) {
      printf("DIR");
      observed += length;
    } else {
      putchar(*observed++);
    }
  }
  putchar('\n');
  fflush(stdout);
}

void yes_no(const char* what, int observed) { say(what, observed ? "yes" : "no"); }

void number(const char* what, uint64_t observed) {
  printf("%s: %llu\n", what, (unsigned long long)observed);
}

static uint64_t hash(uint64_t so_far, const char* data, size_t length) {
  for (size_t i = 0; i < length; i++) {
    so_far = (so_far ^ (unsigned char)data[i]) * 1099511628211u;
  }
  return so_far;
}

static const uint64_t kNothing = 14695981039346656037u;

static void quote(const char* data, size_t length) {
  putchar('\'');
  for (size_t i = 0; i < length && i < 40; i++) {
    const unsigned char byte = (unsigned char)data[i];
    if (byte >= ' ' && byte <= '~' && byte != '\'' && byte != '\\') {
      putchar(byte);
    } else {
      printf("\\x%02x", byte);
    }
  }
  putchar('\'');
  if (length > 40) {
    printf("... (%zu bytes, %016llx)", length, (unsigned long long)hash(kNothing, data, length));
  }
}

void bytes(const char* what, const char* data, size_t length) {
  printf("%s: ", what);
  quote(data, length);
  putchar('\n');
}

void result(const char* what, char** error) {
  say(what, *error == NULL ? "no error" : *error);
  leveldb_free(*error);
  *error = NULL;
}

void get(leveldb_t* db, const leveldb_readoptions_t* read, const char* key, size_t length) {
  char* error = NULL;
  size_t value_length = 77;
  char* value = leveldb_get(db, read, key, length, &value_length, &error);
  printf("get ");
  quote(key, length);
  if (error != NULL) {
    result("", &error);
  } else if (value == NULL) {
    printf(": none, length %zu\n", value_length);
  } else {
    bytes("", value, value_length);
  }
  leveldb_free(value);
}

void at(const char* what, const leveldb_iterator_t* iterator) {
  size_t key_length = 0, value_length = 0;
  printf("%s: ", what);
  if (leveldb_iter_valid(iterator)) {
    const char* key = leveldb_iter_key(iterator, &key_length);
    const char* value = leveldb_iter_value(iterator, &value_length);
    quote(key, key_length);
    putchar('=');
    quote(value, value_length);
    putchar('\n');
  } else {
    printf("invalid\n");
  }
}

static uint64_t add(uint64_t so_far, const leveldb_iterator_t* iterator) {
  size_t key_length = 0, value_length = 0;
  const char* key = leveldb_iter_key(iterator, &key_length);
  so_far = hash(so_far, key, key_length);
  const char* value = leveldb_iter_value(iterator, &value_length);
  return hash(so_far, value, value_length);
}

void entries(leveldb_t* db, const leveldb_readoptions_t* read) {
  leveldb_iterator_t* iterator = leveldb_create_iterator(db, read);
  uint64_t count = 0, forward = kNothing, backward = kNothing;
  for (leveldb_iter_seek_to_first(iterator); leveldb_iter_valid(iterator);
       leveldb_iter_next(iterator)) {
    if (count++ < 10) at("  entry", iterator);
    forward = add(forward, iterator);
  }
  for (leveldb_iter_seek_to_last(iterator); leveldb_iter_valid(iterator);
       leveldb_iter_prev(iterator)) {
    backward = add(backward, iterator);
  }
  printf("  entries: %llu, %016llx, %016llx\n", (unsigned long long)count,
         (unsigned long long)forward, (unsigned long long)backward);
  char* error = NULL;
  leveldb_iter_get_error(iterator, &error);
  result("  error", &error);
  leveldb_iter_destroy(iterator);
}
