// foldb: an embedded, ordered, crash-safe key-value store around merge operators.
//
// RULES FOR CALLERS
//
// Errors. A function that can fail returns a foldb_error_t *: NULL is success. foldb_error_code()
// says what to do about the error, foldb_error_message() what happened where. The caller frees it
// with foldb_error_free(). A function that fails stores no result.
//
// Ownership. The caller frees each handle that a function returns or stores, once, with the
// function named after its type: foldb_value_free(), foldb_iter_free() and so on; foldb_close()
// frees a database. The order does not matter. All free functions take NULL. Texts stored through
// a char ** are freed with foldb_string_free().
//
// Arguments. foldb copies the keys, values, names and options that it gets, so they need to live
// only during the call. Bytes are a pointer and a length; the pointer may be NULL if the length is
// 0. Names and texts are UTF-8 and end with a NUL; a path is any bytes that end with a NUL. Where
// NULL has no meaning, it is FOLDB_INVALID_ARGUMENT. Any other pointer must be valid for its type,
// and a handle must not have been freed.
//
// Results. Bytes that a function returns live as long as the handle that they belong to. The key
// and value of an iterator live until its next move.
//
// Threads. Any thread may use a database, a keyspace, a snapshot, a value or options that no thread
// changes, several threads at the same time; a queue too. An iterator, a batch, a load, a
// transaction, updates, a claim, a list of jobs, and options that are being set belong to one thread
// at a time. No handle may be freed while
// another thread uses it.
//
// Callbacks. The functions of an operator, a comparator or a filter policy are called from any
// thread, several at the same time, and must be pure functions of their arguments. They return
// normally: an exception or longjmp out of them is undefined. They do not call foldb, except where
// their comment says so.
//
// A fork() leaves the child without the database: it must not use the parent's handles.


#ifndef FOLDB_H
#define FOLDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of this header.
#define FOLDB_VERSION_MAJOR 0
#define FOLDB_VERSION_MINOR 1
#define FOLDB_VERSION_PATCH 0
// The same as one number, to be compared with foldb_version_number().
#define FOLDB_VERSION_NUMBER \
  (FOLDB_VERSION_MAJOR * 1000000 + FOLDB_VERSION_MINOR * 1000 + FOLDB_VERSION_PATCH)

// Marks the functions of the library. A program may define it first, for example as
// __declspec(dllimport).
#ifndef FOLDB_API
#if defined(__GNUC__)
#define FOLDB_API __attribute__((visibility("default")))
#else
#define FOLDB_API
#endif
#endif

// The compiler warns if a program ignores an error. To ignore one on purpose, free it:
// foldb_error_free(foldb_delete(...)).
#ifndef FOLDB_CHECK_ERROR
#if defined(__GNUC__)
#define FOLDB_CHECK_ERROR __attribute__((warn_unused_result))
#else
#define FOLDB_CHECK_ERROR
#endif
#endif


// What the caller can do about an error.
typedef enum {
  // No error: the code of a NULL error.
  FOLDB_OK = 0,
  // The call itself is wrong: a bad option, a malformed operand, or a NULL that may not be one.
  FOLDB_INVALID_ARGUMENT = 1,
  // The directory holds no database. Set `create_if_missing`, or fix the path.
  FOLDB_DATABASE_MISSING = 2,
  // The directory already holds a database, and `error_if_exists` is set.
  FOLDB_DATABASE_EXISTS = 3,
  // Another process or handle has the database open. Close it first.
  FOLDB_LOCKED = 4,
  // The database uses a merge operator that the open did not get.
  FOLDB_UNKNOWN_OPERATOR = 5,
  // A comparator that the open did not get orders one of the keyspaces.
  FOLDB_UNKNOWN_COMPARATOR = 6,
  // No keyspace has that name. Create it.
  FOLDB_KEYSPACE_MISSING = 7,
  // A keyspace of that name already exists.
  FOLDB_KEYSPACE_EXISTS = 8,
  // The keyspace was dropped after this handle was made. Free the handle.
  FOLDB_KEYSPACE_DROPPED = 9,
  // The merge operator rejected this key's operands. Other keys are not affected.
  FOLDB_MERGE_FAILED = 10,
  // The comparator contradicted itself. Reopen with a total order.
  FOLDB_COMPARATOR_FAILED = 11,
  // Bytes on disk are not the bytes that were written. Restore a copy, or repair.
  FOLDB_CORRUPTION = 12,
  // This build does not know a file's format, a codec or the platform.
  FOLDB_UNSUPPORTED = 13,
  // The disk is full. Delete keys or keyspaces, or free some space; the database then resumes.
  FOLDB_NO_SPACE = 14,
  // An earlier sync failed, so it is unknown which writes are durable. Reopen the database.
  FOLDB_POISONED = 15,
  // The database was opened read-only.
  FOLDB_READ_ONLY = 16,
  // The database was closed.
  FOLDB_CLOSED = 17,
  // The write would have waited longer than its deadline. Nothing was written.
  FOLDB_BUSY = 18,
  // A call of the operating system failed.
  FOLDB_IO = 19,
  // A bug in foldb. The message says where; please report it.
  FOLDB_PANIC = 20,
  // A kind of error that is newer than this header.
  FOLDB_OTHER = 21,
  // The directory holds a LevelDB or RocksDB database. Nothing in it was changed.
  FOLDB_FOREIGN_DATABASE = 22,
  // A file does not exist. Only functions of a `foldb_env_t` return it.
  FOLDB_FILE_MISSING = 23,
  // Another write changed what this transaction depends on. Nothing was written; run it again.
  FOLDB_CONFLICT = 24,
  // The transaction holds more writes than one batch may. Split it.
  FOLDB_TRANSACTION_TOO_LARGE = 25,
  // The program gave up its transaction.
  FOLDB_ABORTED = 26,
  // The change feed cannot continue at this position. Copy the database anew.
  FOLDB_POSITION_LOST = 27,
  // This process is a fork of the one that opened the database. Use the database in the parent,
  // or open another one after the fork.
  FOLDB_FORKED = 28,
  // The directory of the open database was moved, removed or replaced. Nothing was written to
  // the new one. Put it back, or close the database and open it where it is now.
  FOLDB_DIRECTORY_LOST = 29,
  // A callback of the program made this call, and the call would have waited for that callback.
  // Nothing was written. Make the call on another thread, or after the callback has returned.
  FOLDB_REENTRANT = 30,
} foldb_code_t;

// What a change of the feed is.
typedef enum {
  // `key` was set to `value`.
  FOLDB_CHANGE_PUT = 0,
  // `key` was deleted.
  FOLDB_CHANGE_DELETE = 1,
  // The operand `value` was merged into `key` by `merge_operator`.
  FOLDB_CHANGE_MERGE = 2,
  // The keys from `key` to `value` were deleted; `start` and `end` say which ends belong to it.
  FOLDB_CHANGE_DELETE_RANGE = 3,
  // The keyspace was dropped. After a crash this may come again.
  FOLDB_CHANGE_KEYSPACE_DROPPED = 4,
  // The keyspace was created, with `merge_operator` and `comparator`. After a crash this may
  // come again.
  FOLDB_CHANGE_KEYSPACE_CREATED = 5,
  // The changes with the numbers from `first` to `last` are in no log: unlogged writes or
  // sorted loads. A program that needs them copies the database anew.
  FOLDB_CHANGE_UNLOGGED = 6,
} foldb_change_kind_t;

// An end of a deleted range.
typedef enum {
  // There is no bound, and the key is empty.
  FOLDB_UNBOUNDED = 0,
  // The key belongs to the range.
  FOLDB_INCLUDED = 1,
  // The key does not belong to the range.
  FOLDB_EXCLUDED = 2,
} foldb_bound_t;

// What a job waits for.
typedef enum {
  // It can be claimed.
  FOLDB_JOB_READY = 0,
  // It can be claimed from `time_millis` on.
  FOLDB_JOB_DELAYED = 1,
  // The worker `text` has it until `time_millis`.
  FOLDB_JOB_LEASED = 2,
  // It is a dead letter: its last attempt ended at `time_millis`, because of `text`.
  FOLDB_JOB_DEAD = 3,
} foldb_job_state_t;

// What folding the operands of a key gives.
typedef enum {
  // The operands cannot be folded. Reads of this key fail with `FOLDB_MERGE_FAILED`, and the
  // operands are kept. From `partial`: the operands stay as they are, which is no failure.
  FOLDB_FOLD_FAILED = 0,
  // The value that was appended to the output. From `partial`: the value of the key, whatever
  // is older.
  FOLDB_FOLD_VALUE = 1,
  // The operand that was appended to the output. Only from `partial`.
  FOLDB_FOLD_OPERAND = 2,
  // The base, unchanged and not copied. Only from `full`.
  FOLDB_FOLD_BASE = 3,
  // The newest operand, unchanged and not copied. Only from `full`.
  FOLDB_FOLD_NEWEST = 4,
  // The key is deleted.
  FOLDB_FOLD_DELETE = 5,
} foldb_fold_t;

// What a transaction is protected from.
typedef enum {
  // What the transaction read is unchanged at its commit. Writes conflict with nothing.
  FOLDB_SERIALIZABLE = 0,
  // The transaction reads one moment, and no other write changed what it writes. Merges do not
  // conflict with merges.
  FOLDB_SNAPSHOT_ISOLATION = 1,
} foldb_isolation_t;

// A move of an iterator.
typedef enum {
  // To the next entry; a new iterator to the first one.
  FOLDB_MOVE_NEXT = 0,
  // To the previous entry; a new iterator to the last one.
  FOLDB_MOVE_PREV = 1,
  // To the first entry.
  FOLDB_MOVE_FIRST = 2,
  // To the last entry.
  FOLDB_MOVE_LAST = 3,
  // To the first entry at or after a key.
  FOLDB_MOVE_SEEK = 4,
  // To the last entry at or before a key.
  FOLDB_MOVE_SEEK_FOR_PREV = 5,
} foldb_move_t;

// A batch of writes to one database. One thread at a time may use it.
typedef struct foldb_batch_t foldb_batch_t;

// A job in the hands of a worker, until its lease ends. One thread at a time may use it.
typedef struct foldb_claim_t foldb_claim_t;

// An error. The caller frees it with `foldb_error_free`.
typedef struct foldb_error_t foldb_error_t;

// An iterator over one state of a keyspace. One thread at a time may use it. It stands on no entry
// until a call moves it.
typedef struct foldb_iter_t foldb_iter_t;

// The jobs of a queue at one moment. One thread at a time may use it. It keeps its database open.
typedef struct foldb_jobs_t foldb_jobs_t;

// Options with which a keyspace is created. What is not set is as in the database's options.
typedef struct foldb_keyspace_options_t foldb_keyspace_options_t;

// A keyspace of a database. All threads may use it at the same time.
typedef struct foldb_keyspace_t foldb_keyspace_t;

// A sorted load into one keyspace. One thread at a time may use it. It keeps its database open.
typedef struct foldb_load_t foldb_load_t;

// Options of a database.
typedef struct foldb_options_t foldb_options_t;

// Where a callback puts bytes: the result of a fold, a shorter key, a filter, or the message of an
// error. It lives during the call.
typedef struct foldb_output_t foldb_output_t;

// A queue of jobs, in a keyspace of its own. All threads may use it at the same time. Open it once
// and share it: the claims of one handle do not conflict with each other. It keeps its database
// open.
typedef struct foldb_queue_t foldb_queue_t;

// Options of one read.
typedef struct foldb_read_options_t foldb_read_options_t;

// Options of a runtime.
typedef struct foldb_runtime_options_t foldb_runtime_options_t;

// Threads, a block cache and a memory budget for several databases. All threads may use it at the
// same time.
typedef struct foldb_runtime_t foldb_runtime_t;

// A state of the database. All threads may use it at the same time. Free it soon: it keeps old
// values on disk.
typedef struct foldb_snapshot_t foldb_snapshot_t;

// An open database. All threads may use it at the same time.
typedef struct foldb_t foldb_t;

// A transaction. One thread at a time may use it. It keeps its database open.
typedef struct foldb_transaction_t foldb_transaction_t;

// Reads the change feed. One thread at a time may use it. It keeps its database open.
typedef struct foldb_updates_t foldb_updates_t;

// A value that a read returned. A large one is not copied: it keeps the memtable or the cached
// block that it lies in, so free it soon with `foldb_value_free`.
typedef struct foldb_value_t foldb_value_t;

// Options of one write.
typedef struct foldb_write_options_t foldb_write_options_t;

// A string of bytes. It does not own them.
typedef struct {
  // The first byte. It may be NULL if `len` is 0.
  const uint8_t *data;
  // The number of bytes.
  size_t len;
} foldb_bytes_t;

// Folds the operands of a key over its base. `base` is NULL if the key has none. `operands` has at
// least one element, the oldest first. All arguments live during the call. Returns a
// `foldb_fold_t`.
typedef int (*foldb_full_fn)(void *state,
                             foldb_bytes_t key,
                             const foldb_bytes_t *base,
                             const foldb_bytes_t *operands,
                             size_t operand_count,
                             foldb_output_t *output);

// Folds at least two operands, the oldest first, without a base. All arguments live during the
// call. Returns a `foldb_fold_t`.
typedef int (*foldb_partial_fn)(void *state,
                                foldb_bytes_t key,
                                const foldb_bytes_t *operands,
                                size_t operand_count,
                                foldb_output_t *output);

// A merge operator of the program. Any thread may call its functions, several at the same time.
// They must not call foldb, except `foldb_output_append`, and must return: no `longjmp`, no
// exception.
typedef struct {
  // `sizeof` of this struct. It tells the library which fields the program's header has.
  size_t size;
  // Passed to all functions. May be NULL.
  void *state;
  // Frees `state`. May be NULL.
  void (*destructor)(void *state);
  // The name that the database remembers, with a dot in it: `"app.max"`. Copied.
  const char *name;
  // The version of the operands' format. Start with 0.
  uint32_t version;
  // Folds operands over a base.
  foldb_full_fn full;
  // Folds operands without a base. NULL: the engine keeps them until it meets the base.
  foldb_partial_fn partial;
  // Whether `partial` gives about the size of one operand, as a sum does. False: about the size
  // of all operands together, as a list does.
  bool shrinks;
} foldb_operator_t;

// Compares two keys: negative, 0 or positive, as `memcmp` does.
typedef int (*foldb_compare_fn)(void *state, foldb_bytes_t a, foldb_bytes_t b);

// Appends a short key `s` with `start <= s < limit` to the output, with `foldb_output_append`. The
// index of a table stores `s` in place of `start`. An answer that is not shorter than `start`, or
// that breaks the rule, is ignored. LevelDB: `FindShortestSeparator`.
typedef void (*foldb_separator_fn)(void *state,
                                   foldb_bytes_t start,
                                   foldb_bytes_t limit,
                                   foldb_output_t *output);

// Appends a short key `s` with `key <= s` to the output, with `foldb_output_append`. Otherwise as
// `foldb_separator_fn`. LevelDB: `FindShortSuccessor`.
typedef void (*foldb_successor_fn)(void *state, foldb_bytes_t key, foldb_output_t *output);

// An order of keys of the program. It must be a total order. Any thread may call its functions,
// several at the same time. They must not call foldb, except `foldb_output_append`, and must
// return: no `longjmp`, no exception.
typedef struct {
  // `sizeof` of this struct. It tells the library which fields the program's header has.
  size_t size;
  // Passed to all functions. May be NULL.
  void *state;
  // Frees `state`. May be NULL.
  void (*destructor)(void *state);
  // The name that the database remembers. Change it whenever the order changes. Copied.
  const char *name;
  // Compares two keys. It gets only whole keys: keys that were written, keys that the program
  // passes to reads, seeks and ranges, and keys that `separator` and `successor` return.
  foldb_compare_fn compare;
  // Shortens keys in the index of a table. NULL: the index has whole keys.
  foldb_separator_fn separator;
  // Shortens the last key in the index of a table. NULL: the index has the whole key.
  foldb_successor_fn successor;
  // Whether `compare` may call keys of different bytes equal. Such keys are spellings of one
  // key: the newest write wins or merges, and iterators show its spelling. False promises that
  // equal keys have the same bytes; writes and reads are then faster, and tables have filters.
  bool equal_keys_may_differ;
} foldb_comparator_t;

// A file that grows at its end. foldb calls its functions from one thread at a time. They return
// a `foldb_code_t`; any code but `FOLDB_OK` is a failure, and `foldb_output_append` adds its text
// to `message`.
typedef struct {
  // Passed to all functions.
  void *state;
  // Appends bytes. They may stay in a buffer until `flush`. After a failure foldb appends no
  // more, and writes the good part of the file anew if it needs the file.
  int (*append)(void *state, const uint8_t *data, size_t len, foldb_output_t *message);
  // Hands buffered bytes to the operating system. A kill of the process then loses none.
  int (*flush)(void *state, foldb_output_t *message);
  // Flushes, and makes the bytes durable.
  int (*sync)(void *state, foldb_output_t *message);
  // Flushes, closes the file and frees `state`, also if it fails. Called once, last.
  int (*close)(void *state, foldb_output_t *message);
} foldb_writable_file_t;

// A file for reads. Several threads may call `read` at the same time.
typedef struct {
  // Passed to all functions.
  void *state;
  // Reads up to `len` bytes from `offset` into `buffer`, and stores in `*count` how many. Fewer
  // are allowed anywhere; 0 says that the file ends there.
  int (*read)(void *state,
              uint64_t offset,
              uint8_t *buffer,
              size_t len,
              size_t *count,
              foldb_output_t *message);
  // Closes the file and frees `state`. Called once, last.
  void (*close)(void *state);
} foldb_readable_file_t;

// An environment of the program: files that grow only at their end, and if the program likes,
// threads and time. Any thread may call its functions, several at the same time. They must not use
// a database that uses this environment, and must return: no `longjmp`, no exception.
//
// A function that returns `int` returns a `foldb_code_t`. `FOLDB_OK` is success.
// `FOLDB_FILE_MISSING` says that the file does not exist, `FOLDB_NO_SPACE` that the disk is full,
// `FOLDB_LOCKED` that a lock is held. Every other code is an I/O error. After a failure, the text
// that `foldb_output_append` added to `message` is part of the message of foldb's error. Paths are
// those of the open, with the name of a file after a `/`.
typedef struct {
  // `sizeof` of this struct. It tells the library which fields the program's header has.
  size_t size;
  // Passed to all functions. May be NULL.
  void *state;
  // Frees `state`. May be NULL. Called once all databases and files of the environment are
  // closed.
  void (*destructor)(void *state);
  // Creates a file, or empties it, and fills `*file`.
  int (*create_file)(void *state,
                     const char *path,
                     foldb_writable_file_t *file,
                     foldb_output_t *message);
  // Opens an existing file to append to it, and fills `*file`. NULL, or `FOLDB_UNSUPPORTED`: not
  // possible, and an open file must stay usable after a rename.
  int (*append_file)(void *state,
                     const char *path,
                     foldb_writable_file_t *file,
                     foldb_output_t *message);
  // Opens a file for reads, and fills `*file`. The file may be renamed, removed, or grow while
  // it is open. Reads then need to find the bytes that it had at its open.
  int (*open_file)(void *state,
                   const char *path,
                   foldb_readable_file_t *file,
                   foldb_output_t *message);
  // Returns whether a file exists. A directory may count or not.
  bool (*file_exists)(void *state, const char *path);
  // Appends the names of a directory's files to `names`, each with a NUL after it. Names of
  // directories, `.` and `..` may be among them.
  int (*list)(void *state, const char *path, foldb_output_t *names, foldb_output_t *message);
  // Removes a file.
  int (*remove_file)(void *state, const char *path, foldb_output_t *message);
  // Creates a directory whose parent exists.
  int (*create_dir)(void *state, const char *path, foldb_output_t *message);
  // Removes an empty directory.
  int (*remove_dir)(void *state, const char *path, foldb_output_t *message);
  // Stores the length of a file, with all flushed bytes, in `*size`.
  int (*file_size)(void *state, const char *path, uint64_t *size, foldb_output_t *message);
  // Renames a file within its directory. It replaces the target atomically.
  int (*rename_file)(void *state, const char *from, const char *to, foldb_output_t *message);
  // Makes creations, renames and removals in a directory durable. NULL: foldb creates, syncs and
  // removes a file `MANIFEST.tmp` in the directory instead. The sync of that file must then make
  // the earlier changes of the directory durable, or a power loss may destroy the database.
  int (*sync_dir)(void *state, const char *path, foldb_output_t *message);
  // Locks a file, which may be missing, against other processes and handles. Stores in `*lock`
  // what `unlock_file` gets.
  int (*lock_file)(void *state, const char *path, void **lock, foldb_output_t *message);
  // Releases a lock.
  void (*unlock_file)(void *state, void *lock);
  // Starts a thread that calls `body(argument)` once. After a failure it never calls it. NULL:
  // foldb starts its own threads.
  int (*start_thread)(void *state,
                      void (*body)(void *argument),
                      void *argument,
                      foldb_output_t *message);
  // Returns the microseconds since some moment. NULL: foldb reads the machine's clock. Give both
  // functions of time or none.
  uint64_t (*now_micros)(void *state);
  // Returns after this many microseconds of `now_micros`.
  void (*sleep_micros)(void *state, uint64_t micros);
} foldb_env_t;

// Appends a filter of `key_count` keys to the output, with `foldb_output_append`. There is at
// least one key. The keys ascend in the order of the comparator.
typedef void (*foldb_create_filter_fn)(void *state,
                                       const foldb_bytes_t *keys,
                                       size_t key_count,
                                       foldb_output_t *output);

// Returns whether `key` may be one of the keys that this filter was made of. False is certain.
typedef bool (*foldb_may_contain_fn)(void *state, foldb_bytes_t key, foldb_bytes_t filter);

// A filter policy of the program: it makes the filters of tables, with which reads skip tables
// that do not have a key. A filter must admit each key that it was made of, and each key that the
// comparator calls equal to one of them; otherwise reads miss that key. Any thread may call its
// functions, several at the same time. They must not call foldb, except `foldb_output_append`, and
// must return: no `longjmp`, no exception.
typedef struct {
  // `sizeof` of this struct. It tells the library which fields the program's header has.
  size_t size;
  // Passed to all functions. May be NULL.
  void *state;
  // Frees `state`. May be NULL.
  void (*destructor)(void *state);
  // The name that each table stores with its filter. A table whose filter has another name is
  // read without its filter. Change it whenever the filters of the same keys change. Copied.
  const char *name;
  // Makes a filter.
  foldb_create_filter_fn create_filter;
  // Asks a filter.
  foldb_may_contain_fn may_contain;
} foldb_filter_policy_t;

// Gets an event: its name, for example `flush`, and a line that describes it. Both live during the
// call.
typedef void (*foldb_event_fn)(void *state, const char *name, const char *text);

// A listener for the events of databases. The names are `flush`, `compaction`,
// `garbage_collection`, `stall`, `merge_failed`, `tail_dropped`, `table_damaged`, `clock_jumped`,
// `disk_full`, `disk_has_space` and `background_error`; later versions may add more.
//
// Any thread may call the function, several at the same time, and the database waits for it. It
// may read from the database. It must not call `foldb_flush`, `foldb_compact` or another function
// that waits for background work; they fail with `FOLDB_REENTRANT`.
typedef struct {
  // `sizeof` of this struct. It tells the library which fields the program's header has.
  size_t size;
  // Passed to all functions. May be NULL.
  void *state;
  // Frees `state`. May be NULL.
  void (*destructor)(void *state);
  // Gets an event.
  foldb_event_fn on_event;
} foldb_listener_t;

// A cache of blocks, with the model of LevelDB's `Cache`. Any thread may call its functions,
// several at the same time. They must not call foldb, except `foldb_cached_block_free`, and must
// return: no `longjmp`, no exception.
//
// A handle is what the cache returns for an entry. It keeps the entry's value until `release`. The
// cache calls `foldb_cached_block_free` with the value, once the entry is dropped and all its
// handles are released. It may do this after the database is closed.
typedef struct {
  // `sizeof` of this struct. It tells the library which fields the program's header has.
  size_t size;
  // Passed to all functions. May be NULL.
  void *state;
  // Frees `state`. May be NULL.
  void (*destructor)(void *state);
  // Stores a value under a key, in place of an earlier one, and returns a handle. The value
  // takes about `charge` bytes of memory.
  void *(*insert)(void *state, foldb_bytes_t key, void *value, size_t charge);
  // Returns a handle of the key's entry; NULL if there is none.
  void *(*lookup)(void *state, foldb_bytes_t key);
  // Returns the value of a handle.
  void *(*value)(void *state, void *handle);
  // Releases a handle.
  void (*release)(void *state, void *handle);
  // Returns a number that no earlier call returned. Each database asks once, and its keys begin
  // with the number.
  uint64_t (*new_id)(void *state);
} foldb_block_cache_t;

// Receives a value. The bytes live during the call. It must not call foldb, and must return: no
// `longjmp`, no exception.
typedef void (*foldb_value_fn)(void *state, foldb_bytes_t value);

// What an iterator stands on after a move.
typedef struct {
  // The key. It lives until the iterator's next move.
  foldb_bytes_t key;
  // The value. It lives until the iterator's next move.
  foldb_bytes_t value;
  // Whether there is an entry. If not, key and value are empty.
  bool valid;
} foldb_entry_t;

// What a sorted load added.
typedef struct {
  // Number of keys.
  uint64_t entries;
  // Tables written.
  uint64_t tables;
  // Bytes of those tables.
  uint64_t bytes;
  // The load's place in the order of writes; 0 for a load without keys.
  uint64_t sequence_number;
} foldb_load_report_t;

// The work of a transaction of `foldb_transact`. `state` is what the program passed to that call.
// Returns NULL to commit. Returns an error to give up: one that another call returned, or a
// `foldb_error_aborted`. The function may call foldb, but neither commits nor frees the
// transaction, and frees the iterators that it makes of it. It returns normally: no `longjmp`, no
// exception.
typedef foldb_error_t *(*foldb_transaction_fn)(void *state, foldb_transaction_t *transaction);

// Makes the new value of a key: appends it to `new_value` with `foldb_output_append`. Returns
// something other than 0 if the key has that value from now on, and 0 to delete the key or to
// leave it absent. `value` is NULL if the key is absent; it lives during the call. `state` is what
// the program passed to `foldb_update`.
typedef int (*foldb_update_fn)(void *state,
                               const uint8_t *value,
                               size_t value_len,
                               foldb_output_t *new_value);

// Returns whether a value is accepted. `value` is NULL if the key is absent. `state` is what the
// program passed to `foldb_merge_if`.
typedef int (*foldb_accepts_t)(void *state, const uint8_t *value, size_t value_len);

// A place in the history of a database. All zeros is the beginning. A program may store the bytes
// and give them back. The bytes of positions of one history are ordered as the positions are.
typedef struct {
  // The position as bytes.
  uint8_t bytes[32];
} foldb_position_t;

// One change of an update. Fields that its kind does not name are NULL, empty or 0.
typedef struct {
  // What happened.
  foldb_change_kind_t kind;
  // How a deleted range starts.
  foldb_bound_t start;
  // How a deleted range ends.
  foldb_bound_t end;
  // The name of the keyspace.
  const char *keyspace;
  // The key, or the start of a range.
  foldb_bytes_t key;
  // The value, the operand, or the end of a range.
  foldb_bytes_t value;
  // The operator as `NAME` or `NAME:PARAM`; of a created keyspace without one, NULL.
  const char *merge_operator;
  // The name of the comparator of a created keyspace.
  const char *comparator;
  // The option `expiry` of a created keyspace, as `foldb_keyspace_options_set` takes it; NULL if
  // its entries do not expire.
  const char *expiry;
  // When the value expires after the put or merge, in milliseconds since 1970; -1 if the write
  // sets no time.
  int64_t expires_millis;
  // The first sequence number of unlogged changes.
  uint64_t first;
  // The last sequence number of unlogged changes.
  uint64_t last;
} foldb_change_t;

// A job. Its body and text live as long as the claim, or until the next move of the list.
typedef struct {
  // The id that the push stored.
  uint64_t id;
  // What was pushed.
  foldb_bytes_t body;
  // How often the job was claimed. In a claim from 2 on, an earlier worker may have done a part.
  uint32_t attempts;
  // The priority of the job.
  int32_t priority;
  // What the job waits for.
  foldb_job_state_t state;
  // The moment that belongs to the state, in milliseconds since 1970; -1 for a ready job.
  int64_t time_millis;
  // The worker of a leased job, the reason of a dead letter; otherwise NULL.
  const char *text;
} foldb_job_t;

// How many jobs are in each state. A job whose delay or lease has ended counts as delayed or
// leased until the next claim looks.
typedef struct {
  // Jobs that can be claimed.
  uint64_t ready;
  // Jobs that wait for their time.
  uint64_t delayed;
  // Jobs in the hands of workers.
  uint64_t leased;
  // Dead letters.
  uint64_t dead;
  // Jobs that were ended as done.
  uint64_t done;
} foldb_queue_depth_t;

// What a garbage collection did.
typedef struct {
  // Bytes of value segment files before.
  uint64_t bytes_before;
  // Bytes of value segment files after.
  uint64_t bytes_after;
  // Bytes read from segments.
  uint64_t bytes_read;
  // Bytes written to segments.
  uint64_t bytes_written;
  // Segment files rewritten.
  uint64_t files_rewritten;
  // How long it took, in microseconds.
  uint64_t duration_micros;
  // Longest time in microseconds that it held a lock which a read or write may wait for.
  uint64_t longest_lock_micros;
} foldb_gc_report_t;

// A backup in a directory of backups.
typedef struct {
  // Its number in the directory, from 1 on. Later backups have larger numbers.
  uint64_t id;
  // Files that a restore copies.
  uint64_t files;
  // Bytes of those files.
  uint64_t bytes;
  // Files that the directory did not have before this backup.
  uint64_t new_files;
  // Bytes of those files.
  uint64_t new_bytes;
} foldb_backup_t;

// Receives a backup, which lives during the call. Must return: no `longjmp`, no exception.
typedef void (*foldb_backup_fn)(void *state, const foldb_backup_t *backup);

// A table in a tree: a file, and the range of its keys that the tree shows.
typedef struct {
  // The lower bound of its keys.
  foldb_bytes_t smallest;
  // The upper bound of its keys.
  foldb_bytes_t largest;
  // The number in the name of its file.
  uint64_t number;
  // Bytes of the file.
  uint64_t bytes;
  // Records in the file.
  uint64_t records;
  // The smallest sequence number of its records.
  uint64_t smallest_seqno;
  // The largest sequence number of its records.
  uint64_t largest_seqno;
  // The level that the table is in. 0 is the newest.
  uint32_t level;
} foldb_table_t;

// Receives a table, which lives during the call. Must return: no `longjmp`, no exception.
typedef void (*foldb_table_fn)(void *state, const foldb_table_t *table);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the code of an error; `FOLDB_OK` for NULL.
FOLDB_API
foldb_code_t foldb_error_code(const foldb_error_t *error);

// Returns the message of an error: one line that names the file, offset, key or option. It lives
// as long as the error. For NULL it is "no error".
FOLDB_API
const char *foldb_error_message(const foldb_error_t *error);

// Makes an error with the code `FOLDB_ABORTED`, for the function of a `foldb_transact` that gives
// up. Copies the message; NULL is a message of foldb's own.
FOLDB_API
foldb_error_t *foldb_error_aborted(const char *message);

// Frees an error. NULL is allowed.
FOLDB_API
void foldb_error_free(foldb_error_t *error);

// Returns the first byte of a value. It lives as long as the value. NULL for a NULL value.
FOLDB_API
const uint8_t *foldb_value_data(const foldb_value_t *value);

// Returns the number of bytes of a value; 0 for NULL.
FOLDB_API
size_t foldb_value_len(const foldb_value_t *value);

// Frees a value. NULL is allowed.
FOLDB_API
void foldb_value_free(foldb_value_t *value);

// Frees a text that a function of this header returned through a `char **`. NULL is allowed.
FOLDB_API
void foldb_string_free(char *text);

// Makes options of a database with their defaults.
FOLDB_API
foldb_options_t *foldb_options_new(void);

// Sets an option by its name, for example `("create_if_missing", "true")`,
// `("merge_operator", "uint64add")`, `("write_buffer_size", "67108864")`,
// `("compression", "none")` or `("profile", "write_heavy")`. `foldb options` of the command-line
// tool lists names, defaults and meanings. Fails with `FOLDB_INVALID_ARGUMENT` for an unknown name
// or a value of another type; the open checks ranges.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_options_set(foldb_options_t *options, const char *name, const char *value);

// Registers a merge operator of the program. Copies the struct. From then on foldb owns its
// `state`, also if this call fails, and calls `destructor` once when nothing uses the operator
// any more. If `state` or `destructor` is NULL, nothing is called. A struct without its `size` is
// refused, and foldb then owns nothing. The same holds for every struct of functions.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_options_add_operator(foldb_options_t *options,
                                          const foldb_operator_t *operator_);

// Sets the order of the keys of the default keyspace. Copies the struct and owns `state`, as
// `foldb_options_add_operator` does. Without it the order is that of the bytes.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_options_set_comparator(foldb_options_t *options,
                                            const foldb_comparator_t *comparator);

// Registers the comparator of another keyspace, which every open of the database needs. Copies the
// struct and owns `state`, as `foldb_options_add_operator` does.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_options_add_comparator(foldb_options_t *options,
                                            const foldb_comparator_t *comparator);

// Sets the files of the databases, and if the environment has them, their threads and time. Copies
// the struct and owns `state`, as `foldb_options_add_operator` does. Every call with these options
// then uses the environment. Without it foldb uses the machine's files.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_options_set_env(foldb_options_t *options, const foldb_env_t *env);

// Sets the filter policy of the default keyspace, and of keyspaces that are created without their
// own. Copies the struct and owns `state`, as `foldb_options_add_operator` does. Without a policy,
// tables have the built-in filter that the option `bloom_bits` sets. Every open sets the policy
// again.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_options_set_filter_policy(foldb_options_t *options,
                                               const foldb_filter_policy_t *policy);

// Adds a listener, which gets the events of the databases. Copies the struct and owns `state`, as
// `foldb_options_add_operator` does.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_options_add_listener(foldb_options_t *options,
                                          const foldb_listener_t *listener);

// Sets the cache for the blocks of the databases. Copies the struct and owns `state`, as
// `foldb_options_add_operator` does. The option `block_cache_size` then has no effect, and the
// cache is no part of the memory budget.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_options_set_block_cache(foldb_options_t *options,
                                             const foldb_block_cache_t *cache);

// Makes the databases share the threads and memory of a runtime; NULL is a runtime for each
// database, the default. The sizes of memory and the number of threads are then those of the
// runtime. The options keep the runtime, so the caller may free its own handle.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_options_set_runtime(foldb_options_t *options, const foldb_runtime_t *runtime);

// Registers the filter policy of another keyspace. A keyspace whose policy is not registered is
// read without the filters that the policy made. Copies the struct and owns `state`, as
// `foldb_options_add_operator` does.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_options_add_filter_policy(foldb_options_t *options,
                                               const foldb_filter_policy_t *policy);

// Frees options. NULL is allowed. A database that was opened with them is not affected.
FOLDB_API
void foldb_options_free(foldb_options_t *options);

// Makes options of a keyspace.
FOLDB_API
foldb_keyspace_options_t *foldb_keyspace_options_new(void);

// Sets an option of a keyspace: `merge_operator`, `compression`, `bloom_bits`, `compaction`,
// `value_separation_min`, `expiry` or `schema`. Fails with `FOLDB_INVALID_ARGUMENT` for another
// name or a bad value. An expiry is `per-write`, `after-last-write:SECONDS` or
// `after-first-write:SECONDS`, perhaps with `/BUCKET`, in seconds, to which ends are rounded up.
// By default entries never expire.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_keyspace_options_set(foldb_keyspace_options_t *options,
                                          const char *name,
                                          const char *value);

// Sets the order of the keyspace's keys. Copies the struct and owns `state`, as
// `foldb_options_add_operator` does. Later opens of the database register the same comparator with
// `foldb_options_add_comparator`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_keyspace_options_set_comparator(foldb_keyspace_options_t *options,
                                                     const foldb_comparator_t *comparator);

// Sets the filter policy of the keyspace. Copies the struct and owns `state`, as
// `foldb_options_add_operator` does. Later opens of the database register the same policy with
// `foldb_options_add_filter_policy`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_keyspace_options_set_filter_policy(foldb_keyspace_options_t *options,
                                                        const foldb_filter_policy_t *policy);

// Frees options of a keyspace. NULL is allowed.
FOLDB_API
void foldb_keyspace_options_free(foldb_keyspace_options_t *options);

// Makes options of a write with their defaults.
FOLDB_API
foldb_write_options_t *foldb_write_options_new(void);

// Says whether the write, and every earlier one, is on the medium when the call returns. Default:
// false, which survives a kill of the process, and perhaps not a power loss.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_write_options_set_sync(foldb_write_options_t *options, bool sync);

// Says whether to leave the log out. The write is then lost if the process ends before a flush.
// Default: false. Together with sync the write fails with `FOLDB_INVALID_ARGUMENT`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_write_options_set_disable_wal(foldb_write_options_t *options,
                                                   bool disable_wal);

// Sets the longest time, in microseconds, that the write may wait for flushes and compactions. A
// write that would wait longer fails with `FOLDB_BUSY`. 0: never wait. Negative: as long as it
// takes, the default.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_write_options_set_deadline_micros(foldb_write_options_t *options,
                                                       int64_t micros);

// Sets for how many seconds the put or merge lives, in a keyspace with an expiry. 0: as the
// keyspace says, the default. Negative: it never expires. The write of a batch refuses it; call
// `foldb_batch_set_lifetime_seconds` instead.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_write_options_set_lifetime_seconds(foldb_write_options_t *options,
                                                        int64_t seconds);

// Sets when the put or merge expires, in milliseconds since 1970, rounded up to a second. A moment
// in the past: at once. Negative: never. `foldb_expires_at` stores such a time, so a copy can keep
// the end of its original. The last call of this function and of
// `foldb_write_options_set_lifetime_seconds` counts. The write of a batch refuses it; call
// `foldb_batch_set_expires_at_millis` instead.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_write_options_set_expires_at_millis(foldb_write_options_t *options,
                                                         int64_t millis);

// Frees options of a write. NULL is allowed.
FOLDB_API
void foldb_write_options_free(foldb_write_options_t *options);

// Makes options of a read with their defaults.
FOLDB_API
foldb_read_options_t *foldb_read_options_new(void);

// Reads the state of a snapshot; NULL is the current state, the default. The options keep the
// snapshot, so the caller may free its own handle.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_read_options_set_snapshot(foldb_read_options_t *options,
                                               const foldb_snapshot_t *snapshot);

// Says whether the block cache keeps the blocks that the read loads. Default: true. A scan that is
// not repeated leaves the blocks of other reads in the cache with false.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_read_options_set_fill_cache(foldb_read_options_t *options, bool fill_cache);

// Frees options of a read. NULL is allowed.
FOLDB_API
void foldb_read_options_free(foldb_read_options_t *options);

// Appends bytes to the output of a callback.
FOLDB_API
void foldb_output_append(foldb_output_t *output, const uint8_t *data, size_t len);

// Frees the value of an entry that a cache of the program dropped. NULL is allowed.
FOLDB_API
void foldb_cached_block_free(void *value);

// Makes options of a runtime with their defaults.
FOLDB_API
foldb_runtime_options_t *foldb_runtime_options_new(void);

// Sets an option of a runtime to a whole number: `memory_budget`, `block_cache_size`,
// `compaction_memory_budget` (all in bytes), `max_open_files` or `background_threads`. Fails with
// `FOLDB_INVALID_ARGUMENT` for another name or value; `foldb_runtime_new` checks ranges.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_runtime_options_set(foldb_runtime_options_t *options,
                                         const char *name,
                                         const char *value);

// Frees options of a runtime. NULL is allowed.
FOLDB_API
void foldb_runtime_options_free(foldb_runtime_options_t *options);

// Makes a runtime for `foldb_options_set_runtime`. NULL options are the defaults. The runtime's
// threads start when there is work for them. They end once the last database is closed and all
// handles and options with the runtime are freed. Stores the handle in `*runtime`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_runtime_new(const foldb_runtime_options_t *options, foldb_runtime_t **runtime);

// Stores the bytes of memory that the databases of a runtime use now in `*bytes`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_runtime_memory(const foldb_runtime_t *runtime, uint64_t *bytes);

// Frees a runtime's handle. NULL is allowed. Databases that use the runtime are not affected.
FOLDB_API
void foldb_runtime_free(foldb_runtime_t *runtime);

// Opens the database in `directory`, or creates it if the option `create_if_missing` is
// set. NULL options are the defaults. Stores the handle in `*db`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_open(const char *directory, const foldb_options_t *options, foldb_t **db);

// Opens a database to read its state of this moment. Another process may be writing to it. Changes
// nothing on disk. Stores the handle in `*db`.
//
// The handle works in every function that reads, `foldb_snapshot` included. Every function that
// writes, flushes, compacts, collects garbage, makes a checkpoint, or changes keyspaces returns
// `FOLDB_READ_ONLY`, and so does an addition to a batch.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_open_read_only(const char *directory,
                                    const foldb_options_t *options,
                                    foldb_t **db);

// Closes a database and frees its handle, also if it returns an error: then the last writes may
// not be durable. Waits for running calls and background work. Handles of keyspaces, snapshots and
// iterators stay to be freed; their calls return `FOLDB_CLOSED`. NULL is allowed.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_close(foldb_t *db);

// Removes a database that nothing has open, with all its files. Other files in the directory stay.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_destroy(const char *directory, const foldb_options_t *options);

// Takes a snapshot of all keyspaces, for `foldb_read_options_set_snapshot`. Stores it in
// `*snapshot`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_snapshot(const foldb_t *db, foldb_snapshot_t **snapshot);

// Frees a snapshot. NULL is allowed.
FOLDB_API
void foldb_snapshot_free(foldb_snapshot_t *snapshot);

// Returns the version of the library as a number: `FOLDB_VERSION_NUMBER` is that of the header. A
// program that loads the library may compare the two.
FOLDB_API
uint32_t foldb_version_number(void);

// Returns the version of the library, as `0.1.0`.
FOLDB_API
const char *foldb_version(void);

// Stores the keyspace called `name` in `*keyspace`. Fails with `FOLDB_KEYSPACE_MISSING` if there
// is none.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_keyspace_open(const foldb_t *db,
                                   const char *name,
                                   foldb_keyspace_t **keyspace);

// Creates a keyspace, durably, and stores it in `*keyspace`. NULL options are the database's.
// Fails with `FOLDB_KEYSPACE_EXISTS` if there is one of that name.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_keyspace_create(const foldb_t *db,
                                     const char *name,
                                     const foldb_keyspace_options_t *options,
                                     foldb_keyspace_t **keyspace);

// Stores the keyspace called `name` in `*keyspace`, and creates it first if it does not exist.
// Fails if an existing keyspace has other options than those that are set; `foldb_keyspace_open`
// opens it.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_keyspace_open_or_create(const foldb_t *db,
                                             const char *name,
                                             const foldb_keyspace_options_t *options,
                                             foldb_keyspace_t **keyspace);

// Drops a keyspace and its contents, durably. Its handles then return `FOLDB_KEYSPACE_DROPPED`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_keyspace_drop(const foldb_t *db, const char *name);

// Changes how long entries of a keyspace live, in seconds, for the writes that follow, durably.
// Stored entries keep their ends: `foldb_touch` gives one the new lifetime. A NULL keyspace is the
// default one.
//
// Fails with `FOLDB_INVALID_ARGUMENT` if the keyspace has no `expiry` or `per-write`, and for 0.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_keyspace_set_lifetime_seconds(const foldb_t *db,
                                                   const foldb_keyspace_t *keyspace,
                                                   uint64_t seconds);

// Stores the names of all keyspaces in `*names`, in order, one a line; free it with
// `foldb_string_free`. One of them is `default`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_keyspace_names(const foldb_t *db, char **names);

// Frees a handle of a keyspace. The keyspace stays. NULL is allowed.
FOLDB_API
void foldb_keyspace_free(foldb_keyspace_t *keyspace);

// Sets the value of a key.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_put(const foldb_t *db,
                         const foldb_keyspace_t *keyspace,
                         const foldb_write_options_t *options,
                         const uint8_t *key,
                         size_t key_len,
                         const uint8_t *value,
                         size_t value_len);

// Deletes a key. A missing key is no error.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_delete(const foldb_t *db,
                            const foldb_keyspace_t *keyspace,
                            const foldb_write_options_t *options,
                            const uint8_t *key,
                            size_t key_len);

// Deletes all keys from `lower` on and before `upper`, with one record. NULL for a bound means no
// bound there.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_delete_range(const foldb_t *db,
                                  const foldb_keyspace_t *keyspace,
                                  const foldb_write_options_t *options,
                                  const foldb_bytes_t *lower,
                                  const foldb_bytes_t *upper);

// Merges an operand into a key with the keyspace's merge operator. It reads nothing: the engine
// folds the operands later.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_merge(const foldb_t *db,
                           const foldb_keyspace_t *keyspace,
                           const foldb_write_options_t *options,
                           const uint8_t *key,
                           size_t key_len,
                           const uint8_t *operand,
                           size_t operand_len);

// Merges an operand into a key with the operator `NAME` or `NAME:PARAM`, for example `max` or
// `stringappend:;`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_merge_with(const foldb_t *db,
                                const foldb_keyspace_t *keyspace,
                                const foldb_write_options_t *options,
                                const char *operator_,
                                const uint8_t *key,
                                size_t key_len,
                                const uint8_t *operand,
                                size_t operand_len);

// Stores the value of a key in `*value`, to be freed with `foldb_value_free`; NULL if there is no
// value.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_get(const foldb_t *db,
                         const foldb_keyspace_t *keyspace,
                         const foldb_read_options_t *options,
                         const uint8_t *key,
                         size_t key_len,
                         foldb_value_t **value);

// Stores in `*millis` when a key expires, in milliseconds since 1970; -1 if there is no value, or
// if it never expires.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_expires_at(const foldb_t *db,
                                const foldb_keyspace_t *keyspace,
                                const foldb_read_options_t *options,
                                const uint8_t *key,
                                size_t key_len,
                                int64_t *millis);

// Stores in `*millis` how long a key has left, in milliseconds by the time of the database; -1 if
// it has a value that never expires, and -2 if it has no value.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_ttl_millis(const foldb_t *db,
                                const foldb_keyspace_t *keyspace,
                                const foldb_read_options_t *options,
                                const uint8_t *key,
                                size_t key_len,
                                int64_t *millis);

// Copies the value of a key to `buffer`, which has room for `capacity` bytes, and stores in
// `*value_len` how long the value is: -1 if there is none. Copies nothing if the value is longer
// than `capacity`. Allocates nothing, so it is the fast way to read small values.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_get_into(const foldb_t *db,
                              const foldb_keyspace_t *keyspace,
                              const foldb_read_options_t *options,
                              const uint8_t *key,
                              size_t key_len,
                              uint8_t *buffer,
                              size_t capacity,
                              int64_t *value_len);

// Passes the value of a key to `receive`, which copies it to where the program wants it. Stores in
// `*found` whether the key has a value; without one, `receive` is not called. The call is on the
// calling thread, with `state`. Allocates nothing, whatever the length of the value.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_get_with(const foldb_t *db,
                              const foldb_keyspace_t *keyspace,
                              const foldb_read_options_t *options,
                              const uint8_t *key,
                              size_t key_len,
                              foldb_value_fn receive,
                              void *state,
                              bool *found);

// Stores in `*found` whether a key has a value.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_contains_key(const foldb_t *db,
                                  const foldb_keyspace_t *keyspace,
                                  const foldb_read_options_t *options,
                                  const uint8_t *key,
                                  size_t key_len,
                                  bool *found);

// Stores the smallest key in `*key` and its value in `*value`, each to be freed with
// `foldb_value_free`; NULL in both if there is no entry. Fails with `FOLDB_MERGE_FAILED` if the
// merge of that key fails.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_first(const foldb_t *db,
                           const foldb_keyspace_t *keyspace,
                           const foldb_read_options_t *options,
                           foldb_value_t **key,
                           foldb_value_t **value);

// Stores the largest key in `*key` and its value in `*value`, as `foldb_first` does the smallest.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_last(const foldb_t *db,
                          const foldb_keyspace_t *keyspace,
                          const foldb_read_options_t *options,
                          foldb_value_t **key,
                          foldb_value_t **value);

// Stores in `*empty` whether the keyspace has no entry. A key whose merge fails is an entry.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_is_empty(const foldb_t *db,
                              const foldb_keyspace_t *keyspace,
                              const foldb_read_options_t *options,
                              bool *empty);

// Reads `count` keys of one state of the keyspace. Stores the value of each key in `values`, NULL
// if it has none, and its error in `errors`, NULL if it could be read; free them all. If the call
// itself returns an error, it stores nothing.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_multi_get(const foldb_t *db,
                               const foldb_keyspace_t *keyspace,
                               const foldb_read_options_t *options,
                               const foldb_bytes_t *keys,
                               size_t count,
                               foldb_value_t **values,
                               foldb_error_t **errors);

// Makes an empty batch of writes to `db`; NULL if `db` is NULL. Free it with `foldb_batch_free`.
// After the database was closed, `foldb_batch_merge_with` and `foldb_batch_write` return
// `FOLDB_CLOSED`; the other calls still work.
FOLDB_API
foldb_batch_t *foldb_batch_new(const foldb_t *db);

// Sets for how many seconds the puts and merges that are added from now on live, in keyspaces with
// an expiry. 0: as the keyspace says, the default. Negative: they never expire.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_batch_set_lifetime_seconds(foldb_batch_t *batch, int64_t seconds);

// Sets when the puts and merges that are added from now on expire, in milliseconds since 1970. A
// moment in the past: at once. Negative: never. The last call of this function and of
// `foldb_batch_set_lifetime_seconds` counts.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_batch_set_expires_at_millis(foldb_batch_t *batch, int64_t millis);

// Adds a put.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_batch_put(foldb_batch_t *batch,
                               const foldb_keyspace_t *keyspace,
                               const uint8_t *key,
                               size_t key_len,
                               const uint8_t *value,
                               size_t value_len);

// Adds a delete.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_batch_delete(foldb_batch_t *batch,
                                  const foldb_keyspace_t *keyspace,
                                  const uint8_t *key,
                                  size_t key_len);

// Adds a delete of all keys from `lower` on and before `upper`. NULL for a bound means no bound
// there.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_batch_delete_range(foldb_batch_t *batch,
                                        const foldb_keyspace_t *keyspace,
                                        const foldb_bytes_t *lower,
                                        const foldb_bytes_t *upper);

// Adds a merge with the keyspace's merge operator.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_batch_merge(foldb_batch_t *batch,
                                 const foldb_keyspace_t *keyspace,
                                 const uint8_t *key,
                                 size_t key_len,
                                 const uint8_t *operand,
                                 size_t operand_len);

// Adds a merge with the operator `NAME` or `NAME:PARAM`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_batch_merge_with(foldb_batch_t *batch,
                                      const foldb_keyspace_t *keyspace,
                                      const char *operator_,
                                      const uint8_t *key,
                                      size_t key_len,
                                      const uint8_t *operand,
                                      size_t operand_len);

// Returns the number of writes in a batch; 0 for NULL.
FOLDB_API
size_t foldb_batch_len(const foldb_batch_t *batch);

// Removes all writes from a batch, to fill it again. Later writes expire as their keyspace says.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_batch_clear(foldb_batch_t *batch);

// Applies a batch to its database. Readers see all of it or nothing, also after a crash. NULL
// options are the defaults. The batch stays as it is.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_batch_write(const foldb_batch_t *batch, const foldb_write_options_t *options);

// Frees a batch. NULL is allowed.
FOLDB_API
void foldb_batch_free(foldb_batch_t *batch);

// Makes an iterator over the keys from `lower` on and before `upper`, and stores it in `*iter`.
// NULL for a bound means no bound there.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_iter(const foldb_t *db,
                          const foldb_keyspace_t *keyspace,
                          const foldb_read_options_t *options,
                          const foldb_bytes_t *lower,
                          const foldb_bytes_t *upper,
                          foldb_iter_t **iter);

// Moves to the first entry.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_iter_seek_to_first(foldb_iter_t *iter);

// Moves to the last entry.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_iter_seek_to_last(foldb_iter_t *iter);

// Moves to the first entry at or after `key`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_iter_seek(foldb_iter_t *iter, const uint8_t *key, size_t key_len);

// Moves to the last entry at or before `key`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_iter_seek_for_prev(foldb_iter_t *iter, const uint8_t *key, size_t key_len);

// Moves to the next entry; a new iterator to the first one.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_iter_next(foldb_iter_t *iter);

// Moves to the previous entry; a new iterator to the last one.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_iter_prev(foldb_iter_t *iter);

// Moves an iterator, and stores in `*entry` the key and the value that it then stands on: all that
// a step of a scan needs, in one call. `how` is a `foldb_move_t`; only the seeks use `key`. Fails
// as the move does, or as `foldb_iter_value`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_iter_move(foldb_iter_t *iter,
                               int how,
                               const uint8_t *key,
                               size_t key_len,
                               foldb_entry_t *entry);

// Returns whether the iterator stands on an entry; false for NULL.
FOLDB_API
bool foldb_iter_valid(const foldb_iter_t *iter);

// Returns the key under the iterator and stores its length in `*len`. The key lives until the next
// move. NULL and a length of 0 if the iterator stands on no entry.
FOLDB_API
const uint8_t *foldb_iter_key(const foldb_iter_t *iter, size_t *len);

// Stores the value under the iterator in `*value` and its length in `*len`. It lives until the
// next move. Stores NULL and 0 if the iterator stands on no entry. Fails with `FOLDB_MERGE_FAILED`
// if this key's merge fails; the iterator can still move on.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_iter_value(const foldb_iter_t *iter, const uint8_t **value, size_t *len);

// Frees an iterator. NULL is allowed.
FOLDB_API
void foldb_iter_free(foldb_iter_t *iter);

// Begins a sorted load and stores it in `*load`. A NULL keyspace is the default one. Keys must
// come in strictly ascending order. Nothing is visible before `foldb_load_finish`. Free the load
// with `foldb_load_free`, in any case.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_load_begin(const foldb_t *db,
                                const foldb_keyspace_t *keyspace,
                                foldb_load_t **load);

// Adds a key with its value. Fails with `FOLDB_INVALID_ARGUMENT` if the key does not come after
// the one before it; the load can then go on.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_load_put(foldb_load_t *load,
                              const uint8_t *key,
                              size_t key_len,
                              const uint8_t *value,
                              size_t value_len);

// Adds a key with an operand of the keyspace's merge operator; see `foldb_load_put`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_load_merge(foldb_load_t *load,
                                const uint8_t *key,
                                size_t key_len,
                                const uint8_t *operand,
                                size_t operand_len);

// Adds a key with an operand of the operator `NAME` or `NAME:PARAM`; see `foldb_load_put`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_load_merge_with(foldb_load_t *load,
                                     const char *operator_,
                                     const uint8_t *key,
                                     size_t key_len,
                                     const uint8_t *operand,
                                     size_t operand_len);

// Ends a load: adds all its keys in one atomic step, durably. Stores what it added in `*report`,
// unless that is NULL. After an error nothing was added, except that a failed sync leaves that
// open until the next open.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_load_finish(foldb_load_t *load, foldb_load_report_t *report);

// Frees a load. One that was not finished adds nothing. NULL is allowed.
FOLDB_API
void foldb_load_free(foldb_load_t *load);

// Begins a transaction and stores it in `*transaction`. The options say what its commit
// guarantees; NULL stands for the defaults. Free it with `foldb_transaction_free`, in any case.
//
// `isolation` is a `foldb_isolation_t`; another number is refused with `FOLDB_INVALID_ARGUMENT`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_begin(const foldb_t *db,
                                       uint32_t isolation,
                                       const foldb_write_options_t *options,
                                       foldb_transaction_t **transaction);

// Reads the value of a key: the transaction's own writes, over the moment that it reads. Stores it
// in `*value`, to be freed with `foldb_value_free`; NULL if there is no value.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_get(const foldb_transaction_t *transaction,
                                     const foldb_keyspace_t *keyspace,
                                     const uint8_t *key,
                                     size_t key_len,
                                     foldb_value_t **value);

// Makes an iterator over the keys from `lower` on and before `upper`, with the writes that the
// transaction has made so far. NULL for a bound means no bound there. Free the iterator with
// `foldb_iter_free`, best before the commit: while it lives, all of its range counts as read.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_iter(const foldb_transaction_t *transaction,
                                      const foldb_keyspace_t *keyspace,
                                      const foldb_bytes_t *lower,
                                      const foldb_bytes_t *upper,
                                      foldb_iter_t **iter);

// Sets the value of a key.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_put(foldb_transaction_t *transaction,
                                     const foldb_keyspace_t *keyspace,
                                     const uint8_t *key,
                                     size_t key_len,
                                     const uint8_t *value,
                                     size_t value_len);

// Deletes a key. A missing key is no error.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_delete(foldb_transaction_t *transaction,
                                        const foldb_keyspace_t *keyspace,
                                        const uint8_t *key,
                                        size_t key_len);

// Deletes all keys from `lower` on and before `upper`. NULL for a bound means no bound there.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_delete_range(foldb_transaction_t *transaction,
                                              const foldb_keyspace_t *keyspace,
                                              const foldb_bytes_t *lower,
                                              const foldb_bytes_t *upper);

// Merges an operand with the keyspace's merge operator. It reads nothing, so it causes no
// conflict.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_merge(foldb_transaction_t *transaction,
                                       const foldb_keyspace_t *keyspace,
                                       const uint8_t *key,
                                       size_t key_len,
                                       const uint8_t *operand,
                                       size_t operand_len);

// Merges an operand with the operator of this name, with its parameter after a colon if it has
// one: "stringappend:,".
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_merge_with(foldb_transaction_t *transaction,
                                            const foldb_keyspace_t *keyspace,
                                            const char *operator_,
                                            const uint8_t *key,
                                            size_t key_len,
                                            const uint8_t *operand,
                                            size_t operand_len);

// Makes a savepoint.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_savepoint(foldb_transaction_t *transaction);

// Undoes the writes made after the last savepoint, and removes that savepoint. Without a savepoint
// it returns `FOLDB_INVALID_ARGUMENT`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_rollback_to_savepoint(foldb_transaction_t *transaction);

// Removes the last savepoint, and keeps the writes made after it. Without a savepoint it returns
// `FOLDB_INVALID_ARGUMENT`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_release_savepoint(foldb_transaction_t *transaction);

// Writes everything at one moment. With `FOLDB_CONFLICT`, and with any other error except a failed
// sync, nothing was written: begin a new transaction to try again. In any case the transaction has
// ended, and only `foldb_transaction_free` is allowed.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_commit(foldb_transaction_t *transaction);

// Frees a transaction. Without a commit, nothing of it remains. NULL is allowed.
FOLDB_API
void foldb_transaction_free(foldb_transaction_t *transaction);

// Reads as `foldb_transaction_get` does, and claims the key with every isolation: the commit
// conflicts if another write changed it.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_get_for_update(const foldb_transaction_t *transaction,
                                                const foldb_keyspace_t *keyspace,
                                                const uint8_t *key,
                                                size_t key_len,
                                                foldb_value_t **value);

// Reads as `foldb_transaction_get` does, and claims nothing with every isolation: the key may
// change before the commit.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_get_unclaimed(const foldb_transaction_t *transaction,
                                               const foldb_keyspace_t *keyspace,
                                               const uint8_t *key,
                                               size_t key_len,
                                               foldb_value_t **value);

// Sets for how many seconds the puts and merges that follow live, in keyspaces with an expiry. 0:
// as the keyspace says, the default. Negative: they never expire.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_set_lifetime_seconds(foldb_transaction_t *transaction,
                                                      int64_t seconds);

// Sets when the puts and merges that follow expire, in milliseconds since 1970. A moment in the
// past: at once. Negative: never. The last call of this function and of
// `foldb_transaction_set_lifetime_seconds` counts.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_set_expires_at_millis(foldb_transaction_t *transaction,
                                                       int64_t millis);

// Stores when a key expires in `*millis`, in milliseconds since 1970; -1 if the key is absent or
// never expires. The key is claimed as by `foldb_transaction_get`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_expires_at(const foldb_transaction_t *transaction,
                                            const foldb_keyspace_t *keyspace,
                                            const uint8_t *key,
                                            size_t key_len,
                                            int64_t *millis);

// Sets a key to `new_value` if its value is `expected`, as `foldb_compare_and_swap` does. The read
// is claimed with every isolation.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_compare_and_swap(foldb_transaction_t *transaction,
                                                  const foldb_keyspace_t *keyspace,
                                                  const uint8_t *key,
                                                  size_t key_len,
                                                  const foldb_bytes_t *expected,
                                                  const foldb_bytes_t *new_value,
                                                  bool *swapped,
                                                  foldb_value_t **found);

// Sets an absent key. Stores in `*put` whether it was absent.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_put_if_absent(foldb_transaction_t *transaction,
                                               const foldb_keyspace_t *keyspace,
                                               const uint8_t *key,
                                               size_t key_len,
                                               const uint8_t *value,
                                               size_t value_len,
                                               bool *put);

// Renews the end of an entry, as `foldb_transaction_put` of its value does. Stores in `*was_there`
// whether the key has a value; see `foldb_touch`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_touch(foldb_transaction_t *transaction,
                                       const foldb_keyspace_t *keyspace,
                                       const uint8_t *key,
                                       size_t key_len,
                                       bool *was_there);

// Deletes a key. Stores the value that it had in `*value`, to be freed with `foldb_value_free`;
// NULL if it had none.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_take(foldb_transaction_t *transaction,
                                      const foldb_keyspace_t *keyspace,
                                      const uint8_t *key,
                                      size_t key_len,
                                      foldb_value_t **value);

// Deletes the first entry of the range from `lower` on and before `upper`, and stores it as
// `foldb_take_first` does.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_take_first(foldb_transaction_t *transaction,
                                            const foldb_keyspace_t *keyspace,
                                            const foldb_bytes_t *lower,
                                            const foldb_bytes_t *upper,
                                            foldb_value_t **key,
                                            foldb_value_t **value);

// Merges an operand with the keyspace's merge operator. Stores the value after this merge in
// `*value`, to be freed with `foldb_value_free`; NULL if the operator deleted the key. The read is
// claimed with every isolation.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transaction_merge_get(foldb_transaction_t *transaction,
                                           const foldb_keyspace_t *keyspace,
                                           const uint8_t *key,
                                           size_t key_len,
                                           const uint8_t *operand,
                                           size_t operand_len,
                                           foldb_value_t **value);

// Runs `work` in a transaction and commits it. After a conflict it runs `work` again, on this
// thread, up to 100 times. So `work` should change nothing but the transaction and its own
// results. A transaction that keeps losing gets a turn, in which other writers wait.
//
// Returns the error of `work`, or `FOLDB_CONFLICT` after the last attempt. The deadline of the
// options bounds the whole call, which then returns `FOLDB_CONFLICT` or `FOLDB_BUSY`. With an
// error, except of a failed sync, nothing was written. The other arguments are those of
// `foldb_transaction_begin`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_transact(const foldb_t *db,
                              uint32_t isolation,
                              const foldb_write_options_t *options,
                              foldb_transaction_fn work,
                              void *state);

// Sets a key to `new_value` if its value is `expected`. NULL for either stands for an absent key.
// Stores in `*swapped` whether it did. If it did not, it stores the value found in `*found`, to be
// freed with `foldb_value_free`, NULL if the key is absent. `found` itself may be NULL.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_compare_and_swap(const foldb_t *db,
                                      const foldb_keyspace_t *keyspace,
                                      const foldb_write_options_t *options,
                                      const uint8_t *key,
                                      size_t key_len,
                                      const foldb_bytes_t *expected,
                                      const foldb_bytes_t *new_value,
                                      bool *swapped,
                                      foldb_value_t **found);

// Sets an absent key. Stores in `*put` whether it was absent.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_put_if_absent(const foldb_t *db,
                                   const foldb_keyspace_t *keyspace,
                                   const foldb_write_options_t *options,
                                   const uint8_t *key,
                                   size_t key_len,
                                   const uint8_t *value,
                                   size_t value_len,
                                   bool *put);

// Deletes a key. Stores the value that it had in `*value`, to be freed with `foldb_value_free`;
// NULL if it had none.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_take(const foldb_t *db,
                          const foldb_keyspace_t *keyspace,
                          const foldb_write_options_t *options,
                          const uint8_t *key,
                          size_t key_len,
                          foldb_value_t **value);

// Renews the end of an entry, as a put of its value does. Stores in `*was_there` whether the key
// has a value; an absent key stays absent. `foldb_write_options_set_expires_at_millis`
// names another end than that of the keyspace. Fails if the keyspace has no expiry, or if nothing
// says when the entry expires.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_touch(const foldb_t *db,
                           const foldb_keyspace_t *keyspace,
                           const foldb_write_options_t *options,
                           const uint8_t *key,
                           size_t key_len,
                           bool *was_there);

// Deletes the first entry of the range from `lower` on and before `upper`. Stores its key in
// `*key` and its value in `*value`, each to be freed with `foldb_value_free`; NULL in both if the
// range has no entry. NULL for a bound means no bound there.
//
// This is the front of a queue: a call takes as long however many entries were taken before.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_take_first(const foldb_t *db,
                                const foldb_keyspace_t *keyspace,
                                const foldb_write_options_t *options,
                                const foldb_bytes_t *lower,
                                const foldb_bytes_t *upper,
                                foldb_value_t **key,
                                foldb_value_t **value);

// Replaces the value of a key by what `change` makes of it. Stores the new value in `*value`, to
// be freed with `foldb_value_free`; NULL if the key has none. `value` itself may be NULL.
//
// If another write changes the key meanwhile, `change` is called again with its new value, on this
// thread. Only the answer of the last call counts, so the function should have no other effects.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_update(const foldb_t *db,
                            const foldb_keyspace_t *keyspace,
                            const foldb_write_options_t *options,
                            const uint8_t *key,
                            size_t key_len,
                            foldb_update_fn change,
                            void *state,
                            foldb_value_t **value);

// Replaces the value of a key as `foldb_update` does, and stores the value before in `*value`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_fetch_update(const foldb_t *db,
                                  const foldb_keyspace_t *keyspace,
                                  const foldb_write_options_t *options,
                                  const uint8_t *key,
                                  size_t key_len,
                                  foldb_update_fn change,
                                  void *state,
                                  foldb_value_t **value);

// Merges an operand with the keyspace's merge operator. Stores the value after this merge in
// `*value`, to be freed with `foldb_value_free`; NULL if the operator deleted the key.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_merge_get(const foldb_t *db,
                               const foldb_keyspace_t *keyspace,
                               const foldb_write_options_t *options,
                               const uint8_t *key,
                               size_t key_len,
                               const uint8_t *operand,
                               size_t operand_len,
                               foldb_value_t **value);

// Merges an operand if `accepts` returns something other than 0 for the key's value. Stores in
// `*merged` whether it did. If another write changes the key meanwhile, `accepts` is called again
// with its new value, on this thread.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_merge_if(const foldb_t *db,
                              const foldb_keyspace_t *keyspace,
                              const foldb_write_options_t *options,
                              const uint8_t *key,
                              size_t key_len,
                              foldb_accepts_t accepts,
                              void *state,
                              const uint8_t *operand,
                              size_t operand_len,
                              bool *merged);

// Returns the updates after a position, oldest first, and stores them in `*updates`. A NULL
// position is the beginning of the history. The database keeps its logs for this: set the option
// `wal_retention_bytes` or `wal_retention_seconds` at every open.
//
// Without `include_unsynced`, only updates appear that survive a power loss. Fails with
// `FOLDB_POSITION_LOST` if the feed cannot continue at the position: copy the database anew. Free
// the updates with `foldb_updates_free`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_updates_since(const foldb_t *db,
                                   const foldb_position_t *position,
                                   bool include_unsynced,
                                   foldb_updates_t **updates);

// Moves to the next update and stores in `*found` whether there is one now. A later call may find
// one. The bytes of the update before end here.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_updates_next(foldb_updates_t *updates, bool *found);

// Waits until there is a next update, at most for this time, and stores in `*found` whether there
// is one. The update of the last `foldb_updates_next` stays as it is.
//
// The thread sleeps until a write of this process wakes it, and fails with `FOLDB_CLOSED` as soon
// as another thread closes the database. If the database was opened read-only, another process
// writes: then the call looks again every 1 to 20 milliseconds.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_updates_wait(foldb_updates_t *updates, uint64_t timeout_micros, bool *found);

// Stores the position directly after the update of the last `foldb_updates_next` in `*position`.
// Store it together with the changes that the program applied. If that call found no update, this
// is the position from which the feed goes on.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_updates_position(const foldb_updates_t *updates, foldb_position_t *position);

// Stores the changes of the update in `*changes` and their number in `*count`. They were applied
// together, in this order. The changes and their keys and values live until the next move, the
// names until the updates are freed.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_updates_changes(const foldb_updates_t *updates,
                                     const foldb_change_t **changes,
                                     size_t *count);

// Adds the writes of the update to a batch, for keyspaces and operators of the same names in the
// batch's database. Adds nothing if the update is no batch of writes. Fails with
// `FOLDB_KEYSPACE_MISSING` if that database lacks one of the keyspaces. The batch is then as
// before: make the keyspace, and call again.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_batch_add_update(foldb_batch_t *batch, const foldb_updates_t *updates);

// Frees updates. NULL is allowed.
FOLDB_API
void foldb_updates_free(foldb_updates_t *updates);

// Stores in `*found` whether the database keeps logs for the feed. A program that did not choose
// the options of a database asks before it opens it: an open without `wal_retention_bytes` and
// `wal_retention_seconds` ends the feed.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_has_feed(const char *directory, const foldb_options_t *options, bool *found);

// Stores the position directly after the last write in `*position`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_position(const foldb_t *db, foldb_position_t *position);

// Stores the oldest position at which the feed can begin in `*position`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_oldest_position(const foldb_t *db, foldb_position_t *position);

// Takes a snapshot, and the position of the same moment. A program copies the snapshot and then
// follows from the position: it gets each write exactly once. Free the snapshot with
// `foldb_snapshot_free`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_snapshot_and_position(const foldb_t *db,
                                           foldb_snapshot_t **snapshot,
                                           foldb_position_t *position);

// Opens the queue in the keyspace `name`, and stores it in `*queue`. Creates the keyspace if there
// is none. Free the queue with `foldb_queue_free`.
//
// A job becomes a dead letter after `max_attempts` claims; 0 stands for 5. `retry_delay_millis` is
// how long a job waits after `foldb_queue_fail`. With `sync`, a push and the end of a job return
// when they are on the disk. The handle has these settings; the queue does not store them.
//
// Fails with `FOLDB_INVALID_ARGUMENT` if the keyspace has entries that no queue wrote.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_open(const foldb_t *db,
                                const char *name,
                                uint32_t max_attempts,
                                uint64_t retry_delay_millis,
                                bool sync,
                                foldb_queue_t **queue);

// Frees a queue. NULL is allowed. Claims of it stay.
FOLDB_API
void foldb_queue_free(foldb_queue_t *queue);

// Pushes a job and stores its id in `*id`, unless `id` is NULL. Jobs of a larger priority are
// claimed first. The job can be claimed after `delay_millis`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_push(const foldb_queue_t *queue,
                                const uint8_t *body,
                                size_t body_len,
                                int32_t priority,
                                uint64_t delay_millis,
                                uint64_t *id);

// Pushes a job in a transaction: it is there once the transaction has committed. Otherwise as
// `foldb_queue_push`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_push_in(const foldb_queue_t *queue,
                                   const foldb_transaction_t *transaction,
                                   const uint8_t *body,
                                   size_t body_len,
                                   int32_t priority,
                                   uint64_t delay_millis,
                                   uint64_t *id);

// Claims the first ready job for `lease_millis` and stores the claim in `*claim`; NULL if no job
// is ready. `worker` is a name for people. Free the claim with `foldb_claim_free`, which does not
// end it.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_claim(const foldb_queue_t *queue,
                                 const char *worker,
                                 uint64_t lease_millis,
                                 foldb_claim_t **claim);

// Stores the claim of another process in `*claim`, by the id of its job and its token. Fails with
// `FOLDB_ABORTED` if it no longer holds the job, and with `FOLDB_INVALID_ARGUMENT` for a text that
// is no token.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_resume(const foldb_queue_t *queue,
                                  uint64_t id,
                                  const char *token,
                                  foldb_claim_t **claim);

// Stores the job of a claim in `*job`: its text is the name of the worker, and `time_millis` the
// end of the lease.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_claim_job(const foldb_claim_t *claim, foldb_job_t *job);

// Returns the token of a claim, with which another process goes on (`foldb_queue_resume`). It
// lives until the claim is extended or freed. NULL for NULL.
FOLDB_API
const char *foldb_claim_token(const foldb_claim_t *claim);

// Frees a claim. NULL is allowed. Its lease goes on.
FOLDB_API
void foldb_claim_free(foldb_claim_t *claim);

// Ends a job as done. Fails with `FOLDB_ABORTED` if the claim no longer holds the job: another
// claim does it, or did it, and nothing was written. So do all calls with a claim.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_ack(const foldb_queue_t *queue, const foldb_claim_t *claim);

// Ends a job as done in a transaction. The writes of the transaction and the end of the job happen
// at one moment, so they happen exactly once for each job.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_ack_in(const foldb_queue_t *queue,
                                  const foldb_transaction_t *transaction,
                                  const foldb_claim_t *claim);

// Lets the lease of a claim end `lease_millis` from now instead. The claim then has another token.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_extend(const foldb_queue_t *queue,
                                  foldb_claim_t *claim,
                                  uint64_t lease_millis);

// Gives a job back: it can be claimed again after `after_millis`. Stores in `*is_dead` whether no
// attempt was left and the job is a dead letter; `is_dead` may be NULL.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_retry(const foldb_queue_t *queue,
                                 const foldb_claim_t *claim,
                                 uint64_t after_millis,
                                 bool *is_dead);

// Ends an attempt that failed: the job can be claimed again after the retry delay of the queue. If
// no attempt is left, it becomes a dead letter with the reason `why`. `*is_dead` is as for
// `foldb_queue_retry`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_fail(const foldb_queue_t *queue,
                                const foldb_claim_t *claim,
                                const char *why,
                                bool *is_dead);

// Makes a job a dead letter, whatever attempts are left.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_bury(const foldb_queue_t *queue,
                                const foldb_claim_t *claim,
                                const char *why);

// Makes a dead letter ready again. Fails with `FOLDB_INVALID_ARGUMENT` if no dead letter has this
// id.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_revive(const foldb_queue_t *queue, uint64_t id);

// Deletes a dead letter for good. Fails as `foldb_queue_revive`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_discard(const foldb_queue_t *queue, uint64_t id);

// Stores in `*depth` how many jobs are in each state.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_depth(const foldb_queue_t *queue, foldb_queue_depth_t *depth);

// Stores in `*millis` how long a worker without a job may sleep until a delay or a lease ends: 0
// if a job is ready, -1 if nothing is due ever. A push may come sooner.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_next_due(const foldb_queue_t *queue, int64_t *millis);

// Lists the jobs of a queue as they are now, and stores the list in `*jobs`: ready ones in the
// order of their claims, delayed and leased ones in the order of their times, then dead letters in
// the order of their pushes. Free the list with `foldb_jobs_free`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_queue_jobs(const foldb_queue_t *queue, foldb_jobs_t **jobs);

// Moves to the next job, stores it in `*job`, and stores in `*found` whether there is one. The
// job before it ends here.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_jobs_next(foldb_jobs_t *jobs, foldb_job_t *job, bool *found);

// Frees a list of jobs. NULL is allowed.
FOLDB_API
void foldb_jobs_free(foldb_jobs_t *jobs);

// Makes all earlier writes durable that went to the log.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_sync(const foldb_t *db);

// Writes all memtables to tables and waits for it.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_flush(const foldb_t *db);

// Waits until no flush, compaction or garbage collection is due.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_wait_for_background(const foldb_t *db);

// Compacts the keys from `lower` on and before `upper` into one sorted run. NULL for a bound means
// no bound there; a NULL keyspace is the default one.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_compact(const foldb_t *db,
                             const foldb_keyspace_t *keyspace,
                             const foldb_bytes_t *lower,
                             const foldb_bytes_t *upper);

// Rewrites value segments until at most `max_dead_fraction` of their bytes (0.0 to 1.0) are dead.
// Reads and writes go on meanwhile. Stores what it did in `*report`, unless that is NULL.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_collect_garbage(const foldb_t *db,
                                     double max_dead_fraction,
                                     foldb_gc_report_t *report);

// Makes a copy of the database in a new directory, which can be opened as a database of its own.
// Tables are hard links where the file system has them. Writes go on meanwhile.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_checkpoint(const foldb_t *db, const char *directory);

// Reads every file of a database that nothing has open for writing. Checks all checksums, the
// order of records, and references between files. Stores in `*faults` the number of faults, and in
// `*report`, unless that is NULL, a text with a line for each fault; free it with
// `foldb_string_free`. Changes nothing.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_verify(const char *directory,
                            const foldb_options_t *options,
                            size_t *faults,
                            char **report);

// Repairs a database that cannot be opened: keeps what is readable. Stores in `*lost` how many
// losses it reports: missing or damaged tables, logs and value segments, damaged parts of logs,
// and files that differ from their state at the last close. The writes around a damaged part of a
// log are kept, and the damaged log stays beside it with the ending `.damaged`. With a `copy`, the
// repair works in that directory and leaves the database as it is; with NULL it works in place.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_repair(const char *directory,
                            const foldb_options_t *options,
                            const char *copy,
                            size_t *lost);

// Stores the time by which entries expire and the machine's time, in seconds since 1970. Nothing
// expires while the first is ahead of the second.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_clock(const foldb_t *db, int64_t *database, int64_t *machine);

// Sets the time by which entries expire back to the machine's, if it is ahead. Call this after the
// machine's clock was ahead by mistake and was corrected. Stores in `*seconds` how far the time
// was ahead; `seconds` may be NULL. Entries that had expired by the false time are back until
// their end, except those that a flush or compaction has dropped.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_reset_clock(const foldb_t *db, uint64_t *seconds);

// Stores the statistics of a database in `*text`, in the text format of Prometheus; free it with
// `foldb_string_free`.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_stats(const foldb_t *db, char **text);

// Writes all keyspaces with their options and operators, and all entries, to a new file, as of one
// moment. Writes go on meanwhile. The file has checksums, and every later version reads it. It
// must not exist yet. It is durable when this returns. A call that fails removes it. A kill leaves
// a part, which `foldb_restore` refuses.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_dump(const foldb_t *db, const char *file);

// Makes a new database in `directory` from a file of `foldb_dump`. Checks every checksum, and
// compares all entries with the file at the end. The file gives the operator and the settings of
// each keyspace. The options give operators, comparators and filter policies; NULL is the
// defaults. A call that fails removes what it wrote. After a kill, `foldb_open` refuses the part
// with `FOLDB_CORRUPTION`, and `foldb_destroy` removes it.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_restore(const char *file,
                             const char *directory,
                             const foldb_options_t *options);

// Backs up an open database in a directory of backups, as of one moment. Copies only the tables
// and segments that the directory lacks, and creates the directory if it is missing. Writes go on
// meanwhile. Stores the backup in `*backup`, unless that is NULL. The options give the environment
// of the directory; NULL is the operating system. It is durable when this returns. Fails with
// `FOLDB_LOCKED` while another process changes the directory.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_backup_create(const foldb_t *db,
                                   const char *directory,
                                   const foldb_options_t *options,
                                   foldb_backup_t *backup);

// Passes each backup of a directory to `receive`, with `state`, on the calling thread, the oldest
// first.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_backup_list(const char *directory,
                                 const foldb_options_t *options,
                                 foldb_backup_fn receive,
                                 void *state);

// Reads every file of all backups of a directory. Stores in `*faults` the number of faults, and in
// `*report`, unless that is NULL, a text with a line for each fault; free it with
// `foldb_string_free`. Changes nothing.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_backup_verify(const char *directory,
                                   const foldb_options_t *options,
                                   size_t *faults,
                                   char **report);

// Makes a new database in `to` of a backup; of the newest if `id` is 0. `to` must be empty or not
// exist. Checks every byte. Stores the backup in `*backup`, unless that is NULL. The new database
// is durable when this returns; a kill leaves it whole or absent.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_backup_restore(const char *directory,
                                    uint64_t id,
                                    const char *to,
                                    const foldb_options_t *options,
                                    foldb_backup_t *backup);

// Deletes a backup, and each shared file that no other backup names.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_backup_delete(const char *directory,
                                   uint64_t id,
                                   const foldb_options_t *options);

// Estimates the bytes that the keys from `lower` on and before `upper` take in tables and
// memtables, older versions included, and stores the estimate in `*bytes`. NULL for a bound means
// no bound there; a NULL keyspace is the default one. Reads no records.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_approximate_size(const foldb_t *db,
                                      const foldb_keyspace_t *keyspace,
                                      const foldb_bytes_t *lower,
                                      const foldb_bytes_t *upper,
                                      uint64_t *bytes);

// Passes each table of a keyspace to `receive`, with `state`, on the calling thread: from level 0
// to the last, each level's newest run first and each run in key order. A NULL keyspace is the
// default one.
FOLDB_API FOLDB_CHECK_ERROR
foldb_error_t *foldb_tables(const foldb_t *db,
                            const foldb_keyspace_t *keyspace,
                            foldb_table_fn receive,
                            void *state);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FOLDB_H */
