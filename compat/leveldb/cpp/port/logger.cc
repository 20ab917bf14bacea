// FileLogger: one write for each line, so that lines of several threads do not mix.

#include "port/logger.h"

#include <sys/time.h>

#include <ctime>
#include <sstream>
#include <string>
#include <thread>

namespace leveldb {

namespace {

// The longest name of a thread in a line.
constexpr size_t kMaxThreadName = 32;

std::string Prefix() {
  timeval now;
  gettimeofday(&now, nullptr);
  const std::time_t seconds = now.tv_sec;
  std::tm local;
  localtime_r(&seconds, &local);
  char time[64];
  std::snprintf(time, sizeof(time), "%04d/%02d/%02d-%02d:%02d:%02d.%06d ", local.tm_year + 1900,
                local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                static_cast<int>(now.tv_usec));
  std::ostringstream thread;
  thread << std::this_thread::get_id();
  return time + thread.str().substr(0, kMaxThreadName) + " ";
}

}  // namespace

FileLogger::~FileLogger() { std::fclose(file_); }

void FileLogger::Logv(const char* format, std::va_list ap) {
  std::string line = Prefix();
  const size_t begin = line.size();
  std::va_list measured;
  va_copy(measured, ap);
  const int length = std::vsnprintf(nullptr, 0, format, measured);
  va_end(measured);
  if (length > 0) {
    // vsnprintf also writes a zero byte at the end.
    line.resize(begin + static_cast<size_t>(length) + 1);
    std::vsnprintf(&line[begin], line.size() - begin, format, ap);
    line.pop_back();
  }
  if (line.back() != '\n') {
    line.push_back('\n');
  }
  std::fwrite(line.data(), 1, line.size(), file_);
  std::fflush(file_);
}

}  // namespace leveldb
