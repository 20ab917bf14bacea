// Merges: writes that change a value without reading it. An addition of this library to LevelDB's
// interface, which stays as it is.
//
//   leveldb::DB* db;
//   leveldb::OpenWithMerge(options, "/tmp/counts", "uint64add", &db);
//   leveldb::Merge(db, leveldb::WriteOptions(), "visits", one);  // eight bytes, little-endian
//
// A merge stores an operand. Reads, flushes and compactions fold the operands of a key over its
// value with a merge operator: a built-in one (docs/merge.md lists them) or a MergeOperator of the
// program. A database remembers its operator, so a later DB::Open() reads merged values right if
// the operator is built in. A database with operands of the program's operators must be opened by
// OpenWithMerge() with these operators.

#ifndef STORAGE_LEVELDB_INCLUDE_MERGE_H_
#define STORAGE_LEVELDB_INCLUDE_MERGE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "leveldb/db.h"
#include "leveldb/export.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"
#include "leveldb/write_batch.h"

namespace leveldb {

// Folds operands. The library calls an operator from any thread, several at the same time. The
// results must depend on the arguments alone. No function may throw or call the database.
class LEVELDB_EXPORT MergeOperator {
 public:
  enum Outcome {
    kFailed = 0,  // The operands cannot be folded: reads of this key fail with Corruption.
    kValue = 1,   // *result is the value.
    kDelete = 2   // The key has no value.
  };

  MergeOperator() = default;
  MergeOperator(const MergeOperator&) = delete;
  MergeOperator& operator=(const MergeOperator&) = delete;

  virtual ~MergeOperator();

  // The name that the database remembers, with a dot in it, for example "app.max". Change it when
  // the meaning of operands changes.
  virtual const char* Name() const = 0;

  // Folds all operands of a key, the oldest first, over its value; null if it has none. Appends the
  // value to *result, which is empty.
  virtual Outcome Full(const Slice& key, const Slice* base, const Slice* operands, size_t count,
                       std::string* result) const = 0;

  // Folds two or more operands, the oldest first, into one that means the same, and appends it to
  // *result, which is empty. Returns false if that is not possible; the operands then stay. The
  // default returns false.
  virtual bool Partial(const Slice& key, const Slice* operands, size_t count,
                       std::string* result) const;

  // Whether Partial() gives about the size of one operand, as a sum does. The default, false, is
  // about the size of all operands together, as for a list.
  virtual bool Shrinks() const;
};

// Open a database as DB::Open() does, with a merge operator for merges that name none.

// The operator is a built-in one, as NAME or NAME:PARAM: "uint64add", "max", "stringappend:,".
LEVELDB_EXPORT Status OpenWithMerge(const Options& options, const std::string& name,
                                    const std::string& merge_operator, DB** dbptr);

// The operator is the program's. It must outlive the database.
LEVELDB_EXPORT Status OpenWithMerge(const Options& options, const std::string& name,
                                    const MergeOperator* merge_operator, DB** dbptr);

// The operator is a built-in one, one of `operators` by its name, or, if empty, that of the last
// open. The operators must outlive the database, and all those must be among them whose operands
// it may hold.
LEVELDB_EXPORT Status OpenWithMerge(const Options& options, const std::string& name,
                                    const std::string& merge_operator,
                                    const std::vector<const MergeOperator*>& operators,
                                    DB** dbptr);

// Merges an operand into a key with the operator of the database, or with one by its name. Fails
// with NotSupported if db is an object of another class or library.
LEVELDB_EXPORT Status Merge(DB* db, const WriteOptions& options, const Slice& key,
                            const Slice& operand);
LEVELDB_EXPORT Status Merge(DB* db, const WriteOptions& options, const Slice& operator_name,
                            const Slice& key, const Slice& operand);

// Adds a merge to a batch. The operator must exist when the batch is written.
LEVELDB_EXPORT void Merge(WriteBatch* batch, const Slice& key, const Slice& operand);
LEVELDB_EXPORT void Merge(WriteBatch* batch, const Slice& operator_name, const Slice& key,
                          const Slice& operand);

// A handler for batches with merges. WriteBatch::Iterate() with any other handler stops with
// NotSupported at the first merge. The destructor must not run during Iterate().
class LEVELDB_EXPORT MergeHandler : public WriteBatch::Handler {
 public:
  MergeHandler();
  ~MergeHandler() override;

  MergeHandler(const MergeHandler&) = delete;
  MergeHandler& operator=(const MergeHandler&) = delete;

  // Receives a merge. operator_name is empty for the operator of the database.
  virtual void Merge(const Slice& operator_name, const Slice& key, const Slice& operand) = 0;
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_MERGE_H_
