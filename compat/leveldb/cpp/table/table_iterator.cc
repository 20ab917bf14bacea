// An iterator over the blocks of a table. See table_iterator.h.

#include "table/table_iterator.h"

#include <memory>
#include <string>

namespace leveldb {

namespace {

class TableIterator final : public Iterator {
 public:
  TableIterator(Iterator* index, OpenBlock open_block, void* table, const ReadOptions& options)
      : index_(index), open_block_(open_block), table_(table), options_(options) {}

  bool Valid() const override { return block_ != nullptr && block_->Valid(); }
  Slice key() const override { return block_->key(); }
  Slice value() const override { return block_->value(); }

  Status status() const override {
    Status status = index_->status();
    if (status.ok() && block_ != nullptr) status = block_->status();
    return status.ok() ? first_error_ : status;
  }

  void SeekToFirst() override {
    index_->SeekToFirst();
    EnterBlock();
    if (block_ != nullptr) block_->SeekToFirst();
    SkipEmptyForward();
  }

  void SeekToLast() override {
    index_->SeekToLast();
    EnterBlock();
    if (block_ != nullptr) block_->SeekToLast();
    SkipEmptyBackward();
  }

  void Seek(const Slice& target) override {
    // The caller may pass key(), which lies in the block that the search leaves.
    if (Valid() && target.data() == key().data()) {
      const std::string copy = target.ToString();
      Seek(copy);
      return;
    }
    index_->Seek(target);
    EnterBlock();
    if (block_ != nullptr) block_->Seek(target);
    SkipEmptyForward();
  }

  void Next() override {
    block_->Next();
    SkipEmptyForward();
  }

  void Prev() override {
    block_->Prev();
    SkipEmptyBackward();
  }

 private:
  // Opens the block under the index, unless it is the current one.
  void EnterBlock() {
    if (!index_->Valid()) return LeaveBlock();
    const Slice handle = index_->value();
    if (block_ != nullptr && handle == Slice(block_handle_)) return;
    LeaveBlock();
    block_handle_.assign(handle.data(), handle.size());
    block_.reset(open_block_(table_, options_, handle));
  }

  void LeaveBlock() {
    if (block_ != nullptr && first_error_.ok()) first_error_ = block_->status();
    block_.reset();
  }

  void SkipEmptyForward() {
    while (block_ != nullptr && !block_->Valid()) {
      index_->Next();
      EnterBlock();
      if (block_ != nullptr) block_->SeekToFirst();
    }
  }

  void SkipEmptyBackward() {
    while (block_ != nullptr && !block_->Valid()) {
      index_->Prev();
      EnterBlock();
      if (block_ != nullptr) block_->SeekToLast();
    }
  }

  const std::unique_ptr<Iterator> index_;
  const OpenBlock open_block_;
  void* const table_;
  const ReadOptions options_;
  // The current data block. Null if the iterator stands on no entry, or before the first move.
  std::unique_ptr<Iterator> block_;
  // The encoded handle of `block_`.
  std::string block_handle_;
  // The first error of a block that was left.
  Status first_error_;
};

}  // namespace

Iterator* NewTableIterator(Iterator* index, OpenBlock open_block, void* table,
                           const ReadOptions& options) {
  return new TableIterator(index, open_block, table, options);
}

}  // namespace leveldb
