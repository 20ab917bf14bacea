// Reads LevelDB's log format, in which its logs and manifests are written.
//
//   file   := 32 KiB blocks, the last one shorter
//   block  := record*, then up to 6 bytes that are skipped
//   record := masked crc32c of type and data (4 bytes), length of data (2 bytes), type (1 byte),
//             data
//   type   := 1 whole, 2 first part, 3 middle part, 4 last part
//
// Invariant: a damaged record costs the rest of its block and the message that it is part of, and
// the listener hears of each loss. A record that the end of the file cuts is no loss: its writer
// did not finish it.

#ifndef FOLDB_LEVELDB_TABLE_LOG_READER_H_
#define FOLDB_LEVELDB_TABLE_LOG_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

class SequentialFile;

class LogReader {
 public:
  // Gets the number of bytes lost, and why.
  using OnLoss = std::function<void(size_t bytes, const Status& why)>;

  // The file must outlive the reader.
  LogReader(SequentialFile* file, OnLoss on_loss);

  // Reads the next message. Returns false at the end of the file.
  bool Read(std::string* message);

  // Where the message of the last Read() begins in the file.
  uint64_t offset() const { return offset_; }

 private:
  // What the next bytes of the file are.
  enum class Found { kPart, kDamage, kEnd };

  // A record: a message or a part of one.
  struct Part {
    unsigned type = 0;
    Slice data;
    uint64_t offset = 0;
  };

  Found NextPart(Part* part);
  bool NextBlock();
  Found LoseBlock(const char* why);
  void Lose(size_t bytes, const std::string& why);

  SequentialFile* const file_;
  const OnLoss on_loss_;
  const std::unique_ptr<char[]> space_;
  // The unread bytes of the current block, and where the block ends in the file.
  Slice block_;
  uint64_t block_end_ = 0;
  // The current block is the last one.
  bool last_block_ = false;
  uint64_t offset_ = 0;
};

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_TABLE_LOG_READER_H_
