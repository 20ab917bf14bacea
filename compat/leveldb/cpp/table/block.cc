// Reads the contents of a block: moves by entries and searches by restarts.

#include "table/block.h"

#include <string>
#include <utility>

#include "leveldb/comparator.h"
#include "port/coding.h"

namespace leveldb {

namespace {

// The parts of an entry, without the bytes that its key shares with the key before.
struct Entry {
  uint32_t shared;
  Slice added;
  Slice value;
};

// Takes an entry from the front of `input`. Returns false if the bytes are none.
bool TakeEntry(Slice* input, Entry* entry) {
  uint32_t added, value;
  if (!GetVarint32(input, &entry->shared) || !GetVarint32(input, &added) ||
      !GetVarint32(input, &value)) {
    return false;
  }
  if (input->size() < uint64_t{added} + value) return false;
  entry->added = Slice(input->data(), added);
  entry->value = Slice(input->data() + added, value);
  input->remove_prefix(size_t{added} + value);
  return true;
}

class BlockIterator final : public Iterator {
 public:
  // `entries` are the bytes before the restarts. They begin with the first entry.
  BlockIterator(const Comparator* comparator, const Slice& entries, uint32_t restart_count)
      : comparator_(comparator),
        entries_(entries),
        restart_count_(restart_count),
        at_(entries.size()),
        next_(entries.size()) {}

  bool Valid() const override { return at_ < entries_.size(); }
  Slice key() const override { return key_; }
  Slice value() const override { return value_; }
  Status status() const override { return status_; }

  void SeekToFirst() override {
    if (GoToRestart(0)) StepForward();
  }

  void SeekToLast() override {
    if (!GoToRestart(restart_count_ - 1)) return;
    while (StepForward() && next_ < entries_.size()) {
    }
  }

  void Seek(const Slice& target) override {
    // The caller may pass key(), which the search overwrites.
    if (target.data() == key_.data()) {
      const std::string copy = target.ToString();
      Seek(copy);
      return;
    }
    // The target lies behind the key of the last restart that is before it.
    uint32_t before = 0;
    uint32_t behind = restart_count_;
    while (behind - before > 1) {
      const uint32_t middle = before + (behind - before) / 2;
      Slice restart_key;
      if (!RestartKey(middle, &restart_key)) return;
      if (comparator_->Compare(restart_key, target) < 0) {
        before = middle;
      } else {
        behind = middle;
      }
    }
    if (!GoToRestart(before)) return;
    while (StepForward() && comparator_->Compare(key_, target) < 0) {
    }
  }

  void Next() override { StepForward(); }

  void Prev() override {
    const size_t before = at_;
    if (before == 0) return GoToEnd();
    // The entry lies behind the last restart before the current one.
    const uint32_t restart = LastRestartBefore(before);
    if (!GoToRestart(restart)) return;
    // A step back must not go forward: a loop of Prev() would never end.
    if (next_ >= before) {
      Fail();
      return;
    }
    while (StepForward() && next_ < before) {
    }
  }

 private:
  uint32_t RestartOffset(uint32_t index) const {
    return DecodeFixed32(entries_.data() + entries_.size() + size_t{index} * sizeof(uint32_t));
  }

  // The last restart whose entry begins before `offset`, which is behind the first entry.
  uint32_t LastRestartBefore(size_t offset) const {
    uint32_t before = 0;
    uint32_t behind = restart_count_;
    while (behind - before > 1) {
      const uint32_t middle = before + (behind - before) / 2;
      (RestartOffset(middle) < offset ? before : behind) = middle;
    }
    return before;
  }

  // Reads the whole key at a restart.
  bool RestartKey(uint32_t index, Slice* key) {
    const uint32_t offset = RestartOffset(index);
    Entry entry;
    if (offset < entries_.size()) {
      Slice input(entries_.data() + offset, entries_.size() - offset);
      if (TakeEntry(&input, &entry) && entry.shared == 0) {
        *key = entry.added;
        return true;
      }
    }
    return Fail();
  }

  // Prepares a step to the entry at a restart. Leaves the iterator on no entry.
  bool GoToRestart(uint32_t index) {
    const uint32_t offset = RestartOffset(index);
    GoToEnd();
    // The only restart of a block without entries is at its end.
    if (offset > entries_.size()) return Fail();
    next_ = offset;
    return true;
  }

  // Moves to the entry at `next_`. Returns whether there is one.
  bool StepForward() {
    if (next_ >= entries_.size()) {
      GoToEnd();
      return false;
    }
    Slice input(entries_.data() + next_, entries_.size() - next_);
    Entry entry;
    if (!TakeEntry(&input, &entry) || entry.shared > key_.size()) return Fail();
    key_.resize(entry.shared);
    key_.append(entry.added.data(), entry.added.size());
    value_ = entry.value;
    at_ = next_;
    next_ = entries_.size() - input.size();
    return true;
  }

  void GoToEnd() {
    at_ = next_ = entries_.size();
    key_.clear();
    value_.clear();
  }

  bool Fail() {
    GoToEnd();
    status_ = Status::Corruption("bad entry in block");
    return false;
  }

  const Comparator* const comparator_;
  const Slice entries_;
  const uint32_t restart_count_;
  // Offset of the current entry; the end of the entries if the iterator stands on none.
  size_t at_;
  // Offset of the entry behind it.
  size_t next_;
  std::string key_;
  Slice value_;
  Status status_;
};

}  // namespace

Block::Block(BlockContents contents) : contents_(std::move(contents)) {
  const Slice& data = contents_.data;
  if (data.size() < sizeof(uint32_t)) return;
  const size_t count_at = data.size() - sizeof(uint32_t);
  restart_count_ = DecodeFixed32(data.data() + count_at);
  if (restart_count_ > count_at / sizeof(uint32_t)) return;
  entries_end_ = count_at - restart_count_ * sizeof(uint32_t);
  sound_ = true;
}

Iterator* Block::NewIterator(const Comparator* comparator) const {
  if (!sound_) return NewErrorIterator(Status::Corruption("bad block contents"));
  if (restart_count_ == 0) return NewEmptyIterator();
  const Slice entries(contents_.data.data(), entries_end_);
  return new BlockIterator(comparator, entries, restart_count_);
}

}  // namespace leveldb
