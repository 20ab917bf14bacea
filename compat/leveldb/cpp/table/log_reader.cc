// Reads LevelDB's log format. See log_reader.h for the bytes.

#include "table/log_reader.h"

#include <utility>

#include "leveldb/env.h"
#include "port/coding.h"
#include "port/crc32c.h"

namespace leveldb {

namespace {

constexpr size_t kBlockSize = 32 << 10;
constexpr size_t kHeaderSize = 7;
constexpr size_t kTypeAt = 6;

enum : unsigned { kZeroes = 0, kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

}  // namespace

LogReader::LogReader(SequentialFile* file, OnLoss on_loss)
    : file_(file), on_loss_(std::move(on_loss)), space_(new char[kBlockSize]) {}

bool LogReader::Read(std::string* message) {
  message->clear();
  // Whether `message` holds the first parts of one that has more.
  bool within = false;
  uint64_t begin = 0;
  Part part;
  while (true) {
    switch (NextPart(&part)) {
      case Found::kEnd:
        return false;
      case Found::kDamage:
        if (within) Lose(message->size(), "error in middle of record");
        within = false;
        message->clear();
        continue;
      case Found::kPart:
        break;
    }
    const bool starts = part.type == kWhole || part.type == kFirst;
    if (starts) {
      // Early versions of LevelDB left a first part without data at the end of a block.
      if (within && !message->empty()) {
        Lose(message->size(), part.type == kWhole ? "partial record without end(1)"
                                                  : "partial record without end(2)");
      }
      message->clear();
      begin = part.offset;
      within = true;
    } else if (part.type != kMiddle && part.type != kLast) {
      Lose(part.data.size() + message->size(), "unknown record type " + std::to_string(part.type));
      within = false;
      message->clear();
      continue;
    } else if (!within) {
      Lose(part.data.size(), part.type == kMiddle ? "missing start of fragmented record(1)"
                                                  : "missing start of fragmented record(2)");
      continue;
    }
    message->append(part.data.data(), part.data.size());
    if (part.type == kWhole || part.type == kLast) {
      offset_ = begin;
      return true;
    }
  }
}

// Takes the next record from the block, or from the next one.
LogReader::Found LogReader::NextPart(Part* part) {
  // What is left of a block without room for a header is no record.
  while (block_.size() < kHeaderSize) {
    if (last_block_ || !NextBlock()) {
      block_.clear();
      return Found::kEnd;
    }
  }
  const char* header = block_.data();
  const size_t length = static_cast<unsigned char>(header[4]) |
                        static_cast<size_t>(static_cast<unsigned char>(header[5])) << 8;
  part->type = static_cast<unsigned char>(header[kTypeAt]);
  if (length > block_.size() - kHeaderSize) {
    if (!last_block_) return LoseBlock("bad record length");
    block_.clear();
    return Found::kEnd;
  }
  if (part->type == kZeroes && length == 0) {
    // Space that a mapping reserved and no record filled.
    block_.clear();
    return Found::kDamage;
  }
  const uint32_t stored = crc32c::Unmask(DecodeFixed32(header));
  if (crc32c::Value(header + kTypeAt, 1 + length) != stored) return LoseBlock("checksum mismatch");
  part->data = Slice(header + kHeaderSize, length);
  part->offset = block_end_ - block_.size();
  block_.remove_prefix(kHeaderSize + length);
  return Found::kPart;
}

// Reads the next block of the file. Returns false after an error, which it reports.
bool LogReader::NextBlock() {
  const Status status = file_->Read(kBlockSize, &block_, space_.get());
  block_end_ += block_.size();
  if (!status.ok()) {
    block_.clear();
    last_block_ = true;
    on_loss_(kBlockSize, status);
    return false;
  }
  last_block_ = block_.size() < kBlockSize;
  return true;
}

// Gives up the rest of the block: a bad length or checksum says nothing about where records begin.
LogReader::Found LogReader::LoseBlock(const char* why) {
  const size_t bytes = block_.size();
  block_.clear();
  Lose(bytes, why);
  return Found::kDamage;
}

void LogReader::Lose(size_t bytes, const std::string& why) {
  on_loss_(bytes, Status::Corruption(why));
}

}  // namespace leveldb
