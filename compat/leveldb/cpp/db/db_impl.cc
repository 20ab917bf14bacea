// Reads and writes of a database: each is one call of the engine. Synced writes of several threads
// share a call.

#include "db/db_impl.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "db/bytes.h"
#include "db/errors.h"
#include "db/iterator.h"
#include "db/snapshot.h"
#include "leveldb/write_batch.h"
#include "port/write_batch_internal.h"

namespace leveldb {

namespace {

// The engine's limit on keys, ends of ranges included.
constexpr size_t kMaxKey = 512 << 10;

// A batch of more bytes gives its memory back after the write.
constexpr size_t kLargestSpare = 1 << 20;

// Synced writes of several threads become one of at most so many bytes.
constexpr size_t kLargestGroup = 1 << 20;

foldb_read_options_t* PassingOptions() {
  foldb_read_options_t* options = foldb_read_options_new();
  CannotFail(foldb_read_options_set_fill_cache(options, false));
  return options;
}

foldb_write_options_t* SyncedOptions() {
  foldb_write_options_t* options = foldb_write_options_new();
  CannotFail(foldb_write_options_set_sync(options, true));
  return options;
}

// Returns the options of a read; null for the defaults.
inline const foldb_read_options_t* Choose(const ReadOptions& options,
                                          const foldb_read_options_t* passing) {
  if (options.snapshot != nullptr) {
    return static_cast<const SnapshotImpl*>(options.snapshot)->options(options.fill_cache);
  }
  return options.fill_cache ? nullptr : passing;
}

void AssignValue(void* state, foldb_bytes_t value) {
  static_cast<std::string*>(state)->assign(reinterpret_cast<const char*>(value.data), value.len);
}

// Adds an operation to a batch of the engine.
foldb_error_t* Add(foldb_batch_t* batch, const WriteBatchInternal::Operation& operation) {
  const uint8_t* key = BytesOf(operation.key);
  const uint8_t* value = BytesOf(operation.value);
  const size_t key_size = operation.key.size();
  const size_t value_size = operation.value.size();
  switch (operation.kind) {
    case WriteBatchInternal::Operation::kDelete:
      return foldb_batch_delete(batch, nullptr, key, key_size);
    case WriteBatchInternal::Operation::kPut:
      return foldb_batch_put(batch, nullptr, key, key_size, value, value_size);
    case WriteBatchInternal::Operation::kMerge:
      return foldb_batch_merge(batch, nullptr, key, key_size, value, value_size);
    case WriteBatchInternal::Operation::kMergeWith:
      break;
  }
  return foldb_batch_merge_with(batch, nullptr, operation.operator_name.ToString().c_str(), key,
                                key_size, value, value_size);
}

}  // namespace

DBImpl::DBImpl(foldb_t* db, const Options& options, std::string identity, std::string name,
               std::shared_ptr<DatabaseLog> log, SharedRuntime runtime)
    : db_(db),
      identity_(std::move(identity)),
      name_(std::move(name)),
      log_(std::move(log)),
      runtime_(std::move(runtime)),
      bytewise_(IsBytewise(options.comparator)),
      passing_(PassingOptions()),
      synced_(SyncedOptions()),
      spare_batch_(nullptr) {
  OpenDatabases::Add(this);
}

DBImpl::~DBImpl() {
  OpenDatabases::Remove(this);
  foldb_batch_free(spare_batch_.load());
  const Status status = StatusOf(foldb_close(db_));
  log_->Line("Closed %s: %s", name_.c_str(), status.ToString().c_str());
  log_->End();
  foldb_write_options_free(synced_);
  foldb_read_options_free(passing_);
}

// A synced write that waits until a thread has written it.
struct DBImpl::SyncedWrite {
  explicit SyncedWrite(const WriteBatch* own) : updates(own) {}

  const WriteBatch* const updates;
  bool done = false;
  Status status;
  std::condition_variable changed;
};

Status DBImpl::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
  if (options.sync) {
    WriteBatch batch;
    batch.Put(key, value);
    return WriteSynced(batch);
  }
  return StatusOf(
      foldb_put(db_, nullptr, nullptr, BytesOf(key), key.size(), BytesOf(value), value.size()));
}

Status DBImpl::Delete(const WriteOptions& options, const Slice& key) {
  if (options.sync) {
    WriteBatch batch;
    batch.Delete(key);
    return WriteSynced(batch);
  }
  return StatusOf(foldb_delete(db_, nullptr, nullptr, BytesOf(key), key.size()));
}

Status DBImpl::Merge(const WriteOptions& options, const Slice& operator_name, const Slice& key,
                     const Slice& operand) {
  if (options.sync) {
    WriteBatch batch;
    if (operator_name.empty()) {
      WriteBatchInternal::Merge(&batch, key, operand);
    } else {
      WriteBatchInternal::Merge(&batch, operator_name, key, operand);
    }
    return WriteSynced(batch);
  }
  if (operator_name.empty()) {
    return StatusOf(foldb_merge(db_, nullptr, nullptr, BytesOf(key), key.size(), BytesOf(operand),
                                operand.size()));
  }
  return StatusOf(foldb_merge_with(db_, nullptr, nullptr, operator_name.ToString().c_str(),
                                   BytesOf(key), key.size(), BytesOf(operand), operand.size()));
}

Status DBImpl::Write(const WriteOptions& options, WriteBatch* updates) {
  if (updates == nullptr) {
    // LevelDB takes it as a request to write its memtable to a table.
    return StatusOf(foldb_flush(db_));
  }
  if (options.sync) {
    return WriteSynced(*updates);
  }
  if (WriteBatchInternal::Count(*updates) != 1) {
    return WriteMany(*updates);
  }
  WriteBatchInternal::Reader reader(*updates);
  WriteBatchInternal::Operation operation;
  if (!reader.Next(&operation)) {
    return reader.status();
  }
  WriteBatchInternal::Operation beyond;
  if (reader.Next(&beyond) || !reader.status().ok()) {
    return WriteMany(*updates);
  }
  switch (operation.kind) {
    case WriteBatchInternal::Operation::kDelete:
      return Delete(options, operation.key);
    case WriteBatchInternal::Operation::kPut:
      return Put(options, operation.key, operation.value);
    default:
      return Merge(options, operation.operator_name, operation.key, operation.value);
  }
}

Status DBImpl::WriteMany(const WriteBatch& updates) {
  const WriteBatch* const alone = &updates;
  return Commit(nullptr, &alone, 1);
}

Status DBImpl::WriteSynced(const WriteBatch& updates) {
  SyncedWrite own(&updates);
  std::unique_lock<std::mutex> lock(synced_mutex_);
  synced_writes_.push_back(&own);
  own.changed.wait(lock, [&] { return own.done || synced_writes_.front() == &own; });
  if (own.done) {
    return own.status;
  }
  // The engine syncs a write before readers see it, and other writers wait for that sync. So this
  // thread writes what has come meanwhile together with its own.
  std::vector<const WriteBatch*> group;
  size_t bytes = 0;
  for (const SyncedWrite* waiting : synced_writes_) {
    bytes += waiting->updates->ApproximateSize();
    if (!group.empty() && bytes > kLargestGroup) {
      break;
    }
    group.push_back(waiting->updates);
  }
  lock.unlock();
  std::vector<Status> outcomes(group.size());
  CommitGroup(group.data(), outcomes.data(), group.size());
  lock.lock();
  for (const Status& outcome : outcomes) {
    SyncedWrite* const written = synced_writes_.front();
    synced_writes_.pop_front();
    written->status = outcome;
    written->done = true;
    if (written != &own) {
      written->changed.notify_one();
    }
  }
  if (!synced_writes_.empty()) {
    synced_writes_.front()->changed.notify_one();
  }
  return own.status;
}

void DBImpl::CommitGroup(const WriteBatch* const* updates, Status* outcomes, size_t count) {
  const Status status = Commit(synced_, updates, count);
  if (status.ok() || count == 1) {
    std::fill(outcomes, outcomes + count, status);
    return;
  }
  // Nothing was written. One of the batches may be at fault, and only its caller may hear of it.
  const size_t half = count / 2;
  CommitGroup(updates, outcomes, half);
  CommitGroup(updates + half, outcomes + half, count - half);
}

Status DBImpl::Commit(const foldb_write_options_t* options, const WriteBatch* const* updates,
                      size_t count) {
  foldb_batch_t* batch = spare_batch_.exchange(nullptr);
  if (batch == nullptr) {
    batch = foldb_batch_new(db_);
  }
  Status status;
  foldb_error_t* error = nullptr;
  size_t bytes = 0;
  for (size_t i = 0; i < count && error == nullptr && status.ok(); i++) {
    WriteBatchInternal::Reader reader(*updates[i]);
    WriteBatchInternal::Operation operation;
    while (error == nullptr && reader.Next(&operation)) {
      error = Add(batch, operation);
    }
    status = reader.status();
    bytes += updates[i]->ApproximateSize();
  }
  if (error == nullptr && status.ok()) {
    error = foldb_batch_write(batch, options);
  }
  if (error != nullptr) {
    status = TakeError(error);
  }
  if (bytes <= kLargestSpare) {
    CannotFail(foldb_batch_clear(batch));
    batch = spare_batch_.exchange(batch);
  }
  foldb_batch_free(batch);
  return status;
}

Status DBImpl::Get(const ReadOptions& options, const Slice& key, std::string* value) {
  bool found = false;
  foldb_error_t* error = foldb_get_with(db_, nullptr, Choose(options, passing_), BytesOf(key),
                                        key.size(), AssignValue, value, &found);
  if (error != nullptr) {
    const Status status = TakeError(error);
    // An Env's missing file says nothing about the key.
    return status.IsNotFound() ? Status::IOError(status.ToString()) : status;
  }
  return found ? Status::OK() : Status::NotFound(Slice());
}

Iterator* DBImpl::NewIterator(const ReadOptions& options) {
  foldb_iter_t* iter = nullptr;
  const Status status =
      StatusOf(foldb_iter(db_, nullptr, Choose(options, passing_), nullptr, nullptr, &iter));
  return status.ok() ? NewDatabaseIterator(iter) : NewErrorIterator(status);
}

const Snapshot* DBImpl::GetSnapshot() {
  foldb_snapshot_t* snapshot = nullptr;
  foldb_error_t* error = foldb_snapshot(db_, &snapshot);
  if (error != nullptr) {
    // The interface cannot report it, and a read without the snapshot would be a wrong answer.
    log_->Line("Cannot take a snapshot: %s", TakeError(error).ToString().c_str());
    std::abort();
  }
  return new SnapshotImpl(snapshot);
}

void DBImpl::ReleaseSnapshot(const Snapshot* snapshot) {
  delete static_cast<const SnapshotImpl*>(snapshot);
}

void DBImpl::GetApproximateSizes(const Range* range, int n, uint64_t* sizes) {
  for (int i = 0; i < n; i++) {
    const foldb_bytes_t lower = WholeBytesOf(range[i].start);
    const foldb_bytes_t upper = WholeBytesOf(range[i].limit);
    sizes[i] = 0;
    foldb_error_free(foldb_approximate_size(db_, nullptr, &lower, &upper, &sizes[i]));
  }
}

void DBImpl::CompactRange(const Slice* begin, const Slice* end) {
  foldb_bytes_t lower = {}, upper = {};
  std::string behind;
  if (begin != nullptr) {
    lower = WholeBytesOf(*begin);
  }
  if (end != nullptr) {
    upper = WholeBytesOf(*end);
    if (bytewise_ && end->size() < kMaxKey) {
      // The range includes its end, and this is the next key after it.
      behind.assign(end->data(), end->size());
      behind.push_back('\0');
      upper = WholeBytesOf(behind);
    }
  }
  const Status status = StatusOf(foldb_compact(db_, nullptr, begin != nullptr ? &lower : nullptr,
                                               end != nullptr ? &upper : nullptr));
  if (!status.ok()) {
    log_->Line("Cannot compact a range: %s", status.ToString().c_str());
  }
}

}  // namespace leveldb
