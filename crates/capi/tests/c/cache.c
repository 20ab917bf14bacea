// A block cache of the program. Run it with a directory that does not exist yet.

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sys/stat.h>

#include "check.h"

// The cache keeps the newest 64 blocks. An entry is also the handle of its users.

#define ENTRIES 64

typedef struct {
  int users;
  uint8_t key[24];
  void *value;
} entry_t;

typedef struct {
  pthread_mutex_t mutex;
  entry_t *entries[ENTRIES];
  size_t next;
  uint64_t ids;
  int inserted, hits, freed, destroyed;
} cache_t;

static void release_locked(cache_t *cache, entry_t *entry) {
  if (entry == NULL || --entry->users > 0) return;
  foldb_cached_block_free(entry->value);
  free(entry);
  cache->freed++;
}

static void *insert(void *state, foldb_bytes_t key, void *value, size_t charge) {
  cache_t *cache = state;
  entry_t *entry = malloc(sizeof *entry);
  CHECK(entry != NULL && key.len == sizeof entry->key && charge > 0);
  entry->users = 2;
  memcpy(entry->key, key.data, key.len);
  entry->value = value;
  pthread_mutex_lock(&cache->mutex);
  cache->inserted++;
  release_locked(cache, cache->entries[cache->next]);
  cache->entries[cache->next] = entry;
  cache->next = (cache->next + 1) % ENTRIES;
  pthread_mutex_unlock(&cache->mutex);
  return entry;
}

static void *lookup(void *state, foldb_bytes_t key) {
  cache_t *cache = state;
  entry_t *found = NULL;
  pthread_mutex_lock(&cache->mutex);
  for (size_t i = 0; i < ENTRIES && found == NULL; i++) {
    entry_t *entry = cache->entries[i];
    if (entry != NULL && memcmp(entry->key, key.data, key.len) == 0) found = entry;
  }
  if (found != NULL) {
    found->users++;
    cache->hits++;
  }
  pthread_mutex_unlock(&cache->mutex);
  return found;
}

static void *value_of(void *state, void *handle) {
  (void)state;
  return ((entry_t *)handle)->value;
}

static void release(void *state, void *handle) {
  cache_t *cache = state;
  pthread_mutex_lock(&cache->mutex);
  release_locked(cache, handle);
  pthread_mutex_unlock(&cache->mutex);
}

static uint64_t new_id(void *state) { return ++((cache_t *)state)->ids; }

static void destroyed(void *state) { ((cache_t *)state)->destroyed++; }

int main(int argc, char **argv) {
  CHECK(argc == 2);
  CHECK(mkdir(argv[1], 0755) == 0);
  cache_t cache;
  memset(&cache, 0, sizeof cache);
  CHECK(pthread_mutex_init(&cache.mutex, NULL) == 0);
  foldb_block_cache_t own = {sizeof own, &cache,   destroyed, insert,
                             lookup,     value_of, release,   new_id};
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  OK(foldb_options_set_block_cache(options, &own));
  foldb_block_cache_t bad = own;
  bad.lookup = NULL;
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "lookup", foldb_options_set_block_cache(options, &bad));
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "cache", foldb_options_set_block_cache(options, NULL));
  CHECK(cache.destroyed == 1);

  // Two databases with files of the same numbers share the cache.
  foldb_t *dbs[2];
  for (int i = 0; i < 2; i++) {
    char path[1024];
    path_in(path, sizeof path, argv[1], i == 0 ? "first" : "second");
    OK(foldb_open(path, options, &dbs[i]));
    for (int n = 0; n < 20000; n++) {
      char key[32], value[64];
      snprintf(key, sizeof key, "key.%05d", n);
      snprintf(value, sizeof value, "%d: value of %d", i, n);
      put(dbs[i], key, value);
    }
    OK(foldb_flush(dbs[i]));
  }
  foldb_options_free(options);
  for (int round = 0; round < 2; round++) {
    for (int n = 0; n < 20000; n += 7) {
      for (int i = 0; i < 2; i++) {
        char key[32], value[64];
        snprintf(key, sizeof key, "key.%05d", n);
        snprintf(value, sizeof value, "%d: value of %d", i, n);
        CHECK(has(dbs[i], key, value));
      }
    }
  }
  CHECK(cache.ids == 2 && cache.inserted > 2 * ENTRIES && cache.hits > 1000);
  CHECK(cache.freed > 0);
  OK(foldb_close(dbs[0]));
  OK(foldb_close(dbs[1]));
  CHECK(cache.destroyed == 2);
  for (size_t i = 0; i < ENTRIES; i++) release_locked(&cache, cache.entries[i]);
  CHECK(cache.freed == cache.inserted);
  foldb_cached_block_free(NULL);
  puts("the cache had the blocks");
  return 0;
}
