// The log of a database.

#include "db/log.h"

#include <cstdarg>
#include <cstdio>

namespace leveldb {

std::string LogFileName(const std::string& name) { return name + "/LOG"; }

std::string OldLogFileName(const std::string& name) { return name + "/LOG.old"; }

void DatabaseLog::Begin(Env* env, const std::string& name, Logger* info_log) {
  const std::lock_guard<std::mutex> lock(mutex_);
  logger_ = info_log;
  if (logger_ == nullptr) {
    env->RenameFile(LogFileName(name), OldLogFileName(name));
    if (env->NewLogger(LogFileName(name), &logger_).ok()) {
      own_.reset(logger_);
    } else {
      // A database without a log is better than none.
      logger_ = nullptr;
    }
  }
  for (const std::string& line : waiting_) {
    Log(logger_, "%s", line.c_str());
  }
  waiting_.clear();
  ended_ = logger_ == nullptr;
}

void DatabaseLog::End() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  logger_ = nullptr;
  own_.reset();
  waiting_.clear();
}

void DatabaseLog::Line(const char* format, ...) {
  char text[1024];
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0) {
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (logger_ != nullptr) {
    Log(logger_, "%s", text);
  } else if (!ended_) {
    waiting_.emplace_back(text);
  }
}

}  // namespace leveldb
