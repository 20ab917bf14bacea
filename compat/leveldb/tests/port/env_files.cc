// The files of the default Env, and the texts of its errors.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/env.h"
#include "port.h"

using leveldb::Env;
using leveldb::Slice;
using leveldb::Status;

namespace {

Env* env() { return Env::Default(); }

// Prints a status without the directory of the run.
void Say(const std::string& directory, const char* what, const Status& status) {
  std::printf("env %s: %s\n", what, Replaced(status.ToString(), directory, "DIR").c_str());
}

void Sequential(const std::string& directory) {
  leveldb::SequentialFile* opened;
  Say(directory, "open sequential",
      env()->NewSequentialFile(directory + "/data", &opened));
  const std::unique_ptr<leveldb::SequentialFile> file(opened);
  char scratch[100];
  Slice result;
  Say(directory, "read", file->Read(4, &result, scratch));
  std::printf("env read %s\n", result.ToString().c_str());
  Say(directory, "skip", file->Skip(2));
  Say(directory, "read", file->Read(100, &result, scratch));
  std::printf("env read %s\n", result.ToString().c_str());
  Say(directory, "read at the end", file->Read(100, &result, scratch));
  std::printf("env read '%s'\n", result.ToString().c_str());
  Say(directory, "skip past the end", file->Skip(1000));
  Say(directory, "read past the end", file->Read(100, &result, scratch));
  std::printf("env read '%s'\n", result.ToString().c_str());
}

void RandomAccess(const std::string& directory) {
  leveldb::RandomAccessFile* opened;
  Say(directory, "open random", env()->NewRandomAccessFile(directory + "/data", &opened));
  const std::unique_ptr<leveldb::RandomAccessFile> file(opened);
  char scratch[100];
  Slice result;
  for (const auto& [offset, length] : std::vector<std::pair<uint64_t, size_t>>{
           {0, 4}, {2, 0}, {6, 4}, {10, 0}, {6, 5}, {100, 1}}) {
    Say(directory, "read", file->Read(offset, length, &result, scratch));
    std::printf("env read '%s'\n", result.ToString().c_str());
  }
  Say(directory, "open empty", env()->NewRandomAccessFile(directory + "/empty", &opened));
  std::printf("env null=%d\n", opened == nullptr);
}

// More files than may be mapped into memory at one time.
void ManyFiles(const std::string& directory) {
  std::vector<std::unique_ptr<leveldb::RandomAccessFile>> files;
  char scratch[100];
  int right = 0;
  while (files.size() < 1100) {
    leveldb::RandomAccessFile* opened = nullptr;
    const Status status = env()->NewRandomAccessFile(directory + "/data", &opened);
    if (!status.ok()) {
      Say(directory, "one of many", status);
      break;
    }
    files.emplace_back(opened);
    Slice result;
    right += opened->Read(3, 4, &result, scratch).ok() && result == Slice("3456");
  }
  std::printf("env many: %d right\n", right);
}

void Writable(const std::string& directory) {
  const std::string name = directory + "/written";
  leveldb::WritableFile* opened;
  Random random(3);
  std::string expected;
  for (const bool append : {false, true, false}) {
    Say(directory, append ? "append" : "write",
        append ? env()->NewAppendableFile(name, &opened) : env()->NewWritableFile(name, &opened));
    const std::unique_ptr<leveldb::WritableFile> file(opened);
    if (!append) {
      expected.clear();
    }
    // Pieces smaller and larger than the buffer of the file.
    for (size_t length : {0u, 1u, 65535u, 65536u, 65537u, 200000u, 10u}) {
      const std::string piece = random.Bytes(length);
      expected += piece;
      Say(directory, "append", file->Append(piece));
    }
    Say(directory, "flush", file->Flush());
    uint64_t size = 0;
    Say(directory, "size", env()->GetFileSize(name, &size));
    std::printf("env size %llu\n", static_cast<unsigned long long>(size));
    Say(directory, "sync", file->Sync());
    Say(directory, "append", file->Append("end"));
    expected += "end";
    Say(directory, "close", file->Close());
  }
  std::string found;
  Say(directory, "read file", ReadFileToString(env(), name, &found));
  std::printf("env same=%d\n", found == expected);

  // A manifest syncs its directory too.
  Say(directory, "manifest", env()->NewWritableFile(directory + "/MANIFEST-1", &opened));
  Say(directory, "sync", opened->Sync());
  delete opened;
  // Without a close, the destructor writes the rest.
  Say(directory, "write", env()->NewWritableFile(name, &opened));
  Say(directory, "append", opened->Append("kept"));
  delete opened;
  Say(directory, "read file", ReadFileToString(env(), name, &found));
  std::printf("env '%s'\n", found.c_str());
}

void Absent(const std::string& directory) {
  const std::string name = directory + "/absent", below = directory + "/no/file";
  leveldb::SequentialFile* sequential;
  leveldb::RandomAccessFile* random;
  leveldb::WritableFile* writable;
  leveldb::FileLock* lock;
  leveldb::Logger* logger;
  uint64_t size = 7;
  std::vector<std::string> children = {"left"};
  std::string text = "left";
  Say(directory, "absent", env()->NewSequentialFile(name, &sequential));
  Say(directory, "absent", env()->NewRandomAccessFile(name, &random));
  Say(directory, "absent", env()->NewWritableFile(below, &writable));
  Say(directory, "absent", env()->NewAppendableFile(below, &writable));
  Say(directory, "absent", env()->GetFileSize(name, &size));
  std::printf("env size %llu\n", static_cast<unsigned long long>(size));
  Say(directory, "absent", env()->RemoveFile(name));
  Say(directory, "absent", env()->DeleteFile(name));
  Say(directory, "absent", env()->RemoveDir(name));
  Say(directory, "absent", env()->DeleteDir(name));
  Say(directory, "absent", env()->CreateDir(below));
  Say(directory, "absent", env()->RenameFile(name, directory + "/other"));
  Say(directory, "absent", env()->GetChildren(name, &children));
  std::printf("env children %zu\n", children.size());
  Say(directory, "absent", env()->LockFile(below, &lock));
  Say(directory, "absent", env()->NewLogger(below, &logger));
  Say(directory, "absent", ReadFileToString(env(), name, &text));
  std::printf("env text '%s'\n", text.c_str());
  Say(directory, "absent", WriteStringToFile(env(), "x", below));
  std::printf("env exists %d %d\n", env()->FileExists(name), env()->FileExists(directory));

  // A directory where a file should be.
  Say(directory, "directory", env()->NewSequentialFile(directory, &sequential));
  char scratch[10];
  Slice result;
  Say(directory, "directory", sequential->Read(10, &result, scratch));
  delete sequential;
  Say(directory, "directory", env()->NewWritableFile(directory, &writable));
  Say(directory, "directory", env()->RemoveFile(directory));
  Say(directory, "directory", env()->CreateDir(directory));
  Say(directory, "directory", env()->RemoveDir(directory));
}

void Directories(const std::string& directory) {
  const std::string name = directory + "/dir";
  Say(directory, "create", env()->CreateDir(name));
  Say(directory, "write", WriteStringToFile(env(), "1", name + "/a"));
  Say(directory, "write", WriteStringToFile(env(), "2", name + "/b"));
  Say(directory, "rename", env()->RenameFile(name + "/a", name + "/b"));
  std::string text;
  Say(directory, "read", ReadFileToString(env(), name + "/b", &text));
  std::vector<std::string> children;
  Say(directory, "children", env()->GetChildren(name, &children));
  std::sort(children.begin(), children.end());
  for (const std::string& child : children) {
    std::printf("env child %s\n", child.c_str());
  }
  std::printf("env text %s exists %d\n", text.c_str(), env()->FileExists(name));
  struct stat about;
  stat((name + "/b").c_str(), &about);
  std::printf("env mode %o", about.st_mode & 0777u);
  stat(name.c_str(), &about);
  std::printf(" %o\n", about.st_mode & 0777u);
  Say(directory, "remove", env()->RemoveFile(name + "/b"));
  Say(directory, "remove", env()->RemoveDir(name));
}

}  // namespace

void Files(const std::string& directory) {
  umask(022);
  std::printf("env default same=%d\n", Env::Default() == Env::Default());
  Say(directory, "write", WriteStringToFile(env(), "0123456789", directory + "/data"));
  Say(directory, "write", WriteStringToFile(env(), "", directory + "/empty"));
  Sequential(directory);
  RandomAccess(directory);
  ManyFiles(directory);
  Writable(directory);
  Absent(directory);
  Directories(directory);
}
