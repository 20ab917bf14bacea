// Comparator, and the order of bytes.

#include "leveldb/comparator.h"

#include <algorithm>
#include <cstdint>

#include "leveldb/slice.h"

namespace leveldb {

Comparator::~Comparator() = default;

namespace {

constexpr uint8_t kHighestByte = 0xff;

class BytewiseComparatorImpl : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }

  const char* Name() const override { return "leveldb.BytewiseComparator"; }

  // Keeps the shared bytes and the first different one, raised by one. A start that is a prefix of
  // the limit stays as it is, and so does one whose raised byte would reach the limit.
  void FindShortestSeparator(std::string* start, const Slice& limit) const override {
    const size_t both = std::min(start->size(), limit.size());
    size_t shared = 0;
    while (shared < both && (*start)[shared] == limit[shared]) {
      shared++;
    }
    if (shared == both) {
      return;
    }
    const uint8_t byte = static_cast<uint8_t>((*start)[shared]);
    if (byte == kHighestByte || byte + 1 >= static_cast<uint8_t>(limit[shared])) {
      return;
    }
    start->resize(shared + 1);
    (*start)[shared] = static_cast<char>(byte + 1);
  }

  // Keeps the bytes up to the first that can be raised by one, and raises it.
  void FindShortSuccessor(std::string* key) const override {
    for (size_t at = 0; at < key->size(); at++) {
      const uint8_t byte = static_cast<uint8_t>((*key)[at]);
      if (byte != kHighestByte) {
        key->resize(at + 1);
        (*key)[at] = static_cast<char>(byte + 1);
        return;
      }
    }
  }
};

}  // namespace

const Comparator* BytewiseComparator() {
  // Never destroyed: databases may be closed while the program exits.
  static const Comparator* const comparator = new BytewiseComparatorImpl;
  return comparator;
}

}  // namespace leveldb
