// Handles, the footer, and the read of one block. See format.h for the bytes.

#include "table/format.h"

#include <utility>

#include "leveldb/env.h"
#include "leveldb/options.h"
#include "port/coding.h"
#include "port/crc32c.h"
#include "port/snappy.h"

namespace leveldb {

void BlockHandle::AppendTo(std::string* out) const {
  PutVarint64(out, offset_);
  PutVarint64(out, size_);
}

Status BlockHandle::TakeFrom(Slice* input) {
  if (!GetVarint64(input, &offset_) || !GetVarint64(input, &size_)) {
    return Status::Corruption("bad block handle");
  }
  return Status::OK();
}

void Footer::AppendTo(std::string* out) const {
  const size_t start = out->size();
  metaindex_.AppendTo(out);
  index_.AppendTo(out);
  out->resize(start + 2 * BlockHandle::kMaxEncodedSize, '\0');
  PutFixed64(out, kMagic);
}

Status Footer::Decode(const Slice& bytes) {
  if (bytes.size() < kSize) {
    return Status::Corruption("not an sstable (footer too short)");
  }
  if (DecodeFixed64(bytes.data() + kSize - 8) != kMagic) {
    return Status::Corruption("not an sstable (bad magic number)");
  }
  Slice handles(bytes.data(), kSize - 8);
  Status status = metaindex_.TakeFrom(&handles);
  return status.ok() ? index_.TakeFrom(&handles) : status;
}

void AppendBlockTrailer(const Slice& contents, char compression_id, std::string* out) {
  uint32_t checksum = crc32c::Value(contents.data(), contents.size());
  checksum = crc32c::Extend(checksum, &compression_id, 1);
  out->push_back(compression_id);
  PutFixed32(out, crc32c::Mask(checksum));
}

namespace {

// Whether the file has room for the block and its trailer. The sums cannot overflow.
bool LiesWithin(const BlockHandle& handle, uint64_t file_size) {
  return handle.offset() <= file_size && file_size - handle.offset() >= kBlockTrailerSize &&
         file_size - handle.offset() - kBlockTrailerSize >= handle.size();
}

// Decompresses a block. Returns false for bytes that snappy did not write.
bool Decompress(const Slice& compressed, BlockContents* result) {
  size_t size;
  if (!snappy::DecompressedLength(compressed, &size)) return false;
  // Snappy's densest element makes 64 bytes of 3. A greater length is damage, not a reason to
  // allocate it.
  if (size / 64 > compressed.size() / 3) return false;
  result->owned.reset(new char[size]);
  result->data = Slice(result->owned.get(), size);
  return snappy::Decompress(compressed, result->owned.get(), size);
}

// Turns the bytes that lie in the file into contents. `read` holds contents and trailer.
Status Unpack(const Slice& read, std::unique_ptr<char[]> scratch, BlockContents* result) {
  const Slice stored(read.data(), read.size() - kBlockTrailerSize);
  switch (stored.data()[stored.size()]) {
    case kNoCompression:
      // A file that maps its bytes returned a pointer to them and left the scratch unused.
      if (read.data() != scratch.get()) scratch.reset();
      result->data = stored;
      result->owned = std::move(scratch);
      return Status::OK();
    case kSnappyCompression:
      if (Decompress(stored, result)) return Status::OK();
      return Status::Corruption("corrupted compressed block contents");
    default:
      return Status::Corruption("bad block type");
  }
}

}  // namespace

Status ReadBlock(const TableFile& source, bool verify_checksum, const BlockHandle& handle,
                 BlockContents* result) {
  *result = BlockContents();
  if (!LiesWithin(handle, source.size)) {
    return Status::Corruption("truncated block read");
  }
  const size_t contents_size = static_cast<size_t>(handle.size());
  const size_t wanted = contents_size + kBlockTrailerSize;
  std::unique_ptr<char[]> scratch(new char[wanted]);
  Slice read;
  Status status = source.file->Read(handle.offset(), wanted, &read, scratch.get());
  if (!status.ok()) return status;
  if (read.size() != wanted) return Status::Corruption("truncated block read");
  if (verify_checksum) {
    const uint32_t stored = crc32c::Unmask(DecodeFixed32(read.data() + contents_size + 1));
    if (crc32c::Value(read.data(), contents_size + 1) != stored) {
      return Status::Corruption("block checksum mismatch");
    }
  }
  return Unpack(read, std::move(scratch), result);
}

}  // namespace leveldb
