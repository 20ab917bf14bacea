// Files of POSIX systems.

#ifndef FOLDB_LEVELDB_PORT_POSIX_FILES_H_
#define FOLDB_LEVELDB_PORT_POSIX_FILES_H_

#include <atomic>
#include <string>

#include "leveldb/env.h"
#include "leveldb/status.h"

namespace leveldb {

// The status of a failed call of the system: "context: text of the error". An absent file is
// NotFound, and any other error is IOError.
Status PosixError(const std::string& context, int error);

// How many descriptors the process may have at one time.
int MostDescriptors();

// How many more files of one kind may keep a resource.
class Allowance {
 public:
  explicit Allowance(int count) : left_(count) {}

  // Takes one. Returns false if none is left.
  bool Take() {
    if (left_.fetch_sub(1) > 0) {
      return true;
    }
    left_.fetch_add(1);
    return false;
  }

  void GiveBack() { left_.fetch_add(1); }

 private:
  std::atomic<int> left_;
};

// The files that Env::Default() opens. Each stores null in *result on failure.
Status OpenSequentialFile(const std::string& name, SequentialFile** result);

// The file is mapped into memory while `mappings` allows. After that it keeps its descriptor while
// `descriptors` allows. Beyond both, each read opens it again.
Status OpenRandomAccessFile(const std::string& name, Allowance* mappings, Allowance* descriptors,
                            RandomAccessFile** result);

// Opens a file to write, empty or at its present end.
Status OpenWritableFile(const std::string& name, bool append, WritableFile** result);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_PORT_POSIX_FILES_H_
