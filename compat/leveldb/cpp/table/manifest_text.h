// Prints the edits of a LevelDB manifest.
//
//   edit  := field*
//   field := tag (varint32), then
//     1 comparator          name (length varint32, bytes)
//     2 log number          varint64
//     3 next file number    varint64
//     4 last sequence       varint64
//     5 compaction pointer  level (varint32), internal key (length varint32, bytes)
//     6 deleted file        level, number (varint64)
//     7 new file            level, number, size (varint64), smallest and largest internal key
//     9 previous log number varint64

#ifndef FOLDB_LEVELDB_TABLE_MANIFEST_TEXT_H_
#define FOLDB_LEVELDB_TABLE_MANIFEST_TEXT_H_

#include <string>

#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {
namespace dump {

// Stores the text of an edit. Fails with Corruption that names the field.
Status ManifestEditText(const Slice& edit, std::string* text);

}  // namespace dump
}  // namespace leveldb

#endif  // FOLDB_LEVELDB_TABLE_MANIFEST_TEXT_H_
