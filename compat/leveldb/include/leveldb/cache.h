// Cache: a map from keys to values that drops values to stay within a capacity.
//
// Each value has a charge, usually its bytes. All methods may run on several threads at once.

#ifndef STORAGE_LEVELDB_INCLUDE_CACHE_H_
#define STORAGE_LEVELDB_INCLUDE_CACHE_H_

#include <cstdint>

#include "leveldb/export.h"
#include "leveldb/slice.h"

namespace leveldb {

class LEVELDB_EXPORT Cache;

// A cache that drops the least recently used values first. capacity is the sum of charges. The
// caller deletes the result after closing the databases that use it.
LEVELDB_EXPORT Cache* NewLRUCache(size_t capacity);

class LEVELDB_EXPORT Cache {
 public:
  Cache() = default;

  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // Passes every value to its deleter. All handles must be released before.
  virtual ~Cache();

  // A pinned value. A value stays alive while it has a handle.
  struct Handle {};

  // Stores value under key, in place of an older value of that key, and returns a handle for it.
  // The caller passes the handle to Release(). The cache calls deleter once, with key and value,
  // when the value is dropped and its last handle is released.
  virtual Handle* Insert(const Slice& key, void* value, size_t charge,
                         void (*deleter)(const Slice& key, void* value)) = 0;

  // Returns a handle for the value of key, or null if there is none. The caller passes the handle
  // to Release().
  virtual Handle* Lookup(const Slice& key) = 0;

  // Gives up a handle of this cache, once.
  virtual void Release(Handle* handle) = 0;

  // The value of a handle of this cache that is not yet released.
  virtual void* Value(Handle* handle) = 0;

  // Drops the value of key. Handles of it stay usable until they are released.
  virtual void Erase(const Slice& key) = 0;

  // A number that no earlier call on this cache returned. Users of one cache put it in front of
  // their keys to keep them apart.
  virtual uint64_t NewId() = 0;

  // Drops every value without a handle. The default does nothing.
  virtual void Prune() {}

  // The sum of the charges of the values in the cache.
  virtual size_t TotalCharge() const = 0;

 private:
  // Declared because the class in LevelDB declares them. They are neither defined nor used.
  void LRU_Remove(Handle* e);
  void LRU_Append(Handle* e);
  void Unref(Handle* e);

  struct Rep;
  // Unused, but part of the size of the class.
  Rep* rep_;
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_CACHE_H_
