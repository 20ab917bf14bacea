// Numbers as bytes: fixed width in little-endian order, and varints.
//
// A varint has seven bits of the number in each byte, the lowest first. The highest bit says that
// another byte follows. LevelDB's batches and filters have these encodings.

#ifndef FOLDB_LEVELDB_PORT_CODING_H_
#define FOLDB_LEVELDB_PORT_CODING_H_

#include <cstdint>
#include <string>

#include "leveldb/slice.h"

namespace leveldb {

// The calls below are one instruction each on little-endian processors. The compiler does not see
// that in a loop over the bytes.

inline void EncodeFixed32(char* to, uint32_t value) {
  to[0] = static_cast<char>(value);
  to[1] = static_cast<char>(value >> 8);
  to[2] = static_cast<char>(value >> 16);
  to[3] = static_cast<char>(value >> 24);
}

inline uint32_t DecodeFixed32(const char* from) {
  const auto byte = [from](int at) { return uint32_t{static_cast<uint8_t>(from[at])}; };
  return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
}

inline void PutFixed64(std::string* to, uint64_t value) {
  char bytes[8];
  EncodeFixed32(bytes, static_cast<uint32_t>(value));
  EncodeFixed32(bytes + 4, static_cast<uint32_t>(value >> 32));
  to->append(bytes, sizeof(bytes));
}

inline void PutVarint32(std::string* to, uint32_t value) {
  for (; value >= 0x80; value >>= 7) to->push_back(static_cast<char>(value | 0x80));
  to->push_back(static_cast<char>(value));
}

inline void PutLengthPrefixedSlice(std::string* to, const Slice& bytes) {
  PutVarint32(to, static_cast<uint32_t>(bytes.size()));
  to->append(bytes.data(), bytes.size());
}

// Takes a number from the front of *from. Returns false, and leaves *from alone, if it does not
// begin with one of at most 32 bits.
inline bool GetVarint32(Slice* from, uint32_t* value) {
  uint64_t found = 0;
  for (size_t at = 0; at < from->size() && at < 5; at++) {
    const uint64_t byte = static_cast<uint8_t>((*from)[at]);
    found |= (byte & 0x7f) << (7 * at);
    if (byte < 0x80) {
      if (found >> 32 != 0) return false;
      from->remove_prefix(at + 1);
      *value = static_cast<uint32_t>(found);
      return true;
    }
  }
  return false;
}

// Takes a varint and as many bytes as it says. Returns false, with *from in any state, if bytes
// are missing.
inline bool GetLengthPrefixedSlice(Slice* from, Slice* bytes) {
  uint32_t length;
  if (!GetVarint32(from, &length) || from->size() < length) {
    return false;
  }
  *bytes = Slice(from->data(), length);
  from->remove_prefix(length);
  return true;
}

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_PORT_CODING_H_
