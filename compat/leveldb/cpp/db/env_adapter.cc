// A program's Env as the file system of the engine.
//
// Files keep the Env's rules: they grow at their end, and a WritableFile may buffer what neither
// Flush() nor Sync() has passed on. As in LevelDB, CURRENT, manifests and logs are read through
// SequentialFile, and all other files through RandomAccessFile. Background work runs on threads of
// the engine: an Env's Schedule() runs one function at a time, and the engine needs more.

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "db/adapters.h"
#include "db/bytes.h"
#include "db/errors.h"
#include "leveldb/env.h"

namespace leveldb {

namespace {

Env* EnvOf(void* state) { return static_cast<Env*>(state); }

// Returns the code of a status, and adds its text to the message of an error.
int Told(const Status& status, foldb_output_t* message) {
  if (status.ok()) {
    return FOLDB_OK;
  }
  RememberEnvFailure(status);
  const std::string text = status.ToString();
  foldb_output_append(message, BytesOf(text), text.size());
  return status.IsNotFound() ? FOLDB_FILE_MISSING : FOLDB_IO;
}

int Append(void* state, const uint8_t* data, size_t len, foldb_output_t* message) {
  const Slice bytes(reinterpret_cast<const char*>(data), len);
  return Told(static_cast<WritableFile*>(state)->Append(bytes), message);
}

int Flush(void* state, foldb_output_t* message) {
  return Told(static_cast<WritableFile*>(state)->Flush(), message);
}

int Sync(void* state, foldb_output_t* message) {
  return Told(static_cast<WritableFile*>(state)->Sync(), message);
}

int CloseWritable(void* state, foldb_output_t* message) {
  const std::unique_ptr<WritableFile> file(static_cast<WritableFile*>(state));
  return Told(file->Close(), message);
}

int Writable(const Status& status, WritableFile* file, foldb_writable_file_t* result,
             foldb_output_t* message) {
  if (status.ok()) {
    *result = {file, Append, Flush, Sync, CloseWritable};
  }
  return Told(status, message);
}

int CreateFile(void* state, const char* path, foldb_writable_file_t* result,
               foldb_output_t* message) {
  WritableFile* file = nullptr;
  const Status status = EnvOf(state)->NewWritableFile(path, &file);
  return Writable(status, file, result, message);
}

int AppendFile(void* state, const char* path, foldb_writable_file_t* result,
               foldb_output_t* message) {
  WritableFile* file = nullptr;
  const Status status = EnvOf(state)->NewAppendableFile(path, &file);
  if (status.IsNotSupportedError()) {
    return FOLDB_UNSUPPORTED;
  }
  return Writable(status, file, result, message);
}

// A file for reads. Any thread may read, several at the same time.
class Readable {
 public:
  // Takes the status of the random-access file, which may be missing beside a sequential file.
  Readable(std::unique_ptr<RandomAccessFile> random, const Status& random_status,
           std::unique_ptr<SequentialFile> sequential)
      : random_(std::move(random)),
        random_status_(random_status),
        sequential_(std::move(sequential)) {}

  // Reads up to n bytes into scratch, and points *found at them or at bytes of the Env.
  Status Read(uint64_t offset, size_t n, Slice* found, char* scratch) {
    if (sequential_ != nullptr) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (offset >= position_) {
        return ReadOn(offset, n, found, scratch);
      }
    }
    return random_ != nullptr ? random_->Read(offset, n, found, scratch) : random_status_;
  }

 private:
  // Reads from an offset at or behind the position.
  Status ReadOn(uint64_t offset, size_t n, Slice* found, char* scratch) {
    if (offset > position_) {
      const Status status = sequential_->Skip(offset - position_);
      if (!status.ok()) {
        return status;
      }
      position_ = offset;
    }
    const Status status = sequential_->Read(n, found, scratch);
    if (status.ok()) {
      position_ += found->size();
    }
    return status;
  }

  // For reads behind the position, and for all reads without a sequential file.
  const std::unique_ptr<RandomAccessFile> random_;
  const Status random_status_;
  const std::unique_ptr<SequentialFile> sequential_;
  std::mutex mutex_;
  // Where the sequential file is. The mutex guards both.
  uint64_t position_ = 0;
};

// Returns whether LevelDB reads files of this name from their beginning to their end.
bool IsSequential(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const Slice name(slash != nullptr ? slash + 1 : path);
  const Slice log(".log");
  const bool ends_log = name.size() > log.size() &&
                        Slice(name.data() + name.size() - log.size(), log.size()) == log;
  return ends_log || name == "CURRENT" || name.starts_with("MANIFEST-");
}

int ReadAt(void* state, uint64_t offset, uint8_t* buffer, size_t len, size_t* count,
           foldb_output_t* message) {
  char* scratch = reinterpret_cast<char*>(buffer);
  Slice found;
  const Status status = static_cast<Readable*>(state)->Read(offset, len, &found, scratch);
  if (status.ok()) {
    *count = std::min(found.size(), len);
    if (found.data() != scratch) {
      std::copy_n(found.data(), *count, scratch);
    }
  }
  return Told(status, message);
}

void CloseReadable(void* state) { delete static_cast<Readable*>(state); }

int OpenFile(void* state, const char* path, foldb_readable_file_t* result,
             foldb_output_t* message) {
  RandomAccessFile* random = nullptr;
  SequentialFile* sequential = nullptr;
  if (IsSequential(path)) {
    const Status status = EnvOf(state)->NewSequentialFile(path, &sequential);
    if (!status.ok()) {
      return Told(status, message);
    }
  }
  std::unique_ptr<SequentialFile> owned(sequential);
  // LevelDB opens no log for random access, and some Envs cannot do so with an empty file.
  const Status status = EnvOf(state)->NewRandomAccessFile(path, &random);
  std::unique_ptr<RandomAccessFile> own(status.ok() ? random : nullptr);
  if (own == nullptr && owned == nullptr) {
    return Told(status, message);
  }
  *result = {new Readable(std::move(own), status, std::move(owned)), ReadAt, CloseReadable};
  return FOLDB_OK;
}

bool FileExists(void* state, const char* path) { return EnvOf(state)->FileExists(path); }

int List(void* state, const char* path, foldb_output_t* names, foldb_output_t* message) {
  std::vector<std::string> children;
  const Status status = EnvOf(state)->GetChildren(path, &children);
  for (const std::string& child : children) {
    // With the NUL that ends the name.
    foldb_output_append(names, reinterpret_cast<const uint8_t*>(child.c_str()), child.size() + 1);
  }
  return Told(status, message);
}

int RemoveFile(void* state, const char* path, foldb_output_t* message) {
  return Told(EnvOf(state)->RemoveFile(path), message);
}

int CreateDir(void* state, const char* path, foldb_output_t* message) {
  return Told(EnvOf(state)->CreateDir(path), message);
}

int RemoveDir(void* state, const char* path, foldb_output_t* message) {
  return Told(EnvOf(state)->RemoveDir(path), message);
}

int FileSize(void* state, const char* path, uint64_t* size, foldb_output_t* message) {
  return Told(EnvOf(state)->GetFileSize(path, size), message);
}

int RenameFile(void* state, const char* from, const char* to, foldb_output_t* message) {
  return Told(EnvOf(state)->RenameFile(from, to), message);
}

int LockFile(void* state, const char* path, void** lock, foldb_output_t* message) {
  FileLock* own = nullptr;
  const Status status = EnvOf(state)->LockFile(path, &own);
  *lock = own;
  return Told(status, message);
}

void UnlockFile(void* state, void* lock) {
  EnvOf(state)->UnlockFile(static_cast<FileLock*>(lock));
}

}  // namespace

foldb_env_t AdaptEnv(Env* env) {
  foldb_env_t own = {};
  own.size = sizeof(own);
  own.state = env;
  own.create_file = CreateFile;
  own.append_file = AppendFile;
  own.open_file = OpenFile;
  own.file_exists = FileExists;
  own.list = List;
  own.remove_file = RemoveFile;
  own.create_dir = CreateDir;
  own.remove_dir = RemoveDir;
  own.file_size = FileSize;
  own.rename_file = RenameFile;
  own.lock_file = LockFile;
  own.unlock_file = UnlockFile;
  return own;
}

}  // namespace leveldb
