// Subclasses of Comparator: the order reversed, and decimal numbers, with their filter policy.
//
// Invariant: each counts its calls, and counts arguments that are neither keys nor its own answers.

#ifndef COMPAT_LEVELDB_TESTS_SUPPORT_USER_COMPARATORS_H_
#define COMPAT_LEVELDB_TESTS_SUPPORT_USER_COMPARATORS_H_

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/comparator.h"
#include "leveldb/filter_policy.h"
#include "leveldb/slice.h"

// Orders bytes from last to first. Keeps every separator as it is.
class ReverseComparator : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    compares++;
    return b.compare(a);
  }
  const char* Name() const override { return "test.Reverse"; }
  void FindShortestSeparator(std::string*, const leveldb::Slice&) const override { separators++; }
  void FindShortSuccessor(std::string*) const override { successors++; }

  mutable std::atomic<int> compares{0}, separators{0}, successors{0};
};

// Orders decimal numbers by value: 7, 07 and 007 are the same key.
class NumberComparator : public leveldb::Comparator {
 public:
  int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override {
    compares++;
    const leveldb::Slice left = Digits(a), right = Digits(b);
    if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
    return left.compare(right);
  }
  const char* Name() const override { return "test.Number"; }
  // The number after `start`, if it is below the limit.
  void FindShortestSeparator(std::string* start, const leveldb::Slice& limit) const override {
    separators++;
    const std::string next = Next(*start);
    if (Compare(next, limit) < 0) *start = next;
  }
  // The next power of ten.
  void FindShortSuccessor(std::string* key) const override {
    successors++;
    *key = "1" + std::string(Digits(*key).size(), '0');
  }

  mutable std::atomic<int> compares{0}, separators{0}, successors{0}, malformed{0};

 private:
  leveldb::Slice Digits(leveldb::Slice key) const {
    if (key.empty()) malformed++;
    for (size_t i = 0; i < key.size(); i++) {
      if (key[i] < '0' || key[i] > '9') malformed++;
    }
    while (key.size() > 1 && key[0] == '0') key.remove_prefix(1);
    return key;
  }
  std::string Next(const std::string& key) const {
    std::string digits = "0" + Digits(key).ToString();
    size_t at = digits.size();
    while (digits[--at] == '9') digits[at] = '0';
    digits[at]++;
    return digits[0] == '0' ? digits.substr(1) : digits;
  }
};

// A Bloom filter for NumberComparator: keys that are equal must have the same filter bits.
class NumberPolicy : public leveldb::FilterPolicy {
 public:
  const char* Name() const override { return "test.NumberBloom"; }
  void CreateFilter(const leveldb::Slice* keys, int n, std::string* dst) const override {
    std::vector<leveldb::Slice> digits;
    for (int i = 0; i < n; i++) digits.push_back(Digits(keys[i]));
    bloom_->CreateFilter(digits.data(), n, dst);
  }
  bool KeyMayMatch(const leveldb::Slice& key, const leveldb::Slice& filter) const override {
    return bloom_->KeyMayMatch(Digits(key), filter);
  }

 private:
  static leveldb::Slice Digits(leveldb::Slice key) {
    while (key.size() > 1 && key[0] == '0') key.remove_prefix(1);
    return key;
  }
  std::unique_ptr<const leveldb::FilterPolicy> bloom_{leveldb::NewBloomFilterPolicy(10)};
};

#endif  // COMPAT_LEVELDB_TESTS_SUPPORT_USER_COMPARATORS_H_
