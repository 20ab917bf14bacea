// A snapshot of this library's databases.

#ifndef FOLDB_LEVELDB_DB_SNAPSHOT_H_
#define FOLDB_LEVELDB_DB_SNAPSHOT_H_

#include "foldb.h"
#include "leveldb/db.h"

namespace leveldb {

// Holds the read options that select the snapshot, made once, so that a read allocates nothing.
// Nothing changes them, so threads may share them.
class SnapshotImpl final : public Snapshot {
 public:
  // Takes the snapshot over.
  explicit SnapshotImpl(foldb_snapshot_t* snapshot)
      : filling_(Options(snapshot, true)), passing_(Options(snapshot, false)) {
    // The options keep what they need.
    foldb_snapshot_free(snapshot);
  }

  ~SnapshotImpl() override {
    foldb_read_options_free(filling_);
    foldb_read_options_free(passing_);
  }

  const foldb_read_options_t* options(bool fill_cache) const {
    return fill_cache ? filling_ : passing_;
  }

 private:
  static foldb_read_options_t* Options(foldb_snapshot_t* snapshot, bool fill_cache) {
    foldb_read_options_t* options = foldb_read_options_new();
    CannotFail(foldb_read_options_set_snapshot(options, snapshot));
    CannotFail(foldb_read_options_set_fill_cache(options, fill_cache));
    return options;
  }

  foldb_read_options_t* const filling_;
  foldb_read_options_t* const passing_;
};

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_SNAPSHOT_H_
