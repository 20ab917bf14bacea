// RocksDB's own merge operators by name, for its C interface knows only one of them.
//
// Nothing here runs while a benchmark does: it puts RocksDB's C++ object into the options, and RocksDB calls that.

#include <memory>

#include "rocksdb/c.h"
#include "rocksdb/convenience.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/options.h"

// Sets the merge operator called `name`. Answers 1, or 0 if RocksDB has none of that name.
//
// `rocksdb_options_t` has `rocksdb::Options` as its first and only member (db/c.cc).
extern "C" int foldb_compare_set_merge_operator(rocksdb_options_t* options, const char* name) {
  auto* cpp = reinterpret_cast<rocksdb::Options*>(options);
  std::shared_ptr<rocksdb::MergeOperator> found;
  rocksdb::Status status =
      rocksdb::MergeOperator::CreateFromString(rocksdb::ConfigOptions(), name, &found);
  if (!status.ok() || found == nullptr) {
    return 0;
  }
  cpp->merge_operator = std::move(found);
  return 1;
}
