// The parts of Env and of its files that do not depend on the operating system.

#include "leveldb/env.h"

#include <cstdarg>
#include <memory>

#include "leveldb/slice.h"

namespace leveldb {

Env::Env() = default;
Env::~Env() = default;
EnvWrapper::~EnvWrapper() = default;
SequentialFile::~SequentialFile() = default;
RandomAccessFile::~RandomAccessFile() = default;
WritableFile::~WritableFile() = default;
Logger::~Logger() = default;
FileLock::~FileLock() = default;

Status Env::NewAppendableFile(const std::string& fname, WritableFile** result) {
  *result = nullptr;
  return Status::NotSupported("NewAppendableFile", fname);
}

// Each name calls the other: a subclass overrides the new name or the old one.
Status Env::RemoveFile(const std::string& fname) { return DeleteFile(fname); }
Status Env::DeleteFile(const std::string& fname) { return RemoveFile(fname); }
Status Env::RemoveDir(const std::string& dirname) { return DeleteDir(dirname); }
Status Env::DeleteDir(const std::string& dirname) { return RemoveDir(dirname); }

void Log(Logger* info_log, const char* format, ...) {
  if (info_log == nullptr) {
    return;
  }
  std::va_list arguments;
  va_start(arguments, format);
  info_log->Logv(format, arguments);
  va_end(arguments);
}

Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname) {
  WritableFile* file;
  Status status = env->NewWritableFile(fname, &file);
  if (!status.ok()) {
    return status;
  }
  status = file->Append(data);
  if (status.ok()) {
    status = file->Close();
  }
  // A file that is not closed closes itself here, and only then can be removed everywhere.
  delete file;
  if (!status.ok()) {
    env->RemoveFile(fname);
  }
  return status;
}

Status ReadFileToString(Env* env, const std::string& fname, std::string* data) {
  constexpr size_t kPiece = 8192;
  data->clear();
  SequentialFile* file;
  Status status = env->NewSequentialFile(fname, &file);
  if (!status.ok()) {
    return status;
  }
  const std::unique_ptr<SequentialFile> owned(file);
  const std::unique_ptr<char[]> scratch(new char[kPiece]);
  Slice piece;
  do {
    piece.clear();
    status = file->Read(kPiece, &piece, scratch.get());
    if (status.ok()) {
      data->append(piece.data(), piece.size());
    }
  } while (status.ok() && !piece.empty());
  return status;
}

}  // namespace leveldb
