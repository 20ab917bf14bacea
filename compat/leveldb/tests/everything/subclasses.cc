// Subclasses of DB, Iterator and Snapshot in the program itself.
//
// Invariant: a wrapping database forwards every call, so it behaves as the one below.

#include <map>
#include <memory>
#include <string>

#include "everything.h"
#include "leveldb/db.h"
#include "leveldb/iterator.h"
#include "leveldb/write_batch.h"
#include "report.h"

using leveldb::DB;
using leveldb::Iterator;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Status;
using leveldb::WriteOptions;

namespace {

// Iterates over a map of the program.
class MapIterator : public Iterator {
 public:
  explicit MapIterator(const std::map<std::string, std::string>* map)
      : map_(map), at_(map->end()) {}
  bool Valid() const override { return at_ != map_->end(); }
  void SeekToFirst() override { at_ = map_->begin(); }
  void SeekToLast() override { at_ = map_->empty() ? map_->end() : std::prev(map_->end()); }
  void Seek(const Slice& target) override { at_ = map_->lower_bound(target.ToString()); }
  void Next() override { ++at_; }
  void Prev() override { at_ = at_ == map_->begin() ? map_->end() : std::prev(at_); }
  Slice key() const override { return at_->first; }
  Slice value() const override { return at_->second; }
  Status status() const override { return Status::OK(); }

 private:
  const std::map<std::string, std::string>* map_;
  std::map<std::string, std::string>::const_iterator at_;
};

class OwnSnapshot : public leveldb::Snapshot {
 public:
  ~OwnSnapshot() override = default;
};

// Counts the calls to the database below. Its snapshots are its own.
class CountingDB : public DB {
 public:
  explicit CountingDB(DB* below) : below_(below) {}
  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override {
    calls++;
    return DB::Put(options, key, value);
  }
  Status Delete(const WriteOptions& options, const Slice& key) override {
    calls++;
    return DB::Delete(options, key);
  }
  Status Write(const WriteOptions& options, leveldb::WriteBatch* updates) override {
    written++;
    return below_->Write(options, updates);
  }
  Status Get(const ReadOptions& options, const Slice& key, std::string* value) override {
    calls++;
    return below_->Get(options, key, value);
  }
  Iterator* NewIterator(const ReadOptions& options) override {
    return below_->NewIterator(options);
  }
  const leveldb::Snapshot* GetSnapshot() override { return new OwnSnapshot; }
  void ReleaseSnapshot(const leveldb::Snapshot* snapshot) override {
    delete static_cast<const OwnSnapshot*>(snapshot);
  }
  bool GetProperty(const Slice& property, std::string* value) override {
    return below_->GetProperty(property, value);
  }
  void GetApproximateSizes(const leveldb::Range* range, int n, uint64_t* sizes) override {
    below_->GetApproximateSizes(range, n, sizes);
  }
  void CompactRange(const Slice* begin, const Slice* end) override {
    below_->CompactRange(begin, end);
  }

  int calls = 0, written = 0;

 private:
  std::unique_ptr<DB> below_;
};

void Noted(void* argument, void*) { ++*static_cast<int*>(argument); }

}  // namespace

void Subclasses() {
  const std::map<std::string, std::string> map = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  int cleaned = 0;
  {
    std::unique_ptr<Iterator> it(new MapIterator(&map));
    it->RegisterCleanup(Noted, &cleaned, nullptr);
    it->RegisterCleanup(Noted, &cleaned, nullptr);
    report::Say("forward", report::Forward(it.get()));
    report::Say("backward", report::Backward(it.get()));
    it->Seek("b");
    report::Say("seek", report::At(it.get()));
  }
  report::Number("cleanups", static_cast<uint64_t>(cleaned));

  leveldb::Options options;
  options.create_if_missing = true;
  DB* opened = nullptr;
  report::Need("open", DB::Open(options, report::Path("subclassed"), &opened));
  CountingDB* counting = new CountingDB(opened);
  std::unique_ptr<DB> db(counting);
  report::Result("put", db->Put(WriteOptions(), "a", "1"));
  report::Result("put", db->Put(WriteOptions(), "b", "2"));
  report::Result("delete", db->Delete(WriteOptions(), "a"));
  const leveldb::Snapshot* snapshot = db->GetSnapshot();
  db->ReleaseSnapshot(snapshot);
  db->CompactRange(nullptr, nullptr);
  report::Say("all", report::Entries(db.get()));
  report::Say("get", report::Get(db.get(), "b"));
  report::Number("calls", static_cast<uint64_t>(counting->calls));
  report::Number("writes", static_cast<uint64_t>(counting->written));
  report::YesNo("a DB", dynamic_cast<CountingDB*>(db.get()) != nullptr);
  report::YesNo("the other is none", dynamic_cast<CountingDB*>(opened) == nullptr);
}
