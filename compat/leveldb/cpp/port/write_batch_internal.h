// The format of a WriteBatch, for the parts of the library that read and write batches.
//
//   batch      sequence (8 bytes) | count (4 bytes) | count operations
//   delete     0 | key
//   put        1 | key | value
//   merge      2 | key | operand              for the operator of the database
//   merge with 3 | operator | key | operand   for a built-in operator, by name
//
// Fixed numbers are little-endian. Keys, values, operands and operators are a varint with their
// length, then the bytes. The count is that of the operations, and LevelDB's tags are 0 and 1. The
// sequence is LevelDB's; this library leaves it at 0.

#ifndef FOLDB_LEVELDB_PORT_WRITE_BATCH_INTERNAL_H_
#define FOLDB_LEVELDB_PORT_WRITE_BATCH_INTERNAL_H_

#include <cstdint>

#include "leveldb/slice.h"
#include "leveldb/status.h"
#include "leveldb/write_batch.h"

namespace leveldb {

class WriteBatchInternal {
 public:
  // Bytes before the first operation.
  static constexpr size_t kHeader = 12;

  // An operation. Its slices point into the batch, and live until the batch changes.
  struct Operation {
    enum Kind : uint8_t { kDelete = 0, kPut = 1, kMerge = 2, kMergeWith = 3 };

    Kind kind;
    Slice key;
    Slice value;          // Of a put; the operand of a merge; otherwise empty.
    Slice operator_name;  // Of kMergeWith; otherwise empty.
  };

  // Reads the operations of a batch in order:
  //
  //   WriteBatchInternal::Reader reader(batch);
  //   WriteBatchInternal::Operation operation;
  //   while (reader.Next(&operation)) { ... }
  //   return reader.status();
  class Reader {
   public:
    explicit Reader(const WriteBatch& batch);

    // Reads the next operation. Returns false at the end and at damage.
    bool Next(Operation* operation);

    // OK, or Corruption once Next() has met damage.
    const Status& status() const { return status_; }

   private:
    bool Damaged(const char* message);

    Slice rest_;
    uint32_t read_ = 0;
    uint32_t count_ = 0;
    Status status_;
  };

  // The number of operations.
  static uint32_t Count(const WriteBatch& batch);

  // Adds a merge for the operator of the database.
  static void Merge(WriteBatch* batch, const Slice& key, const Slice& operand);

  // Adds a merge for a built-in operator.
  static void Merge(WriteBatch* batch, const Slice& operator_name, const Slice& key,
                    const Slice& operand);

  // The bytes of the batch.
  static Slice Contents(const WriteBatch& batch) { return Slice(batch.rep_); }

  // Makes these the bytes of the batch. There must be at least kHeader of them; Reader finds any
  // other damage.
  static void SetContents(WriteBatch* batch, const Slice& contents) {
    assert(contents.size() >= kHeader);
    batch->rep_.assign(contents.data(), contents.size());
  }

 private:
  friend class WriteBatch;

  // Adds the tag of an operation, and counts it.
  static void Begin(WriteBatch* batch, Operation::Kind kind);
};

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_PORT_WRITE_BATCH_INTERNAL_H_
