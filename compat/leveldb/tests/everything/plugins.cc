// Databases over subclasses of FilterPolicy, Cache and Logger.
//
// Invariant: a subclass answers as its interface demands; only its calls are counted besides.

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "everything.h"
#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "report.h"

using leveldb::Cache;
using leveldb::DB;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::WriteOptions;

namespace {

// Keeps the first bytes of a hash of each key. Every argument must be a whole key.
class HashPolicy : public leveldb::FilterPolicy {
 public:
  const char* Name() const override { return "test.Hash"; }
  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    created++;
    for (int i = 0; i < n; i++) {
      if (!keys[i].starts_with("key") || keys[i].size() > 9) malformed++;
      dst->append(Word(keys[i]));
    }
  }
  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    asked++;
    const std::string word = Word(key);
    for (size_t at = 0; at + 4 <= filter.size(); at += 4) {
      if (Slice(filter.data() + at, 4) == Slice(word)) return true;
    }
    absent++;
    return false;
  }

  mutable std::atomic<int> created{0}, asked{0}, absent{0}, malformed{0};

 private:
  static std::string Word(const Slice& key) {
    const uint64_t hash = report::Hash(key);
    return std::string(reinterpret_cast<const char*>(&hash), 4);
  }
};

// Forwards to the built-in cache.
class CountingCache : public Cache {
 public:
  Handle* Insert(const Slice& key, void* value, size_t charge,
                 void (*deleter)(const Slice&, void*)) override {
    inserted++;
    charged += charge > 0;
    return cache_->Insert(key, value, charge, deleter);
  }
  Handle* Lookup(const Slice& key) override {
    looked_up++;
    Handle* handle = cache_->Lookup(key);
    found += handle != nullptr;
    return handle;
  }
  void Release(Handle* handle) override {
    released++;
    cache_->Release(handle);
  }
  void* Value(Handle* handle) override {
    valued++;
    return cache_->Value(handle);
  }
  void Erase(const Slice& key) override { cache_->Erase(key); }
  uint64_t NewId() override {
    ids++;
    return cache_->NewId();
  }
  size_t TotalCharge() const override { return cache_->TotalCharge(); }

  std::atomic<int> inserted{0}, charged{0}, looked_up{0}, found{0}, released{0}, valued{0}, ids{0};

 private:
  std::unique_ptr<Cache> cache_{leveldb::NewLRUCache(8 << 20)};
};

class CountingLogger : public leveldb::Logger {
 public:
  void Logv(const char* format, std::va_list arguments) override {
    char line[2000];
    std::vsnprintf(line, sizeof(line), format, arguments);
    std::lock_guard<std::mutex> guard(mutex_);
    lines.push_back(line);
  }
  std::vector<std::string> lines;

 private:
  std::mutex mutex_;
};

std::unique_ptr<DB> Open(const Options& options, const std::string& name) {
  DB* db = nullptr;
  report::Need("open " + name, DB::Open(options, report::Path(name), &db));
  return std::unique_ptr<DB>(db);
}

void Fill(DB* db) {
  for (int i = 0; i < 5000; i++) {
    const std::string key = "key" + std::to_string(i * 2);
    report::Need("put", db->Put(WriteOptions(), key, std::string(100, 'v')));
  }
  db->CompactRange(nullptr, nullptr);
}

void Filters() {
  HashPolicy policy;
  Options options;
  options.create_if_missing = true;
  options.filter_policy = &policy;
  for (int round = 0; round < 2; round++) {
    std::unique_ptr<DB> db = Open(options, "filtered");
    if (round == 0) Fill(db.get());
    int found = 0, wrong = 0;
    for (int i = 0; i < 5000; i++) {
      found += report::Get(db.get(), "key" + std::to_string(i * 2)) != "NotFound: ";
      wrong += report::Get(db.get(), "key" + std::to_string(i * 2 + 1)) != "NotFound: ";
    }
    report::Number("found", static_cast<uint64_t>(found));
    report::Number("wrongly found", static_cast<uint64_t>(wrong));
  }
  report::YesNo("created", policy.created > 0);
  report::YesNo("asked", policy.asked > 0);
  report::YesNo("answered no", policy.absent > 0);
  report::Number("keys that are none", static_cast<uint64_t>(policy.malformed.load()));
  std::unique_ptr<const leveldb::FilterPolicy> bloom(leveldb::NewBloomFilterPolicy(10));
  const leveldb::FilterPolicy* others[] = {bloom.get(), nullptr};
  for (const leveldb::FilterPolicy* other : others) {
    options.filter_policy = other;
    std::unique_ptr<DB> db = Open(options, "filtered");
    report::Say("read with another policy", report::Get(db.get(), "key5000"));
    report::Say("absent", report::Get(db.get(), "key5001"));
  }
}

void Caching() {
  CountingCache cache;
  Options options;
  options.create_if_missing = true;
  options.block_cache = &cache;
  std::unique_ptr<DB> db = Open(options, "cached");
  Fill(db.get());
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 5000; i += 50) report::Get(db.get(), "key" + std::to_string(i * 2));
  }
  report::YesNo("inserted", cache.inserted > 0);
  report::YesNo("charged", cache.charged == cache.inserted);
  report::YesNo("looked up", cache.looked_up > 0);
  report::YesNo("found", cache.found > 0);
  report::YesNo("valued", cache.valued > 0);
  report::YesNo("asked for an id", cache.ids > 0);
  report::YesNo("total charge", cache.TotalCharge() > 0);
  const int inserted = cache.inserted;
  ReadOptions bulk;
  bulk.fill_cache = false;
  report::Say("a scan that fills no cache", report::Entries(db.get(), bulk));
  report::Number("inserted by it", static_cast<uint64_t>(cache.inserted - inserted));
  report::Say("a scan", report::Entries(db.get()));
  report::YesNo("inserted by it", cache.inserted > inserted);
  static_cast<Cache*>(&cache)->Prune();
  db.reset();
  report::YesNo("every handle was released",
                cache.released == cache.inserted + cache.found);
  // Two databases share a cache.
  std::unique_ptr<Cache> shared(leveldb::NewLRUCache(1 << 20));
  options.block_cache = shared.get();
  std::unique_ptr<DB> first = Open(options, "cached"), second = Open(options, "cached too");
  second->Put(WriteOptions(), "key0", "of the second");
  second->CompactRange(nullptr, nullptr);
  report::Say("first", report::Get(first.get(), "key0"));
  report::Say("second", report::Get(second.get(), "key0"));
  report::YesNo("shared charge", shared->TotalCharge() > 0);
}

void Logging() {
  CountingLogger logger;
  Options options;
  options.create_if_missing = true;
  options.info_log = &logger;
  std::unique_ptr<DB> db = Open(options, "logged");
  Fill(db.get());
  db.reset();
  report::YesNo("logged", !logger.lines.empty());
  bool broken = false;
  for (const std::string& line : logger.lines) broken |= line.empty();
  report::YesNo("every line has text", !broken);
  std::string text;
  report::YesNo("no file of it",
                !leveldb::ReadFileToString(leveldb::Env::Default(), report::Path("logged/LOG"),
                                           &text)
                     .ok());
#ifdef STATIC_LINK
  // The shared library does not export this function.
  leveldb::Log(&logger, "by %s %d", "hand", 1);
#else
  logger.lines.push_back("by hand 1");
#endif
  report::Say("the last line", logger.lines.back());
}

}  // namespace

void Plugins() {
  Filters();
  Caching();
  Logging();
}
