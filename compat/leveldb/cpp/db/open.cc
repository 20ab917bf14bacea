// Opening a database, removing one, and repairing one.
//
// Invariant: a directory that LevelDB or RocksDB wrote stays as it is. The engine recognises it
// before anything is created: LOG is made after the engine's open.

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/db_impl.h"
#include "db/engine_options.h"
#include "db/errors.h"
#include "db/log.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"

namespace leveldb {

namespace {

// Returns what is the same for all spellings of a directory in this process.
std::string IdentityOf(const Env* env, const std::string& name) {
  std::string identity = name;
  if (env == Env::Default()) {
    char* real = realpath(name.c_str(), nullptr);
    if (real != nullptr) {
      identity = real;
    }
    std::free(real);
  }
  return identity;
}

// Checks that the directory can be listed. If the machine's file system cannot, returns the error
// that LevelDB meets when it locks the directory.
Status CheckDirectory(Env* env, const std::string& name) {
  std::vector<std::string> children;
  const Status listed = env->GetChildren(name, &children);
  if (listed.ok() || name.empty() || env != Env::Default()) {
    return listed;
  }
  SequentialFile* file = nullptr;
  const Status opened = env->NewSequentialFile(LockFileName(name), &file);
  if (opened.ok()) {
    delete file;
    return listed;
  }
  return opened;
}

// Calls the engine for a directory, and gives its error LevelDB's text.
template <typename Call>
Status InDirectory(const Options& options, const std::string& name, Call call) {
  foldb_error_t* error = call();
  if (error == nullptr) {
    return Status::OK();
  }
  const bool held_here = OpenDatabases::Holds(IdentityOf(options.env, name));
  return DirectoryStatus(error, name, options.comparator->Name(), held_here);
}

Status Opened(const Options& options, const std::string& name, const MergeSetup& merge,
              const std::shared_ptr<DatabaseLog>& log, SharedRuntime* runtime, foldb_t** db) {
  EngineOptions engine;
  Status status = RuntimeFor(options, runtime);
  if (status.ok()) {
    status = MakeEngineOptions(options, merge, log, *runtime, &engine);
  }
  if (status.ok()) {
    status = CheckDirectory(options.env, name);
  }
  if (status.ok()) {
    status = InDirectory(options, name,
                         [&] { return foldb_open(name.c_str(), engine.get(), db); });
  }
  return status;
}

// Removes what the engine does not know: the log.
void RemoveLogs(Env* env, const std::string& name) {
  env->RemoveFile(LogFileName(name));
  env->RemoveFile(OldLogFileName(name));
  // It stays if the program has other files in it.
  env->RemoveDir(name);
}

}  // namespace

Status OpenDatabase(const Options& options, const std::string& name, const MergeSetup& merge,
                    DB** dbptr) {
  *dbptr = nullptr;
  Env* const env = options.env;
  const auto log = std::make_shared<DatabaseLog>();
  if (options.info_log != nullptr) {
    log->Begin(env, name, options.info_log);
  }
  // One level, and no error if it exists.
  const bool created = env->CreateDir(name).ok();
  foldb_t* db = nullptr;
  SharedRuntime runtime;
  const Status status = Opened(options, name, merge, log, &runtime, &db);
  if (!status.ok()) {
    log->Line("Cannot open %s: %s", name.c_str(), status.ToString().c_str());
    log->End();
    if (created) {
      env->RemoveDir(name);
    }
    return status;
  }
  log->Line("Opened %s with foldb %s", name.c_str(), foldb_version());
  if (options.info_log == nullptr) {
    log->Begin(env, name, nullptr);
  }
  *dbptr = new DBImpl(db, options, IdentityOf(env, name), name, log, std::move(runtime));
  return status;
}

Status DestroyDB(const std::string& name, const Options& options) {
  // Only these say where the files are. Values that an open refuses must not keep them there.
  Options where;
  where.env = options.env;
  EngineOptions engine;
  Status status =
      MakeEngineOptions(where, MergeSetup(), std::make_shared<DatabaseLog>(), nullptr, &engine);
  std::vector<std::string> children;
  if (status.ok() && !options.env->GetChildren(name, &children).ok()) {
    // There is nothing to remove.
    return status;
  }
  if (status.ok()) {
    status =
        InDirectory(where, name, [&] { return foldb_destroy(name.c_str(), engine.get()); });
  }
  if (status.ok()) {
    RemoveLogs(options.env, name);
  }
  return status;
}

Status RepairDB(const std::string& dbname, const Options& options) {
  const auto log = std::make_shared<DatabaseLog>();
  EngineOptions engine;
  Status status = MakeEngineOptions(options, MergeSetup(), log, nullptr, &engine);
  if (status.ok()) {
    // The operators of the program are not known here. The repair keeps operands as they are.
    status = StatusOf(foldb_options_set(engine.get(), "allow_unresolved_operators", "true"));
  }
  Env* const env = options.env;
  // LevelDB creates the directory for the file LOG.
  const bool created = options.info_log == nullptr && env->CreateDir(dbname).ok();
  std::vector<std::string> children;
  if (status.ok()) {
    status = env->GetChildren(dbname, &children);
  }
  if (!status.ok()) {
    return status;
  }
  foldb_code_t code = FOLDB_OK;
  size_t lost = 0;
  status = InDirectory(options, dbname, [&] {
    foldb_error_t* error = foldb_repair(dbname.c_str(), engine.get(), nullptr, &lost);
    code = foldb_error_code(error);
    return error;
  });
  // On the machine's file system, each directory has the children "." and "..".
  if (code == FOLDB_DATABASE_MISSING && !children.empty()) {
    // LevelDB leaves an empty database.
    Options fresh = options;
    fresh.create_if_missing = true;
    fresh.error_if_exists = false;
    DB* db = nullptr;
    status = OpenDatabase(fresh, dbname, MergeSetup(), &db);
    delete db;
    return status;
  }
  if (code == FOLDB_DATABASE_MISSING) {
    status = Status::IOError(dbname, "repair found no files");
  }
  if (!status.ok() && created) {
    env->RemoveDir(dbname);
  }
  if (status.ok()) {
    log->Line("Repaired %s; losses: %zu", dbname.c_str(), lost);
    log->Begin(env, dbname, options.info_log);
  }
  return status;
}

}  // namespace leveldb
