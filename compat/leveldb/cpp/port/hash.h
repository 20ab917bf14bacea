// The hash of bytes that LevelDB's Bloom filters and its cache use.
//
// Filters in files contain its results, so it never changes. Four bytes at a time are added,
// multiplied and mixed; up to three last bytes are mixed by another shift.

#ifndef FOLDB_LEVELDB_PORT_HASH_H_
#define FOLDB_LEVELDB_PORT_HASH_H_

#include <cstdint>

#include "leveldb/slice.h"
#include "port/coding.h"

namespace leveldb {

inline uint32_t Hash(const Slice& bytes, uint32_t seed) {
  constexpr uint32_t kFactor = 0xc6a4a793;
  uint32_t hash = seed ^ static_cast<uint32_t>(bytes.size() * kFactor);
  Slice rest = bytes;
  for (; rest.size() >= 4; rest.remove_prefix(4)) {
    hash = (hash + DecodeFixed32(rest.data())) * kFactor;
    hash ^= hash >> 16;
  }
  if (!rest.empty()) {
    for (size_t at = 0; at < rest.size(); at++) {
      hash += static_cast<uint32_t>(static_cast<uint8_t>(rest[at])) << (8 * at);
    }
    hash *= kFactor;
    hash ^= hash >> 24;
  }
  return hash;
}

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_PORT_HASH_H_
