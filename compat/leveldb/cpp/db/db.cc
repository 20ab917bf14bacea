// The parts of leveldb::DB that its subclasses share, and the list of open databases.

#include "leveldb/db.h"

#include <mutex>
#include <atomic>
#include <cstdint>
#include <set>

#include "db/db_impl.h"
#include "leveldb/write_batch.h"

namespace leveldb {

Snapshot::~Snapshot() = default;

DB::~DB() = default;

// A subclass of the program's may leave single writes to its Write().

Status DB::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
  WriteBatch batch;
  batch.Put(key, value);
  return Write(options, &batch);
}

Status DB::Delete(const WriteOptions& options, const Slice& key) {
  WriteBatch batch;
  batch.Delete(key);
  return Write(options, &batch);
}

Status DB::Open(const Options& options, const std::string& name, DB** dbptr) {
  return OpenDatabase(options, name, MergeSetup(), dbptr);
}

namespace {

struct List {
  std::mutex mutex;
  // The mutex guards it.
  std::set<const DB*> databases;
  // Changes with the set, so that a thread knows whether what it found still holds.
  std::atomic<uint64_t> generation{1};
};

// Never destroyed: a program may close databases while it ends.
List& TheList() {
  static List* const list = new List();
  return *list;
}

}  // namespace

void OpenDatabases::Add(DBImpl* db) {
  List& list = TheList();
  const std::lock_guard<std::mutex> lock(list.mutex);
  list.databases.insert(db);
  list.generation.fetch_add(1);
}

void OpenDatabases::Remove(DBImpl* db) {
  List& list = TheList();
  const std::lock_guard<std::mutex> lock(list.mutex);
  list.databases.erase(db);
  list.generation.fetch_add(1);
}

DBImpl* OpenDatabases::Find(const DB* db) {
  // What this thread found last. A merge in a loop takes no lock.
  struct Found {
    const DB* db;
    uint64_t generation;
    DBImpl* own;
  };
  static thread_local Found last = {};
  List& list = TheList();
  const uint64_t generation = list.generation.load();
  if (last.db != db || last.generation != generation) {
    const std::lock_guard<std::mutex> lock(list.mutex);
    const auto found = list.databases.find(db);
    DBImpl* own = nullptr;
    if (found != list.databases.end()) {
      own = const_cast<DBImpl*>(static_cast<const DBImpl*>(*found));
    }
    last = {db, list.generation.load(), own};
  }
  return last.own;
}

bool OpenDatabases::Holds(const std::string& identity) {
  List& list = TheList();
  const std::lock_guard<std::mutex> lock(list.mutex);
  for (const DB* db : list.databases) {
    if (static_cast<const DBImpl*>(db)->identity() == identity) {
      return true;
    }
  }
  return false;
}

}  // namespace leveldb
