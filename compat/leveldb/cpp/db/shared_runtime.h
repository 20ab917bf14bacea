// The threads, memory and descriptors that the databases of a process share.
//
// LevelDB has one background thread in a process, however many databases are open. A runtime of
// the engine for each database would be two threads each.

#ifndef FOLDB_LEVELDB_DB_SHARED_RUNTIME_H_
#define FOLDB_LEVELDB_DB_SHARED_RUNTIME_H_

#include <memory>

#include "foldb.h"
#include "leveldb/options.h"
#include "leveldb/status.h"

namespace leveldb {

using SharedRuntime = std::shared_ptr<const foldb_runtime_t>;

// Sets *runtime to the runtime of this process, and makes it if no open database has one. It is
// null for a write buffer that would not fit beside those of other databases: that database needs
// a runtime of its own. A database keeps the runtime while it is open.
Status RuntimeFor(const Options& options, SharedRuntime* runtime);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_SHARED_RUNTIME_H_
