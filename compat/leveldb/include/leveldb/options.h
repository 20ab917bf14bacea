// Options of a database, of reads and of writes.
//
// An object of the program that Options names stays the program's. It must live until the database
// is closed. docs/leveldb.md lists which option is honoured, changed or ignored.

#ifndef STORAGE_LEVELDB_INCLUDE_OPTIONS_H_
#define STORAGE_LEVELDB_INCLUDE_OPTIONS_H_

#include <cstddef>

#include "leveldb/export.h"

namespace leveldb {

class Cache;
class Comparator;
class Env;
class FilterPolicy;
class Logger;
class Snapshot;

// How blocks are compressed. The numbers are part of LevelDB's table format.
enum CompressionType { kNoCompression = 0x0, kSnappyCompression = 0x1 };

struct LEVELDB_EXPORT Options {
  // Every option at its default.
  Options();

  // Order of keys. Each open of one database needs the comparator of the same name and order.
  // Default: BytewiseComparator().
  const Comparator* comparator;

  // Creates the database if the directory has none.
  bool create_if_missing = false;

  // Refuses to open a database that is there already.
  bool error_if_exists = false;

  // Checks more of the data that is read, and fails at the first damage.
  bool paranoid_checks = false;

  // Files, time and threads. Default: Env::Default().
  Env* env;

  // Receives messages about progress and errors. If null, they go to the file LOG of the database.
  Logger* info_log = nullptr;

  // Bytes of writes that are held in memory before they become a table. More makes writes faster,
  // takes more memory, and makes an open after a crash slower.
  size_t write_buffer_size = 4 * 1024 * 1024;

  // Files that the database may keep open.
  int max_open_files = 1000;

  // Cache of blocks that were read. If null, the database makes a cache of 8 MiB for itself.
  Cache* block_cache = nullptr;

  // Bytes of a block before compression. A block is what one read from disk returns.
  size_t block_size = 4 * 1024;

  // Keys between two keys that a block stores in full. The keys between share prefixes.
  int block_restart_interval = 16;

  // Bytes of a table after which a new one begins.
  size_t max_file_size = 2 * 1024 * 1024;

  // Compression of blocks. A block that hardly shrinks is stored as it is.
  CompressionType compression = kSnappyCompression;

  // Lets an open go on with the log of the last run in place of a new one.
  bool reuse_logs = false;

  // Filters that save reads of absent keys, for example NewBloomFilterPolicy(10). If null, there
  // are none.
  const FilterPolicy* filter_policy = nullptr;
};

struct LEVELDB_EXPORT ReadOptions {
  ReadOptions() = default;

  // Compares each block that is read from a file with its checksum.
  bool verify_checksums = false;

  // Keeps blocks that are read in the cache. Long scans set it to false.
  bool fill_cache = true;

  // Reads the state of this snapshot, which must belong to the database and not be released. If
  // null, reads the state at the start of the call.
  const Snapshot* snapshot = nullptr;
};

struct LEVELDB_EXPORT WriteOptions {
  WriteOptions() = default;

  // Returns when the write is on disk. If false, a crash of the machine may lose recent writes. A
  // crash of the process alone loses none.
  bool sync = false;
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_OPTIONS_H_
