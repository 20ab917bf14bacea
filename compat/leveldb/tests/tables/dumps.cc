// leveldb::DumpFile on the files of a database.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/db.h"
#include "leveldb/dumpfile.h"
#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/write_batch.h"
#include "shapes.h"
#include "tables.h"

namespace {

// Keeps what is written to it.
class Text : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

  std::string bytes;
};

void Dump(const std::string& directory, const std::string& name) {
  Text out;
  std::string text = leveldb::DumpFile(leveldb::Env::Default(), directory + name, &out).ToString();
  std::printf("%s:\n", name.c_str());
  std::fwrite(out.bytes.data(), 1, out.bytes.size(), stdout);
  // The directory differs from run to run.
  const size_t at = text.find(directory);
  if (at != std::string::npos) text.erase(at, directory.size());
  std::printf("%s\n", text.c_str());
}

// Changes bytes, cuts the end off, takes a piece out or puts zeroes in.
void Damage(Numbers* numbers, std::string* bytes) {
  for (uint32_t left = 1 + numbers->Below(4); left > 0 && !bytes->empty(); left--) {
    const size_t at = numbers->Below(static_cast<uint32_t>(bytes->size()));
    switch (numbers->Below(8)) {
      case 0:
        bytes->resize(at);
        break;
      case 1:
        bytes->erase(at, numbers->Below(3000));
        break;
      case 2:
        bytes->insert(at, numbers->Below(40000), '\0');
        break;
      default:
        (*bytes)[at] = static_cast<char>(numbers->Below(256));
    }
  }
}

// Dumps damaged copies of a log or manifest.
void DumpDamaged(const std::string& path, const std::string& name) {
  const std::unique_ptr<leveldb::Env> memory(leveldb::NewMemEnv(leveldb::Env::Default()));
  std::string whole;
  CHECK(leveldb::ReadFileToString(leveldb::Env::Default(), path, &whole).ok());
  Numbers numbers(whole.size());
  for (int round = 0; round < 150; round++) {
    std::string bytes = whole;
    Damage(&numbers, &bytes);
    CHECK(leveldb::WriteStringToFile(memory.get(), bytes, "/" + name).ok());
    Text out;
    const leveldb::Status status = leveldb::DumpFile(memory.get(), "/" + name, &out);
    Digest digest;
    digest.Add(out.bytes);
    const size_t loss = out.bytes.find("orruption");
    std::printf("%s, damage %d: %s, %016llx, %s\n", name.c_str(), round,
                status.ToString().c_str(), digest.value(),
                loss == std::string::npos ? "no loss" : out.bytes.substr(loss, 60).c_str());
  }
}

}  // namespace

// Several tables, a log whose records span blocks, and a manifest with every kind of field.
void MakeDatabase(const std::string& directory) {
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

void DumpFiles(const std::string& directory) {
  std::vector<std::string> names;
  CHECK(leveldb::Env::Default()->GetChildren(directory, &names).ok());
  // Names that no file has: of every kind, and of none.
  for (const char* name : {"900000.log", "900000.ldb", "900000.sst", "1.dbtmp", "x.log", "LOG.old",
                           "18446744073709551615.log", "18446744073709551616.log", "MANIFEST-",
                           "MANIFEST-1x", "000001.ldbx", "notes"}) {
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    Dump(directory + "/", name);
    const bool exists = leveldb::Env::Default()->FileExists(directory + "/" + name);
    const bool log = name.find(".log") != std::string::npos || name.find("MANIFEST-") == 0;
    if (exists && log) DumpDamaged(directory + "/" + name, name);
  }
}
