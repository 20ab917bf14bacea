// The database of this library: leveldb::DB over foldb.h.
//
// Every method may run on several threads at once. The engine does the locking.

#ifndef FOLDB_LEVELDB_DB_DB_IMPL_H_
#define FOLDB_LEVELDB_DB_DB_IMPL_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "db/engine_options.h"
#include "db/log.h"
#include "foldb.h"
#include "leveldb/db.h"

namespace leveldb {

// Opens a database. DB::Open() and OpenWithMerge() call it.
Status OpenDatabase(const Options& options, const std::string& name, const MergeSetup& merge,
                    DB** dbptr);

class DBImpl final : public DB {
 public:
  // Takes the engine's database over. `identity` is what IdentityOf() the directory returns.
  DBImpl(foldb_t* db, const Options& options, std::string identity, std::string name,
         std::shared_ptr<DatabaseLog> log, SharedRuntime runtime);
  ~DBImpl() override;

  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override;
  Status Delete(const WriteOptions& options, const Slice& key) override;
  Status Write(const WriteOptions& options, WriteBatch* updates) override;
  Status Get(const ReadOptions& options, const Slice& key, std::string* value) override;
  Iterator* NewIterator(const ReadOptions& options) override;
  const Snapshot* GetSnapshot() override;
  void ReleaseSnapshot(const Snapshot* snapshot) override;
  bool GetProperty(const Slice& property, std::string* value) override;
  void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) override;
  void CompactRange(const Slice* begin, const Slice* end) override;

  // Merges an operand into a key. An empty name is the operator of the database.
  Status Merge(const WriteOptions& options, const Slice& operator_name, const Slice& key,
               const Slice& operand);

  // What identifies the database's directory in this process.
  const std::string& identity() const { return identity_; }

 private:
  // A synced write that waits for its turn.
  struct SyncedWrite;

  // Applies a batch of more than one operation.
  Status WriteMany(const WriteBatch& updates);

  // Makes a batch durable, and then visible. Batches of several threads share one sync.
  Status WriteSynced(const WriteBatch& updates);

  // Writes batches together if they can be, and stores the outcome of each.
  void CommitGroup(const WriteBatch* const* updates, Status* outcomes, size_t count);

  // Hands batches to the engine as one write. Null options are the defaults.
  Status Commit(const foldb_write_options_t* options, const WriteBatch* const* updates,
                size_t count);

  foldb_t* const db_;
  const std::string identity_;
  const std::string name_;
  const std::shared_ptr<DatabaseLog> log_;
  // Kept while the database is open: databases that open meanwhile share it.
  const SharedRuntime runtime_;
  // Whether the keys are in the order of their bytes.
  const bool bytewise_;
  // Read options that leave the block cache alone. Nothing changes them.
  foldb_read_options_t* const passing_;
  // Write options of a synced write. Nothing changes them.
  foldb_write_options_t* const synced_;
  // Synced writes in the order in which they came. The first of them leads.
  std::mutex synced_mutex_;
  std::deque<SyncedWrite*> synced_writes_;
  // An empty batch that keeps its memory for the next write, or null.
  std::atomic<foldb_batch_t*> spare_batch_;
};

// The databases of this library that are open in this process. A program may pass a DB of another
// class, and be compiled without typeinfo, so a cast cannot tell them apart.
class OpenDatabases {
 public:
  static void Add(DBImpl* db);
  static void Remove(DBImpl* db);

  // Returns the database, or null if it is not one of this library.
  static DBImpl* Find(const DB* db);

  // Returns whether a database with this identity is open.
  static bool Holds(const std::string& identity);
};

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_DB_IMPL_H_
