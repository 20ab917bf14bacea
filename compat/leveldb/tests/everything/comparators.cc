// Databases over subclasses of Comparator.
//
// Invariant: a comparator outlives every database that uses it.

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "everything.h"
#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"
#include "report.h"
#include "user_comparators.h"

using leveldb::DB;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::WriteOptions;

namespace {

std::unique_ptr<DB> Open(const Options& options, const std::string& name) {
  DB* db = nullptr;
  report::Need("open " + name, DB::Open(options, report::Path(name), &db));
  return std::unique_ptr<DB>(db);
}

void Reversed() {
  ReverseComparator order;
  Options options;
  options.create_if_missing = true;
  options.comparator = &order;
  options.write_buffer_size = 64 << 10;
  std::unique_ptr<DB> db = Open(options, "reversed");
  for (const char* key : {"b", "", "a", "c", "ab", "\xff"}) db->Put(WriteOptions(), key, "v");
  report::Say("all", report::Entries(db.get()));
  for (int round = 0; round < 2; round++) {
    std::unique_ptr<leveldb::Iterator> it(db->NewIterator(ReadOptions()));
    for (const char* target : {"d", "c", "bb", "b", "aa", "a", ""}) {
      it->Seek(target);
      report::Say("seek " + report::Quoted(target), report::At(it.get()));
    }
    it.reset();
    db->CompactRange(nullptr, nullptr);
  }
  for (int i = 0; i < 5000; i++) {
    db->Put(WriteOptions(), "key" + std::to_string(i * 3 % 5003), std::to_string(i));
  }
  const Slice high = "key4", low = "key2";
  db->CompactRange(&high, &low);
  report::Say("all", report::Entries(db.get()));
  leveldb::Range down(high, low), up(low, high);
  uint64_t sizes[2];
  db->CompactRange(nullptr, nullptr);
  db->GetApproximateSizes(&down, 1, &sizes[0]);
  db->GetApproximateSizes(&up, 1, &sizes[1]);
  report::YesNo("size from high to low", sizes[0] > 0);
  report::Number("size from low to high", sizes[1]);
  db.reset();
  db = Open(options, "reversed");
  report::Say("all after a new open", report::Entries(db.get()));
  db.reset();
  report::YesNo("compared", order.compares > 0);
  report::YesNo("asked for separators", order.separators > 0);
  report::YesNo("asked for successors", order.successors > 0);
  options.comparator = leveldb::BytewiseComparator();
  DB* none = nullptr;
  report::Result("open as bytewise", DB::Open(options, report::Path("reversed"), &none));
  NumberComparator number;
  options.comparator = &number;
  report::Result("open as numbers", DB::Open(options, report::Path("reversed"), &none));
  report::YesNo("null", none == nullptr);
  options.comparator = &order;
  report::Result("open as before", DB::Open(options, report::Path("reversed"), &none));
  delete none;
}

std::string Padded(int number, int width) {
  char key[32];
  std::snprintf(key, sizeof(key), "%0*d", width, number);
  return key;
}

void Equal(DB* db) {
  db->Put(WriteOptions(), "7", "seven");
  db->Put(WriteOptions(), "10", "ten");
  report::Say("get by other bytes", report::Get(db, "007"));
  const leveldb::Snapshot* snapshot = db->GetSnapshot();
  db->Put(WriteOptions(), "0007", "padded");
  report::Say("overwritten by other bytes", report::Entries(db));
  report::Say("get", report::Get(db, "7"));
  ReadOptions old;
  old.snapshot = snapshot;
  report::Say("in the snapshot", report::Entries(db, old));
  db->CompactRange(nullptr, nullptr);
  report::Say("in files", report::Entries(db));
  report::Say("in files, in the snapshot", report::Entries(db, old));
  db->Delete(WriteOptions(), "00007");
  report::Say("deleted by other bytes", report::Entries(db));
  report::Say("get", report::Get(db, "0007"));
  report::Say("in the snapshot", report::Entries(db, old));
  db->ReleaseSnapshot(snapshot);
  db->CompactRange(nullptr, nullptr);
  report::Say("in files", report::Entries(db));
  leveldb::WriteBatch batch;
  batch.Put("01", "first");
  batch.Put("001", "second");
  batch.Put("2", "gone");
  batch.Delete("02");
  db->Write(WriteOptions(), &batch);
  report::Say("after a batch", report::Entries(db));
  std::unique_ptr<leveldb::Iterator> it(db->NewIterator(ReadOptions()));
  for (const char* target : {"0", "1", "0001", "9", "00010", "11"}) {
    it->Seek(target);
    report::Say("seek " + report::Quoted(target), report::At(it.get()));
  }
}

void Numbers() {
  NumberComparator order;
  Options options;
  options.create_if_missing = true;
  options.comparator = &order;
  options.write_buffer_size = 64 << 10;
  options.block_size = 512;
  options.max_file_size = 1 << 20;
  std::unique_ptr<DB> db = Open(options, "numbers");
  Equal(db.get());
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 4000; i++) {
      const std::string key = Padded(i * 7 % 4001, 1 + (i + round) % 9);
      if ((i + round) % 11 == 0) {
        db->Delete(WriteOptions(), key);
      } else {
        db->Put(WriteOptions(), key, std::to_string(round) + std::string(30, 'n'));
      }
    }
    int found = 0;
    for (int i = 0; i < 4001; i++) {
      found += report::Get(db.get(), Padded(i, 12)).substr(0, 8) != "NotFound";
    }
    report::Number("found by other bytes", static_cast<uint64_t>(found));
    report::Say("all", report::Entries(db.get()));
    const Slice begin = "0100", end = "00002000";
    if (round == 1) db->CompactRange(&begin, &end);
  }
  db.reset();
  db = Open(options, "numbers");
  report::Say("all after a new open", report::Entries(db.get()));
  db->CompactRange(nullptr, nullptr);
  report::Say("all in files", report::Entries(db.get()));
  leveldb::Range range("0", "002000");
  uint64_t size = 0;
  db->GetApproximateSizes(&range, 1, &size);
  report::YesNo("has a size", size > 0);
  db.reset();
  report::Number("arguments that are no numbers", static_cast<uint64_t>(order.malformed.load()));
  report::YesNo("compared", order.compares > 0);
  report::YesNo("asked for separators", order.separators > 0);
  report::YesNo("asked for successors", order.successors > 0);
}

class NamedComparator : public ReverseComparator {
 public:
  explicit NamedComparator(std::string name) : name_(std::move(name)) {}
  const char* Name() const override { return name_.c_str(); }

 private:
  const std::string name_;
};

// A comparator may have any name that C can hold.
void Names() {
  const std::string names[] = {
      "x", "two words", "", "line\n", "\xff\xfe", "foldb.bytewise", std::string(300, 'n'),
      std::string(300, 'n') + "o"};
  const NamedComparator other("test.Other");
  int number = 0;
  for (const std::string& name : names) {
    const std::string path = "named" + std::to_string(number++);
    const NamedComparator order(name);
    Options options;
    options.create_if_missing = true;
    options.comparator = &order;
    std::unique_ptr<DB> db = Open(options, path);
    db->Put(WriteOptions(), "a", "1");
    db->Put(WriteOptions(), "b", "2");
    db.reset();
    db = Open(options, path);
    report::Say("comparator " + report::Quoted(name), report::Entries(db.get()));
    db.reset();
    const NamedComparator longer(name + "o");
    for (const leveldb::Comparator* wrong :
         {leveldb::BytewiseComparator(), static_cast<const leveldb::Comparator*>(&other),
          static_cast<const leveldb::Comparator*>(&longer)}) {
      DB* none = nullptr;
      options.comparator = wrong;
      report::YesNo("refused for " + report::Quoted(wrong->Name()),
                    DB::Open(options, report::Path(path), &none).IsInvalidArgument());
      delete none;
    }
  }
}

}  // namespace

void Comparators() {
  Reversed();
  Numbers();
  Names();
}
