// One database: reads, writes, snapshots, sizes, properties, big and binary data, threads.
//
// Invariant: each database is closed before the next one of the same path opens.

#include <atomic>
#include <cctype>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "everything.h"
#include "leveldb/db.h"
#include "leveldb/write_batch.h"
#include "report.h"

using leveldb::DB;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Status;
using leveldb::WriteBatch;
using leveldb::WriteOptions;

namespace {

std::unique_ptr<DB> Open(const std::string& name, Options options = Options()) {
  options.create_if_missing = true;
  DB* db = nullptr;
  report::Need("open " + name, DB::Open(options, report::Path(name), &db));
  return std::unique_ptr<DB>(db);
}

void Basics() {
  std::unique_ptr<DB> db = Open("basics");
  WriteOptions sync;
  sync.sync = true;
  std::string value = "untouched";
  report::Result("get of nothing", db->Get(ReadOptions(), "k", &value));
  report::Say("value of a failed get", value);
  report::Result("put", db->Put(WriteOptions(), "k", "v"));
  report::Result("get", db->Get(ReadOptions(), "k", &value));
  report::Say("value", value);
  report::Result("put with sync", db->Put(sync, "k", "v2"));
  report::Say("overwritten", report::Get(db.get(), "k"));
  report::Result("delete", db->Delete(sync, "k"));
  report::Say("deleted", report::Get(db.get(), "k"));
  report::Result("delete of nothing", db->Delete(WriteOptions(), "never"));
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("a", "2");
  batch.Put("b", "1");
  batch.Delete("b");
  batch.Delete("c");
  batch.Put("c", "3");
  report::Result("batch", db->Write(sync, &batch));
  report::Result("empty batch", db->Write(WriteOptions(), std::make_unique<WriteBatch>().get()));
  report::Say("after the batch", report::Entries(db.get()));
  // The base class writes through Write; a subclass may ask for that.
  report::Result("put of the base class", db->DB::Put(WriteOptions(), "base", "put"));
  report::Result("delete of the base class", db->DB::Delete(WriteOptions(), "a"));
  report::Say("after both", report::Entries(db.get()));
  batch.Clear();
  batch.Put("again", "1");
  report::Result("one batch", db->Write(WriteOptions(), &batch));
  report::Result("written twice", db->Write(WriteOptions(), &batch));
  report::Say("after it", report::Entries(db.get()));
}

void Bytes() {
  Options options;
  options.write_buffer_size = 1 << 20;
  std::unique_ptr<DB> db = Open("bytes", options);
  const std::string zeros("\0\0", 2), mixed("a\0b", 3), high("\xff\xff\xff", 3);
  const std::string long_key(5000, 'k');
  std::string big(5 << 20, 'x');
  for (size_t i = 0; i < big.size(); i += 7) big[i] = static_cast<char>(i * 2654435761u >> 13);
  report::Result("empty key", db->Put(WriteOptions(), "", "of the empty key"));
  report::Result("empty value", db->Put(WriteOptions(), "empty", ""));
  report::Result("zero key", db->Put(WriteOptions(), zeros, zeros));
  report::Result("mixed key", db->Put(WriteOptions(), mixed, high));
  report::Result("high key", db->Put(WriteOptions(), high, mixed));
  report::Result("long key", db->Put(WriteOptions(), long_key, "of the long key"));
  report::Result("big value", db->Put(WriteOptions(), "big", big));
  report::Result("key of 60 kB", db->Put(WriteOptions(), std::string(60000, 'y'), "60 kB"));
  report::Result("key of 500 kB", db->Put(WriteOptions(), std::string(500000, 'z'), "500 kB"));
  for (int round = 0; round < 3; round++) {
    for (const std::string& key : {std::string(), std::string("empty"), zeros, mixed, high,
                                   long_key, std::string("big"), std::string(60000, 'y'),
                                   std::string(500000, 'z')}) {
      report::Say(report::Quoted(key), report::Get(db.get(), key));
    }
    report::Say("all", report::Entries(db.get()));
    if (round == 0) db->CompactRange(nullptr, nullptr);
    if (round == 1) {
      db.reset();
      db = Open("bytes", options);
    }
  }
  report::Result("delete of the empty key", db->Delete(WriteOptions(), ""));
  report::Say("empty key", report::Get(db.get(), ""));
}

std::string Key(int number) {
  char key[16];
  std::snprintf(key, sizeof(key), "key%06d", number);
  return key;
}

void Snapshots() {
  Options options;
  options.write_buffer_size = 64 << 10;
  std::unique_ptr<DB> db = Open("snapshots", options);
  auto write_all = [&db](const std::string& prefix, int step) {
    for (int i = 0; i < 2000; i += step) {
      report::Need("put", db->Put(WriteOptions(), Key(i), prefix + std::string(50, 'v')));
    }
  };
  const leveldb::Snapshot* before = db->GetSnapshot();
  write_all("first", 1);
  const leveldb::Snapshot* first = db->GetSnapshot();
  write_all("second", 2);
  for (int i = 0; i < 2000; i += 3) db->Delete(WriteOptions(), Key(i));
  const leveldb::Snapshot* second = db->GetSnapshot();
  const leveldb::Snapshot* twin = db->GetSnapshot();
  ReadOptions read;
  read.snapshot = first;
  std::unique_ptr<leveldb::Iterator> early(db->NewIterator(read));
  write_all("third", 5);
  db->CompactRange(nullptr, nullptr);
  write_all("fourth", 7);
  db->CompactRange(nullptr, nullptr);
  read.verify_checksums = true;
  read.fill_cache = false;
  for (const leveldb::Snapshot* snapshot : {before, first, second, twin}) {
    read.snapshot = snapshot;
    report::Say("snapshot", report::Entries(db.get(), read));
    for (int i : {0, 1, 2, 3, 4, 5, 6, 7, 10, 14, 15, 21}) {
      report::Say(Key(i), report::Get(db.get(), Key(i), read));
    }
  }
  db->ReleaseSnapshot(first);
  db->ReleaseSnapshot(before);
  db->CompactRange(nullptr, nullptr);
  early->SeekToFirst();
  report::Say("iterator outlives its snapshot", report::At(early.get()));
  early->Seek(Key(1234));
  report::Say("and seeks", report::At(early.get()));
  report::Say("all of it", report::Quoted(report::Forward(early.get())));
  read.snapshot = twin;
  report::Say("twin", report::Entries(db.get(), read));
  db->ReleaseSnapshot(second);
  report::Say("twin without the other", report::Entries(db.get(), read));
  db->ReleaseSnapshot(twin);
  report::Say("now", report::Entries(db.get()));
  early.reset();
}

bool Digits(const std::string& text) {
  for (char c : text) {
    if (!std::isdigit(static_cast<unsigned char>(c))) return false;
  }
  return !text.empty();
}

void Properties() {
  std::unique_ptr<DB> db = Open("properties");
  std::string value;
  for (int round = 0; round < 2; round++) {
    for (int level = 0; level < 7; level++) {
      const std::string name = "leveldb.num-files-at-level" + std::to_string(level);
      value = "old";
      report::YesNo(name, db->GetProperty(name, &value) && Digits(value));
    }
    for (const char* name :
         {"leveldb.num-files-at-level7", "leveldb.num-files-at-level",
          "leveldb.num-files-at-level0x", "leveldb.num-files-at-level-1", "leveldb.", "leveldb", "",
          "leveldb.unknown", "stats", "leveldb.Stats", "leveldb.stats ", "rocksdb.stats"}) {
      value = "old";
      report::YesNo(std::string("'") + name + "'", db->GetProperty(name, &value));
    }
    report::YesNo("leveldb.stats", db->GetProperty("leveldb.stats", &value));
    report::Say("its head", value.substr(0, value.find("Level")));
    report::YesNo("its columns", value.find("Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n"
                                            "-----------------------------") != std::string::npos);
    report::YesNo("leveldb.sstables", db->GetProperty("leveldb.sstables", &value));
    report::Say("its head", value.substr(0, value.find('\n')));
    report::YesNo("level 6 too", value.find("--- level 6 ---") != std::string::npos);
    report::YesNo("leveldb.approximate-memory-usage",
                  db->GetProperty("leveldb.approximate-memory-usage", &value) && Digits(value) &&
                      value != "0");
    for (int i = 0; i < 1000; i++) {
      report::Need("put", db->Put(WriteOptions(), Key(i), std::string(100, 'p')));
    }
    db->CompactRange(nullptr, nullptr);
  }
  int files = 0;
  for (int level = 0; level < 7; level++) {
    db->GetProperty("leveldb.num-files-at-level" + std::to_string(level), &value);
    files += std::stoi(value);
  }
  report::YesNo("there are files", files > 0);
  db->GetProperty("leveldb.sstables", &value);
  report::YesNo("sstables name the first key", value.find(Key(0)) != std::string::npos);
}

void Sizes() {
  Options options;
  options.compression = leveldb::kNoCompression;
  std::unique_ptr<DB> db = Open("sizes", options);
  uint64_t sizes[4] = {9, 9, 9, 9};
  leveldb::Range all("a", "z");
  db->GetApproximateSizes(&all, 1, sizes);
  report::Number("size of nothing", sizes[0]);
  for (int i = 0; i < 20000; i++) {
    report::Need("put", db->Put(WriteOptions(), Key(i), std::string(100, 's')));
  }
  db->CompactRange(nullptr, nullptr);
  const std::string middle = Key(10000), end = Key(20000);
  const leveldb::Range ranges[4] = {all, leveldb::Range("a", middle), leveldb::Range("x", "z"),
                                    leveldb::Range("z", "a")};
  db->GetApproximateSizes(ranges, 4, sizes);
  report::YesNo("all is about 2.2 MB", sizes[0] > 2000000 && sizes[0] < 2600000);
  report::YesNo("half is about 1.1 MB", sizes[1] > 900000 && sizes[1] < 1400000);
  report::Number("past the end", sizes[2]);
  report::Number("a range from end to beginning", sizes[3]);
  db->GetApproximateSizes(ranges, 0, nullptr);
}

void Ranges() {
  Options options;
  options.write_buffer_size = 64 << 10;
  options.max_file_size = 1 << 20;
  options.block_size = 1024;
  options.block_restart_interval = 4;
  options.max_open_files = 100;
  options.paranoid_checks = true;
  std::unique_ptr<DB> db = Open("ranges", options);
  for (int round = 0; round < 3; round++) {
    for (int i = round; i < 9000; i += round + 1) {
      report::Need("put", db->Put(WriteOptions(), Key(i * 7919 % 9000),
                                  std::to_string(round) + std::string(30, 'r')));
    }
  }
  const std::string whole = report::Entries(db.get());
  const Slice begin = "key002000", end = "key004000";
  db->CompactRange(&begin, &end);
  report::YesNo("the same after the middle", report::Entries(db.get()) == whole);
  db->CompactRange(nullptr, &begin);
  db->CompactRange(&end, nullptr);
  db->CompactRange(&end, &begin);
  const Slice nothing = "";
  db->CompactRange(&nothing, &nothing);
  report::YesNo("the same after all ranges", report::Entries(db.get()) == whole);
  report::Say("all", whole);
}

}  // namespace

void Databases() {
  Basics();
  Bytes();
  Snapshots();
  Properties();
  Sizes();
  Ranges();
}

void Threads() {
  Options options;
  options.write_buffer_size = 128 << 10;
  std::unique_ptr<DB> db = Open("threads", options);
  std::atomic<bool> done(false);
  std::atomic<int> wrong(0);
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; writer++) {
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 2000; i++) {
        WriteBatch batch;
        const std::string value = std::to_string(i);
        batch.Put("left" + std::to_string(writer), value);
        batch.Put(Key(i * 4 + writer), value);
        batch.Put("right" + std::to_string(writer), value);
        if (!db->Write(WriteOptions(), &batch).ok()) wrong++;
      }
    });
  }
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; reader++) {
    readers.emplace_back([&, reader] {
      while (!done) {
        ReadOptions read;
        read.snapshot = db->GetSnapshot();
        for (int writer = 0; writer < 4; writer++) {
          const std::string own = std::to_string(writer);
          if (report::Get(db.get(), "left" + own, read) !=
              (reader == 0 ? report::Get(db.get(), "right" + own, read)
                           : report::Get(db.get(), "left" + own, read))) {
            wrong++;
          }
        }
        std::unique_ptr<leveldb::Iterator> iterator(db->NewIterator(read));
        std::string last;
        for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
          if (iterator->key().ToString() <= last) wrong++;
          last = iterator->key().ToString();
        }
        iterator.reset();
        db->ReleaseSnapshot(read.snapshot);
      }
    });
  }
  for (std::thread& thread : writers) thread.join();
  done = true;
  for (std::thread& thread : readers) thread.join();
  report::Number("wrong answers", static_cast<uint64_t>(wrong.load()));
  report::Say("all", report::Entries(db.get()));
}
