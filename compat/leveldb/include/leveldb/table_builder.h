// TableBuilder: writes a sorted file of entries in LevelDB's table format.
//
// Const methods may run on several threads at once; any other method needs exclusive use of the
// builder.

#ifndef STORAGE_LEVELDB_INCLUDE_TABLE_BUILDER_H_
#define STORAGE_LEVELDB_INCLUDE_TABLE_BUILDER_H_

#include <cstdint>

#include "leveldb/export.h"
#include "leveldb/options.h"
#include "leveldb/status.h"

namespace leveldb {

class BlockBuilder;
class BlockHandle;
class WritableFile;

class LEVELDB_EXPORT TableBuilder {
 public:
  // Begins a table in file. The caller keeps file, and closes it after Finish().
  TableBuilder(const Options& options, WritableFile* file);

  TableBuilder(const TableBuilder&) = delete;
  TableBuilder& operator=(const TableBuilder&) = delete;

  // Needs an earlier Finish() or Abandon().
  ~TableBuilder();

  // Uses other options from here on. Fails with InvalidArgument if options has another comparator.
  Status ChangeOptions(const Options& options);

  // Adds an entry. key must sort after all earlier keys. Needs neither Finish() nor Abandon()
  // before it.
  void Add(const Slice& key, const Slice& value);

  // Ends the present data block, so that two entries are not in one block. Most programs do not
  // need it.
  void Flush();

  // The first error of the builder, or OK.
  Status status() const;

  // Writes the rest of the table. The builder no longer uses the file afterwards.
  Status Finish();

  // Gives the table up. The builder no longer uses the file afterwards. A builder that is not
  // finished must be abandoned.
  void Abandon();

  // Number of added entries.
  uint64_t NumEntries() const;

  // Bytes written so far. After Finish(), the size of the file.
  uint64_t FileSize() const;

 private:
  bool ok() const { return status().ok(); }
  void WriteBlock(BlockBuilder* block, BlockHandle* handle);
  void WriteRawBlock(const Slice& data, CompressionType, BlockHandle* handle);

  struct Rep;
  Rep* rep_;
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_TABLE_BUILDER_H_
