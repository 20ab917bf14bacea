// Env: files, time and threads, as a database uses them.
//
// A program subclasses Env, or EnvWrapper, to change what the database does with them. The library
// calls an Env from several threads at once.

#ifndef STORAGE_LEVELDB_INCLUDE_ENV_H_
#define STORAGE_LEVELDB_INCLUDE_ENV_H_

#include <cstdarg>
#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/export.h"
#include "leveldb/status.h"

// windows.h defines a macro DeleteFile, which would rename the method of Env.
#if defined(_WIN32) && defined(DeleteFile)
#undef DeleteFile
#define LEVELDB_DELETEFILE_UNDEFINED
#endif

namespace leveldb {

class FileLock;
class Logger;
class RandomAccessFile;
class SequentialFile;
class Slice;
class WritableFile;

// Calls that make an object store it in *result, and the caller deletes it. On failure they store
// null. Only one thread at a time uses a file, unless the call says otherwise.
class LEVELDB_EXPORT Env {
 public:
  Env();

  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;

  virtual ~Env();

  // The Env of the operating system. It belongs to the library and must not be deleted.
  static Env* Default();

  // Opens a file to read it from its start. Fails with NotFound if it is absent.
  virtual Status NewSequentialFile(const std::string& fname, SequentialFile** result) = 0;

  // Opens a file to read it anywhere, from several threads at once. Fails with NotFound if it is
  // absent.
  virtual Status NewRandomAccessFile(const std::string& fname, RandomAccessFile** result) = 0;

  // Creates an empty file to write, in place of a file of that name.
  virtual Status NewWritableFile(const std::string& fname, WritableFile** result) = 0;

  // Opens a file to write at its end, and creates it if it is absent. The default fails with
  // NotSupported, which callers must expect.
  virtual Status NewAppendableFile(const std::string& fname, WritableFile** result);

  virtual bool FileExists(const std::string& fname) = 0;

  // Sets *result to the names in the directory dir, without the path of dir.
  virtual Status GetChildren(const std::string& dir, std::vector<std::string>* result) = 0;

  // Removes a file. The default calls DeleteFile, which older subclasses override. A subclass must
  // override one of the two.
  virtual Status RemoveFile(const std::string& fname);

  // The old name of RemoveFile. The default calls RemoveFile.
  virtual Status DeleteFile(const std::string& fname);

  // Creates a directory. The directory above it must be there.
  virtual Status CreateDir(const std::string& dirname) = 0;

  // Removes an empty directory. The default calls DeleteDir, which older subclasses override. A
  // subclass must override one of the two.
  virtual Status RemoveDir(const std::string& dirname);

  // The old name of RemoveDir. The default calls RemoveDir.
  virtual Status DeleteDir(const std::string& dirname);

  // Sets *file_size to the bytes of a file.
  virtual Status GetFileSize(const std::string& fname, uint64_t* file_size) = 0;

  // Gives the file src the name target, in place of a file of that name.
  virtual Status RenameFile(const std::string& src, const std::string& target) = 0;

  // Locks a file against this and other processes, and creates it if it is absent. Fails at once
  // if it is locked. The lock ends with UnlockFile() or with the process.
  virtual Status LockFile(const std::string& fname, FileLock** lock) = 0;

  // Ends a lock of this Env and deletes it.
  virtual Status UnlockFile(FileLock* lock) = 0;

  // Runs function(arg) once, later, on a background thread. Callers must not rely on the order of
  // such calls, nor on one thread for all of them.
  virtual void Schedule(void (*function)(void* arg), void* arg) = 0;

  // Starts a thread that runs function(arg) and ends.
  virtual void StartThread(void (*function)(void* arg), void* arg) = 0;

  // Sets *path to a directory for temporary files, the same for each call of one process.
  virtual Status GetTestDirectory(std::string* path) = 0;

  // Creates a file of messages.
  virtual Status NewLogger(const std::string& fname, Logger** result) = 0;

  // Microseconds since some fixed time. Only differences have a meaning.
  virtual uint64_t NowMicros() = 0;

  // Waits for at least this many microseconds.
  virtual void SleepForMicroseconds(int micros) = 0;
};

// A file that is read from its start to its end.
class LEVELDB_EXPORT SequentialFile {
 public:
  SequentialFile() = default;

  SequentialFile(const SequentialFile&) = delete;
  SequentialFile& operator=(const SequentialFile&) = delete;

  virtual ~SequentialFile();

  // Reads up to n bytes, and sets *result to them. Fewer bytes mean the end of the file. The bytes
  // may be in scratch, which has room for n and must live as long as *result is used.
  virtual Status Read(size_t n, Slice* result, char* scratch) = 0;

  // Moves n bytes ahead, or to the end of the file.
  virtual Status Skip(uint64_t n) = 0;
};

// A file that is read anywhere.
class LEVELDB_EXPORT RandomAccessFile {
 public:
  RandomAccessFile() = default;

  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  virtual ~RandomAccessFile();

  // Reads up to n bytes at offset, and sets *result to them. Fewer bytes mean the end of the file.
  // The bytes may be in scratch, which has room for n and must live as long as *result is used.
  // Several threads may call it at once.
  virtual Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const = 0;
};

// A file that is written from its start to its end. It gathers small pieces in a buffer.
class LEVELDB_EXPORT WritableFile {
 public:
  WritableFile() = default;

  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;

  virtual ~WritableFile();

  // Writes data after the bytes that are there.
  virtual Status Append(const Slice& data) = 0;

  // Hands the buffer to the operating system and closes the file.
  virtual Status Close() = 0;

  // Hands the buffer to the operating system.
  virtual Status Flush() = 0;

  // Returns when all bytes so far are on disk.
  virtual Status Sync() = 0;
};

// Receives messages.
class LEVELDB_EXPORT Logger {
 public:
  Logger() = default;

  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  virtual ~Logger();

  // Writes a message in the format of printf. Several threads may call it at once.
  virtual void Logv(const char* format, std::va_list ap) = 0;
};

// A lock from Env::LockFile(). Env::UnlockFile() deletes it.
class LEVELDB_EXPORT FileLock {
 public:
  FileLock() = default;

  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  virtual ~FileLock();
};

// Writes a message in the format of printf to info_log, unless it is null.
void Log(Logger* info_log, const char* format, ...)
#if defined(__GNUC__) || defined(__clang__)
    __attribute__((__format__(__printf__, 2, 3)))
#endif
    ;

// Makes data the contents of a file. Removes the file again if that fails.
LEVELDB_EXPORT Status WriteStringToFile(Env* env, const Slice& data, const std::string& fname);

// Sets *data to the contents of a file.
LEVELDB_EXPORT Status ReadFileToString(Env* env, const std::string& fname, std::string* data);

// An Env that passes each call to another Env. Subclasses override the calls that they change.
class LEVELDB_EXPORT EnvWrapper : public Env {
 public:
  // Passes calls to t, which stays the caller's and must outlive the wrapper.
  explicit EnvWrapper(Env* t) : target_(t) {}
  virtual ~EnvWrapper();

  // The Env that receives the calls.
  Env* target() const { return target_; }

  Status NewSequentialFile(const std::string& f, SequentialFile** r) override {
    return target()->NewSequentialFile(f, r);
  }
  Status NewRandomAccessFile(const std::string& f, RandomAccessFile** r) override {
    return target()->NewRandomAccessFile(f, r);
  }
  Status NewWritableFile(const std::string& f, WritableFile** r) override {
    return target()->NewWritableFile(f, r);
  }
  Status NewAppendableFile(const std::string& f, WritableFile** r) override {
    return target()->NewAppendableFile(f, r);
  }
  bool FileExists(const std::string& f) override { return target()->FileExists(f); }
  Status GetChildren(const std::string& dir, std::vector<std::string>* r) override {
    return target()->GetChildren(dir, r);
  }
  Status RemoveFile(const std::string& f) override { return target()->RemoveFile(f); }
  Status CreateDir(const std::string& d) override { return target()->CreateDir(d); }
  Status RemoveDir(const std::string& d) override { return target()->RemoveDir(d); }
  Status GetFileSize(const std::string& f, uint64_t* s) override {
    return target()->GetFileSize(f, s);
  }
  Status RenameFile(const std::string& s, const std::string& t) override {
    return target()->RenameFile(s, t);
  }
  Status LockFile(const std::string& f, FileLock** l) override { return target()->LockFile(f, l); }
  Status UnlockFile(FileLock* l) override { return target()->UnlockFile(l); }
  void Schedule(void (*f)(void*), void* a) override { target()->Schedule(f, a); }
  void StartThread(void (*f)(void*), void* a) override { target()->StartThread(f, a); }
  Status GetTestDirectory(std::string* path) override { return target()->GetTestDirectory(path); }
  Status NewLogger(const std::string& fname, Logger** result) override {
    return target()->NewLogger(fname, result);
  }
  uint64_t NowMicros() override { return target()->NowMicros(); }
  void SleepForMicroseconds(int micros) override { target()->SleepForMicroseconds(micros); }

 private:
  Env* target_;
};

}  // namespace leveldb

// Defines the macro of windows.h again.
#if defined(_WIN32) && defined(LEVELDB_DELETEFILE_UNDEFINED)
#if defined(UNICODE)
#define DeleteFile DeleteFileW
#else
#define DeleteFile DeleteFileA
#endif
#endif

#endif  // STORAGE_LEVELDB_INCLUDE_ENV_H_
