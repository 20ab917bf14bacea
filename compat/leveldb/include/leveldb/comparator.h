// Comparator: the order of keys, given by the program.
//
// The library calls a comparator from several threads at once. It must stay alive until the
// database is closed.

#ifndef STORAGE_LEVELDB_INCLUDE_COMPARATOR_H_
#define STORAGE_LEVELDB_INCLUDE_COMPARATOR_H_

#include <string>

#include "leveldb/export.h"

namespace leveldb {

class Slice;

class LEVELDB_EXPORT Comparator {
 public:
  virtual ~Comparator();

  // Returns a negative number if a sorts before b, zero if both are the same key, and a positive
  // number if a sorts after b. The order must be total. Different bytes may be the same key.
  virtual int Compare(const Slice& a, const Slice& b) const = 0;

  // The name that the database stores. An open with a comparator of another name is refused, so a
  // change of the order needs a new name. Names that begin with "leveldb." belong to the library.
  virtual const char* Name() const = 0;

  // May replace *start by a shorter key k with *start <= k < limit. Index entries become smaller.
  // Doing nothing is right too. The library calls it with *start < limit only.
  virtual void FindShortestSeparator(std::string* start, const Slice& limit) const = 0;

  // May replace *key by a shorter key k with *key <= k. Doing nothing is right too.
  virtual void FindShortSuccessor(std::string* key) const = 0;
};

// The order of bytes as unsigned numbers, with the name "leveldb.BytewiseComparator". The result
// belongs to the library and must not be deleted.
LEVELDB_EXPORT const Comparator* BytewiseComparator();

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_COMPARATOR_H_
