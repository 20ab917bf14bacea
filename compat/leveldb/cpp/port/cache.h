// What the database asks about a cache of this library.

#ifndef FOLDB_LEVELDB_PORT_CACHE_H_
#define FOLDB_LEVELDB_PORT_CACHE_H_

#include <cstddef>

#include "leveldb/cache.h"

namespace leveldb {

// Sets *capacity and returns true if cache is from NewLRUCache(). The answer needs no typeinfo of
// the program's classes, which it may be compiled without.
bool CapacityOfLRUCache(const Cache* cache, size_t* capacity);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_PORT_CACHE_H_
