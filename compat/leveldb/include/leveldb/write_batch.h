// WriteBatch: puts and deletes that a database applies together or not at all, in their order.
//
// A later operation on a key wins over an earlier one. Const methods may run on several threads at
// once; any other method needs exclusive use of the batch. leveldb/merge.h adds merges.

#ifndef STORAGE_LEVELDB_INCLUDE_WRITE_BATCH_H_
#define STORAGE_LEVELDB_INCLUDE_WRITE_BATCH_H_

#include <string>

#include "leveldb/export.h"
#include "leveldb/status.h"

namespace leveldb {

class Slice;

class LEVELDB_EXPORT WriteBatch {
 public:
  // Receives the operations of a batch from Iterate().
  class LEVELDB_EXPORT Handler {
   public:
    virtual ~Handler();
    virtual void Put(const Slice& key, const Slice& value) = 0;
    virtual void Delete(const Slice& key) = 0;
  };

  WriteBatch();

  WriteBatch(const WriteBatch&) = default;
  WriteBatch& operator=(const WriteBatch&) = default;

  ~WriteBatch();

  // Adds the operation that stores value under key. The batch copies both.
  void Put(const Slice& key, const Slice& value);

  // Adds the operation that removes key. A key that is absent is no error.
  void Delete(const Slice& key);

  // Removes all operations.
  void Clear();

  // Bytes that the operations take in memory.
  size_t ApproximateSize() const;

  // Adds the operations of source, which stays as it is and may be this batch.
  void Append(const WriteBatch& source);

  // Calls handler for each operation in order. Fails with Corruption if the bytes of the batch are
  // damaged, and with NotSupported at a merge if handler is not a MergeHandler. The operations
  // before the failure have then reached handler.
  Status Iterate(Handler* handler) const;

 private:
  friend class WriteBatchInternal;

  std::string rep_;  // cpp/port/write_batch_internal.h in the sources has the format.
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_WRITE_BATCH_H_
