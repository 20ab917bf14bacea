// Files of POSIX systems. A call that a signal interrupts is made again.

#include "port/posix_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "leveldb/slice.h"

namespace leveldb {

Status PosixError(const std::string& context, int error) {
  const char* const text = std::strerror(error);
  return error == ENOENT ? Status::NotFound(context, text) : Status::IOError(context, text);
}

int MostDescriptors() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return 250;
  }
  // RLIM_INFINITY is more than an int can have.
  constexpr rlim_t kMost = 1 << 30;
  return static_cast<int>(std::min(limit.rlim_cur, kMost));
}

namespace {

// Bytes that a file gathers before it writes them.
constexpr size_t kBuffer = 64 * 1024;

// No descriptor.
constexpr int kClosed = -1;

// Makes a call of the system until no signal interrupts it.
template <typename Call>
auto Uninterrupted(Call call) -> decltype(call()) {
  auto result = call();
  while (result == -1 && errno == EINTR) {
    result = call();
  }
  return result;
}

class PosixSequentialFile : public SequentialFile {
 public:
  PosixSequentialFile(std::string name, int descriptor)
      : name_(std::move(name)), descriptor_(descriptor) {}
  ~PosixSequentialFile() override { close(descriptor_); }

  Status Read(size_t n, Slice* result, char* scratch) override {
    const ssize_t length = Uninterrupted([&] { return read(descriptor_, scratch, n); });
    if (length < 0) {
      return PosixError(name_, errno);
    }
    *result = Slice(scratch, static_cast<size_t>(length));
    return Status::OK();
  }

  Status Skip(uint64_t n) override {
    if (lseek(descriptor_, static_cast<off_t>(n), SEEK_CUR) == -1) {
      return PosixError(name_, errno);
    }
    return Status::OK();
  }

 private:
  const std::string name_;
  const int descriptor_;
};

// A file in memory. Its results point into the mapping, not to the scratch of the caller.
class MappedFile : public RandomAccessFile {
 public:
  MappedFile(std::string name, const char* bytes, size_t size, Allowance* mappings)
      : name_(std::move(name)), bytes_(bytes), size_(size), mappings_(mappings) {}

  ~MappedFile() override {
    munmap(const_cast<char*>(bytes_), size_);
    mappings_->GiveBack();
  }

  Status Read(uint64_t offset, size_t n, Slice* result, char*) const override {
    if (offset > size_ || n > size_ - offset) {
      *result = Slice();
      return PosixError(name_, EINVAL);
    }
    *result = Slice(bytes_ + offset, n);
    return Status::OK();
  }

 private:
  const std::string name_;
  const char* const bytes_;
  const size_t size_;
  Allowance* const mappings_;
};

// A file that each call reads from the system.
class ReadFile : public RandomAccessFile {
 public:
  // Takes the descriptor over.
  ReadFile(std::string name, int descriptor, Allowance* descriptors)
      : name_(std::move(name)), descriptors_(descriptors) {
    if (descriptors_->Take()) {
      descriptor_ = descriptor;
    } else {
      close(descriptor);
    }
  }

  ~ReadFile() override {
    if (descriptor_ != kClosed) {
      close(descriptor_);
      descriptors_->GiveBack();
    }
  }

  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    int descriptor = descriptor_;
    if (descriptor == kClosed) {
      descriptor = Uninterrupted([&] { return open(name_.c_str(), O_RDONLY | O_CLOEXEC); });
      if (descriptor < 0) {
        return PosixError(name_, errno);
      }
    }
    const ssize_t length = Uninterrupted(
        [&] { return pread(descriptor, scratch, n, static_cast<off_t>(offset)); });
    const int error = errno;
    if (descriptor != descriptor_) {
      close(descriptor);
    }
    *result = Slice(scratch, length < 0 ? 0 : static_cast<size_t>(length));
    return length < 0 ? PosixError(name_, error) : Status::OK();
  }

 private:
  const std::string name_;
  Allowance* const descriptors_;
  int descriptor_ = kClosed;
};

// The directory of a file, as a path.
std::string DirectoryOf(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? "." : name.substr(0, slash);
}

// Whether the name without its directory begins with MANIFEST.
bool IsManifest(const std::string& name) {
  const size_t slash = name.rfind('/');
  const size_t begin = slash == std::string::npos ? 0 : slash + 1;
  return name.compare(begin, std::strlen("MANIFEST"), "MANIFEST") == 0;
}

Status SyncDescriptor(int descriptor, const std::string& name) {
#if defined(__linux__)
  const int result = fdatasync(descriptor);
#else
  const int result = fsync(descriptor);
#endif
  return result == 0 ? Status::OK() : PosixError(name, errno);
}

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(std::string name, int descriptor)
      : name_(std::move(name)), descriptor_(descriptor) {}

  ~PosixWritableFile() override {
    if (descriptor_ != kClosed) {
      // A caller that needs the error calls Close() before.
      Close();
    }
  }

  Status Append(const Slice& data) override {
    const size_t fits = std::min(data.size(), kBuffer - filled_);
    std::memcpy(buffer_ + filled_, data.data(), fits);
    filled_ += fits;
    Slice rest(data.data() + fits, data.size() - fits);
    if (rest.empty()) {
      return Status::OK();
    }
    const Status status = Flush();
    if (!status.ok()) {
      return status;
    }
    if (rest.size() >= kBuffer) {
      return Write(rest);
    }
    std::memcpy(buffer_, rest.data(), rest.size());
    filled_ = rest.size();
    return Status::OK();
  }

  Status Close() override {
    Status status = Flush();
    const int result = close(descriptor_);
    descriptor_ = kClosed;
    if (result < 0 && status.ok()) {
      status = PosixError(name_, errno);
    }
    return status;
  }

  Status Flush() override {
    const Status status = Write(Slice(buffer_, filled_));
    filled_ = 0;
    return status;
  }

  Status Sync() override {
    // A manifest names other new files. Their names must be on disk before it.
    Status status = IsManifest(name_) ? SyncDirectory() : Status::OK();
    if (status.ok()) {
      status = Flush();
    }
    return status.ok() ? SyncDescriptor(descriptor_, name_) : status;
  }

 private:
  Status Write(Slice data) {
    while (!data.empty()) {
      const ssize_t length =
          Uninterrupted([&] { return write(descriptor_, data.data(), data.size()); });
      if (length < 0) {
        return PosixError(name_, errno);
      }
      data.remove_prefix(static_cast<size_t>(length));
    }
    return Status::OK();
  }

  Status SyncDirectory() const {
    const std::string directory = DirectoryOf(name_);
    const int descriptor =
        Uninterrupted([&] { return open(directory.c_str(), O_RDONLY | O_CLOEXEC); });
    if (descriptor < 0) {
      return PosixError(directory, errno);
    }
    const int result = fsync(descriptor);
    // Some file systems cannot sync directories.
    const int error = result < 0 && errno != EINVAL ? errno : 0;
    close(descriptor);
    return error == 0 ? Status::OK() : PosixError(directory, error);
  }

  const std::string name_;
  int descriptor_;
  size_t filled_ = 0;
  char buffer_[kBuffer];
};

}  // namespace

Status OpenSequentialFile(const std::string& name, SequentialFile** result) {
  *result = nullptr;
  const int descriptor =
      Uninterrupted([&] { return open(name.c_str(), O_RDONLY | O_CLOEXEC); });
  if (descriptor < 0) {
    return PosixError(name, errno);
  }
  *result = new PosixSequentialFile(name, descriptor);
  return Status::OK();
}

Status OpenRandomAccessFile(const std::string& name, Allowance* mappings, Allowance* descriptors,
                            RandomAccessFile** result) {
  *result = nullptr;
  const int descriptor =
      Uninterrupted([&] { return open(name.c_str(), O_RDONLY | O_CLOEXEC); });
  if (descriptor < 0) {
    return PosixError(name, errno);
  }
  if (!mappings->Take()) {
    *result = new ReadFile(name, descriptor, descriptors);
    return Status::OK();
  }
  struct stat about;
  int error = fstat(descriptor, &about) == 0 ? 0 : errno;
  if (error == 0) {
    const size_t size = static_cast<size_t>(about.st_size);
    void* const bytes = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (bytes == MAP_FAILED) {
      error = errno;
    } else {
      *result = new MappedFile(name, static_cast<const char*>(bytes), size, mappings);
    }
  }
  close(descriptor);
  if (error != 0) {
    mappings->GiveBack();
    return PosixError(name, error);
  }
  return Status::OK();
}

Status OpenWritableFile(const std::string& name, bool append, WritableFile** result) {
  *result = nullptr;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC);
  const int descriptor = Uninterrupted([&] { return open(name.c_str(), flags, 0644); });
  if (descriptor < 0) {
    return PosixError(name, errno);
  }
  *result = new PosixWritableFile(name, descriptor);
  return Status::OK();
}

}  // namespace leveldb
