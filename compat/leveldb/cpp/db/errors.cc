// Errors of the engine as statuses. The kind follows from the error's code, and the message is the
// engine's. Programs compare some errors of an open with LevelDB's texts, so those have such texts.

#include "db/errors.h"

#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>

namespace leveldb {

const char kEngineBytewise[] = "foldb.bytewise";
const char kLevelDBBytewise[] = "leveldb.BytewiseComparator";

namespace {

// How many errors of Envs are kept.
constexpr size_t kKept = 16;

struct EnvFailures {
  std::mutex mutex;
  // The newest first. The mutex guards it.
  std::deque<Status> newest;
};

// Never destroyed: a database may be closed while the program ends.
EnvFailures& TheEnvFailures() {
  static EnvFailures* const failures = new EnvFailures();
  return *failures;
}

// Returns the error of an Env that the message tells, or another IOError.
Status IOErrorOf(const std::string& message) {
  EnvFailures& failures = TheEnvFailures();
  const std::lock_guard<std::mutex> lock(failures.mutex);
  for (const Status& failure : failures.newest) {
    if (message.find(failure.ToString()) != std::string::npos) {
      return failure;
    }
  }
  return Status::IOError(message);
}

// Frees an error at the end of a scope.
class OwnedError {
 public:
  explicit OwnedError(foldb_error_t* error) : error_(error) {}
  ~OwnedError() { foldb_error_free(error_); }
  OwnedError(const OwnedError&) = delete;
  OwnedError& operator=(const OwnedError&) = delete;

  foldb_code_t code() const { return foldb_error_code(error_); }
  const char* message() const { return foldb_error_message(error_); }

  Status status() const {
    switch (code()) {
      case FOLDB_OK:
        return Status::OK();
      case FOLDB_INVALID_ARGUMENT:
      case FOLDB_DATABASE_MISSING:
      case FOLDB_DATABASE_EXISTS:
      case FOLDB_UNKNOWN_OPERATOR:
      case FOLDB_UNKNOWN_COMPARATOR:
      case FOLDB_KEYSPACE_MISSING:
      case FOLDB_KEYSPACE_EXISTS:
      case FOLDB_KEYSPACE_DROPPED:
      case FOLDB_FOREIGN_DATABASE:
        return Status::InvalidArgument(message());
      case FOLDB_MERGE_FAILED:
      case FOLDB_COMPARATOR_FAILED:
      case FOLDB_CORRUPTION:
        return Status::Corruption(message());
      case FOLDB_UNSUPPORTED:
      case FOLDB_READ_ONLY:
        return Status::NotSupported(message());
      default:
        return IOErrorOf(message());
    }
  }

 private:
  foldb_error_t* const error_;
};

// Finds the stored comparator in the message about an open with another one.
bool StoredComparator(const std::string& message, std::string* stored) {
  static const char kBefore[] = "is ordered by comparator '";
  static const char kAfter[] = "', not '";
  const size_t before = message.find(kBefore);
  if (before == std::string::npos) {
    return false;
  }
  const size_t begin = before + std::strlen(kBefore);
  const size_t end = message.find(kAfter, begin);
  if (end == std::string::npos) {
    return false;
  }
  *stored = message.substr(begin, end - begin);
  if (*stored == kEngineBytewise) {
    *stored = kLevelDBBytewise;
  }
  return true;
}

}  // namespace

void RememberEnvFailure(const Status& status) {
  EnvFailures& failures = TheEnvFailures();
  const std::lock_guard<std::mutex> lock(failures.mutex);
  failures.newest.push_front(status);
  if (failures.newest.size() > kKept) {
    failures.newest.pop_back();
  }
}

Status TakeError(foldb_error_t* error) { return OwnedError(error).status(); }

std::string LockFileName(const std::string& name) { return name + "/LOCK"; }

Status DirectoryStatus(foldb_error_t* error, const std::string& name, const char* comparator,
                       bool held_here) {
  const OwnedError own(error);
  std::string stored;
  switch (own.code()) {
    case FOLDB_DATABASE_MISSING:
      return Status::InvalidArgument(name, "does not exist (create_if_missing is false)");
    case FOLDB_DATABASE_EXISTS:
      return Status::InvalidArgument(name, "exists (error_if_exists is true)");
    case FOLDB_LOCKED:
      return Status::IOError("lock " + LockFileName(name),
                             held_here ? "already held by process" : std::strerror(EAGAIN));
    case FOLDB_INVALID_ARGUMENT:
      if (StoredComparator(own.message(), &stored)) {
        return Status::InvalidArgument(stored + " does not match existing comparator ",
                                       comparator);
      }
      return own.status();
    default:
      return own.status();
  }
}

}  // namespace leveldb
