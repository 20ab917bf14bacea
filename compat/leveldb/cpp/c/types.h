// The C types of leveldb/c.h, each around the C++ object that it stands for.
//
// Invariant: a type owns its object if the program frees the type with a destroy or close function.
// Snapshots belong to their database, and the default environment to the process.

#ifndef FOLDB_LEVELDB_C_TYPES_H_
#define FOLDB_LEVELDB_C_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "leveldb/c.h"
#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/iterator.h"
#include "leveldb/merge.h"
#include "leveldb/options.h"
#include "leveldb/status.h"
#include "leveldb/write_batch.h"

extern "C" {

struct leveldb_t {
  leveldb::DB* rep;
};
struct leveldb_iterator_t {
  leveldb::Iterator* rep;
};
struct leveldb_writebatch_t {
  leveldb::WriteBatch rep;
};
struct leveldb_snapshot_t {
  const leveldb::Snapshot* rep;
};
struct leveldb_readoptions_t {
  leveldb::ReadOptions rep;
};
struct leveldb_writeoptions_t {
  leveldb::WriteOptions rep;
};
struct leveldb_options_t {
  leveldb::Options rep;
  // Null: the operator of the last open.
  const leveldb_mergeoperator_t* merge_operator = nullptr;
};
struct leveldb_cache_t {
  leveldb::Cache* rep;
};
struct leveldb_logger_t {
  leveldb::Logger* rep;
};
struct leveldb_env_t {
  leveldb::Env* rep;
  // The environment of the process, which nothing may free.
  bool is_default;
};

// A comparator of function pointers. It shortens no keys: C programs cannot say how.
struct leveldb_comparator_t : public leveldb::Comparator {
  leveldb_comparator_t(void* s, void (*d)(void*),
                       int (*c)(void*, const char*, size_t, const char*, size_t),
                       const char* (*n)(void*))
      : state(s), destructor(d), compare(c), name(n) {}
  ~leveldb_comparator_t() override;

  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override;
  const char* Name() const override;
  void FindShortestSeparator(std::string* start, const leveldb::Slice& limit) const override;
  void FindShortSuccessor(std::string* key) const override;

  void* const state;
  void (*const destructor)(void*);
  int (*const compare)(void*, const char*, size_t, const char*, size_t);
  const char* (*const name)(void*);
};

// A filter policy: of function pointers, or the one that leveldb_filterpolicy_create_bloom() wraps.
struct leveldb_filterpolicy_t : public leveldb::FilterPolicy {
  // The policy for databases: this one, or the one that it wraps. The library builds its own
  // policies in, but recognises only the object itself.
  virtual const leveldb::FilterPolicy* ForDatabases() const { return this; }
};

// A merge operator of function pointers, or the name of a built-in one.
struct leveldb_mergeoperator_t : public leveldb::MergeOperator {
  using FullMerge = int (*)(void*, const char*, size_t, const char*, size_t, const char* const*,
                            const size_t*, size_t, leveldb_mergeresult_t*);
  using PartialMerge = uint8_t (*)(void*, const char*, size_t, const char* const*, const size_t*,
                                   size_t, leveldb_mergeresult_t*);

  ~leveldb_mergeoperator_t() override;

  const char* Name() const override;
  Outcome Full(const leveldb::Slice& key, const leveldb::Slice* base,
               const leveldb::Slice* operands, size_t count, std::string* result) const override;
  bool Partial(const leveldb::Slice& key, const leveldb::Slice* operands, size_t count,
               std::string* result) const override;

  // Opens a database with this operator.
  leveldb::Status Open(const leveldb::Options& options, const char* path, leveldb::DB** db) const;

  void* state = nullptr;
  void (*destructor)(void*) = nullptr;
  FullMerge full_merge = nullptr;
  PartialMerge partial_merge = nullptr;
  const char* (*name)(void*) = nullptr;
  // Not empty for a built-in operator. The functions above are null then.
  std::string builtin;
};

}  // extern "C"

namespace leveldb {

// Returns a copy in memory of malloc(), never NULL. The copy of a text ends with a NUL.
char* CopyBytes(const Slice& bytes);
char* CopyText(const std::string& text);

// Stores the text of an error in `*errptr`, in memory of malloc(), and frees the text before it.
// Returns whether the status is an error. Leaves `*errptr` as it is if not.
bool SaveError(char** errptr, const Status& status);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_C_TYPES_H_
