// The log of a database: lines about opens, closes and background work, for its Logger.

#ifndef FOLDB_LEVELDB_DB_LOG_H_
#define FOLDB_LEVELDB_DB_LOG_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "leveldb/env.h"

namespace leveldb {

// Lines that come before the logger is known wait for it. Any thread may call the methods.
class DatabaseLog {
 public:
  DatabaseLog() = default;
  DatabaseLog(const DatabaseLog&) = delete;
  DatabaseLog& operator=(const DatabaseLog&) = delete;

  // Writes the lines so far and all later ones to the logger of the options. If they have none,
  // makes the file LOG in the directory, and renames an earlier one to LOG.old, as LevelDB does.
  void Begin(Env* env, const std::string& name, Logger* info_log);

  // Writes no more lines. The program may then delete its logger.
  void End();

  void Line(const char* format, ...) __attribute__((__format__(__printf__, 2, 3)));

 private:
  std::mutex mutex_;
  // The mutex guards these.
  bool ended_ = false;
  Logger* logger_ = nullptr;
  std::unique_ptr<Logger> own_;
  std::vector<std::string> waiting_;
};

// The names of the log and of the one before it.
std::string LogFileName(const std::string& name);
std::string OldLogFileName(const std::string& name);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_LOG_H_
