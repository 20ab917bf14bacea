// The cleanups of Iterator, and the iterators without entries.
//
// An iterator without cleanups has an empty first node. Further nodes are on the heap, the latest
// first.

#include "leveldb/iterator.h"

namespace leveldb {

Iterator::Iterator() : cleanup_head_{nullptr, nullptr, nullptr, nullptr} {}

Iterator::~Iterator() {
  if (cleanup_head_.IsEmpty()) {
    return;
  }
  cleanup_head_.Run();
  CleanupNode* node = cleanup_head_.next;
  while (node != nullptr) {
    CleanupNode* const done = node;
    node->Run();
    node = node->next;
    delete done;
  }
}

void Iterator::RegisterCleanup(CleanupFunction function, void* arg1, void* arg2) {
  assert(function != nullptr);
  if (cleanup_head_.IsEmpty()) {
    cleanup_head_ = CleanupNode{function, arg1, arg2, nullptr};
  } else {
    cleanup_head_.next = new CleanupNode{function, arg1, arg2, cleanup_head_.next};
  }
}

namespace {

class EmptyIterator : public Iterator {
 public:
  explicit EmptyIterator(const Status& status) : status_(status) {}

  bool Valid() const override { return false; }
  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(const Slice&) override {}
  void Next() override { assert(false); }
  void Prev() override { assert(false); }
  Slice key() const override {
    assert(false);
    return Slice();
  }
  Slice value() const override {
    assert(false);
    return Slice();
  }
  Status status() const override { return status_; }

 private:
  const Status status_;
};

}  // namespace

Iterator* NewEmptyIterator() { return new EmptyIterator(Status::OK()); }

Iterator* NewErrorIterator(const Status& status) { return new EmptyIterator(status); }

}  // namespace leveldb
