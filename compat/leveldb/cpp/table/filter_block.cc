// The filter block of a table. See filter_block.h for the bytes.

#include "table/filter_block.h"

#include <utility>

#include "leveldb/filter_policy.h"
#include "port/coding.h"

namespace leveldb {

namespace {

// A filter covers the blocks that begin in a range of 2^11 bytes.
constexpr unsigned kRangeLog = 11;

// The offset of the offsets, and the range.
constexpr size_t kTailSize = 5;

}  // namespace

void FilterBlockBuilder::StartBlock(uint64_t offset) {
  const uint64_t range = offset >> kRangeLog;
  while (filter_offsets_.size() < range) EndRange();
}

void FilterBlockBuilder::AddKey(const Slice& key) {
  starts_.push_back(keys_.size());
  keys_.append(key.data(), key.size());
}

void FilterBlockBuilder::EndRange() {
  filter_offsets_.push_back(static_cast<uint32_t>(contents_.size()));
  if (starts_.empty()) return;
  std::vector<Slice> keys;
  keys.reserve(starts_.size());
  for (size_t i = 0; i < starts_.size(); i++) {
    const size_t end = i + 1 < starts_.size() ? starts_[i + 1] : keys_.size();
    keys.emplace_back(keys_.data() + starts_[i], end - starts_[i]);
  }
  policy_->CreateFilter(keys.data(), static_cast<int>(keys.size()), &contents_);
  keys_.clear();
  starts_.clear();
}

Slice FilterBlockBuilder::Finish() {
  if (!starts_.empty()) EndRange();
  const uint32_t filters_end = static_cast<uint32_t>(contents_.size());
  for (uint32_t offset : filter_offsets_) PutFixed32(&contents_, offset);
  PutFixed32(&contents_, filters_end);
  contents_.push_back(static_cast<char>(kRangeLog));
  return contents_;
}

FilterBlockReader::FilterBlockReader(const FilterPolicy* policy, BlockContents contents)
    : policy_(policy), contents_(std::move(contents)) {
  const Slice& data = contents_.data;
  if (data.size() < kTailSize) return;
  const size_t offsets_end = data.size() - kTailSize;
  const uint32_t filters_end = DecodeFixed32(data.data() + offsets_end);
  const unsigned range_log = static_cast<unsigned char>(data[data.size() - 1]);
  if (filters_end > offsets_end || range_log >= 64) return;
  filters_end_ = filters_end;
  range_log_ = range_log;
  count_ = (offsets_end - filters_end) / sizeof(uint32_t);
}

bool FilterBlockReader::KeyMayMatch(uint64_t block_offset, const Slice& key) const {
  const uint64_t index = block_offset >> range_log_;
  if (index >= count_) return true;
  // Behind the last offset lies the end of the filters, in the same form.
  const char* offset = contents_.data.data() + filters_end_ + index * sizeof(uint32_t);
  const uint32_t start = DecodeFixed32(offset);
  const uint32_t end = DecodeFixed32(offset + sizeof(uint32_t));
  if (start > end || end > filters_end_) return true;
  // No key of the table is in such a block.
  if (start == end) return false;
  return policy_->KeyMayMatch(key, Slice(contents_.data.data() + start, end - start));
}

}  // namespace leveldb
