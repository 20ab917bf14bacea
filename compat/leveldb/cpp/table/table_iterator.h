// An iterator over the blocks of a table: one over the index leads to one over each data block.
//
// Invariant: an iterator over a data block is kept until the iterator leaves that block. A data
// block that cannot be read is skipped, and status() returns the first error from then on.

#ifndef FOLDB_LEVELDB_TABLE_TABLE_ITERATOR_H_
#define FOLDB_LEVELDB_TABLE_TABLE_ITERATOR_H_

#include "leveldb/iterator.h"
#include "leveldb/options.h"

namespace leveldb {

// Returns an iterator over the block whose encoded handle it gets.
using OpenBlock = Iterator* (*)(void* table, const ReadOptions& options, const Slice& handle);

// Takes ownership of `index`, whose values are handles of data blocks in the order of their keys.
Iterator* NewTableIterator(Iterator* index, OpenBlock open_block, void* table,
                           const ReadOptions& options);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_TABLE_TABLE_ITERATOR_H_
