// The tables that the table tests write and read: every shape that changes the bytes of a file.
//
// A shape is derived from its number, so the program that writes a table and the one that reads it
// agree on it, whatever library each is linked with.

#ifndef FOLDB_LEVELDB_TESTS_TABLES_SHAPES_H_
#define FOLDB_LEVELDB_TESTS_TABLES_SHAPES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leveldb/comparator.h"
#include "leveldb/filter_policy.h"
#include "leveldb/options.h"

// A generator of numbers that is the same everywhere.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 2 + 1) {}

  uint32_t Below(uint32_t limit) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<uint32_t>(state_ >> 33) % limit;
  }

 private:
  uint64_t state_;
};

// A digest of everything that an observer saw, in order.
class Digest {
 public:
  void Add(const leveldb::Slice& bytes) {
    for (size_t i = 0; i < bytes.size(); i++) {
      value_ = (value_ ^ static_cast<unsigned char>(bytes[i])) * 1099511628211ull;
    }
    value_ = (value_ ^ 0x100 ^ bytes.size()) * 1099511628211ull;
  }
  void Add(uint64_t number) { Add(std::to_string(number)); }
  unsigned long long value() const { return value_; }

 private:
  uint64_t value_ = 14695981039346656037ull;
};

// Orders keys backwards, and shortens none.
class ReverseComparator : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    return b.compare(a);
  }
  const char* Name() const override { return "tests.Reverse"; }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

// Ignores leading zeroes, so different bytes are equal, and shortens keys in its own way.
class NumberComparator : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    const leveldb::Slice x = Digits(a), y = Digits(b);
    if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
    return x.compare(y);
  }
  const char* Name() const override { return "tests.Number"; }
  void FindShortestSeparator(std::string* start, const leveldb::Slice&) const override {
    *start = Digits(*start).ToString();
  }
  void FindShortSuccessor(std::string* key) const override { *key = Digits(*key).ToString() + "0"; }

 private:
  static leveldb::Slice Digits(leveldb::Slice key) {
    while (key.size() > 1 && key[0] == '0') key.remove_prefix(1);
    return key;
  }
};

// A filter of the lengths of keys, which excludes keys of all other lengths.
class LengthPolicy : public leveldb::FilterPolicy {
 public:
  const char* Name() const override { return "tests.Length"; }
  void CreateFilter(const leveldb::Slice* keys, int n, std::string* dst) const override {
    for (int i = 0; i < n; i++) dst->push_back(static_cast<char>(keys[i].size()));
  }
  bool KeyMayMatch(const leveldb::Slice& key, const leveldb::Slice& filter) const override {
    const char length = static_cast<char>(key.size());
    return filter.ToString().find(length) != std::string::npos;
  }
};

// A table to write and read.
struct Shape {
  static constexpr unsigned kCount = 72;

  explicit Shape(unsigned number) : name("shape" + std::to_string(number)), numbers(number) {
    static const size_t kBlockSizes[] = {1, 300, 4096, 20000};
    static const int kIntervals[] = {1, 2, 16, 1000};
    static const unsigned kEntries[] = {0, 1, 2, 60, 700, 2500};
    count = kEntries[number % 6];
    options.block_size = kBlockSizes[number / 3 % 4];
    options.block_restart_interval = kIntervals[number / 2 % 4];
    options.compression = number % 4 < 2 ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    if (number % 5 == 1) comparator.reset(new ReverseComparator);
    if (number % 5 == 3) comparator.reset(new NumberComparator);
    if (comparator != nullptr) options.comparator = comparator.get();
    if (number % 3 == 1) policy.reset(leveldb::NewBloomFilterPolicy(4 + number % 9));
    if (number % 3 == 2) policy.reset(new LengthPolicy);
    options.filter_policy = policy.get();
    flushes = number % 7 == 2;
    changes = number % 11 == 4;
    values = number % 4;
    long_keys = number % 8 == 5;
  }

  // The entries, in the order of the table.
  std::vector<std::pair<std::string, std::string>> Entries() {
    struct Less {
      const leveldb::Comparator* comparator;
      bool operator()(const std::string& a, const std::string& b) const {
        return comparator->Compare(a, b) < 0;
      }
    };
    std::map<std::string, std::string, Less> entries(Less{options.comparator});
    while (entries.size() < count) entries.emplace(Key(), Value());
    return {entries.begin(), entries.end()};
  }

  // A key that a table of this shape may hold.
  std::string Key() {
    const bool digits = std::string(options.comparator->Name()) == "tests.Number";
    std::string key = long_keys ? std::string(200, '7') : std::string();
    for (uint32_t left = numbers.Below(long_keys ? 300 : 12); left > 0; left--) {
      key.push_back(digits ? static_cast<char>('0' + numbers.Below(10))
                           : static_cast<char>(numbers.Below(4) == 0 ? numbers.Below(256)
                                                                     : 'a' + numbers.Below(3)));
    }
    if (digits && key.empty()) key = "0";
    return key;
  }

  std::string Value() {
    switch (values) {
      case 0:
        return std::string();
      case 1:
        return std::string(numbers.Below(400), static_cast<char>('a' + numbers.Below(2)));
      case 2:
        return "value " + std::to_string(numbers.Below(1000000)) + " of a row";
      default: {
        std::string value(numbers.Below(2000), '\0');
        for (char& byte : value) byte = static_cast<char>(numbers.Below(256));
        return value;
      }
    }
  }

  const std::string name;
  Numbers numbers;
  leveldb::Options options;
  std::unique_ptr<const leveldb::Comparator> comparator;
  std::unique_ptr<const leveldb::FilterPolicy> policy;
  unsigned count;
  unsigned values;
  bool long_keys;
  // Whether the writer ends blocks by hand, and whether it changes options half-way.
  bool flushes;
  bool changes;
};

#endif  // FOLDB_LEVELDB_TESTS_TABLES_SHAPES_H_
