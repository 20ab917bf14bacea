// leveldb/merge.h: opening with operators, merging, and handlers of batches with merges.

#include "leveldb/merge.h"

#include <map>
#include <mutex>

#include "db/db_impl.h"
#include "db/merge_handlers.h"
#include "port/write_batch_internal.h"

namespace leveldb {

MergeOperator::~MergeOperator() = default;

bool MergeOperator::Partial(const Slice&, const Slice*, size_t, std::string*) const {
  return false;
}

bool MergeOperator::Shrinks() const { return false; }

Status OpenWithMerge(const Options& options, const std::string& name,
                     const std::string& merge_operator,
                     const std::vector<const MergeOperator*>& operators, DB** dbptr) {
  return OpenDatabase(options, name, MergeSetup{merge_operator, operators}, dbptr);
}

Status OpenWithMerge(const Options& options, const std::string& name,
                     const std::string& merge_operator, DB** dbptr) {
  return OpenWithMerge(options, name, merge_operator, {}, dbptr);
}

Status OpenWithMerge(const Options& options, const std::string& name,
                     const MergeOperator* merge_operator, DB** dbptr) {
  *dbptr = nullptr;
  if (merge_operator == nullptr) {
    return Status::InvalidArgument("the merge operator is null", "pass one, or use DB::Open()");
  }
  return OpenWithMerge(options, name, merge_operator->Name(), {merge_operator}, dbptr);
}

Status Merge(DB* db, const WriteOptions& options, const Slice& key, const Slice& operand) {
  return Merge(db, options, Slice(), key, operand);
}

Status Merge(DB* db, const WriteOptions& options, const Slice& operator_name, const Slice& key,
             const Slice& operand) {
  DBImpl* own = OpenDatabases::Find(db);
  if (own == nullptr) {
    return Status::NotSupported("merge", "the DB was not opened by this library");
  }
  return own->Merge(options, operator_name, key, operand);
}

void Merge(WriteBatch* batch, const Slice& key, const Slice& operand) {
  WriteBatchInternal::Merge(batch, key, operand);
}

void Merge(WriteBatch* batch, const Slice& operator_name, const Slice& key,
           const Slice& operand) {
  if (operator_name.empty()) {
    WriteBatchInternal::Merge(batch, key, operand);
  } else {
    WriteBatchInternal::Merge(batch, operator_name, key, operand);
  }
}

namespace {

struct Handlers {
  std::mutex mutex;
  // The mutex guards it.
  std::map<const WriteBatch::Handler*, MergeHandler*> living;
};

// Never destroyed: a handler may live until the program ends.
Handlers& TheHandlers() {
  static Handlers* const handlers = new Handlers();
  return *handlers;
}

}  // namespace

MergeHandler::MergeHandler() {
  Handlers& handlers = TheHandlers();
  const std::lock_guard<std::mutex> lock(handlers.mutex);
  handlers.living[this] = this;
}

MergeHandler::~MergeHandler() {
  Handlers& handlers = TheHandlers();
  const std::lock_guard<std::mutex> lock(handlers.mutex);
  handlers.living.erase(this);
}

MergeHandler* FindMergeHandler(WriteBatch::Handler* handler) {
  Handlers& handlers = TheHandlers();
  const std::lock_guard<std::mutex> lock(handlers.mutex);
  const auto found = handlers.living.find(handler);
  return found == handlers.living.end() ? nullptr : found->second;
}

}  // namespace leveldb
