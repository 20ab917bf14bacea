// DumpFile: the contents of one file of a database as text.

#ifndef STORAGE_LEVELDB_INCLUDE_DUMPFILE_H_
#define STORAGE_LEVELDB_INCLUDE_DUMPFILE_H_

#include <string>

#include "leveldb/env.h"
#include "leveldb/export.h"
#include "leveldb/status.h"

namespace leveldb {

// Appends the contents of the file fname to dst, one call of dst->Append() for each item, with a
// newline at its end. The caller keeps env and dst. Fails if the name is not that of a file of a
// database, or if the file cannot be read.
LEVELDB_EXPORT Status DumpFile(Env* env, const std::string& fname, WritableFile* dst);

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_DUMPFILE_H_
