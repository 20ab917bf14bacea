// The iterator over a database.

#ifndef FOLDB_LEVELDB_DB_ITERATOR_H_
#define FOLDB_LEVELDB_DB_ITERATOR_H_

#include "foldb.h"
#include "leveldb/iterator.h"

namespace leveldb {

// Makes an iterator of the engine's, and takes it over.
Iterator* NewDatabaseIterator(foldb_iter_t* iter);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_ITERATOR_H_
