// The table file format: handles, the footer, and the read of one block.
//
//   table   := data block*, filter block?, metaindex block, index block, footer
//   block   := contents, compression id (1 byte), checksum (4 bytes)
//   handle  := offset (varint64), size of the contents (varint64)
//   footer  := metaindex handle, index handle, zeroes up to byte 40, magic number (8 bytes)
//
// The checksum is the masked crc32c of the contents and the id. Fixed integers are little-endian.
//
// Invariant: no length read from a file leads to an allocation or a read beyond the file.

#ifndef FOLDB_LEVELDB_TABLE_FORMAT_H_
#define FOLDB_LEVELDB_TABLE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

class RandomAccessFile;

// The bytes behind the contents of each block: compression id and checksum.
constexpr size_t kBlockTrailerSize = 5;

// Where the contents of a block lie.
class BlockHandle {
 public:
  // The longest encoding: two varints of ten bytes.
  static constexpr size_t kMaxEncodedSize = 20;

  BlockHandle() = default;
  BlockHandle(uint64_t offset, uint64_t size) : offset_(offset), size_(size) {}

  uint64_t offset() const { return offset_; }
  uint64_t size() const { return size_; }

  void AppendTo(std::string* out) const;

  // Takes a handle from the front of `input`. Fails with Corruption.
  Status TakeFrom(Slice* input);

 private:
  uint64_t offset_ = 0;
  uint64_t size_ = 0;
};

// The last bytes of a table.
class Footer {
 public:
  static constexpr size_t kSize = 2 * BlockHandle::kMaxEncodedSize + 8;
  static constexpr uint64_t kMagic = 0xdb4775248b80fb57ull;

  Footer() = default;
  Footer(const BlockHandle& metaindex, const BlockHandle& index)
      : metaindex_(metaindex), index_(index) {}

  const BlockHandle& metaindex() const { return metaindex_; }
  const BlockHandle& index() const { return index_; }

  void AppendTo(std::string* out) const;

  // Decodes the last `kSize` bytes of a file. Fails with Corruption.
  Status Decode(const Slice& bytes);

 private:
  BlockHandle metaindex_;
  BlockHandle index_;
};

// The contents of a block, decompressed.
struct BlockContents {
  Slice data;
  // The memory of `data`. Empty if `data` lies in memory of the file, which needs no cache.
  std::unique_ptr<char[]> owned;
};

// A file with its size.
struct TableFile {
  RandomAccessFile* file = nullptr;
  uint64_t size = 0;
};

// Reads and decompresses a block. Checks its checksum only if `verify_checksum` is set.
Status ReadBlock(const TableFile& source, bool verify_checksum, const BlockHandle& handle,
                 BlockContents* result);

// Appends compression id and checksum of a block to `out`.
void AppendBlockTrailer(const Slice& contents, char compression_id, std::string* out);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_TABLE_FORMAT_H_
