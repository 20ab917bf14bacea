// Writes the contents of a block: sorted entries with shared key prefixes.
//
//   contents := entry*, offset of each restart (4 bytes each), number of restarts (4 bytes)
//   entry    := shared (varint32), added (varint32), value length (varint32),
//               last `added` bytes of the key, value
//
// The key of an entry begins with `shared` bytes of the key before it. At a restart, `shared` is 0.
//
// Invariant: the first entry is a restart, and every `restart_interval`-th after it.

#ifndef FOLDB_LEVELDB_TABLE_BLOCK_BUILDER_H_
#define FOLDB_LEVELDB_TABLE_BLOCK_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/slice.h"

namespace leveldb {

class BlockBuilder {
 public:
  explicit BlockBuilder(int restart_interval) : restart_interval_(restart_interval) { Reset(); }

  // The interval from the next entry on.
  void set_restart_interval(int interval) { restart_interval_ = interval; }

  // Forgets all entries.
  void Reset();

  // Adds an entry. REQUIRES: the key is behind all keys of the block.
  void Add(const Slice& key, const Slice& value);

  // Returns the contents. They live until the next Reset().
  Slice Finish();

  // The size of the contents if no entry follows.
  size_t FinishedSize() const {
    return entries_.size() + sizeof(uint32_t) * (restarts_.size() + 1);
  }

  bool empty() const { return entries_.empty(); }

 private:
  int restart_interval_;
  // Entries behind the last restart, itself included.
  int since_restart_;
  std::string entries_;
  std::vector<uint32_t> restarts_;
  std::string last_key_;
};

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_TABLE_BLOCK_BUILDER_H_
