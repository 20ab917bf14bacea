// How a dump prints keys, values and LevelDB's internal keys.
//
//   internal key := key of the program, sequence number << 8 | type (8 bytes)
//   type         := 0 deletion, 1 value
//
// Invariant: the text of any bytes is printable ASCII.

#ifndef FOLDB_LEVELDB_TABLE_DUMP_TEXT_H_
#define FOLDB_LEVELDB_TABLE_DUMP_TEXT_H_

#include <cstdint>
#include <string>

#include "leveldb/slice.h"

namespace leveldb {
namespace dump {

constexpr unsigned kTypeDeletion = 0;
constexpr unsigned kTypeValue = 1;

struct InternalKey {
  Slice user_key;
  uint64_t sequence = 0;
  unsigned type = 0;
};

// Takes an internal key apart. Returns false if the bytes are none.
bool ParseInternalKey(const Slice& bytes, InternalKey* key);

// Printable ASCII as it is, every other byte as \xNN.
std::string Escape(const Slice& bytes);

// The internal key as a manifest dump shows it: 'key' @ sequence : type.
std::string InternalKeyText(const Slice& bytes);

}  // namespace dump
}  // namespace leveldb

#endif  // FOLDB_LEVELDB_TABLE_DUMP_TEXT_H_
