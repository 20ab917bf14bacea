// Slice, Status, Range, Options, batches, and the iterators that need no database.
//
// Invariant: nothing here touches a file.

#include <memory>
#include <string>
#include <utility>

#include "everything.h"
#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/options.h"
#include "leveldb/write_batch.h"
#include "report.h"

using leveldb::Slice;
using leveldb::Status;
using leveldb::WriteBatch;

namespace {

void Slices() {
  const std::string text("ab\0cd", 5);
  Slice slice(text);
  report::Number("size of a slice of a string", slice.size());
  report::YesNo("data is the string's", slice.data() == text.data());
  report::Say("byte 3", std::string(1, slice[3]));
  report::YesNo("starts with its beginning", slice.starts_with(Slice("ab")));
  report::YesNo("starts with another", slice.starts_with("abc"));
  slice.remove_prefix(3);
  report::Say("without three bytes", slice.ToString());
  slice.clear();
  report::YesNo("empty after clear", slice.empty());
  report::YesNo("empty by default", Slice().empty());
  report::YesNo("equal", Slice("x") == Slice("xy", 1));
  report::YesNo("different", Slice("x") != Slice("y"));
  report::YesNo("a before b", Slice("a").compare("b") < 0);
  report::YesNo("b after a", Slice("b").compare("a") > 0);
  report::YesNo("a before aa", Slice("a").compare("aa") < 0);
  report::YesNo("bytes are unsigned", Slice("\xff").compare("\x01") > 0);
  report::YesNo("equal compares 0", Slice("a").compare("a") == 0);
}

void Statuses() {
  report::Result("ok", Status::OK());
  report::Result("not found", Status::NotFound("key"));
  report::Result("not found of two", Status::NotFound("a", "b"));
  report::Result("corruption", Status::Corruption("block", "bad"));
  report::Result("not supported", Status::NotSupported("this"));
  report::Result("invalid argument", Status::InvalidArgument("that", ""));
  report::Result("io error", Status::IOError("file", "no space"));
  report::Result("empty message", Status::IOError(""));
  const Status first = Status::NotFound("moved", "on");
  Status second(first);
  Status third;
  third = second;
  Status fourth(std::move(second));
  third = third;
  report::Result("copied", third);
  report::Result("moved", fourth);
  report::Result("moved from", second);
  Status fifth = Status::IOError("old");
  fifth = std::move(fourth);
  report::Result("move-assigned", fifth);
  fifth = Status::OK();
  report::Result("ok again", fifth);
}

void Defaults() {
  const leveldb::Options options;
  report::YesNo("comparator is bytewise", options.comparator == leveldb::BytewiseComparator());
  report::YesNo("env is the default", options.env == leveldb::Env::Default());
  report::YesNo("create_if_missing", options.create_if_missing);
  report::YesNo("error_if_exists", options.error_if_exists);
  report::YesNo("paranoid_checks", options.paranoid_checks);
  report::YesNo("info_log is null", options.info_log == nullptr);
  report::Number("write_buffer_size", options.write_buffer_size);
  report::Number("max_open_files", static_cast<uint64_t>(options.max_open_files));
  report::YesNo("block_cache is null", options.block_cache == nullptr);
  report::Number("block_size", options.block_size);
  report::Number("block_restart_interval", static_cast<uint64_t>(options.block_restart_interval));
  report::Number("max_file_size", options.max_file_size);
  report::Number("compression", options.compression);
  report::YesNo("reuse_logs", options.reuse_logs);
  report::YesNo("filter_policy is null", options.filter_policy == nullptr);
  const leveldb::ReadOptions read;
  report::YesNo("verify_checksums", read.verify_checksums);
  report::YesNo("fill_cache", read.fill_cache);
  report::YesNo("snapshot is null", read.snapshot == nullptr);
  report::YesNo("sync", leveldb::WriteOptions().sync);
  report::Number("major version", leveldb::kMajorVersion);
  report::Number("minor version", leveldb::kMinorVersion);
  const leveldb::Range range("from", "to");
  report::Say("range", range.start.ToString() + " " + range.limit.ToString());
  report::YesNo("default range is empty", leveldb::Range().start.empty());
}

void Note(void* log, void* word) {
  static_cast<std::string*>(log)->append(static_cast<const char*>(word));
}

void IteratorsWithoutDatabase() {
  std::string log;
  char words[3][4] = {"one", "two", "six"};
  leveldb::Iterator* empty = leveldb::NewEmptyIterator();
  empty->SeekToFirst();
  report::Say("empty iterator at first", report::At(empty));
  empty->SeekToLast();
  empty->Seek("x");
  report::Say("empty iterator at x", report::At(empty));
  for (char* word : words) empty->RegisterCleanup(Note, &log, word);
  report::Say("cleanups before the end", log);
  delete empty;
  report::Number("bytes noted by the cleanups", log.size());
  for (char* word : words) report::YesNo(word, log.find(word) != std::string::npos);
  std::unique_ptr<leveldb::Iterator> error(
      leveldb::NewErrorIterator(Status::Corruption("as told")));
  error->SeekToFirst();
  report::Say("error iterator", report::At(error.get()));
  report::Result("its status", error->status());
}

// Writes down what a batch holds.
class Recorder : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override {
    text += "put " + report::Quoted(key) + "=" + report::Quoted(value) + "; ";
  }
  void Delete(const Slice& key) override { text += "delete " + report::Quoted(key) + "; "; }
  std::string text;
};

std::string Recorded(const WriteBatch& batch) {
  Recorder recorder;
  const Status status = batch.Iterate(&recorder);
  return recorder.text + status.ToString();
}

}  // namespace

void Values() {
  Slices();
  Statuses();
  Defaults();
  IteratorsWithoutDatabase();
}

void Batches() {
  WriteBatch batch;
  report::Say("new", Recorded(batch));
  const size_t bare = batch.ApproximateSize();
  batch.Put("a", "1");
  batch.Delete("b");
  batch.Put("", "");
  batch.Put(Slice("\0\xff", 2), Slice("v\0w", 3));
  batch.Put("long", std::string(100000, 'l'));
  batch.Delete("");
  report::Say("filled", Recorded(batch));
  report::YesNo("grew", batch.ApproximateSize() >= bare + 100000);
  const WriteBatch copy(batch);
  batch.Clear();
  report::Say("cleared", Recorded(batch));
  report::YesNo("as small as before", batch.ApproximateSize() == bare);
  report::Say("copy keeps all", Recorded(copy));
  WriteBatch assigned;
  assigned.Put("gone", "gone");
  assigned = copy;
  report::Say("assigned", Recorded(assigned));
  WriteBatch first, second;
  first.Put("x", "1");
  second.Delete("x");
  second.Put("y", "2");
  first.Append(second);
  report::Say("appended", Recorded(first));
  first.Append(WriteBatch());
  report::Say("appended nothing", Recorded(first));
  report::Say("source stays", Recorded(second));
  first.Append(first);
  report::Say("appended to itself", Recorded(first));
}
