// The rules of an iterator at the edges, in both directions, over memory and over files.
//
// Invariant: Next, Prev, key and value are called only while the iterator is valid.

#include <memory>
#include <string>

#include "everything.h"
#include "leveldb/db.h"
#include "leveldb/write_batch.h"
#include "report.h"

using leveldb::DB;
using leveldb::Iterator;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::WriteOptions;

namespace {

void Walk(DB* db) {
  std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  report::Say("new", report::At(it.get()));
  it->SeekToFirst();
  report::Say("first", report::At(it.get()));
  if (it->Valid()) {
    it->Prev();
    report::Say("before the first", report::At(it.get()));
  }
  it->SeekToLast();
  report::Say("last", report::At(it.get()));
  if (it->Valid()) {
    it->Next();
    report::Say("after the last", report::At(it.get()));
  }
  for (const char* target : {"", "a", "b", "bb", "c", "d", "e", "f", "g", "zz", "\xff"}) {
    it->Seek(target);
    report::Say("seek " + report::Quoted(target), report::At(it.get()));
    if (!it->Valid()) continue;
    it->Prev();
    report::Say("  then prev", report::At(it.get()));
    if (!it->Valid()) continue;
    it->Next();
    report::Say("  then next", report::At(it.get()));
    it->Next();
    report::Say("  then next", report::At(it.get()));
    if (!it->Valid()) continue;
    it->Prev();
    report::Say("  then prev", report::At(it.get()));
  }
  report::Say("forward", report::Forward(it.get()));
  report::Say("backward", report::Backward(it.get()));
  report::Result("status", it->status());
}

void Count(void* counter, void* step) { *static_cast<int*>(counter) += *static_cast<int*>(step); }

void Lifetime(DB* db) {
  std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  db->Put(WriteOptions(), "a0", "later");
  db->Delete(WriteOptions(), "c");
  report::Say("an iterator sees no later write", report::Forward(it.get()));
  db->CompactRange(nullptr, nullptr);
  report::Say("nor after a compaction", report::Backward(it.get()));
  int counter = 0, step = 1, ten = 10;
  it->RegisterCleanup(Count, &counter, &step);
  it->RegisterCleanup(Count, &counter, &ten);
  report::Number("cleanups before the end", static_cast<uint64_t>(counter));
  it.reset();
  report::Number("cleanups after the end", static_cast<uint64_t>(counter));
  db->Delete(WriteOptions(), "a0");
  db->Put(WriteOptions(), "c", "3");
}

std::string Number(int number) {
  char key[16];
  std::snprintf(key, sizeof(key), "%05d", number);
  return key;
}

// Turns around at every entry of a database with several files and a memtable.
void Turns() {
  Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  options.block_size = 256;
  DB* opened = nullptr;
  report::Need("open", DB::Open(options, report::Path("turns"), &opened));
  std::unique_ptr<DB> db(opened);
  for (int round = 0; round < 4; round++) {
    for (int i = round; i < 3000; i += round + 1) {
      const std::string key = Number(i * 1103 % 3000);
      if (i % 5 == 4) {
        db->Delete(WriteOptions(), key);
      } else {
        db->Put(WriteOptions(), key, std::to_string(round * 10000 + i) + std::string(20, 't'));
      }
    }
    if (round == 1) db->CompactRange(nullptr, nullptr);
  }
  std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
  std::string path;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const std::string here = report::At(it.get());
    it->Prev();
    path += report::At(it.get());
    if (it->Valid()) {
      it->Next();
    } else {
      it->SeekToFirst();
    }
    if (report::At(it.get()) != here) path += "LOST";
    it->Next();
    path += report::At(it.get());
    if (!it->Valid()) break;
    it->Prev();
    if (report::At(it.get()) != here) path += "LOST";
    path += here;
  }
  report::Say("turns at every entry", report::Quoted(path));
  report::YesNo("none is lost", path.find("LOST") == std::string::npos);
  std::string sought;
  for (int i = 3001; i >= 0; i -= 13) {
    it->Seek(Number(i));
    sought += report::At(it.get());
    if (it->Valid()) it->Prev();
    sought += report::At(it.get());
  }
  report::Say("seeks and steps back", report::Quoted(sought));
}

}  // namespace

void Iterators() {
  Options options;
  options.create_if_missing = true;
  DB* opened = nullptr;
  report::Need("open", DB::Open(options, report::Path("iterators"), &opened));
  std::unique_ptr<DB> db(opened);
  report::Section("iterators, no entry");
  Walk(db.get());
  report::Section("iterators, one entry");
  db->Put(WriteOptions(), "d", "4");
  Walk(db.get());
  report::Section("iterators, in memory");
  for (const char* key : {"b", "c", "e", "f", "a", "g"}) db->Put(WriteOptions(), key, "old");
  for (const char* key : {"b", "c", "e", "f"}) db->Put(WriteOptions(), key, key);
  db->Delete(WriteOptions(), "a");
  db->Delete(WriteOptions(), "g");
  db->Delete(WriteOptions(), "e");
  Walk(db.get());
  report::Section("iterators, in files");
  db->CompactRange(nullptr, nullptr);
  Walk(db.get());
  report::Section("iterators, in both");
  db->Put(WriteOptions(), "c", "new");
  db->Put(WriteOptions(), "cc", "new");
  db->Delete(WriteOptions(), "f");
  Walk(db.get());
  report::Section("iterators, lifetime");
  Lifetime(db.get());
  report::Section("iterators, all deleted");
  for (const char* key : {"b", "c", "cc", "d"}) db->Delete(WriteOptions(), key);
  Walk(db.get());
  db->CompactRange(nullptr, nullptr);
  Walk(db.get());
  report::Section("iterators, turns");
  Turns();
}
