// Open and its errors, the lock, DestroyDB, RepairDB, and the death of a process.
//
// Invariant: a second process is started by exec, so it inherits no thread and no lock.

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "everything.h"
#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"
#include "report.h"

using leveldb::DB;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Status;
using leveldb::WriteOptions;

namespace {

Options Creating() {
  Options options;
  options.create_if_missing = true;
  return options;
}

Status TryOpen(const Options& options, const std::string& path, bool* null) {
  DB* db = reinterpret_cast<DB*>(&db);
  const Status status = DB::Open(options, path, &db);
  *null = db == nullptr;
  delete db;
  return status;
}

void Try(const std::string& what, const Options& options, const std::string& name) {
  bool null = false;
  const Status status = TryOpen(options, report::Path(name), &null);
  report::Result(what, status);
  if (!status.ok()) report::YesNo("  the pointer is null", null);
}

void Errors() {
  Options exclusive = Creating();
  exclusive.error_if_exists = true;
  Try("missing, not created", Options(), "opening");
  Try("created", Creating(), "opening");
  Try("opened again", Options(), "opening");
  Try("exists", exclusive, "opening");
  Try("missing, exclusive", exclusive, "exclusive");
  Try("exclusive again", exclusive, "exclusive");
  Try("below a missing directory", Creating(), "no/such/directory");
  std::ofstream(report::Path("a file")) << "text";
  Try("a file", Creating(), "a file");
  Try("below a file", Creating(), "a file/below");
  ::mkdir(report::Path("empty").c_str(), 0755);
  Try("an empty directory, not created", Options(), "empty");
  Try("an empty directory", Creating(), "empty");
}

std::string Self() {
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

// Starts this program with a role. Its output goes to the pipe.
pid_t Start(const char* role, const std::string& path, FILE** output) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const std::string self = Self();
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execl(self.c_str(), self.c_str(), role, path.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  *output = ::fdopen(ends[0], "r");
  return child;
}

std::string Line(FILE* from) {
  char line[1024] = "";
  if (std::fgets(line, sizeof(line), from) == nullptr) return "";
  std::string text = line;
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void Locks() {
  DB* first = nullptr;
  report::Need("open", DB::Open(Creating(), report::Path("locked"), &first));
  first->Put(WriteOptions(), "k", "v");
  FILE* output = nullptr;
  const pid_t child = Start("--open", report::Path("locked"), &output);
  report::Say("open in another process", Line(output));
  std::fclose(output);
  ::waitpid(child, nullptr, 0);
  // The original loses its POSIX lock by this attempt, so the other process comes first.
  Try("open twice in a process", Creating(), "locked");
  report::Result("destroy while open", leveldb::DestroyDB(report::Path("locked"), Options()));
  report::Say("still there", report::Get(first, "k"));
  delete first;
  Try("open after close", Options(), "locked");
}

void Destroy() {
  const std::string path = report::Path("destroyed");
  Try("created", Creating(), "destroyed");
  report::Result("destroy", leveldb::DestroyDB(path, Options()));
  report::YesNo("the directory is gone", ::access(path.c_str(), F_OK) != 0);
  report::Result("destroy of nothing", leveldb::DestroyDB(path, Options()));
  Try("gone", Options(), "destroyed");
  Try("created again", Creating(), "destroyed");
  std::ofstream(path + "/notes.txt") << "text";
  report::Result("destroy beside a file of another program",
                 leveldb::DestroyDB(path, Options()));
  report::YesNo("that file stays", ::access((path + "/notes.txt").c_str(), F_OK) == 0);
  Try("the database is gone", Options(), "destroyed");
}

void Reopen() {
  std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(1 << 20));
  std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  Options options = Creating();
  options.block_cache = cache.get();
  options.filter_policy = filter.get();
  options.env = leveldb::Env::Default();
  for (int round = 0; round < 6; round++) {
    options.reuse_logs = round % 2 == 1;
    options.paranoid_checks = round % 3 == 1;
    options.compression = round == 3 ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    options.write_buffer_size = round == 4 ? 1 << 16 : 4 << 20;
    options.filter_policy = round == 2 ? nullptr : filter.get();
    DB* db = nullptr;
    report::Need("open", DB::Open(options, report::Path("reopened"), &db));
    report::Say("found", report::Entries(db));
    for (int i = 0; i < 3000; i++) {
      db->Put(WriteOptions(), "key" + std::to_string(i * (round + 1)),
              std::to_string(round) + std::string(40, 'z'));
    }
    db->Delete(WriteOptions(), "key" + std::to_string(round * 100));
    delete db;
  }
}

void Repair() {
  bool null = false;
  const std::string path = report::Path("repaired");
  DB* db = nullptr;
  Options options = Creating();
  options.write_buffer_size = 1 << 16;
  report::Need("open", DB::Open(options, path, &db));
  for (int i = 0; i < 5000; i++) {
    db->Put(WriteOptions(), "key" + std::to_string(i * 31 % 5000), "value" + std::to_string(i));
    if (i % 7 == 0) db->Delete(WriteOptions(), "key" + std::to_string(i));
  }
  const std::string whole = report::Entries(db);
  delete db;
  report::Result("repair", leveldb::RepairDB(path, Options()));
  report::Need("open", DB::Open(Options(), path, &db));
  report::YesNo("all is there", report::Entries(db) == whole);
  report::Say("all", whole);
  report::Result("put", db->Put(WriteOptions(), "new", "entry"));
  delete db;
  report::Result("open again", TryOpen(Options(), path, &null));
  report::YesNo("repair of nothing fails",
                !leveldb::RepairDB(report::Path("nothing/at/all"), Options()).ok());
}

void Killed() {
  const std::string path = report::Path("killed");
  for (int round = 0; round < 3; round++) {
    FILE* output = nullptr;
    const pid_t child = Start("--write", path, &output);
    // The child has written 1000 entries more by each line.
    std::string line;
    for (int lines = 0; lines < 3; lines++) line = Line(output);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::fclose(output);
    report::Say("the child's last word", line);
    DB* db = nullptr;
    report::Need("open after a kill", DB::Open(Options(), path, &db));
    int missing = 0;
    for (int i = 0; i < 3000; i++) {
      missing += report::Get(db, "key" + std::to_string(i)) != "'value" + std::to_string(i) + "'";
    }
    report::Number("missing entries", static_cast<uint64_t>(missing));
    delete db;
  }
}

}  // namespace

int OpenInChild(const std::string& path) {
  DB* db = nullptr;
  const Status status = DB::Open(Creating(), path, &db);
  std::printf("%s\n", status.ToString().c_str());
  delete db;
  return 0;
}

int WriteUntilKilled(const std::string& path) {
  DB* db = nullptr;
  Options options = Creating();
  options.write_buffer_size = 1 << 16;
  const Status status = DB::Open(options, path, &db);
  if (!status.ok()) {
    std::printf("%s\n", status.ToString().c_str());
    return 1;
  }
  for (int i = 0;; i++) {
    db->Put(WriteOptions(), "key" + std::to_string(i), "value" + std::to_string(i));
    if (i % 1000 == 999) {
      std::printf("wrote %d\n", i + 1);
      std::fflush(stdout);
    }
    if (i == 200000) return 1;
  }
}

void Opening() {
  Errors();
  Locks();
  Destroy();
  Reopen();
  Repair();
  Killed();
}
