// What a process does around a database: it forks, exits, has few descriptors, and forgets objects.
//
//   process DIRECTORY
//
// Invariant: the output is the same with every library that behaves as LevelDB does.

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/c.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/write_batch.h"
#include "report.h"

namespace {

using leveldb::DB;
using leveldb::Env;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Status;
using leveldb::WriteOptions;

Options Creating() {
  Options options;
  options.create_if_missing = true;
  return options;
}

DB* Open(const std::string& name, const Options& options = Creating()) {
  DB* db = nullptr;
  report::Need("open " + name, DB::Open(options, report::Path(name), &db));
  return db;
}

std::string Key(int number) {
  char key[16];
  std::snprintf(key, sizeof key, "key%08d", number);
  return key;
}

// Runs a function in a child, which ends without the destructors of the program.
int InChild(const std::function<void()>& run) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    // A child that hangs ends by the signal.
    alarm(60);
    run();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// A child that a fork made does not keep the lock of a database that its parent closes.
void LocksAndForks() {
  DB* db = Open("forked");
  report::Need("put", db->Put(WriteOptions(), "a", "1"));
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  delete db;
  db = Open("forked");
  report::Say("opened again while a child lives", report::Get(db, "a"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  // The child's copy ends without taking anything from the parent.
  report::Number("a child deletes its copy", InChild([db] { delete db; }));
  report::Result("the parent writes on", db->Put(WriteOptions(), "b", "2"));
  DB* second = nullptr;
  report::YesNo("the parent has the lock",
                DB::Open(Options(), report::Path("forked"), &second).IsIOError());
  delete db;
}

// The lock of an open database and the lock of Env exclude each other.
void LocksOfEnv() {
  DB* db = Open("locked");
  const std::string name = report::Path("locked") + "/LOCK";
  Env* const env = Env::Default();
  leveldb::FileLock* lock = nullptr;
  report::YesNo("Env locks an open database", env->LockFile(name, &lock).ok());
  report::Number("a child locks it", InChild([&] {
                   leveldb::FileLock* own = nullptr;
                   _exit(env->LockFile(name, &own).ok() ? 1 : 0);
                 }));
  delete db;
  report::Result("Env locks a closed database", env->LockFile(name, &lock));
  db = nullptr;
  report::YesNo("then it opens", DB::Open(Options(), report::Path("locked"), &db).ok());
  report::Number("a child opens it", InChild([&] {
                   DB* own = nullptr;
                   _exit(DB::Open(Options(), report::Path("locked"), &own).ok() ? 1 : 0);
                 }));
  report::Result("unlock", env->UnlockFile(lock));
  delete Open("locked");
}

// A server that is killed starts again while its worker lives.
void KilledServer() {
  int begun[2];
  if (pipe(begun) != 0) abort();
  const pid_t server = fork();
  if (server == 0) {
    DB* db = Open("served");
    report::Need("put", db->Put(WriteOptions(), "a", "1"));
    if (fork() == 0) {
      // The worker tells: only then has it left the lock that it inherited.
      alarm(60);
      const pid_t worker = getpid();
      if (write(begun[1], &worker, sizeof worker) != sizeof worker) abort();
      pause();
      _exit(0);
    }
    pause();
    _exit(0);
  }
  pid_t worker = 0;
  if (read(begun[0], &worker, sizeof worker) != sizeof worker) abort();
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  DB* db = Open("served");
  report::Say("served again", report::Get(db, "a"));
  delete db;
  kill(worker, SIGKILL);
  close(begun[0]);
  close(begun[1]);
}

// A program that leaves a snapshot unreleased can open its database again.
void ForgottenSnapshots() {
  DB* db = Open("forgotten");
  report::Need("put", db->Put(WriteOptions(), "a", "1"));
  const leveldb::Snapshot* forgotten = db->GetSnapshot();
  report::YesNo("a snapshot", forgotten != nullptr);
  delete db;
  db = Open("forgotten");
  report::Say("opened again", report::Get(db, "a"));
  delete db;
}

// Uses and closes its database after main(), when the objects of the main thread are gone.
struct AtExit {
  ~AtExit() {
    if (db == nullptr) return;
    report::Result("put at exit", db->Put(WriteOptions(), "late", "1"));
    report::Say("get at exit", report::Get(db.get(), "late"));
    std::unique_ptr<leveldb::Iterator> last(db->NewIterator(ReadOptions()));
    last->SeekToLast();
    report::Say("last at exit", report::At(last.get()));
    last.reset();
    leveldb::WriteBatch batch;
    batch.Put("x", "y");
    batch.Delete("late");
    report::Result("batch at exit", db->Write(WriteOptions(), &batch));
    db->CompactRange(nullptr, nullptr);
    std::string tables;
    report::YesNo("has the property", db->GetProperty("leveldb.sstables", &tables));
    report::YesNo("compaction at exit", tables.find("'x' @ ") != std::string::npos);
    db.reset();
  }

  std::unique_ptr<DB> db;
};

void Exits() {
  const int status = InChild([] {
    static AtExit at_exit;
    at_exit.db.reset(Open("exits"));
    for (int i = 0; i < 5000; i++) {
      at_exit.db->Put(WriteOptions(), Key(i), std::string(1000, 'v'));
    }
    exit(0);
  });
  report::Number("exit with a database in a static object", status);
  std::unique_ptr<DB> db(Open("exits"));
  report::Say("late", report::Get(db.get(), "late"));
  report::Say("x", report::Get(db.get(), "x"));
}

// More tables than the process may have descriptors.
void FewDescriptors() {
  const int status = InChild([] {
    const rlimit limit = {80, 80};
    setrlimit(RLIMIT_NOFILE, &limit);
    Options options = Creating();
    options.compression = leveldb::kNoCompression;
    options.max_file_size = options.write_buffer_size = 1 << 20;
    std::unique_ptr<DB> db(Open("descriptors", options));
    Status status;
    for (int i = 0; i < 20000 && status.ok(); i++) {
      // Each key once, in an order that makes all tables overlap.
      status = db->Put(WriteOptions(), Key(i * 7919 % 20000), std::string(4000, 'v'));
    }
    report::Result("puts", status);
    int count = 0;
    std::unique_ptr<leveldb::Iterator> entry(db->NewIterator(ReadOptions()));
    for (entry->SeekToFirst(); entry->Valid(); entry->Next()) count++;
    report::Result("scan", entry->status());
    report::Number("entries", count);
  });
  report::Number("few descriptors", status);
}

// Returns the threads of this process.
int Threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, 8, "Threads:") == 0) return std::atoi(line.c_str() + 8);
  }
  return -1;
}

// A process with many databases has few threads. A child made by fork opens databases of its own.
void ManyDatabases() {
  std::vector<std::unique_ptr<DB>> databases;
  for (int i = 0; i < 60; i++) {
    databases.emplace_back(Open("many" + std::to_string(i)));
    for (int k = 0; k < 10; k++) {
      report::Need("put", databases.back()->Put(WriteOptions(), Key(k), std::to_string(i)));
    }
  }
  report::YesNo("few threads for 60 databases", Threads() <= 10);
  report::Number("a child opens a database", InChild([] {
    std::unique_ptr<DB> own(Open("of the child"));
    for (int k = 0; k < 100; k++) report::Need("put", own->Put(WriteOptions(), Key(k), "child"));
    own->CompactRange(nullptr, nullptr);
    report::Say("the child reads", report::Get(own.get(), Key(99)));
  }));
  databases.front()->CompactRange(nullptr, nullptr);
  report::Say("the last one", report::Get(databases.back().get(), Key(9)));
}

class SilentLogger : public leveldb::Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

// Repairs of directories without a database, and removals with options that no open takes.
void RepairsAndRemovals() {
  SilentLogger logger;
  Options own_logger;
  own_logger.info_log = &logger;
  report::Result("repair nothing", leveldb::RepairDB(report::Path("nothing"), Options()));
  delete Open("nothing", Options());
  report::Result("repair with a logger", leveldb::RepairDB(report::Path("none"), own_logger));
  report::YesNo("it makes a directory", Env::Default()->FileExists(report::Path("none")));
  report::Need("create", Env::Default()->CreateDir(report::Path("empty")));
  report::Result("repair an empty directory", leveldb::RepairDB(report::Path("empty"), own_logger));
  delete Open("empty", Options());
  const std::unique_ptr<Env> memory(leveldb::NewMemEnv(Env::Default()));
  Options in_memory;
  in_memory.env = memory.get();
  report::Result("repair nothing in memory", leveldb::RepairDB("/none", in_memory));
  Options odd;
  odd.compression = static_cast<leveldb::CompressionType>(1 << 4);
  report::Result("destroy with odd options", leveldb::DestroyDB(report::Path("empty"), odd));
  report::YesNo("it is gone", !Env::Default()->FileExists(report::Path("empty") + "/CURRENT"));
}

// Returns the bytes of a database's tables. The C interface makes it, with or without a filter.
uint64_t BytesOfTables(const std::string& name, bool filtered) {
  char* error = nullptr;
  leveldb_options_t* options = leveldb_options_create();
  leveldb_filterpolicy_t* policy = leveldb_filterpolicy_create_bloom(30);
  leveldb_options_set_create_if_missing(options, 1);
  leveldb_options_set_compression(options, leveldb_no_compression);
  if (filtered) leveldb_options_set_filter_policy(options, policy);
  leveldb_t* db = leveldb_open(options, report::Path(name).c_str(), &error);
  leveldb_writeoptions_t* write = leveldb_writeoptions_create();
  for (int i = 0; i < 20000; i++) {
    const std::string key = Key(i);
    leveldb_put(db, write, key.data(), key.size(), "v", 1, &error);
  }
  leveldb_compact_range(db, nullptr, 0, nullptr, 0);
  leveldb_close(db);
  leveldb_writeoptions_destroy(write);
  leveldb_options_destroy(options);
  leveldb_filterpolicy_destroy(policy);
  std::vector<std::string> children;
  report::Need("list", Env::Default()->GetChildren(report::Path(name), &children));
  uint64_t bytes = 0;
  for (const std::string& child : children) {
    const size_t dot = child.rfind('.');
    if (dot == std::string::npos || child.substr(dot) == ".log") continue;
    uint64_t size = 0;
    if (Env::Default()->GetFileSize(report::Path(name) + "/" + child, &size).ok()) bytes += size;
  }
  return bytes;
}

// 30 bits a key are 75000 bytes for 20000 keys. A filter of another size is told apart.
void FiltersOfC() {
  const uint64_t plain = BytesOfTables("plain", false);
  report::YesNo("the tables hold the filters of C programs",
                BytesOfTables("filtered", true) > plain + 40000);
}

}  // namespace

int main(int, char** argv) {
  report::SetDirectory(argv[1]);
  report::Section("processes");
  LocksAndForks();
  LocksOfEnv();
  KilledServer();
  ForgottenSnapshots();
  Exits();
  FewDescriptors();
  ManyDatabases();
  RepairsAndRemovals();
  FiltersOfC();
  return 0;
}
