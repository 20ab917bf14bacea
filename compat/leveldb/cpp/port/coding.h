// Numbers as bytes: fixed width in little-endian order, and varints.
//
// A varint has seven bits of the number in each byte, the lowest first. The highest bit says that
// another byte follows. LevelDB's files and batches have these encodings.

#ifndef FOLDB_LEVELDB_PORT_CODING_H_
#define FOLDB_LEVELDB_PORT_CODING_H_

#include <cstdint>
#include <string>

#include "leveldb/slice.h"

namespace leveldb {

// The four calls below are one instruction each on little-endian processors. The compiler does not
// see that in a loop over the bytes.

inline void EncodeFixed32(char* to, uint32_t value) {
  to[0] = static_cast<char>(value);
  to[1] = static_cast<char>(value >> 8);
  to[2] = static_cast<char>(value >> 16);
  to[3] = static_cast<char>(value >> 24);
}

inline void EncodeFixed64(char* to, uint64_t value) {
  EncodeFixed32(to, static_cast<uint32_t>(value));
  EncodeFixed32(to + 4, static_cast<uint32_t>(value >> 32));
}

inline uint32_t DecodeFixed32(const char* from) {
  const auto byte = [from](int at) { return uint32_t{static_cast<uint8_t>(from[at])}; };
  return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
}

inline uint64_t DecodeFixed64(const char* from) {
  const auto byte = [from](int at) { return uint64_t{static_cast<uint8_t>(from[at])}; };
  return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24 | byte(4) << 32 | byte(5) << 40 |
         byte(6) << 48 | byte(7) << 56;
}

inline void PutFixed32(std::string* to, uint32_t value) {
  char bytes[4];
  EncodeFixed32(bytes, value);
  to->append(bytes, sizeof(bytes));
}

inline void PutFixed64(std::string* to, uint64_t value) {
  char bytes[8];
  EncodeFixed64(bytes, value);
  to->append(bytes, sizeof(bytes));
}

inline void PutVarint64(std::string* to, uint64_t value) {
  while (value >= 0x80) {
    to->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  to->push_back(static_cast<char>(value));
}

inline void PutVarint32(std::string* to, uint32_t value) { PutVarint64(to, value); }

inline void PutLengthPrefixedSlice(std::string* to, const Slice& bytes) {
  PutVarint32(to, static_cast<uint32_t>(bytes.size()));
  to->append(bytes.data(), bytes.size());
}

// Bytes of the varint of a number.
inline int VarintLength(uint64_t value) {
  int length = 1;
  for (; value >= 0x80; value >>= 7) {
    length++;
  }
  return length;
}

// Takes a number of at most `bits` bits from the front of *from. Returns false, and leaves *from
// alone, if it does not begin with one.
inline bool TakeVarint(Slice* from, int bits, uint64_t* value) {
  uint64_t found = 0;
  for (size_t at = 0; at < from->size() && 7 * at < static_cast<size_t>(bits); at++) {
    const uint64_t byte = static_cast<uint8_t>((*from)[at]);
    found |= (byte & 0x7f) << (7 * at);
    if (byte < 0x80) {
      if (bits < 64 && found >> bits != 0) {
        return false;
      }
      from->remove_prefix(at + 1);
      *value = found;
      return true;
    }
  }
  return false;
}

inline bool GetVarint32(Slice* from, uint32_t* value) {
  uint64_t found;
  if (!TakeVarint(from, 32, &found)) {
    return false;
  }
  *value = static_cast<uint32_t>(found);
  return true;
}

inline bool GetVarint64(Slice* from, uint64_t* value) { return TakeVarint(from, 64, value); }

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
