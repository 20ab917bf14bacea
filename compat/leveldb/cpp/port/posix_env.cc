// Env::Default() for POSIX systems.
//
// The locks of files are the engine's, so they exclude the databases that are open in this process
// too.

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "leveldb/env.h"
#include "port/background.h"
#include "port/file_locks.h"
#include "port/logger.h"
#include "port/posix_files.h"

namespace leveldb {

namespace {

// Files that may be mapped at one time. A narrow address space has no room for mappings.
constexpr int kMappings = sizeof(void*) >= 8 ? 1000 : 0;

// Files to read keep at most a fifth of the descriptors.
constexpr int kDescriptorsShare = 5;

Status Result(int result, const std::string& context) {
  return result == 0 ? Status::OK() : PosixError(context, errno);
}

class PosixFileLock : public FileLock {
 public:
  explicit PosixFileLock(foldbport_lock_t* lock) : lock_(lock) {}
  ~PosixFileLock() override { foldbport_unlock_file(lock_); }

 private:
  foldbport_lock_t* const lock_;
};

class PosixEnv : public Env {
 public:
  // The only PosixEnv lives as long as the process.
  ~PosixEnv() override { std::abort(); }

  Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
    return OpenSequentialFile(fname, result);
  }

  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
    return OpenRandomAccessFile(fname, &mappings_, &descriptors_, result);
  }

  Status NewWritableFile(const std::string& fname, WritableFile** result) override {
    return OpenWritableFile(fname, false, result);
  }

  Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
    return OpenWritableFile(fname, true, result);
  }

  bool FileExists(const std::string& fname) override { return access(fname.c_str(), F_OK) == 0; }

  // The names include "." and "..", as LevelDB's do.
  Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
    result->clear();
    DIR* const opened = opendir(dir.c_str());
    if (opened == nullptr) {
      return PosixError(dir, errno);
    }
    while (const dirent* entry = readdir(opened)) {
      result->emplace_back(entry->d_name);
    }
    closedir(opened);
    return Status::OK();
  }

  Status RemoveFile(const std::string& fname) override {
    return Result(unlink(fname.c_str()), fname);
  }

  Status CreateDir(const std::string& dirname) override {
    return Result(mkdir(dirname.c_str(), 0755), dirname);
  }

  Status RemoveDir(const std::string& dirname) override {
    return Result(rmdir(dirname.c_str()), dirname);
  }

  Status GetFileSize(const std::string& fname, uint64_t* file_size) override {
    struct stat about;
    if (stat(fname.c_str(), &about) != 0) {
      *file_size = 0;
      return PosixError(fname, errno);
    }
    *file_size = static_cast<uint64_t>(about.st_size);
    return Status::OK();
  }

  Status RenameFile(const std::string& src, const std::string& target) override {
    return Result(std::rename(src.c_str(), target.c_str()), src);
  }

  Status LockFile(const std::string& fname, FileLock** lock) override {
    *lock = nullptr;
    foldbport_lock_t* own = nullptr;
    const int result = foldbport_lock_file(fname.c_str(), &own);
    if (result == -1) {
      return Status::IOError("lock " + fname, "already held by process");
    }
    if (result == EAGAIN) {
      return PosixError("lock " + fname, result);
    }
    if (result != 0) {
      return PosixError(fname, result);
    }
    *lock = new PosixFileLock(own);
    return Status::OK();
  }

  Status UnlockFile(FileLock* lock) override {
    delete static_cast<PosixFileLock*>(lock);
    return Status::OK();
  }

  void Schedule(void (*function)(void* arg), void* arg) override {
    background_.Schedule(function, arg);
  }

  void StartThread(void (*function)(void* arg), void* arg) override {
    StartDetachedThread(function, arg);
  }

  // The directory TEST_TMPDIR of the environment, or one in /tmp for the user of the process.
  Status GetTestDirectory(std::string* path) override {
    const char* const given = std::getenv("TEST_TMPDIR");
    if (given != nullptr && *given != '\0') {
      *path = given;
    } else {
      *path = "/tmp/leveldbtest-" + std::to_string(static_cast<int>(geteuid()));
    }
    // The directory may be there already.
    CreateDir(*path);
    return Status::OK();
  }

  Status NewLogger(const std::string& fname, Logger** result) override {
    *result = nullptr;
    const int flags = O_APPEND | O_WRONLY | O_CREAT | O_CLOEXEC;
    const int descriptor = open(fname.c_str(), flags, 0644);
    if (descriptor < 0) {
      return PosixError(fname, errno);
    }
    std::FILE* const file = fdopen(descriptor, "a");
    if (file == nullptr) {
      const int error = errno;
      close(descriptor);
      return PosixError(fname, error);
    }
    *result = new FileLogger(file);
    return Status::OK();
  }

  uint64_t NowMicros() override {
    timeval now;
    gettimeofday(&now, nullptr);
    return static_cast<uint64_t>(now.tv_sec) * 1000000 + static_cast<uint64_t>(now.tv_usec);
  }

  void SleepForMicroseconds(int micros) override {
    std::this_thread::sleep_for(std::chrono::microseconds(micros));
  }

 private:
  Allowance mappings_{kMappings};
  Allowance descriptors_{MostDescriptors() / kDescriptorsShare};
  Background background_;
};

}  // namespace

Env* Env::Default() {
  // Never destroyed: its background thread runs until the process ends.
  static Env* const env = new PosixEnv;
  return env;
}

}  // namespace leveldb
