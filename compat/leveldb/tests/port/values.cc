// Slice, Status, the order of bytes, iterators without entries, and the defaults of options.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"
#include "port.h"

using leveldb::Slice;
using leveldb::Status;

namespace {

int Sign(int number) { return (number > 0) - (number < 0); }

const std::vector<std::string>& Texts() {
  static const std::vector<std::string> texts = {
      "",         "a",        "ab",          "abc",      std::string("a\0b", 3),
      "b",        "\xff",     "\xff\xff",    "\x7f",     "\x80",
      "a\xff",    "a\xfe",    "a\xff\xff",   "abd",      "abcdef",
      "abzzzzzz", "abcdefgh", "\xff\xff\x01"};
  return texts;
}

void Say(const char* what, const Status& status) {
  std::printf("%s: '%s' ok=%d %d%d%d%d%d\n", what, status.ToString().c_str(), status.ok(),
              status.IsNotFound(), status.IsCorruption(), status.IsIOError(),
              status.IsNotSupportedError(), status.IsInvalidArgument());
}

}  // namespace

void Slices() {
  for (const std::string& a : Texts()) {
    for (const std::string& b : Texts()) {
      const Slice left(a), right(b);
      std::printf("slice %s %s: %d %d %d %d\n", Hex(a).c_str(), Hex(b).c_str(),
                  Sign(left.compare(right)), left == right, left != right,
                  left.starts_with(right));
    }
  }
  Slice slice("hello", 4);
  slice.remove_prefix(1);
  std::printf("slice %s %zu %c\n", slice.ToString().c_str(), slice.size(), slice[2]);
  slice.clear();
  std::printf("slice empty=%d '%s' default null=%d\n", slice.empty(), slice.ToString().c_str(),
              Slice().data() == nullptr);
}

void Statuses() {
  Say("default", Status());
  Say("ok", Status::OK());
  Say("not found", Status::NotFound("file", "absent"));
  Say("corruption", Status::Corruption("one"));
  Say("not supported", Status::NotSupported("", "second alone"));
  Say("invalid", Status::InvalidArgument(Slice("with\0zero", 9), "x"));
  Say("io", Status::IOError("path", ""));
  const std::string big(100000, 'x');
  std::printf("status of %zu bytes\n", Status::IOError(big, big).ToString().size());

  Status status = Status::NotFound("a");
  Status copy = status;
  Say("copy", copy);
  Status moved = std::move(copy);
  Say("moved", moved);
  Say("moved from", copy);
  copy = moved;
  Say("assigned", copy);
  Status& alias = copy;
  copy = alias;
  Say("assigned to itself", copy);
  moved = Status::OK();
  Say("assigned ok", moved);
  copy = std::move(moved);
  Say("move-assigned", copy);
}

void Orders() {
  const leveldb::Comparator* comparator = leveldb::BytewiseComparator();
  std::printf("order %s same=%d\n", comparator->Name(),
              comparator == leveldb::BytewiseComparator());
  for (const std::string& a : Texts()) {
    std::string successor = a;
    comparator->FindShortSuccessor(&successor);
    std::printf("successor %s: %s\n", Hex(a).c_str(), Hex(successor).c_str());
    for (const std::string& b : Texts()) {
      std::printf("order %s %s: %d", Hex(a).c_str(), Hex(b).c_str(),
                  Sign(comparator->Compare(a, b)));
      if (a < b) {
        std::string separator = a;
        comparator->FindShortestSeparator(&separator, b);
        std::printf(" %s", Hex(separator).c_str());
      }
      std::printf("\n");
    }
  }
}

namespace {

void Cleanup(void* what, void* number) {
  std::printf("cleanup %s %d\n", static_cast<const char*>(what), *static_cast<int*>(number));
}

}  // namespace

void Iterators() {
  int numbers[] = {1, 2, 3, 4};
  char what[] = "of an iterator";
  for (int cleanups = 0; cleanups <= 4; cleanups++) {
    leveldb::Iterator* iterator =
        cleanups % 2 == 0 ? leveldb::NewEmptyIterator()
                          : leveldb::NewErrorIterator(Status::Corruption("bad", "block"));
    for (int i = 0; i < cleanups; i++) {
      iterator->RegisterCleanup(Cleanup, what, &numbers[i]);
    }
    iterator->SeekToFirst();
    std::printf("iterator valid=%d", iterator->Valid());
    iterator->SeekToLast();
    iterator->Seek("a");
    std::printf(" valid=%d %s\n", iterator->Valid(), iterator->status().ToString().c_str());
    delete iterator;
  }
}

void Defaults() {
  const leveldb::Options options;
  std::printf("options %d %d %d %d %d %d %d\n",
              options.comparator == leveldb::BytewiseComparator(), options.create_if_missing,
              options.error_if_exists, options.paranoid_checks,
              options.env == leveldb::Env::Default(), options.info_log == nullptr,
              options.block_cache == nullptr);
  std::printf("options %zu %d %zu %d %zu %d %d %d\n", options.write_buffer_size,
              options.max_open_files, options.block_size, options.block_restart_interval,
              options.max_file_size, options.compression, options.reuse_logs,
              options.filter_policy == nullptr);
  const leveldb::ReadOptions reads;
  const leveldb::WriteOptions writes;
  std::printf("reads %d %d %d writes %d\n", reads.verify_checksums, reads.fill_cache,
              reads.snapshot == nullptr, writes.sync);
  const leveldb::Range range("a", "b");
  std::printf("range %s %s '%s' version %d.%d\n", range.start.ToString().c_str(),
              range.limit.ToString().c_str(), leveldb::Range().start.ToString().c_str(),
              leveldb::kMajorVersion, leveldb::kMinorVersion);
}
