// leveldb/merge.h on the library that has it: operators by name and of the program, batches,
// handlers, and what is refused.
//
//   merge DIRECTORY
//
// It is compiled without typeinfo, as programs that use LevelDB often are.

#include "leveldb/merge.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/db.h"
#include "leveldb/write_batch.h"

using leveldb::DB;
using leveldb::Iterator;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Status;
using leveldb::WriteBatch;
using leveldb::WriteOptions;

#define CHECK(condition)                                                                \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);      \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

#define NEED(call)                                                                        \
  do {                                                                                  \
    const Status status_ = (call);                                                      \
    if (!status_.ok()) {                                                                \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                           \
                   status_.ToString().c_str());                                         \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

namespace {

std::string directory;

Options Creating() {
  Options options;
  options.create_if_missing = true;
  return options;
}

std::string Number(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; i++) bytes[i] = static_cast<char>(number >> (8 * i));
  return bytes;
}

std::string Get(DB* db, const Slice& key) {
  std::string value;
  const Status status = db->Get(ReadOptions(), key, &value);
  return status.ok() ? value : status.ToString();
}

// Keeps the longest operand. An operand with '!' cannot be folded, and "gone" deletes the key.
class Longest : public leveldb::MergeOperator {
 public:
  const char* Name() const override { return "test.longest"; }

  Outcome Full(const Slice& key, const Slice* base, const Slice* operands, size_t count,
               std::string* result) const override {
    CHECK(!key.empty() && count > 0 && result->empty());
    Slice longest = base != nullptr ? *base : Slice();
    for (size_t i = 0; i < count; i++) {
      if (operands[i] == "!") return kFailed;
      if (operands[i].size() > longest.size()) longest = operands[i];
    }
    if (longest == "gone") return kDelete;
    result->assign(longest.data(), longest.size());
    return kValue;
  }

  bool Partial(const Slice& key, const Slice* operands, size_t count,
               std::string* result) const override {
    CHECK(!key.empty() && count > 1);
    Slice longest = operands[0];
    for (size_t i = 0; i < count; i++) {
      if (operands[i] == "!") return false;
      if (operands[i].size() > longest.size()) longest = operands[i];
    }
    result->assign(longest.data(), longest.size());
    return true;
  }
};

void BuiltIn() {
  const std::string path = directory + "/builtin";
  DB* db = nullptr;
  NEED(leveldb::OpenWithMerge(Creating(), path, "uint64add", &db));
  for (int i = 0; i < 1000; i++) NEED(leveldb::Merge(db, WriteOptions(), "visits", Number(2)));
  CHECK(Get(db, "visits") == Number(2000));
  NEED(leveldb::Merge(db, WriteOptions(), "max", "top", Number(7)));
  NEED(leveldb::Merge(db, WriteOptions(), "max", "top", Number(3)));
  CHECK(Get(db, "top") == Number(7));
  CHECK(leveldb::Merge(db, WriteOptions(), "no.such", "k", "v").IsInvalidArgument());
  db->CompactRange(nullptr, nullptr);
  NEED(leveldb::Merge(db, WriteOptions(), "visits", Number(5)));
  delete db;
  // The database remembers the operator, and it is built in.
  NEED(DB::Open(Options(), path, &db));
  CHECK(Get(db, "visits") == Number(2005) && Get(db, "top") == Number(7));
  NEED(leveldb::Merge(db, WriteOptions(), "visits", Number(1)));
  CHECK(Get(db, "visits") == Number(2006));
  delete db;
}

void Batches() {
  DB* db = nullptr;
  NEED(leveldb::OpenWithMerge(Creating(), directory + "/batches", "stringappend:,", &db));
  WriteBatch batch;
  batch.Put("k", "a");
  leveldb::Merge(&batch, "k", "b");
  leveldb::Merge(&batch, "uint64add", "n", Number(4));
  leveldb::Merge(&batch, Slice(), "k", "c");
  batch.Delete("absent");
  NEED(db->Write(WriteOptions(), &batch));
  CHECK(Get(db, "k") == "a,b,c" && Get(db, "n") == Number(4));

  WriteBatch single;
  leveldb::Merge(&single, "k", "d");
  NEED(db->Write(WriteOptions(), &single));
  WriteBatch both;
  both.Append(batch);
  both.Append(single);
  NEED(db->Write(WriteOptions(), &both));
  CHECK(Get(db, "k") == "a,b,c,d" && Get(db, "n") == Number(8));

  struct Plain : public WriteBatch::Handler {
    void Put(const Slice& key, const Slice&) override { seen += "put " + key.ToString() + ";"; }
    void Delete(const Slice& key) override { seen += "delete " + key.ToString() + ";"; }
    std::string seen;
  };
  Plain plain;
  CHECK(batch.Iterate(&plain).IsNotSupportedError() && plain.seen == "put k;");

  struct Merging : public leveldb::MergeHandler {
    void Put(const Slice& key, const Slice&) override { seen += "put " + key.ToString() + ";"; }
    void Delete(const Slice& key) override { seen += "delete " + key.ToString() + ";"; }
    void Merge(const Slice& operator_name, const Slice& key, const Slice&) override {
      seen += "merge " + operator_name.ToString() + " " + key.ToString() + ";";
    }
    std::string seen;
  };
  Merging merging;
  NEED(batch.Iterate(&merging));
  CHECK(merging.seen == "put k;merge  k;merge uint64add n;merge  k;delete absent;");
  delete db;
}

void Own() {
  const std::string path = directory + "/own";
  const Longest longest;
  DB* db = nullptr;
  NEED(leveldb::OpenWithMerge(Creating(), path, &longest, &db));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([db, t] {
      for (int i = 0; i < 500; i++) {
        NEED(leveldb::Merge(db, WriteOptions(), "k" + std::to_string(i % 10),
                          std::string(static_cast<size_t>(i + t), 'x')));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(Get(db, "k9") == std::string(502, 'x') && Get(db, "k0") == std::string(493, 'x'));
  NEED(leveldb::Merge(db, WriteOptions(), "bad", "!"));
  NEED(leveldb::Merge(db, WriteOptions(), "deleted", "gone"));
  std::string value;
  CHECK(db->Get(ReadOptions(), "bad", &value).IsCorruption());
  CHECK(Get(db, "deleted") == "NotFound: ");
  // An iterator ends at a value that it cannot give.
  std::unique_ptr<Iterator> iterator(db->NewIterator(ReadOptions()));
  iterator->SeekToFirst();
  CHECK(!iterator->Valid() && iterator->status().IsCorruption());
  iterator->Seek("k");
  CHECK(iterator->Valid() && iterator->key() == "k0" && iterator->status().IsCorruption());
  iterator.reset();
  db->CompactRange(nullptr, nullptr);
  CHECK(Get(db, "k9") == std::string(502, 'x'));
  CHECK(db->Get(ReadOptions(), "bad", &value).IsCorruption());
  NEED(db->Put(WriteOptions(), "bad", "mended"));
  CHECK(Get(db, "bad") == "mended");
  NEED(leveldb::Merge(db, WriteOptions(), "last", "operand"));
  delete db;
  // Without the operator the database is not opened, rather than read wrong.
  CHECK(DB::Open(Options(), path, &db).IsInvalidArgument() && db == nullptr);
  NEED(leveldb::OpenWithMerge(Options(), path, "stringappend", {&longest}, &db));
  CHECK(Get(db, "last") == "operand");
  NEED(leveldb::Merge(db, WriteOptions(), "last", "more"));
  CHECK(Get(db, "last") == "operand,more");
  delete db;
  NEED(leveldb::RepairDB(path, Options()));
  NEED(leveldb::OpenWithMerge(Options(), path, &longest, &db));
  CHECK(Get(db, "k9") == std::string(502, 'x'));
  delete db;
}

// A database of another class: it refuses everything.
class Foreign : public DB {
 public:
  Status Write(const WriteOptions&, WriteBatch*) override { return Status(); }
  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override {
    return DB::Put(options, key, value);
  }
  Status Delete(const WriteOptions& options, const Slice& key) override {
    return DB::Delete(options, key);
  }
  Status Get(const ReadOptions&, const Slice&, std::string*) override { return Status(); }
  Iterator* NewIterator(const ReadOptions&) override { return leveldb::NewEmptyIterator(); }
  const leveldb::Snapshot* GetSnapshot() override { return nullptr; }
  void ReleaseSnapshot(const leveldb::Snapshot*) override {}
  bool GetProperty(const Slice&, std::string*) override { return false; }
  void GetApproximateSizes(const leveldb::Range*, int, uint64_t*) override {}
  void CompactRange(const Slice*, const Slice*) override {}
};

void Refused() {
  Foreign foreign;
  CHECK(leveldb::Merge(&foreign, WriteOptions(), "k", "v").IsNotSupportedError());
  DB* db = nullptr;
  const std::string path = directory + "/refused";
  const leveldb::MergeOperator* none = nullptr;
  CHECK(leveldb::OpenWithMerge(Creating(), path, "no.such", &db).IsInvalidArgument());
  CHECK(leveldb::OpenWithMerge(Creating(), path, none, &db).IsInvalidArgument() && db == nullptr);
  NEED(DB::Open(Creating(), path, &db));
  CHECK(leveldb::Merge(db, WriteOptions(), "k", "v").IsInvalidArgument());
  WriteBatch batch;
  batch.Put("k", "v");
  leveldb::Merge(&batch, "k", "w");
  CHECK(db->Write(WriteOptions(), &batch).IsInvalidArgument());
  CHECK(Get(db, "k") == "NotFound: ");
  delete db;
  CHECK(leveldb::Merge(&foreign, WriteOptions(), "k", "v").IsNotSupportedError());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  directory = argv[1];
  BuiltIn();
  Batches();
  Own();
  Refused();
  std::puts("every merge is as it should be");
  return 0;
}
