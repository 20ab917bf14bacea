#include "db/shared_runtime.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "db/errors.h"
#include "port/posix_files.h"

namespace leveldb {

namespace {

// LevelDB's default is 4 MiB. The runtime has 120 MiB for the write buffers of all databases.
constexpr size_t kLargestShared = 32 << 20;

// The open tables of all databases have at most a third of the process's descriptors.
constexpr int kDescriptorsShare = 3;
constexpr int kMostTables = 1000;

struct Current {
  std::mutex mutex;
  // Empty while no database is open, so that the threads end with the last database.
  std::weak_ptr<const foldb_runtime_t> runtime;
  // A fork copies the runtime without its threads. The child needs another one.
  pid_t made_by = 0;
};

Current& TheCurrent() {
  // Never destroyed: static objects of the program may open databases after this file's are gone.
  static Current* const current = new Current;
  return *current;
}

// Frees the handle, except in a forked child: the child has none of the runtime's threads.
void Free(const foldb_runtime_t* runtime, pid_t made_by) {
  if (getpid() == made_by) {
    foldb_runtime_free(const_cast<foldb_runtime_t*>(runtime));
  }
}

Status Make(SharedRuntime* runtime) {
  foldb_runtime_options_t* const options = foldb_runtime_options_new();
  const int tables = std::min(std::max(MostDescriptors() / kDescriptorsShare, 1), kMostTables);
  Status status = StatusOf(
      foldb_runtime_options_set(options, "max_open_files", std::to_string(tables).c_str()));
  foldb_runtime_t* made = nullptr;
  if (status.ok()) {
    status = StatusOf(foldb_runtime_new(options, &made));
  }
  foldb_runtime_options_free(options);
  if (status.ok()) {
    const pid_t made_by = getpid();
    runtime->reset(made, [made_by](const foldb_runtime_t* own) { Free(own, made_by); });
  }
  return status;
}

}  // namespace

Status RuntimeFor(const Options& options, SharedRuntime* runtime) {
  runtime->reset();
  if (options.write_buffer_size > kLargestShared) {
    return Status::OK();
  }
  Current& current = TheCurrent();
  const std::lock_guard<std::mutex> lock(current.mutex);
  if (current.made_by == getpid()) {
    *runtime = current.runtime.lock();
  }
  if (*runtime != nullptr) {
    return Status::OK();
  }
  const Status status = Make(runtime);
  if (status.ok()) {
    current.runtime = *runtime;
    current.made_by = getpid();
  }
  return status;
}

}  // namespace leveldb
