// The iterator over a database.

#ifndef FOLDB_LEVELDB_DB_ITERATOR_H_
#define FOLDB_LEVELDB_DB_ITERATOR_H_

#include "foldb.h"
#include "leveldb/iterator.h"

namespace leveldb {

// Makes a leveldb::Iterator that owns an iterator of the engine.
Iterator* NewDatabaseIterator(foldb_iter_t* iter);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_ITERATOR_H_
