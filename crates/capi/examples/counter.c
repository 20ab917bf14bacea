// Counts the words of its standard input in a database, and prints the most frequent one.
//
//     cc -I include examples/counter.c -lfoldb -o counter
//     ./counter words.db < book.txt

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foldb.h"

// Ends the program if `error` is one.
static void check(foldb_error_t *error) {
  if (error == NULL) return;
  fprintf(stderr, "counter: %s\n", foldb_error_message(error));
  foldb_error_free(error);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: counter DB < TEXT\n");
    return 2;
  }
  foldb_options_t *options = foldb_options_new();
  check(foldb_options_set(options, "create_if_missing", "true"));
  check(foldb_options_set(options, "merge_operator", "uint64add"));
  foldb_t *db;
  check(foldb_open(argv[1], options, &db));
  foldb_options_free(options);

  const uint8_t one[8] = {1};  // the operands of uint64add are little-endian
  char word[256];
  while (scanf("%255s", word) == 1) {
    check(foldb_merge(db, NULL, NULL, (const uint8_t *)word, strlen(word), one, sizeof one));
  }

  foldb_iter_t *iter;
  check(foldb_iter(db, NULL, NULL, NULL, NULL, &iter));
  uint64_t most = 0;
  char winner[256] = "";
  for (check(foldb_iter_seek_to_first(iter)); foldb_iter_valid(iter); check(foldb_iter_next(iter))) {
    const uint8_t *value;
    size_t value_len, key_len;
    check(foldb_iter_value(iter, &value, &value_len));
    const uint8_t *key = foldb_iter_key(iter, &key_len);
    uint64_t count = 0;
    for (size_t i = value_len; i > 0; i--) count = count << 8 | value[i - 1];
    if (count > most && key_len < sizeof winner) {
      most = count;
      memcpy(winner, key, key_len);
      winner[key_len] = 0;
    }
  }
  foldb_iter_free(iter);
  printf("%s %llu\n", winner, (unsigned long long)most);
  check(foldb_close(db));
  return 0;
}
