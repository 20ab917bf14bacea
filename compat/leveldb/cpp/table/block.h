// Reads the contents of a block, which block_builder.h describes.
//
// Invariant: an iterator never leaves the contents, whatever bytes they hold. Bytes that are no
// entry end the iteration with Corruption.

#ifndef FOLDB_LEVELDB_TABLE_BLOCK_H_
#define FOLDB_LEVELDB_TABLE_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "leveldb/iterator.h"
#include "table/format.h"

namespace leveldb {

class Comparator;

class Block {
 public:
  explicit Block(BlockContents contents);

  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  size_t size() const { return contents_.data.size(); }

  // Returns an iterator that the block must outlive.
  Iterator* NewIterator(const Comparator* comparator) const;

 private:
  BlockContents contents_;
  // Whether the restarts lie within the contents.
  bool sound_ = false;
  // The number of restarts, and the offset of the first one, where the entries end.
  uint32_t restart_count_ = 0;
  size_t entries_end_ = 0;
};

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_TABLE_BLOCK_H_
