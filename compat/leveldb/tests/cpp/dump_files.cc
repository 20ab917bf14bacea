// leveldb::DumpFile on files of a database.
//
//   dump_files make DIRECTORY       writes a database
//   dump_files dump FILE...         prints each file, after its name without the directory
//
// The original library and ours print the files of the original alike.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "leveldb/db.h"
#include "leveldb/dumpfile.h"
#include "leveldb/env.h"
#include "leveldb/write_batch.h"

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

namespace {

class StandardOutput : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    std::fwrite(data.data(), 1, data.size(), stdout);
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }
};

// Several tables, a log whose records span blocks, and a manifest with every kind of field.
void Make(const std::string& directory) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  leveldb::DB* opened;
  CHECK(leveldb::DB::Open(options, directory, &opened).ok());
  const std::unique_ptr<leveldb::DB> db(opened);
  const leveldb::WriteOptions write;
  for (int i = 0; i < 6000; i++) {
    const std::string key = "key" + std::to_string(i * 7919 % 3000);
    CHECK(db->Put(write, key, std::string(i % 60, static_cast<char>(i))).ok());
    if (i % 5 == 0) CHECK(db->Delete(write, key).ok());
    if (i == 4000) db->CompactRange(nullptr, nullptr);
  }
  CHECK(db->Put(write, leveldb::Slice("\0\x7f\xff' key", 8), std::string(100000, 'v')).ok());
  leveldb::WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("b");
  batch.Put("", "");
  CHECK(db->Write(write, &batch).ok());
}

void Dump(const std::string& path) {
  StandardOutput out;
  const leveldb::Status status = leveldb::DumpFile(leveldb::Env::Default(), path, &out);
  std::string text = status.ToString();
  // The directory differs from run to run.
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const size_t at = directory.empty() ? std::string::npos : text.find(directory);
  if (at != std::string::npos) text.erase(at, directory.size());
  std::printf("%s: %s\n", path.c_str() + directory.size(), text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc >= 3);
  if (std::strcmp(argv[1], "make") == 0) {
    Make(argv[2]);
  } else {
    for (int i = 2; i < argc; i++) Dump(argv[i]);
  }
  return 0;
}
