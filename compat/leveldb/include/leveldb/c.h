/* The C interface of LevelDB 1.23.

   Rules for all calls:

   - Types are opaque. The function ..._create makes an object and ..._destroy frees it. An object
     given to an option or to leveldb_open must outlive the database.
   - Keys and values are a pointer and a length. The library copies what it keeps.
   - The last argument of a call that can fail is char** errptr. *errptr is NULL or a message from
     malloc. On success it stays as it is. On failure the library frees the old message and stores
     a new one, with a final zero byte, which the caller passes to leveldb_free.
   - Booleans are uint8_t: 0 is false, any other number is true.
   - Pointers must not be NULL, unless the text of a call allows it.
   - A leveldb_t may be used by several threads at once; any other object by one thread at a time.

   There are no calls that read options, and none for iterators, envs or caches made of callbacks.
*/

#ifndef STORAGE_LEVELDB_INCLUDE_C_H_
#define STORAGE_LEVELDB_INCLUDE_C_H_

#ifdef __cplusplus
extern "C" {
#endif

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "leveldb/export.h"

typedef struct leveldb_t leveldb_t;
typedef struct leveldb_cache_t leveldb_cache_t;
typedef struct leveldb_comparator_t leveldb_comparator_t;
typedef struct leveldb_env_t leveldb_env_t;
typedef struct leveldb_filelock_t leveldb_filelock_t;
typedef struct leveldb_filterpolicy_t leveldb_filterpolicy_t;
typedef struct leveldb_iterator_t leveldb_iterator_t;
typedef struct leveldb_logger_t leveldb_logger_t;
typedef struct leveldb_options_t leveldb_options_t;
typedef struct leveldb_randomfile_t leveldb_randomfile_t;
typedef struct leveldb_readoptions_t leveldb_readoptions_t;
typedef struct leveldb_seqfile_t leveldb_seqfile_t;
typedef struct leveldb_snapshot_t leveldb_snapshot_t;
typedef struct leveldb_writablefile_t leveldb_writablefile_t;
typedef struct leveldb_writebatch_t leveldb_writebatch_t;
typedef struct leveldb_writeoptions_t leveldb_writeoptions_t;

/* -- Databases -- */

/* Opens the database in the directory name. Returns NULL on failure. */
LEVELDB_EXPORT leveldb_t* leveldb_open(const leveldb_options_t* options, const char* name,
                                       char** errptr);

/* Closes a database, whose iterators and snapshots are gone already. */
LEVELDB_EXPORT void leveldb_close(leveldb_t* db);

/* Stores a value under a key. */
LEVELDB_EXPORT void leveldb_put(leveldb_t* db, const leveldb_writeoptions_t* options,
                                const char* key, size_t keylen, const char* val, size_t vallen,
                                char** errptr);

/* Removes a key. A key that is absent is no error. */
LEVELDB_EXPORT void leveldb_delete(leveldb_t* db, const leveldb_writeoptions_t* options,
                                   const char* key, size_t keylen, char** errptr);

/* Applies all operations of a batch, or none. The batch stays as it is. */
LEVELDB_EXPORT void leveldb_write(leveldb_t* db, const leveldb_writeoptions_t* options,
                                  leveldb_writebatch_t* batch, char** errptr);

/* Returns a copy of the value of a key for leveldb_free, and sets *vallen to its length. Returns
   NULL, and no error, if the key is absent. */
LEVELDB_EXPORT char* leveldb_get(leveldb_t* db, const leveldb_readoptions_t* options,
                                 const char* key, size_t keylen, size_t* vallen, char** errptr);

/* Returns an iterator at no entry. */
LEVELDB_EXPORT leveldb_iterator_t* leveldb_create_iterator(leveldb_t* db,
                                                           const leveldb_readoptions_t* options);

/* Returns the present state of a database, for leveldb_release_snapshot. */
LEVELDB_EXPORT const leveldb_snapshot_t* leveldb_create_snapshot(leveldb_t* db);

LEVELDB_EXPORT void leveldb_release_snapshot(leveldb_t* db, const leveldb_snapshot_t* snapshot);

/* Returns the text of a property for leveldb_free, or NULL if there is none of this name. */
LEVELDB_EXPORT char* leveldb_property_value(leveldb_t* db, const char* propname);

/* Sets sizes[i] to the bytes that the keys of range i take in files. */
LEVELDB_EXPORT void leveldb_approximate_sizes(leveldb_t* db, int num_ranges,
                                              const char* const* range_start_key,
                                              const size_t* range_start_key_len,
                                              const char* const* range_limit_key,
                                              const size_t* range_limit_key_len, uint64_t* sizes);

/* Compacts a range of keys. A start of NULL is before all keys, a limit of NULL after them. */
LEVELDB_EXPORT void leveldb_compact_range(leveldb_t* db, const char* start_key,
                                          size_t start_key_len, const char* limit_key,
                                          size_t limit_key_len);

/* Removes the database in the directory name. */
LEVELDB_EXPORT void leveldb_destroy_db(const leveldb_options_t* options, const char* name,
                                       char** errptr);

/* Makes a damaged database usable with what can still be read. */
LEVELDB_EXPORT void leveldb_repair_db(const leveldb_options_t* options, const char* name,
                                      char** errptr);

/* -- Iterators -- */

/* Destroyed before their database. The bytes of a key or value live until the next move. */
LEVELDB_EXPORT void leveldb_iter_destroy(leveldb_iterator_t*);
LEVELDB_EXPORT uint8_t leveldb_iter_valid(const leveldb_iterator_t*);
LEVELDB_EXPORT void leveldb_iter_seek_to_first(leveldb_iterator_t*);
LEVELDB_EXPORT void leveldb_iter_seek_to_last(leveldb_iterator_t*);
LEVELDB_EXPORT void leveldb_iter_seek(leveldb_iterator_t*, const char* k, size_t klen);
LEVELDB_EXPORT void leveldb_iter_next(leveldb_iterator_t*);
LEVELDB_EXPORT void leveldb_iter_prev(leveldb_iterator_t*);
LEVELDB_EXPORT const char* leveldb_iter_key(const leveldb_iterator_t*, size_t* klen);
LEVELDB_EXPORT const char* leveldb_iter_value(const leveldb_iterator_t*, size_t* vlen);

/* Stores the error that ended the iteration, if there is one. */
LEVELDB_EXPORT void leveldb_iter_get_error(const leveldb_iterator_t*, char** errptr);

/* -- Batches -- */

LEVELDB_EXPORT leveldb_writebatch_t* leveldb_writebatch_create(void);
LEVELDB_EXPORT void leveldb_writebatch_destroy(leveldb_writebatch_t*);
LEVELDB_EXPORT void leveldb_writebatch_clear(leveldb_writebatch_t*);
LEVELDB_EXPORT void leveldb_writebatch_put(leveldb_writebatch_t*, const char* key, size_t klen,
                                           const char* val, size_t vlen);
LEVELDB_EXPORT void leveldb_writebatch_delete(leveldb_writebatch_t*, const char* key, size_t klen);

/* Calls put and deleted, with state first, for each operation in order. */
LEVELDB_EXPORT void leveldb_writebatch_iterate(const leveldb_writebatch_t*, void* state,
                                               void (*put)(void*, const char* k, size_t klen,
                                                           const char* v, size_t vlen),
                                               void (*deleted)(void*, const char* k, size_t klen));

/* Adds the operations of source to destination. */
LEVELDB_EXPORT void leveldb_writebatch_append(leveldb_writebatch_t* destination,
                                              const leveldb_writebatch_t* source);

/* -- Options. leveldb/options.h explains each of them. -- */

LEVELDB_EXPORT leveldb_options_t* leveldb_options_create(void);
LEVELDB_EXPORT void leveldb_options_destroy(leveldb_options_t*);
LEVELDB_EXPORT void leveldb_options_set_comparator(leveldb_options_t*, leveldb_comparator_t*);
LEVELDB_EXPORT void leveldb_options_set_filter_policy(leveldb_options_t*, leveldb_filterpolicy_t*);
LEVELDB_EXPORT void leveldb_options_set_create_if_missing(leveldb_options_t*, uint8_t);
LEVELDB_EXPORT void leveldb_options_set_error_if_exists(leveldb_options_t*, uint8_t);
LEVELDB_EXPORT void leveldb_options_set_paranoid_checks(leveldb_options_t*, uint8_t);
LEVELDB_EXPORT void leveldb_options_set_env(leveldb_options_t*, leveldb_env_t*);
LEVELDB_EXPORT void leveldb_options_set_info_log(leveldb_options_t*, leveldb_logger_t*);
LEVELDB_EXPORT void leveldb_options_set_write_buffer_size(leveldb_options_t*, size_t);
LEVELDB_EXPORT void leveldb_options_set_max_open_files(leveldb_options_t*, int);
LEVELDB_EXPORT void leveldb_options_set_cache(leveldb_options_t*, leveldb_cache_t*);
LEVELDB_EXPORT void leveldb_options_set_block_size(leveldb_options_t*, size_t);
LEVELDB_EXPORT void leveldb_options_set_block_restart_interval(leveldb_options_t*, int);
LEVELDB_EXPORT void leveldb_options_set_max_file_size(leveldb_options_t*, size_t);

enum { leveldb_no_compression = 0, leveldb_snappy_compression = 1 };
LEVELDB_EXPORT void leveldb_options_set_compression(leveldb_options_t*, int);

/* -- Comparators. The library calls destructor(state) when the comparator is destroyed. -- */

LEVELDB_EXPORT leveldb_comparator_t* leveldb_comparator_create(
    void* state, void (*destructor)(void*),
    int (*compare)(void*, const char* a, size_t alen, const char* b, size_t blen),
    const char* (*name)(void*));
LEVELDB_EXPORT void leveldb_comparator_destroy(leveldb_comparator_t*);

/* -- Filter policies. The library frees what create_filter returns from malloc. -- */

LEVELDB_EXPORT leveldb_filterpolicy_t* leveldb_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (*create_filter)(void*, const char* const* key_array, const size_t* key_length_array,
                           int num_keys, size_t* filter_length),
    uint8_t (*key_may_match)(void*, const char* key, size_t length, const char* filter,
                             size_t filter_length),
    const char* (*name)(void*));
LEVELDB_EXPORT void leveldb_filterpolicy_destroy(leveldb_filterpolicy_t*);

/* A Bloom filter with about bits_per_key bits a key. */
LEVELDB_EXPORT leveldb_filterpolicy_t* leveldb_filterpolicy_create_bloom(int bits_per_key);

/* -- Options of reads -- */

LEVELDB_EXPORT leveldb_readoptions_t* leveldb_readoptions_create(void);
LEVELDB_EXPORT void leveldb_readoptions_destroy(leveldb_readoptions_t*);
LEVELDB_EXPORT void leveldb_readoptions_set_verify_checksums(leveldb_readoptions_t*, uint8_t);
LEVELDB_EXPORT void leveldb_readoptions_set_fill_cache(leveldb_readoptions_t*, uint8_t);
/* NULL means the present state. */
LEVELDB_EXPORT void leveldb_readoptions_set_snapshot(leveldb_readoptions_t*,
                                                     const leveldb_snapshot_t*);

/* -- Options of writes -- */

LEVELDB_EXPORT leveldb_writeoptions_t* leveldb_writeoptions_create(void);
LEVELDB_EXPORT void leveldb_writeoptions_destroy(leveldb_writeoptions_t*);
LEVELDB_EXPORT void leveldb_writeoptions_set_sync(leveldb_writeoptions_t*, uint8_t);

/* -- Caches -- */

LEVELDB_EXPORT leveldb_cache_t* leveldb_cache_create_lru(size_t capacity);
LEVELDB_EXPORT void leveldb_cache_destroy(leveldb_cache_t* cache);

/* -- Envs -- */

LEVELDB_EXPORT leveldb_env_t* leveldb_create_default_env(void);
LEVELDB_EXPORT void leveldb_env_destroy(leveldb_env_t*);

/* Returns a directory for temporary files, for leveldb_free, or NULL. */
LEVELDB_EXPORT char* leveldb_env_get_test_directory(leveldb_env_t*);

/* -- Other calls -- */

/* Frees a text or value that a call of this header returned. */
LEVELDB_EXPORT void leveldb_free(void* ptr);

/* The version of LevelDB whose interface this is: 1 and 23. */
LEVELDB_EXPORT int leveldb_major_version(void);
LEVELDB_EXPORT int leveldb_minor_version(void);

/* -- Merges: an addition of this library. leveldb/merge.h says what they are. -- */

typedef struct leveldb_mergeoperator_t leveldb_mergeoperator_t;
typedef struct leveldb_mergeresult_t leveldb_mergeresult_t;

/* What full_merge returns. */
enum {
  leveldb_merge_failed = 0, /* The operands cannot be folded: reads of this key fail. */
  leveldb_merge_value = 1,  /* The result is the value. */
  leveldb_merge_delete = 2  /* The key has no value. */
};

/* An operator of the program. full_merge folds all operands of a key, the oldest first, over its
   base, which is NULL if the key has no value. partial_merge may be NULL; it folds operands into
   one that means the same, and returns 0 if it cannot. Both add to the result with
   leveldb_mergeresult_append. name returns a name with a dot in it, such as "app.max". The library
   calls the functions from any thread, several at the same time. */
LEVELDB_EXPORT leveldb_mergeoperator_t* leveldb_mergeoperator_create(
    void* state, void (*destructor)(void*),
    int (*full_merge)(void*, const char* key, size_t key_length, const char* base,
                      size_t base_length, const char* const* operands,
                      const size_t* operand_lengths, size_t count,
                      leveldb_mergeresult_t* result),
    uint8_t (*partial_merge)(void*, const char* key, size_t key_length,
                             const char* const* operands, const size_t* operand_lengths,
                             size_t count, leveldb_mergeresult_t* result),
    const char* (*name)(void*));

/* A built-in operator, as NAME or NAME:PARAM, for example "uint64add". The open checks the name. */
LEVELDB_EXPORT leveldb_mergeoperator_t* leveldb_mergeoperator_create_builtin(const char* name);
LEVELDB_EXPORT void leveldb_mergeoperator_destroy(leveldb_mergeoperator_t*);

/* Adds bytes to the result of a merge. */
LEVELDB_EXPORT void leveldb_mergeresult_append(leveldb_mergeresult_t*, const char* data,
                                               size_t length);

/* The operator of the database. NULL means that of the last open. */
LEVELDB_EXPORT void leveldb_options_set_merge_operator(leveldb_options_t*,
                                                       leveldb_mergeoperator_t*);

/* Merges an operand into a key, without reading it. */
LEVELDB_EXPORT void leveldb_merge(leveldb_t* db, const leveldb_writeoptions_t* options,
                                  const char* key, size_t keylen, const char* operand,
                                  size_t operandlen, char** errptr);
LEVELDB_EXPORT void leveldb_writebatch_merge(leveldb_writebatch_t*, const char* key, size_t klen,
                                             const char* operand, size_t operandlen);

/* As leveldb_writebatch_iterate, which ends at the first merge. */
LEVELDB_EXPORT void leveldb_writebatch_iterate_with_merges(
    const leveldb_writebatch_t*, void* state,
    void (*put)(void*, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted)(void*, const char* k, size_t klen),
    void (*merged)(void*, const char* k, size_t klen, const char* operand, size_t operandlen));

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* STORAGE_LEVELDB_INCLUDE_C_H_ */
