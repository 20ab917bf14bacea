// A database whose files are in a subclass of Env, and one whose Env fails.
//
// Invariant: a database that met an error is closed before its Env works again.

#include <memory>
#include <string>

#include "everything.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/write_batch.h"
#include "report.h"
#include "user_env.h"

using leveldb::DB;
using leveldb::Env;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Status;
using leveldb::WriteOptions;

namespace {

Options In(Env* env) {
  Options options;
  options.env = env;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 16;
  return options;
}

void Fill(DB* db, const std::string& value) {
  for (int i = 0; i < 3000; i++) {
    const std::string key = "key" + std::to_string(i * 7 % 3001);
    report::Need("put", db->Put(WriteOptions(), key, value + std::string(60, 'e')));
  }
}

void Counting(bool appends) {
  CountingEnv env;
  env.appends = appends;
  Options options = In(&env);
  DB* db = nullptr;
  for (int round = 0; round < 4; round++) {
    options.reuse_logs = round >= 2;
    report::Need("open", DB::Open(options, report::Path("user"), &db));
    report::Say("found", report::Entries(db));
    Fill(db, std::to_string(round));
    WriteOptions sync;
    sync.sync = true;
    report::Result("put with sync", db->Put(sync, "synced", std::to_string(round)));
    if (round == 1) db->CompactRange(nullptr, nullptr);
    DB* second = nullptr;
    report::YesNo("a second open fails", !DB::Open(options, report::Path("user"), &second).ok());
    report::Say("get", report::Get(db, "key77"));
    delete db;
    report::Number("files left open", static_cast<uint64_t>(env.open_files.load()));
  }
  report::YesNo("sequential files", env.sequential > 0);
  report::YesNo("random access files", env.random > 0);
  report::YesNo("writable files", env.writable > 0);
  report::YesNo("loggers", env.logger > 0);
  report::YesNo("reads", env.read > 0);
  report::YesNo("random reads", env.random_read > 0);
  report::YesNo("appends", env.append > 0);
  report::YesNo("syncs", env.sync > 0);
  report::YesNo("closes", env.close > 0);
  report::YesNo("log lines", env.logged > 0);
  report::YesNo("looks for files", env.exists > 0);
  report::YesNo("lists", env.children > 0);
  report::YesNo("removes", env.removed > 0);
  report::YesNo("directories", env.created_dirs > 0);
  report::YesNo("sizes", env.sizes > 0);
  report::YesNo("renames", env.renamed > 0);
  report::YesNo("locks", env.locked > 0 && env.unlocked > 0);
  report::Number("removals of missing files", static_cast<uint64_t>(env.missing_removed.load()));
  report::Number("removals of open files", static_cast<uint64_t>(env.open_removed.load()));
  report::YesNo("holds bytes", env.Bytes() > 0);
  report::YesNo("nothing on disk", !Env::Default()->FileExists(report::Path("user")));
  report::Result("repair", leveldb::RepairDB(report::Path("user"), options));
  report::Need("open", DB::Open(options, report::Path("user"), &db));
  report::Say("found", report::Entries(db));
  delete db;
  report::Result("destroy", leveldb::DestroyDB(report::Path("user"), options));
  options.create_if_missing = false;
  report::YesNo("nothing is found", !DB::Open(options, report::Path("user"), &db).ok());
}

// Says whether a status carries the error of the Env.
void Told(const std::string& what, const Status& status) {
  report::YesNo(what + " fails", !status.ok());
  report::YesNo("  as an IO error", status.IsIOError());
  report::YesNo("  with the text of the Env",
                status.ToString().find("a told failure") != std::string::npos);
}

// Opens a database, and puts a key. Ours keeps the files of a clean close until the first write.
Status OpenAndPut(const Options& options, DB** db) {
  const Status status = DB::Open(options, report::Path("failing"), db);
  return status.ok() ? (*db)->Put(WriteOptions(), "refused", "1") : status;
}

void FailingOpen() {
  std::unique_ptr<Env> memory(leveldb::NewMemEnv(Env::Default()));
  FailingEnv env(memory.get());
  const Options options = In(&env);
  DB* db = nullptr;
  for (auto operation : {FailingEnv::kWritable, FailingEnv::kLock, FailingEnv::kAppend}) {
    env.failing = operation;
    db = reinterpret_cast<DB*>(&db);
    Told("creation", DB::Open(options, report::Path("failing"), &db));
    report::YesNo("  the pointer is null", db == nullptr);
  }
  env.failing = FailingEnv::kNone;
  report::Need("open", DB::Open(options, report::Path("failing"), &db));
  Fill(db, "first");
  db->CompactRange(nullptr, nullptr);
  db->Put(WriteOptions(), "in the log", "yes");
  delete db;
  for (auto operation : {FailingEnv::kSequential, FailingEnv::kRead, FailingEnv::kChildren,
                         FailingEnv::kWritable, FailingEnv::kLock}) {
    env.failing = operation;
    db = nullptr;
    Told("open with a put", OpenAndPut(options, &db));
    delete db;
  }
  env.failing = FailingEnv::kNone;
  report::Need("open", DB::Open(options, report::Path("failing"), &db));
  report::Say("after the failures", report::Entries(db));
  delete db;
}

void FailingWrites() {
  std::unique_ptr<Env> memory(leveldb::NewMemEnv(Env::Default()));
  FailingEnv env(memory.get());
  const Options options = In(&env);
  WriteOptions sync;
  sync.sync = true;
  DB* db = nullptr;
  report::Need("open", DB::Open(options, report::Path("failing"), &db));
  db->Put(sync, "before", "1");
  env.failing = FailingEnv::kAppend;
  Told("put", db->Put(WriteOptions(), "lost", "1"));
  report::Say("the put is not seen", report::Get(db, "lost"));
  report::Say("reads go on", report::Get(db, "before"));
  delete db;
  env.failing = FailingEnv::kNone;
  report::Need("open", DB::Open(options, report::Path("failing"), &db));
  report::Say("after a failed append", report::Entries(db));
  env.failing = FailingEnv::kSync;
  Told("put with sync", db->Put(sync, "unsynced", "1"));
  report::YesNo("writes fail from then on", !db->Put(WriteOptions(), "after", "1").ok());
  report::Say("reads go on", report::Get(db, "before"));
  delete db;
  env.failing = FailingEnv::kNone;
  report::Need("open", DB::Open(options, report::Path("failing"), &db));
  report::Say("after a failed sync", report::Get(db, "before"));
  // The memory table cannot be written to a file.
  env.failing = FailingEnv::kWritable;
  Status status;
  for (int i = 0; i < 100000 && status.ok(); i++) {
    status = db->Put(WriteOptions(), "flood" + std::to_string(i), std::string(1000, 'f'));
  }
  Told("a put after a failed flush", status);
  report::YesNo("the Env failed", env.failures > 0);
  report::Say("reads go on", report::Get(db, "before"));
  delete db;
  env.failing = FailingEnv::kNone;
  report::Need("open", DB::Open(options, report::Path("failing"), &db));
  report::Say("after a failed flush", report::Get(db, "flood0").substr(0, 5));
  delete db;
}

void FailingReads() {
  std::unique_ptr<Env> memory(leveldb::NewMemEnv(Env::Default()));
  FailingEnv env(memory.get());
  const Options options = In(&env);
  DB* db = nullptr;
  report::Need("open", DB::Open(options, report::Path("failing"), &db));
  Fill(db, "first");
  db->CompactRange(nullptr, nullptr);
  delete db;
  report::Need("open", DB::Open(options, report::Path("failing"), &db));
  env.failing = FailingEnv::kRandomRead;
  std::string value = "old";
  Told("get", db->Get(ReadOptions(), "key5", &value));
  std::unique_ptr<leveldb::Iterator> it(db->NewIterator(ReadOptions()));
  it->SeekToFirst();
  report::YesNo("an iterator is invalid", !it->Valid());
  Told("its status", it->status());
  it.reset();
  env.failing = FailingEnv::kNone;
  report::Say("get after the failure", report::Get(db, "key5"));
  report::Say("all after the failure", report::Entries(db));
  delete db;
}

}  // namespace

void UserEnvironments() {
  report::Section("user environments, in memory");
  Counting(true);
  report::Section("user environments, without appending");
  Counting(false);
  report::Section("user environments, failing");
  FailingOpen();
  FailingWrites();
  FailingReads();
}
