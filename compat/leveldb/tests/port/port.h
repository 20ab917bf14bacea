// The parts of the program that observes the system and the small types under a database.
//
// Each part prints what it sees, one observation a line. The lines are the same in each run and
// with each library.

#ifndef FOLDB_LEVELDB_TESTS_PORT_H_
#define FOLDB_LEVELDB_TESTS_PORT_H_

#include <cstdint>
#include <string>

#include "leveldb/slice.h"

// The bytes as hexadecimal digits.
std::string Hex(const leveldb::Slice& bytes);

// A text with each occurrence of `from` replaced by `to`.
std::string Replaced(std::string text, const std::string& from, const std::string& to);

// Random numbers that are the same in each run.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // A number below `limit`.
  uint64_t Below(uint64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % limit;
  }

  // Bytes of the first `letters` values.
  std::string Bytes(size_t length, int letters = 256);

 private:
  uint64_t state_;
};

void Slices();
void Statuses();
void Orders();
void Batches();
void Iterators();
void Defaults();
void Filters();
void Caches();
void Files(const std::string& directory);
void Locks(const std::string& directory);
void Threads();
void Loggers(const std::string& directory);
void EnvSubclasses(const std::string& directory);
void FilesInMemory();

#endif  // FOLDB_LEVELDB_TESTS_PORT_H_
