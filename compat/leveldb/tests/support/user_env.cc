// Subclasses of Env; see user_env.h.
//
// Invariant: a lock on a MemoryFile is held only while its bytes are copied.

#include "user_env.h"

#include <algorithm>
#include <cstring>

using leveldb::FileLock;
using leveldb::Logger;
using leveldb::RandomAccessFile;
using leveldb::SequentialFile;
using leveldb::Slice;
using leveldb::Status;
using leveldb::WritableFile;

namespace {

Status Missing(const std::string& name) { return Status::NotFound(name, "no such file in memory"); }

// Copies at most n bytes at the offset.
Slice Copy(MemoryFile* file, uint64_t offset, size_t n, char* scratch) {
  std::lock_guard<std::mutex> guard(file->mutex);
  if (offset >= file->bytes.size()) return Slice(scratch, 0);
  n = std::min<uint64_t>(n, file->bytes.size() - offset);
  std::memcpy(scratch, file->bytes.data() + offset, n);
  return Slice(scratch, n);
}

class Sequential : public SequentialFile {
 public:
  Sequential(CountingEnv* env, std::shared_ptr<MemoryFile> file) : env_(env), file_(file) {
    env_->open_files++;
  }
  ~Sequential() override { env_->open_files--; }
  Status Read(size_t n, Slice* result, char* scratch) override {
    env_->read++;
    *result = Copy(file_.get(), at_, n, scratch);
    at_ += result->size();
    return Status::OK();
  }
  Status Skip(uint64_t n) override {
    std::lock_guard<std::mutex> guard(file_->mutex);
    at_ = std::min<uint64_t>(at_ + n, file_->bytes.size());
    return Status::OK();
  }

 private:
  CountingEnv* env_;
  std::shared_ptr<MemoryFile> file_;
  uint64_t at_ = 0;
};

class Random : public RandomAccessFile {
 public:
  Random(CountingEnv* env, std::shared_ptr<MemoryFile> file) : env_(env), file_(file) {
    env_->open_files++;
  }
  ~Random() override { env_->open_files--; }
  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    env_->random_read++;
    *result = Copy(file_.get(), offset, n, scratch);
    return Status::OK();
  }

 private:
  CountingEnv* env_;
  std::shared_ptr<MemoryFile> file_;
};

class Writable : public WritableFile {
 public:
  Writable(CountingEnv* env, std::shared_ptr<MemoryFile> file) : env_(env), file_(file) {
    env_->open_files++;
    file_->writers++;
  }
  ~Writable() override {
    env_->open_files--;
    End();
  }
  Status Append(const Slice& data) override {
    env_->append++;
    std::lock_guard<std::mutex> guard(file_->mutex);
    file_->bytes.append(data.data(), data.size());
    return Status::OK();
  }
  Status Close() override {
    env_->close++;
    End();
    return Status::OK();
  }
  Status Flush() override { return Status::OK(); }
  Status Sync() override {
    env_->sync++;
    return Status::OK();
  }

 private:
  void End() {
    if (!ended_) file_->writers--;
    ended_ = true;
  }

  CountingEnv* env_;
  std::shared_ptr<MemoryFile> file_;
  bool ended_ = false;
};

class Lock : public FileLock {
 public:
  explicit Lock(const std::string& name) : name_(name) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

class CountingLogger : public Logger {
 public:
  explicit CountingLogger(CountingEnv* env) : env_(env) {}
  void Logv(const char* format, std::va_list) override {
    if (format != nullptr) env_->logged++;
  }

 private:
  CountingEnv* env_;
};

}  // namespace

std::shared_ptr<MemoryFile> CountingEnv::Find(const std::string& name) {
  std::lock_guard<std::mutex> guard(mutex_);
  auto found = files_.find(name);
  return found == files_.end() ? nullptr : found->second;
}

size_t CountingEnv::Bytes() {
  std::lock_guard<std::mutex> guard(mutex_);
  size_t bytes = 0;
  for (auto& file : files_) {
    std::lock_guard<std::mutex> inner(file.second->mutex);
    bytes += file.second->bytes.size();
  }
  return bytes;
}

Status CountingEnv::NewSequentialFile(const std::string& name, SequentialFile** file) {
  sequential++;
  std::shared_ptr<MemoryFile> found = Find(name);
  *file = found ? new Sequential(this, found) : nullptr;
  return found ? Status::OK() : Missing(name);
}

Status CountingEnv::NewRandomAccessFile(const std::string& name, RandomAccessFile** file) {
  random++;
  std::shared_ptr<MemoryFile> found = Find(name);
  *file = found ? new Random(this, found) : nullptr;
  return found ? Status::OK() : Missing(name);
}

Status CountingEnv::NewWritableFile(const std::string& name, WritableFile** file) {
  writable++;
  std::lock_guard<std::mutex> guard(mutex_);
  std::shared_ptr<MemoryFile>& own = files_[name];
  own = std::make_shared<MemoryFile>();
  *file = new Writable(this, own);
  return Status::OK();
}

Status CountingEnv::NewAppendableFile(const std::string& name, WritableFile** file) {
  if (!appends) return leveldb::Env::NewAppendableFile(name, file);
  appendable++;
  std::lock_guard<std::mutex> guard(mutex_);
  std::shared_ptr<MemoryFile>& own = files_[name];
  if (!own) own = std::make_shared<MemoryFile>();
  *file = new Writable(this, own);
  return Status::OK();
}

bool CountingEnv::FileExists(const std::string& name) {
  exists++;
  return Find(name) != nullptr;
}

Status CountingEnv::GetChildren(const std::string& dir, std::vector<std::string>* names) {
  children++;
  names->clear();
  std::lock_guard<std::mutex> guard(mutex_);
  for (auto& file : files_) {
    const std::string& path = file.first;
    if (path.size() > dir.size() + 1 && path.compare(0, dir.size(), dir) == 0 &&
        path[dir.size()] == '/' && path.find('/', dir.size() + 1) == std::string::npos) {
      names->push_back(path.substr(dir.size() + 1));
    }
  }
  return Status::OK();
}

Status CountingEnv::RemoveFile(const std::string& name) {
  removed++;
  std::lock_guard<std::mutex> guard(mutex_);
  auto found = files_.find(name);
  if (found == files_.end()) {
    missing_removed++;
    return Missing(name);
  }
  if (found->second->writers > 0) open_removed++;
  files_.erase(found);
  return Status::OK();
}

Status CountingEnv::CreateDir(const std::string&) {
  created_dirs++;
  return Status::OK();
}

Status CountingEnv::RemoveDir(const std::string&) { return Status::OK(); }

Status CountingEnv::GetFileSize(const std::string& name, uint64_t* size) {
  sizes++;
  *size = 0;
  std::shared_ptr<MemoryFile> found = Find(name);
  if (!found) return Missing(name);
  std::lock_guard<std::mutex> guard(found->mutex);
  *size = found->bytes.size();
  return Status::OK();
}

Status CountingEnv::RenameFile(const std::string& from, const std::string& to) {
  renamed++;
  std::lock_guard<std::mutex> guard(mutex_);
  auto found = files_.find(from);
  if (found == files_.end()) return Missing(from);
  files_[to] = found->second;
  files_.erase(from);
  return Status::OK();
}

Status CountingEnv::LockFile(const std::string& name, FileLock** lock) {
  locked++;
  *lock = nullptr;
  std::lock_guard<std::mutex> guard(mutex_);
  if (!locks_.insert(name).second) return Status::IOError(name, "locked in memory");
  std::shared_ptr<MemoryFile>& own = files_[name];
  if (!own) own = std::make_shared<MemoryFile>();
  *lock = new Lock(name);
  return Status::OK();
}

Status CountingEnv::UnlockFile(FileLock* lock) {
  unlocked++;
  Lock* own = static_cast<Lock*>(lock);
  std::lock_guard<std::mutex> guard(mutex_);
  locks_.erase(own->name());
  delete own;
  return Status::OK();
}

void CountingEnv::Schedule(void (*function)(void*), void* argument) {
  leveldb::Env::Default()->Schedule(function, argument);
}

void CountingEnv::StartThread(void (*function)(void*), void* argument) {
  leveldb::Env::Default()->StartThread(function, argument);
}

Status CountingEnv::GetTestDirectory(std::string* path) {
  *path = "/memory";
  return Status::OK();
}

Status CountingEnv::NewLogger(const std::string&, Logger** result) {
  logger++;
  *result = new CountingLogger(this);
  return Status::OK();
}

uint64_t CountingEnv::NowMicros() { return leveldb::Env::Default()->NowMicros(); }

void CountingEnv::SleepForMicroseconds(int micros) {
  leveldb::Env::Default()->SleepForMicroseconds(micros);
}
