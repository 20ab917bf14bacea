// TableBuilder and Table, over files of an Env.
//
// Invariant: Finish or Abandon comes before the end of each builder.

#include <cstdio>
#include <memory>
#include <string>

#include "everything.h"
#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/table.h"
#include "leveldb/table_builder.h"
#include "report.h"
#include "user_comparators.h"
#include "user_env.h"

using leveldb::Env;
using leveldb::Options;
using leveldb::RandomAccessFile;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Status;
using leveldb::Table;
using leveldb::TableBuilder;
using leveldb::WritableFile;

namespace {

std::string Key(int number) {
  char key[16];
  std::snprintf(key, sizeof(key), "key%06d", number);
  return key;
}

// Builds a table of n entries. Returns what the builder said.
void Build(const Options& options, const std::string& path, int n) {
  WritableFile* file = nullptr;
  report::Need("new file", options.env->NewWritableFile(path, &file));
  TableBuilder builder(options, file);
  report::Number("entries", builder.NumEntries());
  report::Number("file size", builder.FileSize());
  for (int i = 0; i < n; i++) {
    builder.Add(Key(i), "value of " + std::to_string(i) + std::string(50, 't'));
    if (i == 10) builder.Flush();
    if (i == 11) builder.Flush();
  }
  report::Result("status", builder.status());
  report::Result("finish", builder.Finish());
  report::Number("entries", builder.NumEntries());
  file->Close();
  uint64_t size = 0;
  options.env->GetFileSize(path, &size);
  report::YesNo("file size is true", size == builder.FileSize() && size > 0);
  if (options.compression == leveldb::kNoCompression) {
    std::string bytes;
    leveldb::ReadFileToString(options.env, path, &bytes);
    report::Say("bytes", std::to_string(report::Hash(bytes)));
  }
  delete file;
}

struct Opened {
  std::unique_ptr<RandomAccessFile> file;
  std::unique_ptr<Table> table;
};

Opened Open(const Options& options, const std::string& path) {
  Opened opened;
  RandomAccessFile* file = nullptr;
  report::Need("random", options.env->NewRandomAccessFile(path, &file));
  opened.file.reset(file);
  uint64_t size = 0;
  options.env->GetFileSize(path, &size);
  Table* table = nullptr;
  report::Result("open", Table::Open(options, file, size, &table));
  opened.table.reset(table);
  return opened;
}

void Read(const Options& options, const std::string& path, int n) {
  Opened opened = Open(options, path);
  ReadOptions read;
  for (bool verify : {false, true}) {
    read.verify_checksums = verify;
    read.fill_cache = verify;
    std::unique_ptr<leveldb::Iterator> it(opened.table->NewIterator(read));
    report::Say("new", report::At(it.get()));
    report::Say("forward", report::Quoted(report::Forward(it.get())));
    report::Say("backward", report::Quoted(report::Backward(it.get())));
    for (const char* target : {"", "key000000", "key000010", "key0000105", "key000011", "key0001",
                               "key0019999", "z"}) {
      it->Seek(target);
      report::Say("seek " + report::Quoted(target), report::At(it.get()));
      if (!it->Valid()) continue;
      it->Prev();
      report::Say("  then prev", report::At(it.get()));
    }
  }
  uint64_t last = 0;
  bool rises = true;
  for (int i = 0; i < n; i += 10) {
    const uint64_t offset = opened.table->ApproximateOffsetOf(Key(i));
    rises &= offset >= last;
    last = offset;
  }
  report::YesNo("offsets rise", rises);
  report::Number("offset of the first", opened.table->ApproximateOffsetOf(""));
  uint64_t size = 0;
  options.env->GetFileSize(path, &size);
  const uint64_t end = opened.table->ApproximateOffsetOf("z");
  const bool near = end <= size && end + 2000 + size / 4 > size;
  report::YesNo("offset past the end is near the size", near);
}

void Shapes() {
  std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(1 << 20));
  Options options;
  for (int shape = 0; shape < 6; shape++) {
    report::Section("tables, shape " + std::to_string(shape));
    options.compression = shape % 2 ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    options.filter_policy = shape >= 2 ? filter.get() : nullptr;
    options.block_cache = shape >= 3 ? cache.get() : nullptr;
    options.block_size = shape == 4 ? 200 : 4096;
    options.block_restart_interval = shape == 4 ? 1 : 16;
    options.paranoid_checks = shape == 5;
    const std::string path = report::Path("table" + std::to_string(shape));
    Build(options, path, shape == 5 ? 1 : 2000);
    Read(options, path, shape == 5 ? 1 : 2000);
  }
  report::Section("tables, empty");
  Build(Options(), report::Path("table of none"), 0);
  Opened opened = Open(Options(), report::Path("table of none"));
  std::unique_ptr<leveldb::Iterator> it(opened.table->NewIterator(ReadOptions()));
  report::Say("forward", report::Forward(it.get()));
  it->Seek("x");
  report::Say("seek", report::At(it.get()));
}

void Changes() {
  Options options;
  WritableFile* file = nullptr;
  const std::string path = report::Path("changed table");
  report::Need("new file", options.env->NewWritableFile(path, &file));
  {
    TableBuilder builder(options, file);
    builder.Add("a", "1");
    Options changed = options;
    changed.compression = leveldb::kNoCompression;
    changed.block_size = 100;
    changed.block_restart_interval = 1;
    report::Result("change of the block size", builder.ChangeOptions(changed));
    ReverseComparator reverse;
    changed.comparator = &reverse;
    report::Result("change of the comparator", builder.ChangeOptions(changed));
    builder.Add("b", std::string(300, '2'));
    builder.Add("c", "3");
    report::Result("finish", builder.Finish());
  }
  delete file;
  {
    Opened opened = Open(options, path);
    std::unique_ptr<leveldb::Iterator> it(opened.table->NewIterator(ReadOptions()));
    report::Say("all", report::Forward(it.get()));
  }
  report::Need("new file", options.env->NewWritableFile(path, &file));
  {
    TableBuilder builder(options, file);
    builder.Add("a", "1");
    builder.Abandon();
    report::Number("entries of an abandoned builder", builder.NumEntries());
  }
  delete file;
}

void Ordered() {
  NumberComparator order;
  Options options;
  options.comparator = &order;
  options.block_size = 64;
  options.compression = leveldb::kNoCompression;
  const std::string path = report::Path("table of numbers");
  WritableFile* file = nullptr;
  report::Need("new file", options.env->NewWritableFile(path, &file));
  {
    TableBuilder builder(options, file);
    for (int i = 0; i < 300; i++) {
      builder.Add(std::string(static_cast<size_t>(i % 3), '0') + std::to_string(i * 5), "n");
    }
    report::Result("finish", builder.Finish());
  }
  delete file;
  report::YesNo("asked for separators", order.separators > 0);
  report::YesNo("asked for a successor", order.successors > 0);
  std::string bytes;
  leveldb::ReadFileToString(options.env, path, &bytes);
  report::Say("bytes", std::to_string(report::Hash(bytes)));
  Opened opened = Open(options, path);
  std::unique_ptr<leveldb::Iterator> it(opened.table->NewIterator(ReadOptions()));
  report::Say("forward", report::Quoted(report::Forward(it.get())));
  for (const char* target : {"0", "000005", "6", "0777", "1495", "1496"}) {
    it->Seek(target);
    report::Say("seek " + report::Quoted(target), report::At(it.get()));
  }
  report::Number("arguments that are no numbers", static_cast<uint64_t>(order.malformed.load()));
}

// Opens changed bytes as a table.
void Damaged(const std::string& what, const std::string& bytes) {
  std::unique_ptr<Env> env(leveldb::NewMemEnv(Env::Default()));
  leveldb::WriteStringToFile(env.get(), bytes, "/table");
  Options options;
  options.env = env.get();
  options.paranoid_checks = true;
  RandomAccessFile* file = nullptr;
  report::Need("random", env->NewRandomAccessFile("/table", &file));
  Table* table = reinterpret_cast<Table*>(&table);
  report::Result(what, Table::Open(options, file, bytes.size(), &table));
  if (table != nullptr) {
    ReadOptions read;
    read.verify_checksums = true;
    std::unique_ptr<leveldb::Iterator> it(table->NewIterator(read));
    report::Say("  all", report::Quoted(report::Forward(it.get())));
    report::Result("  its status", it->status());
    it.reset();
  }
  delete table;
  delete file;
}

void Damage() {
  std::string bytes;
  leveldb::ReadFileToString(Env::Default(), report::Path("table0"), &bytes);
  Damaged("nothing", "");
  Damaged("too short", bytes.substr(0, 47));
  Damaged("no magic number", std::string(100, 'x'));
  Damaged("without its end", bytes.substr(0, bytes.size() - 10));
  std::string changed = bytes;
  changed[100] ^= 1;
  Damaged("a byte of the first block", changed);
  changed = bytes;
  changed[bytes.size() - 60] ^= 1;
  Damaged("a byte of the index", changed);
  changed = bytes;
  changed.erase(5000, 100);
  Damaged("a hundred bytes lost", changed);
}

void FailingFile() {
  FailingEnv env(Env::Default());
  WritableFile* file = nullptr;
  report::Need("new file", env.NewWritableFile(report::Path("failing table"), &file));
  {
    TableBuilder builder(Options(), file);
    env.failing = FailingEnv::kAppend;
    for (int i = 0; i < 2000; i++) builder.Add(Key(i), std::string(100, 'f'));
    report::Result("status", builder.status());
    report::Result("finish", builder.Finish());
  }
  delete file;
  Options options;
  options.env = &env;
  RandomAccessFile* random = nullptr;
  const std::string path = report::Path("table0");
  report::Need("random", env.NewRandomAccessFile(path, &random));
  uint64_t size = 0;
  env.GetFileSize(path, &size);
  env.failing = FailingEnv::kRandomRead;
  Table* table = nullptr;
  report::Result("open", Table::Open(options, random, size, &table));
  env.failing = FailingEnv::kNone;
  report::Result("open", Table::Open(options, random, size, &table));
  env.failing = FailingEnv::kRandomRead;
  std::unique_ptr<leveldb::Iterator> it(table->NewIterator(ReadOptions()));
  report::Say("all", report::Forward(it.get()));
  it.reset();
  delete table;
  delete random;
}

}  // namespace

int ReadTable(const std::string& path) {
  report::SetDirectory(path);
  report::Section("table");
  std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  Options options;
  options.filter_policy = filter.get();
  options.paranoid_checks = true;
  Opened opened = Open(options, path);
  ReadOptions read;
  read.verify_checksums = true;
  std::unique_ptr<leveldb::Iterator> it(opened.table->NewIterator(read));
  it->SeekToFirst();
  report::Say("first", report::At(it.get()));
  report::Say("forward", report::Quoted(report::Forward(it.get())));
  report::Say("backward", report::Quoted(report::Backward(it.get())));
  report::Result("status", it->status());
  return 0;
}

void Tables() {
  Shapes();
  report::Section("tables, changes");
  Changes();
  report::Section("tables, numbers");
  Ordered();
  report::Section("tables, damage");
  Damage();
  report::Section("tables, failing");
  FailingFile();
}
