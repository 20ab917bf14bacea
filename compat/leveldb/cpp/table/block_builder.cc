// Writes the contents of a block. See block_builder.h for the bytes.

#include "table/block_builder.h"

#include <algorithm>

#include "port/coding.h"

namespace leveldb {

namespace {

// How many bytes two keys have in common at their front.
size_t CommonPrefix(const Slice& a, const Slice& b) {
  const size_t limit = std::min(a.size(), b.size());
  return std::mismatch(a.data(), a.data() + limit, b.data()).first - a.data();
}

}  // namespace

void BlockBuilder::Reset() {
  entries_.clear();
  restarts_.assign(1, 0);
  since_restart_ = 0;
  last_key_.clear();
}

void BlockBuilder::Add(const Slice& key, const Slice& value) {
  size_t shared = 0;
  if (since_restart_ < restart_interval_) {
    shared = CommonPrefix(last_key_, key);
  } else {
    restarts_.push_back(static_cast<uint32_t>(entries_.size()));
    since_restart_ = 0;
  }
  const size_t added = key.size() - shared;
  PutVarint32(&entries_, static_cast<uint32_t>(shared));
  PutVarint32(&entries_, static_cast<uint32_t>(added));
  PutVarint32(&entries_, static_cast<uint32_t>(value.size()));
  entries_.append(key.data() + shared, added);
  entries_.append(value.data(), value.size());
  last_key_.assign(key.data(), key.size());
  since_restart_++;
}

Slice BlockBuilder::Finish() {
  for (uint32_t restart : restarts_) PutFixed32(&entries_, restart);
  PutFixed32(&entries_, static_cast<uint32_t>(restarts_.size()));
  return entries_;
}

}  // namespace leveldb
