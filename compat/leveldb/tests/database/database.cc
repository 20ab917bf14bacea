// What our databases do that the original's do not: limits, refused directories, texts of
// properties, and the files of the log.
//
//   database DIRECTORY

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/write_batch.h"

using leveldb::DB;
using leveldb::Env;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Status;
using leveldb::WriteBatch;
using leveldb::WriteOptions;

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

namespace {

std::string directory;

Options Creating() {
  Options options;
  options.create_if_missing = true;
  return options;
}

void Need(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
}

bool Has(const Status& status, const std::string& text) {
  return status.ToString().find(text) != std::string::npos;
}

// The files of a directory, with their bytes.
std::map<std::string, std::string> Files(const std::string& path) {
  std::vector<std::string> names;
  std::map<std::string, std::string> files;
  Need(Env::Default()->GetChildren(path, &names));
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    std::ifstream file(path + "/" + name, std::ios::binary);
    files[name].assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return files;
}

void Limits() {
  DB* db = nullptr;
  Need(DB::Open(Creating(), directory + "/limits", &db));
  const std::string longest(512 << 10, 'k'), beyond = longest + "k";
  Need(db->Put(WriteOptions(), longest, "v"));
  Status status = db->Put(WriteOptions(), beyond, "v");
  CHECK(status.IsInvalidArgument() && Has(status, "MAX_KEY_BYTES = 524288"));
  WriteBatch batch;
  batch.Put("small", "v");
  batch.Delete(beyond);
  status = db->Write(WriteOptions(), &batch);
  CHECK(status.IsInvalidArgument() && Has(status, "MAX_KEY_BYTES = 524288"));
  std::string value;
  CHECK(db->Get(ReadOptions(), "small", &value).IsNotFound());
  CHECK(db->Get(ReadOptions(), beyond, &value).IsNotFound());
  // The longest key is a bound like any other.
  const Slice bound(longest);
  db->CompactRange(nullptr, &bound);
  CHECK(db->Get(ReadOptions(), longest, &value).ok());
  delete db;
}

void Refused(const std::map<std::string, std::string>& files, const std::string& engine) {
  const std::string path = directory + "/of " + engine;
  ::mkdir(path.c_str(), 0755);
  for (const auto& file : files) std::ofstream(path + "/" + file.first) << file.second;
  const auto before = Files(path);
  DB* db = nullptr;
  Options exclusive = Creating();
  exclusive.error_if_exists = true;
  for (const Options& options : {Options(), Creating(), exclusive}) {
    const Status statuses[] = {DB::Open(options, path, &db), leveldb::DestroyDB(path, options),
                               leveldb::RepairDB(path, options)};
    for (const Status& status : statuses) {
      CHECK(status.IsInvalidArgument() && Has(status, engine));
      CHECK(engine != "LevelDB" || Has(status, "foldb import"));
    }
    CHECK(db == nullptr && Files(path) == before);
  }
}

// The last bytes of a table.
const char kLevelDBTable[] = "a table\x57\xfb\x80\x8b\x24\x75\x47\xdb";
const char kRocksDBTable[] = "a table\xf7\xcf\xf4\x85\xb7\x41\xe2\x88";

void ForeignDirectories() {
  const std::map<std::string, std::string> leveldb = {{"CURRENT", "MANIFEST-000002\n"},
                                                      {"MANIFEST-000002", "\x01\x02\x03\x04"},
                                                      {"000005.ldb", kLevelDBTable},
                                                      {"000003.log", ""},
                                                      {"LOCK", ""},
                                                      {"LOG", "a log\n"}};
  Refused(leveldb, "LevelDB");
  const std::map<std::string, std::string> rocksdb = {{"CURRENT", "MANIFEST-000005\n"},
                                                      {"MANIFEST-000005", "\x01\x02\x03\x04"},
                                                      {"000009.sst", kRocksDBTable},
                                                      {"IDENTITY", "8b7e3f1e\n"},
                                                      {"OPTIONS-000007", "[Version]\n"},
                                                      {"LOCK", ""},
                                                      {"LOG", "a log\n"}};
  Refused(rocksdb, "RocksDB");
}

void FailedOpens() {
  DB* db = nullptr;
  CHECK(DB::Open(Options(), directory + "/absent", &db).IsInvalidArgument());
  CHECK(!Env::Default()->FileExists(directory + "/absent"));
  Options options = Creating();
  options.compression = static_cast<leveldb::CompressionType>(7);
  const Status status = DB::Open(options, directory + "/absent", &db);
  CHECK(status.IsInvalidArgument() && Has(status, "compression"));
  CHECK(!Env::Default()->FileExists(directory + "/absent"));
}

void LogFiles() {
  const std::string path = directory + "/logged";
  for (int round = 0; round < 3; round++) {
    DB* db = nullptr;
    Need(DB::Open(Creating(), path, &db));
    auto files = Files(path);
    CHECK(files["LOG"].find("Opened " + path) != std::string::npos);
    CHECK(files.count("LOG.old") == (round > 0 ? 1u : 0u));
    delete db;
    files = Files(path);
    CHECK(files["LOG"].find("Closed " + path + ": OK") != std::string::npos);
  }
  Need(leveldb::DestroyDB(path, Options()));
  CHECK(!Env::Default()->FileExists(path));
}

std::string Property(DB* db, const std::string& name) {
  std::string value;
  CHECK(db->GetProperty(name, &value));
  return value;
}

void Properties() {
  DB* db = nullptr;
  Need(DB::Open(Creating(), directory + "/properties", &db));
  CHECK(std::atoll(Property(db, "leveldb.approximate-memory-usage").c_str()) > 0);
  CHECK(Property(db, "leveldb.num-files-at-level0") == "0");
  for (int i = 0; i < 1000; i++) {
    Need(db->Put(WriteOptions(), "a\x01key" + std::to_string(i), std::string(1000, 'v')));
  }
  // A null batch writes the memtable to a table, as it does in LevelDB.
  Need(db->Write(WriteOptions(), nullptr));
  int tables = 0;
  for (int level = 0; level < 7; level++) {
    const std::string name = "leveldb.num-files-at-level" + std::to_string(level);
    tables += std::atoi(Property(db, name).c_str());
  }
  CHECK(tables > 0);
  const std::string text = Property(db, "leveldb.sstables");
  CHECK(text.find("--- level 0 ---\n") == 0);
  CHECK(text.find("['a\\x01key0' @ ") != std::string::npos);
  CHECK(text.find(" .. 'a\\x01key999' @ ") != std::string::npos);
  const std::string stats = Property(db, "leveldb.stats");
  CHECK(stats.find("Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n") != std::string::npos);
  delete db;
}

// A comparator that forwards to the built-in one under its name is the built-in one.
void NamedLikeBytewise() {
  class Forwarding : public leveldb::Comparator {
   public:
    int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }
    const char* Name() const override { return leveldb::BytewiseComparator()->Name(); }
    void FindShortestSeparator(std::string*, const Slice&) const override {}
    void FindShortSuccessor(std::string*) const override {}
  };
  const Forwarding forwarding;
  Options options = Creating();
  options.comparator = &forwarding;
  DB* db = nullptr;
  Need(DB::Open(options, directory + "/forwarded", &db));
  Need(db->Put(WriteOptions(), "k", "v"));
  delete db;
  Need(DB::Open(Options(), directory + "/forwarded", &db));
  std::string value;
  CHECK(db->Get(ReadOptions(), "k", &value).ok() && value == "v");
  delete db;
}

// Files whose logs fail or wait at their syncs, as the test says.
class SyncingEnv : public leveldb::EnvWrapper {
 public:
  SyncingEnv() : EnvWrapper(Env::Default()) {}

  Status NewWritableFile(const std::string& name, leveldb::WritableFile** result) override {
    const Status status = target()->NewWritableFile(name, result);
    if (status.ok() && name.find(".log") != std::string::npos) *result = new Log(this, *result);
    return status;
  }

  std::atomic<bool> fails{false};
  std::atomic<int> pause_millis{0};
  std::atomic<int> syncs{0};

 private:
  struct Log : leveldb::WritableFile {
    Log(SyncingEnv* own_env, leveldb::WritableFile* own) : env(own_env), file(own) {}
    Status Append(const Slice& data) override { return file->Append(data); }
    Status Close() override { return file->Close(); }
    Status Flush() override { return file->Flush(); }
    Status Sync() override {
      env->syncs++;
      std::this_thread::sleep_for(std::chrono::milliseconds(env->pause_millis));
      return env->fails ? Status::IOError("no sync today") : file->Sync();
    }

    SyncingEnv* const env;
    const std::unique_ptr<leveldb::WritableFile> file;
  };
};

// As in LevelDB, readers see a synced write only when it is durable.
void SyncedWrites() {
  SyncingEnv env;
  Options options = Creating();
  options.env = &env;
  DB* db = nullptr;
  Need(DB::Open(options, directory + "/synced", &db));
  WriteOptions synced;
  synced.sync = true;
  std::string value;

  // No reader sees a write before it returns.
  env.pause_millis = 2;
  std::atomic<int> begun{0}, returned{-1};
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    std::string found;
    while (!stop) {
      const int i = begun;
      const bool seen = db->Get(ReadOptions(), "early" + std::to_string(i), &found).ok();
      if (seen && returned < i) {
        // The writer may have returned between the read and this look.
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        CHECK(returned >= i);
      }
    }
  });
  for (int i = 0; i < 50; i++) {
    begun = i;
    Need(db->Put(synced, "early" + std::to_string(i), "1"));
    returned = i;
  }
  stop = true;
  reader.join();

  // Writes of several threads share syncs, and each hears of its own mistake only.
  env.pause_millis = 10;
  env.syncs = 0;
  std::vector<std::thread> writers;
  const std::string too_long((512 << 10) + 1, 'k');
  for (int w = 0; w < 8; w++) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < 10; i++) {
        const std::string key = std::to_string(w) + "/" + std::to_string(i);
        if (w == 7) {
          CHECK(db->Put(synced, too_long, "1").IsInvalidArgument());
        } else if (w % 2 == 0) {
          Need(db->Put(synced, key, key));
        } else {
          WriteBatch batch;
          batch.Put(key, key);
          batch.Delete("absent");
          Need(db->Write(synced, &batch));
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (int w = 0; w < 7; w++) {
    for (int i = 0; i < 10; i++) {
      const std::string key = std::to_string(w) + "/" + std::to_string(i);
      CHECK(db->Get(ReadOptions(), key, &value).ok() && value == key);
    }
  }
  CHECK(env.syncs < 70);
  env.pause_millis = 0;

  // A write whose sync fails is not seen.
  Need(db->Put(synced, "k", "old"));
  env.fails = true;
  CHECK(db->Put(synced, "k", "new").IsIOError());
  env.fails = false;
  CHECK(db->Get(ReadOptions(), "k", &value).ok() && value == "old");
  CHECK(!db->Put(WriteOptions(), "x", "1").ok());
  delete db;
}

// Files that a read cannot find, while the test says so.
class LosingEnv : public leveldb::EnvWrapper {
 public:
  LosingEnv() : EnvWrapper(Env::Default()) {}

  Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** file) override {
    const Status status = target()->NewRandomAccessFile(name, file);
    if (status.ok()) *file = new Table(this, *file);
    return status;
  }

  std::atomic<bool> loses{false};

 private:
  struct Table : leveldb::RandomAccessFile {
    Table(LosingEnv* own_env, leveldb::RandomAccessFile* own) : env(own_env), file(own) {}
    Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
      if (env->loses) return Status::NotFound("table", "No such file or directory");
      return file->Read(offset, n, result, scratch);
    }

    LosingEnv* const env;
    const std::unique_ptr<leveldb::RandomAccessFile> file;
  };
};

// A missing file is an error of the read. It does not say that the key is absent.
void MissingTable() {
  LosingEnv env;
  Options options = Creating();
  options.env = &env;
  DB* db = nullptr;
  Need(DB::Open(options, directory + "/losing", &db));
  Need(db->Put(WriteOptions(), "k", "v"));
  db->CompactRange(nullptr, nullptr);
  delete db;
  Need(DB::Open(options, directory + "/losing", &db));
  env.loses = true;
  std::string value;
  const Status lost = db->Get(ReadOptions(), "k", &value);
  CHECK(lost.IsIOError() && Has(lost, "No such file"));
  env.loses = false;
  CHECK(db->Get(ReadOptions(), "k", &value).ok() && value == "v");
  CHECK(db->Get(ReadOptions(), "absent", &value).IsNotFound());
  delete db;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  directory = argv[1];
  Limits();
  ForeignDirectories();
  FailedOpens();
  LogFiles();
  Properties();
  NamedLikeBytewise();
  SyncedWrites();
  MissingTable();
  std::puts("every database is as it should be");
  return 0;
}
