// DB: an ordered map from keys to values that survives crashes.
//
// All methods of a DB may run on several threads at once. leveldb/merge.h adds merges.

#ifndef STORAGE_LEVELDB_INCLUDE_DB_H_
#define STORAGE_LEVELDB_INCLUDE_DB_H_

#include <cstdint>
#include <cstdio>

#include "leveldb/export.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"

namespace leveldb {

// The version of LevelDB whose interface this is.
static const int kMajorVersion = 1;
static const int kMinorVersion = 23;

struct Options;
struct ReadOptions;
struct WriteOptions;
class WriteBatch;

// A state of a database that later writes do not change. Threads may share it.
class LEVELDB_EXPORT Snapshot {
 protected:
  // DB::ReleaseSnapshot() deletes it.
  virtual ~Snapshot();
};

// The keys from start, included, to limit, excluded.
struct LEVELDB_EXPORT Range {
  Range() = default;
  Range(const Slice& s, const Slice& l) : start(s), limit(l) {}

  Slice start;
  Slice limit;
};

class LEVELDB_EXPORT DB {
 public:
  // Opens the database in the directory name. On success, *dbptr is a database that the caller
  // deletes; on failure, *dbptr is null. One DB at a time has a directory open. Refuses directories
  // that LevelDB or RocksDB wrote, and leaves them unchanged.
  static Status Open(const Options& options, const std::string& name, DB** dbptr);

  DB() = default;

  DB(const DB&) = delete;
  DB& operator=(const DB&) = delete;

  // Closes the database. All iterators must be deleted and all snapshots released before.
  virtual ~DB();

  // Stores value under key.
  virtual Status Put(const WriteOptions& options, const Slice& key, const Slice& value) = 0;

  // Removes key. A key that is absent is no error.
  virtual Status Delete(const WriteOptions& options, const Slice& key) = 0;

  // Applies all operations of the batch, or none of them if the call fails.
  virtual Status Write(const WriteOptions& options, WriteBatch* updates) = 0;

  // Copies the value of key to *value. Fails with NotFound and leaves *value alone if key is
  // absent.
  virtual Status Get(const ReadOptions& options, const Slice& key, std::string* value) = 0;

  // Returns an iterator at no entry over the state of options.snapshot, or over the present state.
  // The caller deletes it before the database. The iterator reports its errors by its status.
  virtual Iterator* NewIterator(const ReadOptions& options) = 0;

  // Returns the present state. The caller passes it to ReleaseSnapshot() before the database is
  // deleted.
  virtual const Snapshot* GetSnapshot() = 0;

  // Gives up a snapshot of this database.
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;

  // Copies a property of the database to *value. Returns false if there is none of this name.
  //   "leveldb.num-files-at-level<N>"       number of tables at level N
  //   "leveldb.stats"                       lines about each level
  //   "leveldb.sstables"                    lines about each table
  //   "leveldb.approximate-memory-usage"    bytes of memory
  virtual bool GetProperty(const Slice& property, std::string* value) = 0;

  // Sets sizes[i] to the bytes that the keys of range[i] take in files, for each i below n. The
  // newest writes may be missing from it.
  virtual void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) = 0;

  // Compacts the keys from *begin to *end, both included, and returns when that is done. A null
  // begin is before all keys, a null end is after them.
  virtual void CompactRange(const Slice* begin, const Slice* end) = 0;
};

// Removes the database in the directory name. A directory that is absent or empty is no error.
// Refuses directories that LevelDB or RocksDB wrote, and leaves them unchanged.
LEVELDB_EXPORT Status DestroyDB(const std::string& name, const Options& options);

// Makes a damaged database usable with what can still be read. Some entries may be lost. Refuses
// directories that LevelDB or RocksDB wrote, and leaves them unchanged.
LEVELDB_EXPORT Status RepairDB(const std::string& dbname, const Options& options);

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_DB_H_
