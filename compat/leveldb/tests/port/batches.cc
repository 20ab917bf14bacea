// WriteBatch: sizes, order of operations, copies, and appends.

#include <cstdio>
#include <string>

#include "leveldb/write_batch.h"
#include "port.h"

using leveldb::Slice;
using leveldb::WriteBatch;

namespace {

class Printer : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override {
    std::printf("  put %s %s\n", Hex(key).c_str(), Hex(value).c_str());
  }
  void Delete(const Slice& key) override { std::printf("  delete %s\n", Hex(key).c_str()); }
};

void Say(const char* what, const WriteBatch& batch) {
  std::printf("batch %s: %zu\n", what, batch.ApproximateSize());
  Printer printer;
  std::printf("  %s\n", batch.Iterate(&printer).ToString().c_str());
}

}  // namespace

void Batches() {
  WriteBatch batch;
  Say("empty", batch);
  batch.Put("key", "value");
  batch.Delete("key");
  batch.Put("", "");
  batch.Put(Slice("\0\xff", 2), "v");
  Say("of four", batch);

  WriteBatch copy = batch;
  copy.Delete("only in the copy");
  Say("copied", copy);
  Say("unchanged", batch);
  batch.Append(copy);
  Say("appended", batch);
  WriteBatch empty;
  empty.Append(empty);
  Say("empty to itself", empty);
  empty.Append(copy);
  empty.Append(empty);
  Say("to itself", empty);
  copy = batch;
  copy.Clear();
  Say("cleared", copy);

  Random random(1);
  WriteBatch sizes;
  for (size_t length : {1u, 127u, 128u, 129u, 16383u, 16384u, 100000u}) {
    sizes.Put(random.Bytes(length), random.Bytes(length));
    sizes.Delete(random.Bytes(length));
    std::printf("batch of %zu: %zu\n", length, sizes.ApproximateSize());
  }
}
