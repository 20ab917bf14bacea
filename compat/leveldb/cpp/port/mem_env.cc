// NewMemEnv: an Env whose files are strings in a map.
//
// Directories are parts of names: each exists, and none is stored. Names of one file share its
// contents with the objects that read or write it, so a removed file stays readable through them.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/slice.h"

namespace leveldb {

namespace {

// The contents of a file. All methods may run on several threads at once.
class Contents {
 public:
  uint64_t Size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return bytes_.size();
  }

  void Truncate() {
    std::lock_guard<std::mutex> lock(mutex_);
    bytes_.clear();
  }

  void Append(const Slice& data) {
    std::lock_guard<std::mutex> lock(mutex_);
    bytes_.append(data.data(), data.size());
  }

  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const {
    std::lock_guard<std::mutex> lock(mutex_);
    if (offset > bytes_.size()) {
      return Status::IOError("Offset greater than file size.");
    }
    // The bytes are copied, because an append may move them.
    const size_t length = bytes_.copy(scratch, n, static_cast<size_t>(offset));
    *result = Slice(scratch, length);
    return Status::OK();
  }

 private:
  mutable std::mutex mutex_;
  std::string bytes_;
};

using File = std::shared_ptr<Contents>;

class MemSequentialFile : public SequentialFile {
 public:
  explicit MemSequentialFile(File file) : file_(std::move(file)) {}

  Status Read(size_t n, Slice* result, char* scratch) override {
    Status status = file_->Read(position_, n, result, scratch);
    if (status.ok()) {
      position_ += result->size();
    }
    return status;
  }

  Status Skip(uint64_t n) override {
    const uint64_t size = file_->Size();
    if (position_ > size) {
      return Status::IOError("pos_ > file_->Size()");
    }
    position_ += n < size - position_ ? n : size - position_;
    return Status::OK();
  }

 private:
  const File file_;
  uint64_t position_ = 0;
};

class MemRandomAccessFile : public RandomAccessFile {
 public:
  explicit MemRandomAccessFile(File file) : file_(std::move(file)) {}

  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    return file_->Read(offset, n, result, scratch);
  }

 private:
  const File file_;
};

class MemWritableFile : public WritableFile {
 public:
  explicit MemWritableFile(File file) : file_(std::move(file)) {}

  Status Append(const Slice& data) override {
    file_->Append(data);
    return Status::OK();
  }
  Status Close() override { return Status::OK(); }
  Status Flush() override { return Status::OK(); }
  Status Sync() override { return Status::OK(); }

 private:
  const File file_;
};

class SilentLogger : public Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

class MemEnv : public EnvWrapper {
 public:
  explicit MemEnv(Env* base_env) : EnvWrapper(base_env) {}

  Status NewSequentialFile(const std::string& fname, SequentialFile** result) override {
    const File file = Find(fname);
    *result = file ? new MemSequentialFile(file) : nullptr;
    return file ? Status::OK() : Absent(fname);
  }

  Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) override {
    const File file = Find(fname);
    *result = file ? new MemRandomAccessFile(file) : nullptr;
    return file ? Status::OK() : Absent(fname);
  }

  Status NewWritableFile(const std::string& fname, WritableFile** result) override {
    const File file = FindOrCreate(fname);
    file->Truncate();
    *result = new MemWritableFile(file);
    return Status::OK();
  }

  Status NewAppendableFile(const std::string& fname, WritableFile** result) override {
    *result = new MemWritableFile(FindOrCreate(fname));
    return Status::OK();
  }

  bool FileExists(const std::string& fname) override { return Find(fname) != nullptr; }

  Status GetChildren(const std::string& dir, std::vector<std::string>* result) override {
    const std::string above = dir + "/";
    result->clear();
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, file] : files_) {
      if (Slice(name).starts_with(above)) {
        result->push_back(name.substr(above.size()));
      }
    }
    return Status::OK();
  }

  Status RemoveFile(const std::string& fname) override {
    std::lock_guard<std::mutex> lock(mutex_);
    return files_.erase(fname) == 1 ? Status::OK() : Absent(fname);
  }

  Status CreateDir(const std::string&) override { return Status::OK(); }
  Status RemoveDir(const std::string&) override { return Status::OK(); }

  Status GetFileSize(const std::string& fname, uint64_t* file_size) override {
    const File file = Find(fname);
    if (!file) {
      return Absent(fname);
    }
    *file_size = file->Size();
    return Status::OK();
  }

  Status RenameFile(const std::string& src, const std::string& target) override {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = files_.find(src);
    if (found == files_.end()) {
      return Absent(src);
    }
    const File file = found->second;
    files_.erase(found);
    files_[target] = file;
    return Status::OK();
  }

  // LevelDB's files in memory have no locks: each call succeeds.
  Status LockFile(const std::string&, FileLock** lock) override {
    *lock = new FileLock;
    return Status::OK();
  }

  Status UnlockFile(FileLock* lock) override {
    delete lock;
    return Status::OK();
  }

  Status GetTestDirectory(std::string* path) override {
    *path = "/test";
    return Status::OK();
  }

  Status NewLogger(const std::string&, Logger** result) override {
    *result = new SilentLogger;
    return Status::OK();
  }

 private:
  static Status Absent(const std::string& fname) {
    return Status::IOError(fname, "File not found");
  }

  // Returns null if the file is absent.
  File Find(const std::string& fname) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = files_.find(fname);
    return found == files_.end() ? nullptr : found->second;
  }

  File FindOrCreate(const std::string& fname) {
    std::lock_guard<std::mutex> lock(mutex_);
    File& file = files_[fname];
    if (!file) {
      file = std::make_shared<Contents>();
    }
    return file;
  }

  std::mutex mutex_;
  std::map<std::string, File> files_;
};

}  // namespace

Env* NewMemEnv(Env* base_env) { return new MemEnv(base_env); }

}  // namespace leveldb
