// Table: an immutable sorted file of entries in LevelDB's table format, read in place.
//
// Programs read with it files that TableBuilder or LevelDB wrote. The database itself stores its
// tables in another format. All methods may run on several threads at once.

#ifndef STORAGE_LEVELDB_INCLUDE_TABLE_H_
#define STORAGE_LEVELDB_INCLUDE_TABLE_H_

#include <cstdint>

#include "leveldb/export.h"
#include "leveldb/iterator.h"

namespace leveldb {

class Block;
class BlockHandle;
class Footer;
struct Options;
class RandomAccessFile;
struct ReadOptions;
class TableCache;

class LEVELDB_EXPORT Table {
 public:
  // Opens the table in the first file_size bytes of file. On success, *table is a table that the
  // caller deletes; on failure, *table is null. The caller keeps file, and deletes it after the
  // table. Fails with Corruption if the bytes are not a table.
  static Status Open(const Options& options, RandomAccessFile* file, uint64_t file_size,
                     Table** table);

  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  ~Table();

  // Returns an iterator at no entry. The caller deletes it before the table.
  Iterator* NewIterator(const ReadOptions&) const;

  // The position in the file at which the data of key begins, or would begin if it were there. The
  // position counts compressed bytes.
  uint64_t ApproximateOffsetOf(const Slice& key) const;

 private:
  friend class TableCache;
  struct Rep;

  static Iterator* BlockReader(void*, const ReadOptions&, const Slice&);

  explicit Table(Rep* rep) : rep_(rep) {}

  // Calls handle_result with the entry that Seek(key) finds, unless a filter excludes the key.
  Status InternalGet(const ReadOptions&, const Slice& key, void* arg,
                     void (*handle_result)(void* arg, const Slice& k, const Slice& v));

  void ReadMeta(const Footer& footer);
  void ReadFilter(const Slice& filter_handle_value);

  Rep* const rep_;
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_TABLE_H_
