// The handlers of batches that take merges.

#ifndef FOLDB_LEVELDB_DB_MERGE_HANDLERS_H_
#define FOLDB_LEVELDB_DB_MERGE_HANDLERS_H_

#include "leveldb/merge.h"

namespace leveldb {

// Returns the handler as a MergeHandler, or null if it is not one. The program may be compiled
// without typeinfo, so a list of the handlers that live answers it instead of a cast.
MergeHandler* FindMergeHandler(WriteBatch::Handler* handler);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_MERGE_HANDLERS_H_
