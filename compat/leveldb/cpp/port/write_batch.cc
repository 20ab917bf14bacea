// WriteBatch: the format of write_batch_internal.h, written and read.

#include "leveldb/write_batch.h"

#include "db/merge_handlers.h"
#include "leveldb/slice.h"
#include "port/coding.h"
#include "port/write_batch_internal.h"

namespace leveldb {

namespace {

// Where the count is in a batch.
constexpr size_t kCountAt = 8;

}  // namespace

uint32_t WriteBatchInternal::Count(const WriteBatch& batch) {
  return DecodeFixed32(batch.rep_.data() + kCountAt);
}

void WriteBatchInternal::Begin(WriteBatch* batch, Operation::Kind kind) {
  EncodeFixed32(&batch->rep_[kCountAt], Count(*batch) + 1);
  batch->rep_.push_back(static_cast<char>(kind));
}

void WriteBatchInternal::Merge(WriteBatch* batch, const Slice& key, const Slice& operand) {
  Begin(batch, Operation::kMerge);
  PutLengthPrefixedSlice(&batch->rep_, key);
  PutLengthPrefixedSlice(&batch->rep_, operand);
}

void WriteBatchInternal::Merge(WriteBatch* batch, const Slice& operator_name, const Slice& key,
                               const Slice& operand) {
  Begin(batch, Operation::kMergeWith);
  PutLengthPrefixedSlice(&batch->rep_, operator_name);
  PutLengthPrefixedSlice(&batch->rep_, key);
  PutLengthPrefixedSlice(&batch->rep_, operand);
}

WriteBatchInternal::Reader::Reader(const WriteBatch& batch) : rest_(batch.rep_) {
  if (rest_.size() < kHeader) {
    status_ = Status::Corruption("malformed WriteBatch (too small)");
    rest_.clear();
    return;
  }
  count_ = Count(batch);
  rest_.remove_prefix(kHeader);
}

bool WriteBatchInternal::Reader::Damaged(const char* message) {
  status_ = Status::Corruption(message);
  rest_.clear();
  return false;
}

bool WriteBatchInternal::Reader::Next(Operation* operation) {
  if (!status_.ok()) {
    return false;
  }
  if (rest_.empty()) {
    return read_ == count_ ? false : Damaged("WriteBatch has wrong count");
  }
  const char tag = rest_[0];
  rest_.remove_prefix(1);
  operation->value = Slice();
  operation->operator_name = Slice();
  switch (tag) {
    case Operation::kDelete:
      if (!GetLengthPrefixedSlice(&rest_, &operation->key)) {
        return Damaged("bad WriteBatch Delete");
      }
      break;
    case Operation::kPut:
      if (!GetLengthPrefixedSlice(&rest_, &operation->key) ||
          !GetLengthPrefixedSlice(&rest_, &operation->value)) {
        return Damaged("bad WriteBatch Put");
      }
      break;
    case Operation::kMergeWith:
      if (!GetLengthPrefixedSlice(&rest_, &operation->operator_name)) {
        return Damaged("bad WriteBatch Merge");
      }
      [[fallthrough]];
    case Operation::kMerge:
      if (!GetLengthPrefixedSlice(&rest_, &operation->key) ||
          !GetLengthPrefixedSlice(&rest_, &operation->value)) {
        return Damaged("bad WriteBatch Merge");
      }
      break;
    default:
      return Damaged("unknown WriteBatch tag");
  }
  operation->kind = static_cast<Operation::Kind>(tag);
  read_++;
  return true;
}

WriteBatch::WriteBatch() { Clear(); }

WriteBatch::~WriteBatch() = default;

WriteBatch::Handler::~Handler() = default;

void WriteBatch::Put(const Slice& key, const Slice& value) {
  WriteBatchInternal::Begin(this, WriteBatchInternal::Operation::kPut);
  PutLengthPrefixedSlice(&rep_, key);
  PutLengthPrefixedSlice(&rep_, value);
}

void WriteBatch::Delete(const Slice& key) {
  WriteBatchInternal::Begin(this, WriteBatchInternal::Operation::kDelete);
  PutLengthPrefixedSlice(&rep_, key);
}

void WriteBatch::Clear() { rep_.assign(WriteBatchInternal::kHeader, '\0'); }

size_t WriteBatch::ApproximateSize() const { return rep_.size(); }

void WriteBatch::Append(const WriteBatch& source) {
  // `source` may be this batch: the count and the bytes are read before this batch changes.
  const uint32_t count = WriteBatchInternal::Count(*this) + WriteBatchInternal::Count(source);
  const size_t end = source.rep_.size();
  rep_.append(source.rep_, WriteBatchInternal::kHeader, end - WriteBatchInternal::kHeader);
  EncodeFixed32(&rep_[kCountAt], count);
}

Status WriteBatch::Iterate(Handler* handler) const {
  WriteBatchInternal::Reader reader(*this);
  WriteBatchInternal::Operation operation;
  while (reader.Next(&operation)) {
    switch (operation.kind) {
      case WriteBatchInternal::Operation::kDelete:
        handler->Delete(operation.key);
        break;
      case WriteBatchInternal::Operation::kPut:
        handler->Put(operation.key, operation.value);
        break;
      default:
        if (MergeHandler* merges = FindMergeHandler(handler)) {
          merges->Merge(operation.operator_name, operation.key, operation.value);
          break;
        }
        return Status::NotSupported("the batch has a merge, and the handler has no Merge()",
                                    "read the batch with a MergeHandler of leveldb/merge.h");
    }
  }
  return reader.status();
}

}  // namespace leveldb
