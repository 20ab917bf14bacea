// The iterator over a database. Each move is one call of the engine, which returns the entry too.
//
// Invariant: after a failed move the iterator is at no entry, and its status keeps the first error.
// A seek may still reach other entries.

#include "db/iterator.h"

#include <cassert>

#include "db/bytes.h"
#include "db/errors.h"

namespace leveldb {

namespace {

class DatabaseIterator final : public Iterator {
 public:
  explicit DatabaseIterator(foldb_iter_t* iter) : iter_(iter), entry_() {}
  ~DatabaseIterator() override { foldb_iter_free(iter_); }

  bool Valid() const override { return entry_.valid; }
  void SeekToFirst() override { Move(FOLDB_MOVE_FIRST, Slice()); }
  void SeekToLast() override { Move(FOLDB_MOVE_LAST, Slice()); }
  void Seek(const Slice& target) override { Move(FOLDB_MOVE_SEEK, target); }

  void Next() override {
    assert(Valid());
    // The engine would move a new iterator to the first entry.
    if (entry_.valid) {
      Move(FOLDB_MOVE_NEXT, Slice());
    }
  }

  void Prev() override {
    assert(Valid());
    if (entry_.valid) {
      Move(FOLDB_MOVE_PREV, Slice());
    }
  }

  Slice key() const override {
    assert(Valid());
    return SliceOf(entry_.key);
  }

  Slice value() const override {
    assert(Valid());
    return SliceOf(entry_.value);
  }

  Status status() const override { return status_; }

 private:
  void Move(foldb_move_t how, const Slice& key) {
    foldb_error_t* error = foldb_iter_move(iter_, how, BytesOf(key), key.size(), &entry_);
    if (error != nullptr) {
      Fail(error);
    }
  }

  void Fail(foldb_error_t* error) {
    entry_ = foldb_entry_t();
    const Status status = TakeError(error);
    if (status_.ok()) {
      status_ = status;
    }
  }

  foldb_iter_t* const iter_;
  // Where the iterator is. The bytes are the engine's, and live until the next move.
  foldb_entry_t entry_;
  Status status_;
};

}  // namespace

Iterator* NewDatabaseIterator(foldb_iter_t* iter) { return new DatabaseIterator(iter); }

}  // namespace leveldb
