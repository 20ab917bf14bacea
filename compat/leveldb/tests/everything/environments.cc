// The default Env, the one in memory, EnvWrapper, and the functions that work over any Env.
//
// Invariant: every file that a part opens is closed before the part ends.

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <memory>
#include <string>
#include <vector>

#include "everything.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"
#include "report.h"

using leveldb::Env;
using leveldb::Slice;
using leveldb::Status;

namespace {

std::string Children(Env* env, const std::string& dir) {
  std::vector<std::string> names = {"old"};
  const Status status = env->GetChildren(dir, &names);
  if (!status.ok()) return status.ToString();
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) {
    // An Env may list the directory itself and its parent or not.
    if (name != "." && name != "..") text += name + " ";
  }
  return text.empty() ? "none" : text;
}

void Writing(Env* env, const std::string& path) {
  leveldb::WritableFile* file = nullptr;
  report::Result("new file", env->NewWritableFile(path, &file));
  report::Result("append", file->Append("hello "));
  report::Result("append", file->Append(std::string(70000, 'x')));
  report::Result("append nothing", file->Append(""));
  report::Result("flush", file->Flush());
  report::Result("sync", file->Sync());
  report::Result("append", file->Append("end"));
  report::Result("close", file->Close());
  delete file;
  uint64_t size = 0;
  report::Result("size", env->GetFileSize(path, &size));
  report::Number("bytes", size);
  report::Result("append to it", env->NewAppendableFile(path, &file));
  file->Append("more");
  report::Result("close", file->Close());
  delete file;
  env->GetFileSize(path, &size);
  report::Number("bytes", size);
}

void Reading(Env* env, const std::string& path) {
  leveldb::SequentialFile* sequential = nullptr;
  char scratch[64];
  Slice result;
  report::Result("sequential", env->NewSequentialFile(path, &sequential));
  report::Result("read", sequential->Read(5, &result, scratch));
  report::Say("bytes", report::Quoted(result));
  report::Result("skip", sequential->Skip(70001));
  report::Result("read past the end", sequential->Read(64, &result, scratch));
  report::Say("bytes", report::Quoted(result));
  report::Result("read at the end", sequential->Read(64, &result, scratch));
  report::Number("bytes", result.size());
  report::Result("skip at the end", sequential->Skip(10));
  delete sequential;
  leveldb::RandomAccessFile* random = nullptr;
  report::Result("random", env->NewRandomAccessFile(path, &random));
  report::Result("read", random->Read(2, 6, &result, scratch));
  report::Say("bytes", report::Quoted(result));
  report::Result("read the end", random->Read(70006, 7, &result, scratch));
  report::Say("bytes", report::Quoted(result));
  delete random;
}

void Names(Env* env, const std::string& dir) {
  const std::string a = dir + "/a", b = dir + "/b";
  report::YesNo("a exists", env->FileExists(a));
  report::YesNo("b exists", env->FileExists(b));
  report::Result("write a string", leveldb::WriteStringToFile(env, Slice("b\0b", 3), b));
  std::string text = "old";
  report::Result("read a string", leveldb::ReadFileToString(env, b, &text));
  report::Say("string", report::Quoted(text));
  report::Say("children", Children(env, dir));
  report::Result("rename", env->RenameFile(b, a));
  report::Say("children", Children(env, dir));
  leveldb::ReadFileToString(env, a, &text);
  report::Say("string", report::Quoted(text));
  report::Result("remove", env->RemoveFile(a));
  report::YesNo("a exists", env->FileExists(a));
  report::Say("children", Children(env, dir));
  leveldb::WriteStringToFile(env, "x", a);
  report::Result("remove by the old name", env->DeleteFile(a));
  report::YesNo("a exists", env->FileExists(a));
}

void Missing(Env* env, const std::string& dir) {
  const std::string none = dir + "/none";
  leveldb::SequentialFile* sequential = nullptr;
  leveldb::RandomAccessFile* random = nullptr;
  std::string text = "old";
  uint64_t size = 7;
  report::Result("missing, sequential", env->NewSequentialFile(none, &sequential));
  report::YesNo("null", sequential == nullptr);
  report::Result("missing, random", env->NewRandomAccessFile(none, &random));
  report::YesNo("null", random == nullptr);
  report::Result("missing, size", env->GetFileSize(none, &size));
  report::Result("missing, remove", env->RemoveFile(none));
  report::Result("missing, rename", env->RenameFile(none, none + "2"));
  report::Result("missing, read", leveldb::ReadFileToString(env, none, &text));
  report::Say("string", report::Quoted(text));
}

void Locking(Env* env, const std::string& path) {
  leveldb::FileLock* lock = nullptr;
  report::Result("lock", env->LockFile(path, &lock));
  report::YesNo("a lock", lock != nullptr);
  report::Result("unlock", env->UnlockFile(lock));
  report::Result("lock again", env->LockFile(path, &lock));
  report::Result("unlock", env->UnlockFile(lock));
}

struct Work {
  std::atomic<int> done{0};
  std::atomic<int> order{0};
};

void Step(void* argument) { static_cast<Work*>(argument)->done++; }

void Threading(Env* env) {
  Work work;
  for (int i = 0; i < 10; i++) env->Schedule(Step, &work);
  env->StartThread(Step, &work);
  for (int i = 0; i < 5000 && work.done < 11; i++) env->SleepForMicroseconds(1000);
  report::Number("work done", static_cast<uint64_t>(work.done.load()));
  const uint64_t before = env->NowMicros();
  env->SleepForMicroseconds(2000);
  const uint64_t passed = env->NowMicros() - before;
  report::YesNo("slept", passed >= 2000 && passed < 10000000);
}

void Note(leveldb::Logger* logger, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  logger->Logv(format, arguments);
  va_end(arguments);
}

void Logging(Env* env, const std::string& path) {
  leveldb::Logger* logger = nullptr;
  report::Result("logger", env->NewLogger(path, &logger));
  Note(logger, "number %d and %s", 42, "text");
  Note(logger, "%s", std::string(3000, 'l').c_str());
  Note(logger, "ended\n");
  delete logger;
  std::string text;
  report::Result("its file", leveldb::ReadFileToString(env, path, &text));
  report::YesNo("number and text", text.find(" number 42 and text\n") != std::string::npos);
  report::YesNo("long", text.find(std::string(3000, 'l') + "\n") != std::string::npos);
  report::YesNo("one newline", text.find("ended\n") == text.size() - 6);
  report::Result("remove", env->RemoveFile(path));
}

void All(Env* env, const std::string& dir) {
  report::Result("create the directory", env->CreateDir(dir));
  report::Say("children", Children(env, dir));
  Writing(env, dir + "/a");
  Reading(env, dir + "/a");
  Names(env, dir);
  Missing(env, dir);
  Locking(env, dir + "/lock");
  Logging(env, dir + "/log");
  Threading(env);
  report::Result("remove the lock's file", env->RemoveFile(dir + "/lock"));
}

// Overrides nothing: every call goes through EnvWrapper.
class PlainWrapper : public leveldb::EnvWrapper {
 public:
  explicit PlainWrapper(Env* target) : leveldb::EnvWrapper(target) {}
};

// An Env of an old program, which overrides only the names of before 1.23.
class LegacyEnv : public leveldb::EnvWrapper {
 public:
  explicit LegacyEnv(Env* target) : leveldb::EnvWrapper(target) {}
  Status NewAppendableFile(const std::string& name, leveldb::WritableFile** file) override {
    return Env::NewAppendableFile(name, file);
  }
  Status RemoveFile(const std::string& name) override { return Env::RemoveFile(name); }
  Status DeleteFile(const std::string& name) override {
    deleted += "file ";
    return target()->RemoveFile(name);
  }
  Status RemoveDir(const std::string& name) override { return Env::RemoveDir(name); }
  Status DeleteDir(const std::string& name) override {
    deleted += "directory ";
    return target()->RemoveDir(name);
  }
  std::string deleted;
};

void Legacy(Env* target, const std::string& dir) {
  LegacyEnv env(target);
  leveldb::WritableFile* file = nullptr;
  report::Result("no appending", env.NewAppendableFile(dir + "/a", &file));
  env.CreateDir(dir);
  leveldb::WriteStringToFile(&env, "x", dir + "/a");
  report::Result("remove", env.RemoveFile(dir + "/a"));
  report::Result("remove the directory", env.RemoveDir(dir));
  report::Say("calls", env.deleted);
  report::YesNo("target", env.target() == target);
}

void DatabaseIn(Env* env, const std::string& path) {
  leveldb::Options options;
  options.env = env;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 16;
  for (int round = 0; round < 3; round++) {
    leveldb::DB* db = nullptr;
    report::Need("open", leveldb::DB::Open(options, path, &db));
    report::Say("found", report::Entries(db));
    for (int i = 0; i < 3000; i++) {
      db->Put(leveldb::WriteOptions(), "key" + std::to_string(i * 7 % 3001),
              std::to_string(round) + std::string(50, 'm'));
    }
    if (round == 1) db->CompactRange(nullptr, nullptr);
    delete db;
  }
  report::Result("destroy", leveldb::DestroyDB(path, options));
  options.create_if_missing = false;
  leveldb::DB* db = nullptr;
  report::YesNo("nothing is left", !leveldb::DB::Open(options, path, &db).ok());
}

}  // namespace

void Environments() {
  Env* posix = Env::Default();
  report::YesNo("one default", posix == Env::Default());
  std::string directory;
  report::Result("test directory", posix->GetTestDirectory(&directory));
  report::YesNo("has a name", !directory.empty());
  report::Section("environments, default");
  All(posix, report::Path("files"));
  report::Result("create it again", posix->CreateDir(report::Path("files")));
  leveldb::WriteStringToFile(posix, "x", report::Path("files/x"));
  report::Result("remove it with a file", posix->RemoveDir(report::Path("files")));
  posix->RemoveFile(report::Path("files/x"));
  report::Result("remove it", posix->RemoveDir(report::Path("files")));
  report::Result("remove it again", posix->RemoveDir(report::Path("files")));
  report::Result("by the old name", posix->DeleteDir(report::Path("files")));
  report::Say("children of nothing", Children(posix, report::Path("files")));
  report::Result("create below nothing", posix->CreateDir(report::Path("no/such")));
  leveldb::WritableFile* file = nullptr;
  report::Result("new below nothing", posix->NewWritableFile(report::Path("no/such"), &file));
  report::YesNo("null", file == nullptr);
  report::Result("append below nothing", posix->NewAppendableFile(report::Path("no/such"), &file));
  leveldb::FileLock* lock = nullptr;
  report::Result("lock below nothing", posix->LockFile(report::Path("no/such"), &lock));
  report::Section("environments, wrapper");
  leveldb::EnvWrapper wrapper(posix);
  All(&wrapper, report::Path("wrapped"));
  Legacy(posix, report::Path("legacy"));
  PlainWrapper plain(&wrapper);
  DatabaseIn(&plain, report::Path("in the wrapper"));
  report::Section("environments, memory");
  std::unique_ptr<Env> memory(leveldb::NewMemEnv(posix));
  All(memory.get(), "/dir");
  Legacy(memory.get(), "/legacy");
  DatabaseIn(memory.get(), report::Path("in memory"));
}
