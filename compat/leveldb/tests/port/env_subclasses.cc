// Envs of a program: the two names of one call, wrappers, and the files in memory.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"
#include "port.h"

using leveldb::Env;
using leveldb::EnvWrapper;
using leveldb::Slice;
using leveldb::Status;

namespace {

void Say(const char* what, const Status& status) {
  std::printf("%s: %s\n", what, status.ToString().c_str());
}

// An Env of today, which overrides the new names.
class NewNames : public EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;
  Status RemoveFile(const std::string& name) override { return Status::NotFound("new", name); }
  Status RemoveDir(const std::string& name) override { return Status::NotFound("new dir", name); }
};

// An Env from before the new names. A wrapper would override them.
class OldNames : public Env {
 public:
  Status NewSequentialFile(const std::string&, leveldb::SequentialFile** file) override {
    *file = nullptr;
    return Status::IOError("sequential");
  }
  Status NewRandomAccessFile(const std::string&, leveldb::RandomAccessFile** file) override {
    *file = nullptr;
    return Status::IOError("random");
  }
  Status NewWritableFile(const std::string&, leveldb::WritableFile** file) override;
  bool FileExists(const std::string&) override { return false; }
  Status GetChildren(const std::string&, std::vector<std::string>*) override {
    return Status::OK();
  }
  Status DeleteFile(const std::string& name) override {
    std::printf("old delete %s\n", name.c_str());
    return Status::NotFound("old", name);
  }
  Status CreateDir(const std::string&) override { return Status::OK(); }
  Status DeleteDir(const std::string& name) override { return Status::NotFound("old dir", name); }
  Status GetFileSize(const std::string&, uint64_t*) override { return Status::OK(); }
  Status RenameFile(const std::string&, const std::string&) override { return Status::OK(); }
  Status LockFile(const std::string&, leveldb::FileLock**) override { return Status::OK(); }
  Status UnlockFile(leveldb::FileLock*) override { return Status::OK(); }
  void Schedule(void (*function)(void*), void* arg) override { function(arg); }
  void StartThread(void (*function)(void*), void* arg) override { function(arg); }
  Status GetTestDirectory(std::string*) override { return Status::OK(); }
  Status NewLogger(const std::string&, leveldb::Logger**) override { return Status::OK(); }
  uint64_t NowMicros() override { return 5; }
  void SleepForMicroseconds(int) override {}
};

// A file that fails at one of its calls.
class FailingFile : public leveldb::WritableFile {
 public:
  explicit FailingFile(bool at_append) : at_append_(at_append) {}
  ~FailingFile() override { std::printf("file deleted\n"); }
  Status Append(const Slice&) override { return at_append_ ? Status::IOError("append") : Status(); }
  Status Close() override { return Status::IOError("close"); }
  Status Flush() override { return Status::OK(); }
  Status Sync() override { return Status::OK(); }

 private:
  const bool at_append_;
};

Status OldNames::NewWritableFile(const std::string& name, leveldb::WritableFile** file) {
  *file = name == "none" ? nullptr : new FailingFile(name == "append");
  return *file == nullptr ? Status::IOError("none") : Status::OK();
}

}  // namespace

void EnvSubclasses(const std::string& directory) {
  NewNames fresh(Env::Default());
  std::printf("wrapper target=%d\n", fresh.target() == Env::Default());
  Say("new", fresh.RemoveFile("a"));
  Say("new", fresh.DeleteFile("a"));
  Say("new", fresh.RemoveDir("a"));
  Say("new", fresh.DeleteDir("a"));
  OldNames old;
  Say("old", old.RemoveFile("a"));
  Say("old", old.DeleteFile("a"));
  Say("old", old.RemoveDir("a"));
  Say("old", old.DeleteDir("a"));
  leveldb::WritableFile* file;
  Say("old", old.NewAppendableFile("a", &file));
  for (const char* name : {"none", "append", "close"}) {
    Say("write string", WriteStringToFile(&old, "data", name));
  }
  std::string text = "left";
  Say("read string", ReadFileToString(&old, "a", &text));
  std::printf("text '%s'\n", text.c_str());

  // A wrapper passes every call on.
  EnvWrapper wrapper(Env::Default());
  const std::string name = directory + "/wrapped";
  uint64_t size = 0;
  std::vector<std::string> children;
  Say("wrapped", WriteStringToFile(&wrapper, "text", name));
  Say("wrapped", ReadFileToString(&wrapper, name, &text));
  Say("wrapped", wrapper.GetFileSize(name, &size));
  Say("wrapped", wrapper.RenameFile(name, name + "2"));
  Say("wrapped", wrapper.GetChildren(directory, &children));
  std::printf("wrapped %s %d %d %d\n", text.c_str(), static_cast<int>(size),
              wrapper.FileExists(name), wrapper.FileExists(name + "2"));
  leveldb::FileLock* lock;
  Say("wrapped", wrapper.LockFile(name, &lock));
  Say("wrapped", wrapper.UnlockFile(lock));
  Say("wrapped", wrapper.RemoveFile(name + "2"));
  Say("wrapped", wrapper.CreateDir(name + "3"));
  Say("wrapped", wrapper.DeleteDir(name + "3"));
  std::printf("wrapped %d\n", wrapper.FileExists(name + "3"));
}

void FilesInMemory() {
  const std::unique_ptr<Env> env(leveldb::NewMemEnv(Env::Default()));
  leveldb::WritableFile* writable;
  leveldb::SequentialFile* sequential;
  leveldb::RandomAccessFile* random;
  uint64_t size = 99;
  std::vector<std::string> children = {"left"};
  std::string text;
  char scratch[100];
  Slice result;
  Say("mem absent", env->NewSequentialFile("/dir/a", &sequential));
  std::printf("mem null=%d\n", sequential == nullptr);
  Say("mem absent", env->NewRandomAccessFile("/dir/a", &random));
  std::printf("mem null=%d\n", random == nullptr);
  Say("mem absent", env->GetFileSize("/dir/a", &size));
  Say("mem absent", env->RemoveFile("/dir/a"));
  Say("mem absent", env->DeleteFile("/dir/a"));
  Say("mem absent", env->RenameFile("/dir/a", "/dir/b"));
  Say("mem children", env->GetChildren("/dir", &children));
  std::printf("mem %d %zu %d\n", static_cast<int>(size), children.size(),
              env->FileExists("/dir/a"));
  Say("mem dir", env->CreateDir("/dir"));
  Say("mem dir", env->CreateDir("/dir"));
  std::printf("mem %d\n", env->FileExists("/dir"));

  Say("mem write", env->NewWritableFile("/dir/a", &writable));
  Say("mem write", writable->Append("0123456789"));
  Say("mem write", writable->Flush());
  Say("mem write", writable->Sync());
  // The file is seen while it is being written.
  Say("mem size", env->GetFileSize("/dir/a", &size));
  std::printf("mem %d\n", static_cast<int>(size));
  Say("mem write", writable->Close());
  delete writable;
  Say("mem append", env->NewAppendableFile("/dir/a", &writable));
  Say("mem append", writable->Append("abc"));
  delete writable;
  Say("mem write", WriteStringToFile(env.get(), "x", "/dir/sub/new"));
  Say("mem write", WriteStringToFile(env.get(), "", "/directory/e"));

  Say("mem open", env->NewSequentialFile("/dir/a", &sequential));
  Say("mem skip", sequential->Skip(8));
  Say("mem read", sequential->Read(3, &result, scratch));
  std::printf("mem '%s'\n", result.ToString().c_str());
  Say("mem skip", sequential->Skip(1000));
  Say("mem read", sequential->Read(3, &result, scratch));
  std::printf("mem '%s'\n", result.ToString().c_str());
  delete sequential;
  Say("mem open", env->NewRandomAccessFile("/dir/a", &random));
  for (uint64_t offset : {0, 5, 12, 13, 14, 1000}) {
    Say("mem read", random->Read(offset, 5, &result, scratch));
    std::printf("mem '%s'\n", result.ToString().c_str());
  }
  // A file that is removed stays readable through the object.
  Say("mem remove", env->RemoveFile("/dir/a"));
  Say("mem read", random->Read(0, 3, &result, scratch));
  std::printf("mem '%s' %d\n", result.ToString().c_str(), env->FileExists("/dir/a"));
  delete random;

  Say("mem write", WriteStringToFile(env.get(), "one", "/dir/one"));
  Say("mem write", WriteStringToFile(env.get(), "two", "/dir/two"));
  Say("mem rename", env->RenameFile("/dir/one", "/dir/two"));
  Say("mem read", ReadFileToString(env.get(), "/dir/two", &text));
  for (const char* dir : {"/dir", "/dir/", "/", "", "/dir/sub", "/di"}) {
    Say("mem children", env->GetChildren(dir, &children));
    std::sort(children.begin(), children.end());
    std::printf("mem '%s' of '%s':", text.c_str(), dir);
    for (const std::string& child : children) {
      std::printf(" '%s'", child.c_str());
    }
    std::printf("\n");
  }
  // A new file in place of one that is being read.
  Say("mem open", env->NewSequentialFile("/dir/two", &sequential));
  Say("mem read", sequential->Read(2, &result, scratch));
  Say("mem write", env->NewWritableFile("/dir/two", &writable));
  Say("mem read", sequential->Read(2, &result, scratch));
  Say("mem skip", sequential->Skip(1));
  delete writable;
  delete sequential;

  leveldb::FileLock* lock;
  leveldb::FileLock* second;
  Say("mem lock", env->LockFile("/dir/LOCK", &lock));
  Say("mem lock", env->LockFile("/dir/LOCK", &second));
  Say("mem unlock", env->UnlockFile(lock));
  Say("mem unlock", env->UnlockFile(second));
  leveldb::Logger* logger;
  Say("mem logger", env->NewLogger("/dir/LOG", &logger));
  delete logger;
  Say("mem test", env->GetTestDirectory(&text));
  std::printf("mem %s %d\n", text.c_str(), env->FileExists("/dir/LOG"));
  Say("mem dir", env->RemoveDir("/dir"));
  Say("mem dir", env->DeleteDir("/none"));
}
