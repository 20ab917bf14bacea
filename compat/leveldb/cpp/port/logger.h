// A Logger that writes lines to a file.

#ifndef FOLDB_LEVELDB_PORT_LOGGER_H_
#define FOLDB_LEVELDB_PORT_LOGGER_H_

#include <cstdio>

#include "leveldb/env.h"

namespace leveldb {

// Writes each message as one line, with the local time and the thread before it:
//
//   2026/11/23-15:04:05.123456 140230142105408 message
class FileLogger : public Logger {
 public:
  // Owns the file: the destructor closes it.
  explicit FileLogger(std::FILE* file) : file_(file) {}
  ~FileLogger() override;

  void Logv(const char* format, std::va_list ap) override;

 private:
  std::FILE* const file_;
};

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_PORT_LOGGER_H_
