// FailingEnv; see user_env.h.
//
// Invariant: a call that is told to fail does not reach the other Env.

#include "user_env.h"

using leveldb::FileLock;
using leveldb::RandomAccessFile;
using leveldb::SequentialFile;
using leveldb::Slice;
using leveldb::Status;
using leveldb::WritableFile;

namespace {

class Sequential : public SequentialFile {
 public:
  Sequential(FailingEnv* env, SequentialFile* file) : env_(env), file_(file) {}
  Status Read(size_t n, Slice* result, char* scratch) override {
    const Status status = env_->Check(FailingEnv::kRead);
    return status.ok() ? file_->Read(n, result, scratch) : status;
  }
  Status Skip(uint64_t n) override { return file_->Skip(n); }

 private:
  FailingEnv* env_;
  std::unique_ptr<SequentialFile> file_;
};

class Random : public RandomAccessFile {
 public:
  Random(FailingEnv* env, RandomAccessFile* file) : env_(env), file_(file) {}
  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    const Status status = env_->Check(FailingEnv::kRandomRead);
    return status.ok() ? file_->Read(offset, n, result, scratch) : status;
  }

 private:
  FailingEnv* env_;
  std::unique_ptr<RandomAccessFile> file_;
};

class Writable : public WritableFile {
 public:
  Writable(FailingEnv* env, WritableFile* file) : env_(env), file_(file) {}
  Status Append(const Slice& data) override {
    const Status status = env_->Check(FailingEnv::kAppend);
    return status.ok() ? file_->Append(data) : status;
  }
  Status Close() override { return file_->Close(); }
  Status Flush() override { return file_->Flush(); }
  Status Sync() override {
    const Status status = env_->Check(FailingEnv::kSync);
    return status.ok() ? file_->Sync() : status;
  }

 private:
  FailingEnv* env_;
  std::unique_ptr<WritableFile> file_;
};

// Opens a file by `open` and puts the wrapper around it.
template <class Wrapper, class File, class Open>
Status Wrapped(FailingEnv* env, FailingEnv::Operation operation, File** file, Open open) {
  *file = nullptr;
  Status status = env->Check(operation);
  if (status.ok()) status = open(file);
  if (status.ok()) *file = new Wrapper(env, *file);
  return status;
}

}  // namespace

Status FailingEnv::Check(Operation operation) {
  if (failing.load() != operation) return Status::OK();
  failures++;
  return Status::IOError("a told failure");
}

Status FailingEnv::NewSequentialFile(const std::string& name, SequentialFile** file) {
  return Wrapped<Sequential>(this, kSequential, file, [&](SequentialFile** inner) {
    return target()->NewSequentialFile(name, inner);
  });
}

Status FailingEnv::NewRandomAccessFile(const std::string& name, RandomAccessFile** file) {
  return Wrapped<Random>(this, kRandom, file, [&](RandomAccessFile** inner) {
    return target()->NewRandomAccessFile(name, inner);
  });
}

Status FailingEnv::NewWritableFile(const std::string& name, WritableFile** file) {
  return Wrapped<Writable>(this, kWritable, file, [&](WritableFile** inner) {
    return target()->NewWritableFile(name, inner);
  });
}

Status FailingEnv::NewAppendableFile(const std::string& name, WritableFile** file) {
  return Wrapped<Writable>(this, kWritable, file, [&](WritableFile** inner) {
    return target()->NewAppendableFile(name, inner);
  });
}

Status FailingEnv::GetChildren(const std::string& dir, std::vector<std::string>* names) {
  const Status status = Check(kChildren);
  return status.ok() ? target()->GetChildren(dir, names) : status;
}

Status FailingEnv::RenameFile(const std::string& from, const std::string& to) {
  const Status status = Check(kRename);
  return status.ok() ? target()->RenameFile(from, to) : status;
}

Status FailingEnv::LockFile(const std::string& name, FileLock** lock) {
  const Status status = Check(kLock);
  if (status.ok()) return target()->LockFile(name, lock);
  *lock = nullptr;
  return status;
}
