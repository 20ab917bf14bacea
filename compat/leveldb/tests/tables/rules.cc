// What tables do with a program's files and caches, with wrong options and with damaged bytes.
//
// Prints one line for each observation.

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "leveldb/cache.h"
#include "leveldb/env.h"
#include "leveldb/iterator.h"
#include "leveldb/table.h"
#include "leveldb/table_builder.h"
#include "shapes.h"
#include "tables.h"

using leveldb::Iterator;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Status;

namespace {

// A file in memory that fails at one call.
class MemoryFile : public leveldb::WritableFile {
 public:
  explicit MemoryFile(int failing_call = -1) : left_(failing_call) {}

  Status Append(const Slice& data) override {
    if (left_-- == 0) return Status::IOError("memory", "the append failed");
    bytes.append(data.data(), data.size());
    return Status::OK();
  }
  Status Flush() override {
    return left_-- == 0 ? Status::IOError("memory", "the flush failed") : Status::OK();
  }
  Status Close() override { return Status::OK(); }
  Status Sync() override {
    std::printf("sync\n");
    return Status::OK();
  }

  std::string bytes;

 private:
  int left_;
};

// Reads a table in memory, counts the reads, and can fail or fall short.
class MemorySource : public leveldb::RandomAccessFile {
 public:
  explicit MemorySource(const std::string& bytes) : bytes_(bytes) {}

  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    reads++;
    if (failing) return Status::IOError("source", "the read failed");
    if (offset > bytes_.size()) {
      *result = Slice(scratch, 0);
      return Status::OK();
    }
    n = std::min(n, bytes_.size() - static_cast<size_t>(offset));
    if (short_by < n) n -= short_by;
    std::memcpy(scratch, bytes_.data() + offset, n);
    *result = Slice(scratch, n);
    return Status::OK();
  }

  mutable int reads = 0;
  bool failing = false;
  size_t short_by = 0;

 private:
  const std::string bytes_;
};

// A cache of the program that prints what it is asked.
class TalkingCache : public leveldb::Cache {
 public:
  ~TalkingCache() override { CHECK(handles_ == 0); }

  Handle* Insert(const Slice& key, void* value, size_t charge,
                 void (*deleter)(const Slice&, void*)) override {
    std::printf("insert %s, charge %zu\n", Text(key).c_str(), charge);
    return Count(cache_->Insert(key, value, charge, deleter));
  }
  Handle* Lookup(const Slice& key) override {
    Handle* found = cache_->Lookup(key);
    std::printf("lookup %s: %s\n", Text(key).c_str(), found != nullptr ? "found" : "missing");
    return found != nullptr ? Count(found) : nullptr;
  }
  void Release(Handle* handle) override {
    handles_--;
    cache_->Release(handle);
  }
  void* Value(Handle* handle) override { return cache_->Value(handle); }
  void Erase(const Slice& key) override {
    std::printf("erase %s\n", Text(key).c_str());
    cache_->Erase(key);
  }
  uint64_t NewId() override {
    std::printf("new id\n");
    return 77;
  }
  void Prune() override { cache_->Prune(); }
  size_t TotalCharge() const override { return cache_->TotalCharge(); }

 private:
  static std::string Text(const Slice& key) {
    std::string text;
    for (size_t i = 0; i < key.size(); i++) {
      text += std::to_string(static_cast<unsigned char>(key[i])) + ".";
    }
    return text;
  }
  Handle* Count(Handle* handle) {
    handles_++;
    return handle;
  }

  const std::unique_ptr<leveldb::Cache> cache_{leveldb::NewLRUCache(1 << 20)};
  int handles_ = 0;
};

std::string Key(int i) {
  char key[20];
  std::snprintf(key, sizeof(key), "key%05d", i);
  return key;
}

std::string Build(const Options& options, int entries) {
  MemoryFile file;
  leveldb::TableBuilder builder(options, &file);
  for (int i = 0; i < entries; i++) {
    builder.Add(Key(i), "value " + std::to_string(i * i) + std::string(i % 9, 'v'));
  }
  CHECK(builder.Finish().ok());
  CHECK(builder.FileSize() == file.bytes.size());
  return file.bytes;
}

// Opens the table, walks it in both directions, seeks, and prints what came of it.
void Observe(const char* what, const leveldb::RandomAccessFile* file, uint64_t size,
             const Options& options, const ReadOptions& read) {
  leveldb::Table* opened = reinterpret_cast<leveldb::Table*>(1);
  const Status status = leveldb::Table::Open(
      options, const_cast<leveldb::RandomAccessFile*>(file), size, &opened);
  std::printf("%s: %s", what, status.ToString().c_str());
  CHECK(status.ok() || opened == nullptr);
  if (status.ok()) {
    const std::unique_ptr<leveldb::Table> table(opened);
    const std::unique_ptr<Iterator> entry(table->NewIterator(read));
    Digest digest;
    int forward = 0, backward = 0, sought = 0;
    for (entry->SeekToFirst(); entry->Valid(); entry->Next(), forward++) {
      digest.Add(entry->key());
      digest.Add(entry->value());
    }
    std::printf("; %s", entry->status().ToString().c_str());
    for (entry->SeekToLast(); entry->Valid(); entry->Prev(), backward++) digest.Add(entry->key());
    for (int i = 0; i < 40; i += 7) {
      entry->Seek(Key(i));
      sought += entry->Valid() ? 1 : 0;
    }
    std::printf("; %s; %d %d %d %016llx", entry->status().ToString().c_str(), forward, backward,
                sought, digest.value());
  }
  std::printf("\n");
}

void Caches() {
  Options options;
  options.block_size = 100;
  options.compression = leveldb::kNoCompression;
  const std::string bytes = Build(options, 20);
  MemorySource file(bytes);
  TalkingCache cache;
  options.block_cache = &cache;
  for (bool fill : {true, false}) {
    ReadOptions read;
    read.fill_cache = fill;
    Observe(fill ? "fills" : "does not fill", &file, bytes.size(), options, read);
    std::printf("%d reads, charge %zu\n", file.reads, cache.TotalCharge());
    cache.Prune();
  }
}

void WrongFiles() {
  Options options;
  options.compression = leveldb::kNoCompression;
  const std::string bytes = Build(options, 100);
  for (size_t size : {size_t{0}, size_t{1}, size_t{47}, size_t{48}, size_t{60}, bytes.size() - 1}) {
    const MemorySource file(bytes.substr(0, size));
    Observe(("cut to " + std::to_string(size)).c_str(), &file, size, options, ReadOptions());
  }
  MemorySource failing(bytes);
  failing.failing = true;
  Observe("failing", &failing, bytes.size(), options, ReadOptions());
  const MemorySource zeroes(std::string(500, '\0'));
  Observe("zeroes", &zeroes, 500, options, ReadOptions());

  // A file that begins to fail, or to fall short, after the open.
  MemorySource file(bytes);
  leveldb::Table* opened;
  CHECK(leveldb::Table::Open(options, &file, bytes.size(), &opened).ok());
  const std::unique_ptr<leveldb::Table> table(opened);
  for (int round = 0; round < 3; round++) {
    file.failing = round == 0;
    file.short_by = round == 1 ? 3 : 0;
    const std::unique_ptr<Iterator> entry(table->NewIterator(ReadOptions()));
    entry->SeekToFirst();
    std::printf("round %d: %d %s\n", round, entry->Valid(), entry->status().ToString().c_str());
  }
}

// A name of a filter that the reader does not have, and none.
void OtherFilters() {
  const std::unique_ptr<const leveldb::FilterPolicy> bloom(leveldb::NewBloomFilterPolicy(10));
  const LengthPolicy length;
  Options with_bloom;
  with_bloom.compression = leveldb::kNoCompression;
  with_bloom.filter_policy = bloom.get();
  const std::string bytes = Build(with_bloom, 300);
  for (const leveldb::FilterPolicy* policy :
       {static_cast<const leveldb::FilterPolicy*>(nullptr), bloom.get(),
        static_cast<const leveldb::FilterPolicy*>(&length)}) {
    MemorySource file(bytes);
    Options options;
    options.filter_policy = policy;
    Observe("other filter", &file, bytes.size(), options, ReadOptions());
    std::printf("%d reads\n", file.reads);
  }
}

void Builders() {
  Options options;
  options.compression = leveldb::kNoCompression;
  const ReverseComparator reverse;
  MemoryFile file;
  leveldb::TableBuilder builder(options, &file);
  Options other;
  other.comparator = &reverse;
  std::printf("other comparator: %s\n", builder.ChangeOptions(other).ToString().c_str());
  std::printf("then: %s\n", builder.status().ToString().c_str());
  builder.Flush();
  builder.Add("a", "1");
  builder.Add("b", "2");
  std::printf("before a block ends: %d bytes, %d entries\n", static_cast<int>(builder.FileSize()),
              static_cast<int>(builder.NumEntries()));
  builder.Flush();
  builder.Flush();
  std::printf("flushed: %d bytes\n", static_cast<int>(builder.FileSize()));
  builder.Abandon();
  std::printf("abandoned: %d bytes, %s\n", static_cast<int>(file.bytes.size()),
              builder.status().ToString().c_str());

  options.block_size = 200;
  const std::unique_ptr<const leveldb::FilterPolicy> bloom(leveldb::NewBloomFilterPolicy(10));
  options.filter_policy = bloom.get();
  for (int call = 0; call < 40; call++) {
    MemoryFile failing(call);
    leveldb::TableBuilder fails(options, &failing);
    for (int i = 0; i < 100; i++) fails.Add(Key(i), "value");
    const std::string before = fails.status().ToString();
    const std::string after = fails.Finish().ToString();
    std::printf("call %d: %s, %s, %d entries, %d of %d bytes\n", call, before.c_str(),
                after.c_str(), static_cast<int>(fails.NumEntries()),
                static_cast<int>(fails.FileSize()), static_cast<int>(failing.bytes.size()));
  }
}

// Builds the table, or reads the one that another library built: compressors differ.
std::string BuiltOnce(const Options& options, const std::string& path) {
  std::string bytes;
  if (leveldb::ReadFileToString(leveldb::Env::Default(), path, &bytes).ok()) return bytes;
  bytes = Build(options, 40);
  CHECK(leveldb::WriteStringToFile(leveldb::Env::Default(), bytes, path).ok());
  return bytes;
}

// Every byte of small tables, changed in turn. With checksums all damage to data is found.
void Damage(const std::string& directory) {
  const std::unique_ptr<const leveldb::FilterPolicy> bloom(leveldb::NewBloomFilterPolicy(10));
  for (int shape = 0; shape < 4; shape++) {
    Options options;
    options.block_size = 120;
    options.block_restart_interval = 4;
    options.compression = shape % 2 == 0 ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    options.filter_policy = shape < 2 ? nullptr : bloom.get();
    const std::string bytes =
        BuiltOnce(options, directory + "/damage" + std::to_string(shape) + ".table");
    options.paranoid_checks = true;
    ReadOptions read;
    read.verify_checksums = true;
    for (size_t at = 0; at < bytes.size(); at++) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (at % 2 == 0 ? 0x01 : 0xa5));
      const MemorySource file(damaged);
      Observe(("damage " + std::to_string(shape) + " at " + std::to_string(at)).c_str(), &file,
              damaged.size(), options, read);
    }
  }
}

// Compression ids of later libraries, in the data block of a table.
void UnknownCompression() {
  Options options;
  options.compression = leveldb::kNoCompression;
  const std::string bytes = Build(options, 1);
  // One entry: 3 lengths, 8 bytes of key, 7 of value. Then one restart and the number of them.
  const size_t id_at = 3 + 8 + 7 + 8;
  CHECK(bytes[id_at] == leveldb::kNoCompression);
  for (int id : {1, 2, 3, 255}) {
    std::string changed = bytes;
    changed[id_at] = static_cast<char>(id);
    const MemorySource file(changed);
    Observe(("compression " + std::to_string(id)).c_str(), &file, changed.size(), options,
            ReadOptions());
  }
}

// Damage that no checksum finds: no walk leaves the table's memory or loops.
void UncheckedDamage() {
  Numbers numbers(5);
  for (int round = 0; round < 3000; round++) {
    Options options;
    options.block_size = 150;
    options.block_restart_interval = 1 + round % 5;
    options.compression = round % 2 == 0 ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    std::string bytes = Build(options, 30);
    for (uint32_t i = numbers.Below(4) + 1; i > 0; i--) {
      bytes[numbers.Below(bytes.size() - 48)] = static_cast<char>(numbers.Below(256));
    }
    MemorySource file(bytes);
    leveldb::Table* opened;
    if (!leveldb::Table::Open(options, &file, bytes.size(), &opened).ok()) continue;
    const std::unique_ptr<leveldb::Table> table(opened);
    const std::unique_ptr<Iterator> entry(table->NewIterator(ReadOptions()));
    int steps = 0;
    for (entry->SeekToFirst(); entry->Valid() && steps < 10000; entry->Next()) steps++;
    for (entry->SeekToLast(); entry->Valid() && steps < 10000; entry->Prev()) steps++;
    CHECK(steps < 10000);
    for (int i = 0; i < 30; i++) {
      entry->Seek(Key(i));
      for (int back = 0; back < 3 && entry->Valid(); back++) entry->Prev();
    }
  }
  std::printf("unchecked damage: every walk ended\n");
}

}  // namespace

void Rules(const std::string& directory) {
  Caches();
  WrongFiles();
  OtherFilters();
  Builders();
  Damage(directory);
  UnknownCompression();
  UncheckedDamage();
}
