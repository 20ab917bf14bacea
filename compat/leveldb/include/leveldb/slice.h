// Slice: a pointer to bytes and their count. A slice owns nothing.
//
// The bytes must live as long as the slice is used. Const methods may run on several threads at
// once; any other method needs exclusive use of the slice.

#ifndef STORAGE_LEVELDB_INCLUDE_SLICE_H_
#define STORAGE_LEVELDB_INCLUDE_SLICE_H_

#include <cassert>
#include <cstddef>
#include <cstring>
#include <string>

#include "leveldb/export.h"

namespace leveldb {

class LEVELDB_EXPORT Slice {
 public:
  // No bytes. data() is not null.
  Slice() : data_(""), size_(0) {}

  // The n bytes at d.
  Slice(const char* d, size_t n) : data_(d), size_(n) {}

  // The bytes of s, which must outlive the slice unchanged.
  Slice(const std::string& s) : data_(s.data()), size_(s.size()) {}

  // The bytes of the C string s without its final zero byte.
  Slice(const char* s) : data_(s), size_(std::strlen(s)) {}

  Slice(const Slice&) = default;
  Slice& operator=(const Slice&) = default;

  const char* data() const { return data_; }

  // Number of bytes.
  size_t size() const { return size_; }

  bool empty() const { return size_ == 0; }

  // Byte number n. n must be less than size().
  char operator[](size_t n) const {
    assert(n < size_);
    return *(data_ + n);
  }

  // Makes the slice empty. The bytes stay as they are.
  void clear() { *this = Slice(); }

  // Removes the first n bytes from the slice. n must be at most size().
  void remove_prefix(size_t n) {
    assert(n <= size_);
    *this = Slice(data_ + n, size_ - n);
  }

  // A copy of the bytes.
  std::string ToString() const { return std::string(data_, size_); }

  // Compares the bytes as unsigned numbers. The result is negative, zero or positive if this slice
  // sorts before b, equals b, or sorts after b. A prefix sorts before the longer slice.
  int compare(const Slice& b) const;

  // Whether the first bytes of this slice are those of x.
  bool starts_with(const Slice& x) const {
    return x.size_ <= size_ && std::memcmp(x.data_, data_, x.size_) == 0;
  }

 private:
  const char* data_;
  size_t size_;
};

// Whether both slices have the same bytes.
inline bool operator==(const Slice& x, const Slice& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size()) == 0;
}

inline bool operator!=(const Slice& x, const Slice& y) { return !(x == y); }

inline int Slice::compare(const Slice& b) const {
  const int order = std::memcmp(data_, b.data_, size_ < b.size_ ? size_ : b.size_);
  if (order != 0 || size_ == b.size_) {
    return order;
  }
  return size_ < b.size_ ? -1 : 1;
}

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_SLICE_H_
