// Slices as the bytes of foldb.h, and the reverse.

#ifndef FOLDB_LEVELDB_DB_BYTES_H_
#define FOLDB_LEVELDB_DB_BYTES_H_

#include <cstdint>

#include "foldb.h"
#include "leveldb/slice.h"

namespace leveldb {

inline const uint8_t* BytesOf(const Slice& slice) {
  return reinterpret_cast<const uint8_t*>(slice.data());
}

inline foldb_bytes_t WholeBytesOf(const Slice& slice) { return {BytesOf(slice), slice.size()}; }

inline Slice SliceOf(const foldb_bytes_t& bytes) {
  return Slice(reinterpret_cast<const char*>(bytes.data), bytes.len);
}

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_BYTES_H_
