// The filter block of a table: a filter for each 2 KiB of the file in which data blocks begin.
//
//   contents := filter*, offset of each filter (4 bytes each), offset of the offsets (4 bytes),
//               log2 of the range (1 byte)
//
// Filter i covers the keys of the blocks whose offset, divided by the range, is i. The filter of a
// range without keys is empty.
//
// Invariant: a filter that cannot be read excludes no key.

#ifndef FOLDB_LEVELDB_TABLE_FILTER_BLOCK_H_
#define FOLDB_LEVELDB_TABLE_FILTER_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/slice.h"
#include "table/format.h"

namespace leveldb {

class FilterPolicy;

class FilterBlockBuilder {
 public:
  explicit FilterBlockBuilder(const FilterPolicy* policy) : policy_(policy) {}

  FilterBlockBuilder(const FilterBlockBuilder&) = delete;
  FilterBlockBuilder& operator=(const FilterBlockBuilder&) = delete;

  // Says that the keys from now on are in the data block at this offset.
  void StartBlock(uint64_t offset);

  void AddKey(const Slice& key);

  // Returns the contents. They live as long as the builder.
  Slice Finish();

  const FilterPolicy* policy() const { return policy_; }

 private:
  // Ends the current range: writes the filter of its keys.
  void EndRange();

  const FilterPolicy* const policy_;
  // The keys of the current range, end to end, and where each begins.
  std::string keys_;
  std::vector<size_t> starts_;
  std::string contents_;
  std::vector<uint32_t> filter_offsets_;
};

class FilterBlockReader {
 public:
  FilterBlockReader(const FilterPolicy* policy, BlockContents contents);

  // Whether the data block at this offset may hold the key.
  bool KeyMayMatch(uint64_t block_offset, const Slice& key) const;

 private:
  const FilterPolicy* const policy_;
  const BlockContents contents_;
  // The number of filters. 0 for contents that are no filter block.
  size_t count_ = 0;
  // Where the filters end and their offsets begin.
  uint32_t filters_end_ = 0;
  unsigned range_log_ = 0;
};

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_TABLE_FILTER_BLOCK_H_
