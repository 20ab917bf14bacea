// Subclasses of Env: files in memory with counted calls, and a wrapper that fails on demand.
//
// Invariant: a file lives as long as a handle or a name refers to it.

#ifndef COMPAT_LEVELDB_TESTS_SUPPORT_USER_ENV_H_
#define COMPAT_LEVELDB_TESTS_SUPPORT_USER_ENV_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "leveldb/env.h"

// The bytes of a file.
struct MemoryFile {
  std::mutex mutex;
  std::string bytes;
  // Handles for writing that are neither closed nor deleted.
  std::atomic<int> writers{0};
};

// An Env that keeps files in memory. Threads and time come from the default Env.
class CountingEnv : public leveldb::Env {
 public:
  using Status = leveldb::Status;

  Status NewSequentialFile(const std::string& name, leveldb::SequentialFile** file) override;
  Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** file) override;
  Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  Status NewAppendableFile(const std::string& name, leveldb::WritableFile** file) override;
  bool FileExists(const std::string& name) override;
  Status GetChildren(const std::string& dir, std::vector<std::string>* names) override;
  Status RemoveFile(const std::string& name) override;
  Status CreateDir(const std::string& name) override;
  Status RemoveDir(const std::string& name) override;
  Status GetFileSize(const std::string& name, uint64_t* size) override;
  Status RenameFile(const std::string& from, const std::string& to) override;
  Status LockFile(const std::string& name, leveldb::FileLock** lock) override;
  Status UnlockFile(leveldb::FileLock* lock) override;
  void Schedule(void (*function)(void*), void* argument) override;
  void StartThread(void (*function)(void*), void* argument) override;
  Status GetTestDirectory(std::string* path) override;
  Status NewLogger(const std::string& name, leveldb::Logger** logger) override;
  uint64_t NowMicros() override;
  void SleepForMicroseconds(int micros) override;

  // Calls by kind of file and operation.
  std::atomic<int> sequential{0}, random{0}, writable{0}, appendable{0}, logger{0};
  std::atomic<int> read{0}, random_read{0}, append{0}, sync{0}, close{0}, logged{0};
  std::atomic<int> exists{0}, children{0}, removed{0}, created_dirs{0}, sizes{0}, renamed{0};
  std::atomic<int> locked{0}, unlocked{0}, open_files{0};
  // Removals that a careful Env would refuse: of files that are not there, or open for writing.
  std::atomic<int> missing_removed{0}, open_removed{0};
  // Whether appending to an existing file is possible.
  std::atomic<bool> appends{true};

  // Returns the sum of the sizes of all files.
  size_t Bytes();

 private:
  std::shared_ptr<MemoryFile> Find(const std::string& name);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<MemoryFile>> files_;
  std::set<std::string> locks_;
};

// Forwards to another Env, and fails where it is told to.
class FailingEnv : public leveldb::EnvWrapper {
 public:
  using Status = leveldb::Status;
  enum Operation {
    kNone,
    kSequential,
    kRandom,
    kWritable,
    kChildren,
    kRename,
    kLock,
    kRead,
    kRandomRead,
    kAppend,
    kSync,
  };

  explicit FailingEnv(leveldb::Env* target) : leveldb::EnvWrapper(target) {}

  Status NewSequentialFile(const std::string& name, leveldb::SequentialFile** file) override;
  Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** file) override;
  Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  Status NewAppendableFile(const std::string& name, leveldb::WritableFile** file) override;
  Status GetChildren(const std::string& dir, std::vector<std::string>* names) override;
  Status RenameFile(const std::string& from, const std::string& to) override;
  Status LockFile(const std::string& name, leveldb::FileLock** lock) override;

  // Returns the error if `operation` is to fail now, else ok.
  Status Check(Operation operation);

  std::atomic<Operation> failing{kNone};
  std::atomic<int> failures{0};
};

#endif  // COMPAT_LEVELDB_TESTS_SUPPORT_USER_ENV_H_
