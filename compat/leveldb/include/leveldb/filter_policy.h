// FilterPolicy: a small summary of keys that saves reads of keys that are absent.
//
// The library calls a policy from several threads at once. It must stay alive until the database
// is closed.

#ifndef STORAGE_LEVELDB_INCLUDE_FILTER_POLICY_H_
#define STORAGE_LEVELDB_INCLUDE_FILTER_POLICY_H_

#include <string>

#include "leveldb/export.h"

namespace leveldb {

class Slice;

class LEVELDB_EXPORT FilterPolicy {
 public:
  virtual ~FilterPolicy();

  // The name stored beside each filter. Filters of another name are ignored, so a change of the
  // encoding needs a new name.
  virtual const char* Name() const = 0;

  // Appends to *dst a filter over keys[0] to keys[n - 1], and leaves the present bytes of *dst.
  // The keys are sorted by the comparator and may repeat.
  virtual void CreateFilter(const Slice* keys, int n, std::string* dst) const = 0;

  // Whether key may be among the keys of filter, which CreateFilter appended. The result must be
  // true for each of these keys, and should be false for most others.
  virtual bool KeyMayMatch(const Slice& key, const Slice& filter) const = 0;
};

// A Bloom filter with about bits_per_key bits a key; 10 bits let about 1 % of absent keys through.
// The caller deletes the result after closing the databases that use it. The filter is wrong for a
// comparator under which different bytes are the same key.
LEVELDB_EXPORT const FilterPolicy* NewBloomFilterPolicy(int bits_per_key);

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_FILTER_POLICY_H_
