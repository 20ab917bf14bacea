// Iterator: entries of a database or a table in the order of their keys.
//
// Const methods may run on several threads at once; any other method needs exclusive use of the
// iterator.

#ifndef STORAGE_LEVELDB_INCLUDE_ITERATOR_H_
#define STORAGE_LEVELDB_INCLUDE_ITERATOR_H_

#include "leveldb/export.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

class LEVELDB_EXPORT Iterator {
 public:
  Iterator();

  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  // Runs the registered cleanups: the first registered one first, then the others, the latest
  // first.
  virtual ~Iterator();

  // Whether the iterator is at an entry. It is not before the first move, past either end, and
  // after an error.
  virtual bool Valid() const = 0;

  // Moves to the first entry.
  virtual void SeekToFirst() = 0;

  // Moves to the last entry.
  virtual void SeekToLast() = 0;

  // Moves to the first entry whose key is target or sorts after it.
  virtual void Seek(const Slice& target) = 0;

  // Moves to the next entry. Needs Valid().
  virtual void Next() = 0;

  // Moves to the previous entry. Needs Valid().
  virtual void Prev() = 0;

  // The key of the present entry. Its bytes live until the next move. Needs Valid().
  virtual Slice key() const = 0;

  // The value of the present entry. Its bytes live until the next move. Needs Valid().
  virtual Slice value() const = 0;

  // The error that ended the iteration, or OK. A loop checks it when Valid() becomes false.
  virtual Status status() const = 0;

  // Makes the destructor call function(arg1, arg2). Subclasses do not override it.
  using CleanupFunction = void (*)(void* arg1, void* arg2);
  void RegisterCleanup(CleanupFunction function, void* arg1, void* arg2);

 private:
  // A cleanup. Most iterators have one at most, so the first is a member of the iterator. The
  // others are a list on the heap.
  struct CleanupNode {
    // Only the first node can be empty.
    bool IsEmpty() const { return !function; }
    void Run() {
      assert(!IsEmpty());
      function(arg1, arg2);
    }

    CleanupFunction function;
    void* arg1;
    void* arg2;
    CleanupNode* next;
  };
  CleanupNode cleanup_head_;
};

// An iterator without entries and with the status OK. The caller deletes it.
LEVELDB_EXPORT Iterator* NewEmptyIterator();

// An iterator without entries and with the given status. The caller deletes it.
LEVELDB_EXPORT Iterator* NewErrorIterator(const Status& status);

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_ITERATOR_H_
