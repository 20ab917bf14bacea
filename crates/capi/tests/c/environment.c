// Databases over an environment of the program: files through stdio, threads of pthreads, and
// errors on demand. Then listeners and runtimes. Run it with a directory that does not exist yet.

#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

// The state of an environment.
typedef struct {
  atomic_int open_files;
  atomic_int flushes;
  atomic_int threads;
  atomic_int destroyed;
  // Appends to logs, and to temporary files, write one byte and fail.
  atomic_bool full;
  // Syncs of the same files fail.
  atomic_bool broken;
  pthread_mutex_t mutex;
  // The path that is locked, or empty.
  char locked[1024];
} disk_t;

static int failed(foldb_output_t *message, foldb_code_t code, const char *text) {
  foldb_output_append(message, (const uint8_t *)text, strlen(text));
  return code;
}

static int failed_call(foldb_output_t *message) {
  foldb_code_t code = errno == ENOENT ? FOLDB_FILE_MISSING : FOLDB_IO;
  return failed(message, code, strerror(errno));
}

// Files for writes. The buffer of stdio shows that foldb flushes.

typedef struct {
  disk_t *disk;
  FILE *file;
  bool is_log;
} writable_t;

static int writable_append(void *state, const uint8_t *data, size_t len, foldb_output_t *message) {
  writable_t *own = state;
  if (own->is_log && own->disk->full) {
    fwrite(data, 1, len > 0 ? 1 : 0, own->file);
    return failed(message, FOLDB_NO_SPACE, "disk seven is full");
  }
  return fwrite(data, 1, len, own->file) == len ? FOLDB_OK : failed_call(message);
}

static int writable_flush(void *state, foldb_output_t *message) {
  writable_t *own = state;
  own->disk->flushes++;
  return fflush(own->file) == 0 ? FOLDB_OK : failed_call(message);
}

static int writable_sync(void *state, foldb_output_t *message) {
  writable_t *own = state;
  if (own->is_log && own->disk->broken) return failed(message, FOLDB_IO, "the cable is out");
  if (fflush(own->file) != 0) return failed_call(message);
  return fsync(fileno(own->file)) == 0 ? FOLDB_OK : failed_call(message);
}

static int writable_close(void *state, foldb_output_t *message) {
  writable_t *own = state;
  int closed = fclose(own->file);
  own->disk->open_files--;
  free(own);
  return closed == 0 ? FOLDB_OK : failed_call(message);
}

static int opened_for_writes(disk_t *disk, const char *path, const char *mode,
                             foldb_writable_file_t *file, foldb_output_t *message) {
  FILE *opened = fopen(path, mode);
  if (opened == NULL) return failed_call(message);
  writable_t *own = malloc(sizeof *own);
  CHECK(own != NULL);
  // foldb writes the good part of a log to a temporary file, and renames that.
  const char *ending = strrchr(path, '.');
  bool is_log = ending != NULL && (strcmp(ending, ".log") == 0 || strcmp(ending, ".tmp") == 0);
  *own = (writable_t){disk, opened, is_log};
  disk->open_files++;
  *file = (foldb_writable_file_t){own, writable_append, writable_flush, writable_sync,
                                  writable_close};
  return FOLDB_OK;
}

static int create_file(void *state, const char *path, foldb_writable_file_t *file,
                       foldb_output_t *message) {
  return opened_for_writes(state, path, "wb", file, message);
}

static int append_file(void *state, const char *path, foldb_writable_file_t *file,
                       foldb_output_t *message) {
  return opened_for_writes(state, path, "ab", file, message);
}

// Files for reads. They return at most 1000 bytes at once.

typedef struct {
  disk_t *disk;
  int fd;
} readable_t;

static int readable_read(void *state, uint64_t offset, uint8_t *buffer, size_t len, size_t *count,
                         foldb_output_t *message) {
  readable_t *own = state;
  ssize_t got = pread(own->fd, buffer, len < 1000 ? len : 1000, (off_t)offset);
  if (got < 0) return failed_call(message);
  *count = (size_t)got;
  return FOLDB_OK;
}

static void readable_close(void *state) {
  readable_t *own = state;
  close(own->fd);
  own->disk->open_files--;
  free(own);
}

static int open_file(void *state, const char *path, foldb_readable_file_t *file,
                     foldb_output_t *message) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) return failed_call(message);
  readable_t *own = malloc(sizeof *own);
  CHECK(own != NULL);
  *own = (readable_t){state, fd};
  own->disk->open_files++;
  *file = (foldb_readable_file_t){own, readable_read, readable_close};
  return FOLDB_OK;
}

// Names and directories.

static bool file_exists(void *state, const char *path) {
  (void)state;
  return access(path, F_OK) == 0;
}

static int list(void *state, const char *path, foldb_output_t *names, foldb_output_t *message) {
  (void)state;
  DIR *dir = opendir(path);
  if (dir == NULL) return failed_call(message);
  for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
    foldb_output_append(names, (const uint8_t *)entry->d_name, strlen(entry->d_name) + 1);
  }
  closedir(dir);
  return FOLDB_OK;
}

static int remove_file(void *state, const char *path, foldb_output_t *message) {
  (void)state;
  return unlink(path) == 0 ? FOLDB_OK : failed_call(message);
}

static int create_dir(void *state, const char *path, foldb_output_t *message) {
  (void)state;
  return mkdir(path, 0755) == 0 ? FOLDB_OK : failed_call(message);
}

static int remove_dir(void *state, const char *path, foldb_output_t *message) {
  (void)state;
  return rmdir(path) == 0 ? FOLDB_OK : failed_call(message);
}

static int file_size(void *state, const char *path, uint64_t *size, foldb_output_t *message) {
  (void)state;
  struct stat found;
  if (stat(path, &found) != 0) return failed_call(message);
  *size = (uint64_t)found.st_size;
  return FOLDB_OK;
}

static int rename_file(void *state, const char *from, const char *to, foldb_output_t *message) {
  (void)state;
  return rename(from, to) == 0 ? FOLDB_OK : failed_call(message);
}

static int sync_dir(void *state, const char *path, foldb_output_t *message) {
  (void)state;
  int fd = open(path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return failed_call(message);
  int synced = fsync(fd);
  close(fd);
  return synced == 0 ? FOLDB_OK : failed_call(message);
}

static int lock_file(void *state, const char *path, void **lock, foldb_output_t *message) {
  disk_t *disk = state;
  pthread_mutex_lock(&disk->mutex);
  bool is_locked = strcmp(disk->locked, path) == 0;
  if (!is_locked) {
    CHECK(strlen(path) < sizeof disk->locked);
    strcpy(disk->locked, path);
  }
  pthread_mutex_unlock(&disk->mutex);
  *lock = disk->locked;
  return is_locked ? failed(message, FOLDB_LOCKED, "locked") : FOLDB_OK;
}

static void unlock_file(void *state, void *lock) {
  disk_t *disk = state;
  pthread_mutex_lock(&disk->mutex);
  CHECK(lock == disk->locked);
  disk->locked[0] = '\0';
  pthread_mutex_unlock(&disk->mutex);
}

// Threads and time.

typedef struct {
  void (*body)(void *argument);
  void *argument;
} start_t;

static void *run(void *state) {
  start_t start = *(start_t *)state;
  free(state);
  start.body(start.argument);
  return NULL;
}

static int start_thread(void *state, void (*body)(void *argument), void *argument,
                        foldb_output_t *message) {
  disk_t *disk = state;
  disk->threads++;
  start_t *start = malloc(sizeof *start);
  CHECK(start != NULL);
  *start = (start_t){body, argument};
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, start) != 0) {
    free(start);
    return failed(message, FOLDB_IO, "no thread");
  }
  pthread_detach(thread);
  return FOLDB_OK;
}

static uint64_t now_micros(void *state) {
  (void)state;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void sleep_micros(void *state, uint64_t micros) {
  (void)state;
  struct timespec duration = {(time_t)(micros / 1000000), (long)(micros % 1000000) * 1000};
  nanosleep(&duration, NULL);
}

static void destroyed(void *state) { ((disk_t *)state)->destroyed++; }

static foldb_env_t env_of(disk_t *disk) {
  foldb_env_t env = {sizeof env,  disk,        destroyed,    create_file, append_file,
                     open_file,   file_exists, list,         remove_file, create_dir,
                     remove_dir,  file_size,   rename_file,  sync_dir,    lock_file,
                     unlock_file, start_thread, now_micros, sleep_micros};
  return env;
}

static foldb_options_t *options_with(const foldb_env_t *env) {
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  OK(foldb_options_set(options, "merge_operator", "stringappend"));
  OK(foldb_options_set(options, "value_separation_min", "4096"));
  OK(foldb_options_set_env(options, env));
  return options;
}

// All that a database does, over the environment.
static void a_database_lives_in_it(const foldb_env_t *env, const char *dir) {
  char path[1024], copy[1024];
  path_in(path, sizeof path, dir, "db");
  path_in(copy, sizeof copy, dir, "copy");
  foldb_options_t *options = options_with(env);
  foldb_t *db, *rival;
  OK(foldb_open(path, options, &db));
  FAILS_WITH(FOLDB_LOCKED, "already open", foldb_open(path, options, &rival));
  char large[5001];
  memset(large, 'x', sizeof large - 1);
  large[sizeof large - 1] = '\0';
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 500; i++) {
      char key[32];
      snprintf(key, sizeof key, "key.%d", i);
      put(db, key, "value");
    }
    put(db, "large", large);
    OK(foldb_merge(db, NULL, NULL, BYTES("merged"), BYTES("again")));
    OK(foldb_flush(db));
  }
  OK(foldb_compact(db, NULL, NULL, NULL));
  OK(foldb_collect_garbage(db, 0.0, NULL));
  OK(foldb_checkpoint(db, copy));
  put(db, "logged", "only");
  OK(foldb_sync(db));
  OK(foldb_close(db));
  OK(foldb_open(path, options, &db));
  CHECK(has(db, "key.499", "value") && has(db, "merged", "again,again,again"));
  CHECK(has(db, "logged", "only") && has(db, "large", large));
  OK(foldb_close(db));

  size_t faults = 7, lost = 7;
  OK(foldb_verify(path, options, &faults, NULL));
  CHECK(faults == 0);
  OK(foldb_repair(path, options, NULL, &lost));
  CHECK(lost == 0);
  OK(foldb_open_read_only(copy, options, &db));
  CHECK(has(db, "large", large) && has(db, "logged", NULL));
  OK(foldb_close(db));
  OK(foldb_destroy(path, options));
  OK(foldb_destroy(copy, options));
  CHECK(access(path, F_OK) != 0 && access(copy, F_OK) != 0);
  foldb_options_free(options);
}

// Every write is flushed when it returns, so a kill loses none.
static void a_kill_loses_nothing(disk_t *disk, const foldb_env_t *env, const char *dir) {
  char path[1024];
  path_in(path, sizeof path, dir, "killed");
  foldb_t *db;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    foldb_options_t *options = options_with(env);
    OK(foldb_open(path, options, &db));
    put(db, "a", "1");
    OK(foldb_merge(db, NULL, NULL, BYTES("a"), BYTES("2")));
    CHECK(disk->flushes > 0);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  foldb_options_t *options = options_with(env);
  OK(foldb_open(path, options, &db));
  CHECK(has(db, "a", "1,2"));
  OK(foldb_close(db));
  foldb_options_free(options);
}

static void its_errors_come_back(disk_t *disk, const foldb_env_t *env, const char *dir) {
  char path[1024];
  path_in(path, sizeof path, dir, "errors");
  foldb_options_t *options = options_with(env);
  foldb_t *db;
  OK(foldb_open(path, options, &db));
  put(db, "before", "1");
  disk->full = true;
  for (int i = 0; i < 3; i++) {
    FAILS_WITH(FOLDB_NO_SPACE, "disk seven is full",
               foldb_put(db, NULL, NULL, BYTES("during"), BYTES("2")));
  }
  CHECK(has(db, "before", "1") && has(db, "during", NULL));
  disk->full = false;
  put(db, "after", "3");
  OK(foldb_close(db));
  OK(foldb_open(path, options, &db));
  CHECK(has(db, "before", "1") && has(db, "during", NULL) && has(db, "after", "3"));

  // After a failed sync nothing is written any more.
  foldb_write_options_t *synced = foldb_write_options_new();
  OK(foldb_write_options_set_sync(synced, true));
  disk->broken = true;
  FAILS_WITH(FOLDB_IO, "the cable is out", foldb_put(db, NULL, synced, BYTES("a"), BYTES("b")));
  disk->broken = false;
  FAILS_WITH(FOLDB_POISONED, "", foldb_put(db, NULL, synced, BYTES("a"), BYTES("b")));
  foldb_write_options_free(synced);
  foldb_error_free(foldb_close(db));
  foldb_options_free(options);
}

static void a_bad_environment_is_refused(disk_t *disk, const foldb_env_t *env) {
  foldb_options_t *options = foldb_options_new();
  foldb_env_t bad = *env;
  bad.rename_file = NULL;
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "env.rename_file", foldb_options_set_env(options, &bad));
  bad = *env;
  bad.now_micros = NULL;
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "now_micros", foldb_options_set_env(options, &bad));
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "env is NULL", foldb_options_set_env(options, NULL));
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "options is NULL", foldb_options_set_env(NULL, env));
  foldb_options_free(options);
  CHECK(disk->destroyed == 3);
}

// Listeners and runtimes.

typedef struct {
  atomic_int flushes;
  atomic_int others;
  atomic_int destroyed;
} heard_t;

static void hear(void *state, const char *name, const char *text) {
  heard_t *heard = state;
  CHECK(strlen(text) > 0);
  if (strcmp(name, "flush") == 0) {
    CHECK(strstr(text, "default") != NULL && strchr(text, '\n') == NULL);
    heard->flushes++;
  } else {
    heard->others++;
  }
}

static void forget(void *state) { ((heard_t *)state)->destroyed++; }

static void events_are_heard(const char *dir) {
  char path[1024];
  path_in(path, sizeof path, dir, "heard");
  heard_t heard = {0};
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  foldb_listener_t listener = {sizeof listener, &heard, forget, hear};
  foldb_listener_t empty = {sizeof empty, &heard, forget, NULL};
  OK(foldb_options_add_listener(options, &listener));
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "on_event", foldb_options_add_listener(options, &empty));
  CHECK(heard.destroyed == 1);
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "listener", foldb_options_add_listener(options, NULL));
  foldb_t *db;
  OK(foldb_open(path, options, &db));
  foldb_options_free(options);
  put(db, "key", "value");
  OK(foldb_flush(db));
  OK(foldb_compact(db, NULL, NULL, NULL));
  CHECK(heard.flushes == 1);
  OK(foldb_close(db));
  CHECK(heard.destroyed == 2);
}

static void databases_share_a_runtime(const char *dir) {
  foldb_runtime_options_t *sizes = foldb_runtime_options_new();
  OK(foldb_runtime_options_set(sizes, "memory_budget", "67108864"));
  OK(foldb_runtime_options_set(sizes, "background_threads", "1"));
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "threads", foldb_runtime_options_set(sizes, "threads", "1"));
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "x", foldb_runtime_options_set(sizes, "max_open_files", "x"));
  foldb_runtime_t *runtime;
  OK(foldb_runtime_new(sizes, &runtime));
  OK(foldb_runtime_options_set(sizes, "background_threads", "0"));
  foldb_runtime_t *impossible;
  FAILS_WITH(FOLDB_INVALID_ARGUMENT, "background_threads", foldb_runtime_new(sizes, &impossible));
  foldb_runtime_options_free(sizes);
  foldb_options_t *options = foldb_options_new();
  OK(foldb_options_set(options, "create_if_missing", "true"));
  OK(foldb_options_set_runtime(options, runtime));
  foldb_t *dbs[2];
  for (int i = 0; i < 2; i++) {
    char path[1024];
    path_in(path, sizeof path, dir, i == 0 ? "first" : "second");
    OK(foldb_open(path, options, &dbs[i]));
    put(dbs[i], "key", i == 0 ? "1" : "2");
    OK(foldb_flush(dbs[i]));
  }
  uint64_t bytes = 0;
  OK(foldb_runtime_memory(runtime, &bytes));
  CHECK(bytes > 0 && bytes <= 67108864);
  OK(foldb_options_set_runtime(options, NULL));
  foldb_options_free(options);
  foldb_runtime_free(runtime);
  CHECK(has(dbs[0], "key", "1") && has(dbs[1], "key", "2"));
  OK(foldb_close(dbs[0]));
  OK(foldb_close(dbs[1]));
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  CHECK(mkdir(argv[1], 0755) == 0);
  disk_t disk = {0};
  CHECK(pthread_mutex_init(&disk.mutex, NULL) == 0);
  foldb_env_t env = env_of(&disk);
  // A fork comes before any thread.
  a_kill_loses_nothing(&disk, &env, argv[1]);
  CHECK(disk.destroyed == 1 && disk.open_files == 0);
  disk.destroyed = 0;
  a_database_lives_in_it(&env, argv[1]);
  CHECK(disk.destroyed == 1 && disk.threads > 0 && disk.open_files == 0);
  // With no more than the functions that must be given.
  env.append_file = NULL;
  env.sync_dir = NULL;
  env.start_thread = NULL;
  env.now_micros = NULL;
  env.sleep_micros = NULL;
  disk.destroyed = disk.threads = 0;
  a_database_lives_in_it(&env, argv[1]);
  its_errors_come_back(&disk, &env, argv[1]);
  CHECK(disk.destroyed == 2 && disk.open_files == 0 && disk.threads == 0);
  env = env_of(&disk);
  its_errors_come_back(&disk, &env, argv[1]);
  disk.destroyed = 0;
  a_bad_environment_is_refused(&disk, &env);
  events_are_heard(argv[1]);
  databases_share_a_runtime(argv[1]);
  puts("the environment did everything");
  return 0;
}
