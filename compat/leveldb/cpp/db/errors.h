// Errors of the engine as statuses.

#ifndef FOLDB_LEVELDB_DB_ERRORS_H_
#define FOLDB_LEVELDB_DB_ERRORS_H_

#include <string>

#include "foldb.h"
#include "leveldb/status.h"

namespace leveldb {

// Keeps an error of a program's Env. A later error of the engine whose message has its text becomes
// the same status again, as LevelDB passes it on. Only the newest few are kept.
void RememberEnvFailure(const Status& status);

// Frees the error and returns its status. Does not take null.
Status TakeError(foldb_error_t* error);

// Frees the error and returns its status: OK for null.
inline Status StatusOf(foldb_error_t* error) {
  return error == nullptr ? Status::OK() : TakeError(error);
}

// Frees the error of a call that fails only for arguments that are never passed.
inline void CannotFail(foldb_error_t* error) { foldb_error_free(error); }

// As StatusOf(), for a call that opens, removes or repairs the database in the directory `name`:
// the errors that programs look for have LevelDB's texts. `comparator` is the name of the program's
// comparator. `held_here` is whether this process has the database open.
Status DirectoryStatus(foldb_error_t* error, const std::string& name, const char* comparator,
                       bool held_here);

// The name of the file that a database's owner has locked.
std::string LockFileName(const std::string& name);

// What the engine and LevelDB call the order of the bytes.
extern const char kEngineBytewise[];
extern const char kLevelDBBytewise[];

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_ERRORS_H_
