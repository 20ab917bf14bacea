// Writes tables of many shapes, and prints everything that can be read from such tables.

#include <memory>
#include <string>

#include "leveldb/cache.h"
#include "leveldb/env.h"
#include "leveldb/iterator.h"
#include "leveldb/table.h"
#include "leveldb/table_builder.h"
#include "shapes.h"
#include "tables.h"

using leveldb::Env;
using leveldb::Iterator;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Status;

namespace leveldb {

// The friend of Table: a read of one key is private to the library.
class TableCache {
 public:
  static Status Get(Table* table, const Slice& key, void* arg,
                    void (*found)(void*, const Slice&, const Slice&)) {
    return table->InternalGet(ReadOptions(), key, arg, found);
  }
};

}  // namespace leveldb

namespace {

void Write(const std::string& path, Shape* shape) {
  leveldb::WritableFile* file;
  CHECK(Env::Default()->NewWritableFile(path, &file).ok());
  leveldb::TableBuilder builder(shape->options, file);
  const auto entries = shape->Entries();
  for (size_t i = 0; i < entries.size(); i++) {
    if (shape->flushes && i % 37 == 5) builder.Flush();
    if (shape->changes && i == entries.size() / 2) {
      leveldb::Options changed = shape->options;
      changed.block_size = 700;
      // The original aborts if the interval shrinks within a block.
      changed.block_restart_interval += 5;
      CHECK(builder.ChangeOptions(changed).ok());
    }
    builder.Add(entries[i].first, entries[i].second);
    CHECK(builder.status().ok());
  }
  CHECK(builder.NumEntries() == entries.size());
  CHECK(builder.Finish().ok());
  CHECK(file->Close().ok());
  delete file;
  uint64_t size;
  CHECK(Env::Default()->GetFileSize(path, &size).ok());
  CHECK(builder.FileSize() == size);
}

// A table that was opened.
class Opened {
 public:
  Opened(const std::string& path, const leveldb::Options& options) {
    CHECK(Env::Default()->NewRandomAccessFile(path, &file_).ok());
    CHECK(Env::Default()->GetFileSize(path, &size_).ok());
    status_ = leveldb::Table::Open(options, file_, size_, &table_);
  }
  ~Opened() {
    delete table_;
    delete file_;
  }

  leveldb::Table* table() const { return table_; }
  const Status& status() const { return status_; }
  uint64_t size() const { return size_; }

 private:
  leveldb::RandomAccessFile* file_ = nullptr;
  uint64_t size_ = 0;
  leveldb::Table* table_ = nullptr;
  Status status_;
};

void AddPlace(const Iterator* entry, Digest* digest) {
  digest->Add(entry->Valid());
  if (!entry->Valid()) return;
  digest->Add(entry->key());
  digest->Add(entry->value());
}

void Scans(const Shape& shape, const Opened& opened, const ReadOptions& read) {
  const std::unique_ptr<Iterator> entry(opened.table()->NewIterator(read));
  CHECK(!entry->Valid());
  Digest forward, backward;
  unsigned count = 0;
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    AddPlace(entry.get(), &forward);
    count++;
  }
  for (entry->SeekToLast(); entry->Valid(); entry->Prev()) AddPlace(entry.get(), &backward);
  std::printf("%s scans %u %016llx %016llx %s\n", shape.name.c_str(), count, forward.value(),
              backward.value(), entry->status().ToString().c_str());
  CHECK(count == shape.count);
}

// Random moves, each from where the last one led.
void Moves(Shape* shape, const Opened& opened, const ReadOptions& read) {
  const std::unique_ptr<Iterator> entry(opened.table()->NewIterator(read));
  Digest path;
  for (int step = 0; step < 2000; step++) {
    switch (shape->numbers.Below(7)) {
      case 0:
        entry->SeekToFirst();
        break;
      case 1:
        entry->SeekToLast();
        break;
      case 2:
        entry->Seek(shape->Key());
        break;
      case 3:
        // A seek to the place of the iterator itself.
        if (entry->Valid()) entry->Seek(entry->key());
        break;
      case 4:
        if (entry->Valid()) entry->Prev();
        break;
      default:
        if (entry->Valid()) entry->Next();
    }
    AddPlace(entry.get(), &path);
  }
  std::printf("%s moves %016llx %s\n", shape->name.c_str(), path.value(),
              entry->status().ToString().c_str());
}

void Offsets(Shape* shape, const Opened& opened) {
  Digest offsets;
  for (const auto& entry : shape->Entries()) {
    offsets.Add(opened.table()->ApproximateOffsetOf(entry.first));
  }
  for (int i = 0; i < 50; i++) offsets.Add(opened.table()->ApproximateOffsetOf(shape->Key()));
  std::printf("%s offsets %016llx, size %llu\n", shape->name.c_str(), offsets.value(),
              static_cast<unsigned long long>(opened.size()));
}

// Reads single keys, through the filter.
void Gets(Shape* shape, const Opened& opened) {
  struct Found {
    bool called = false;
    Digest entry;
  };
  const auto get = [&opened](const std::string& key, Digest* digest) {
    Found found;
    const Status status = leveldb::TableCache::Get(
        opened.table(), key, &found, [](void* arg, const Slice& key, const Slice& value) {
          static_cast<Found*>(arg)->called = true;
          static_cast<Found*>(arg)->entry.Add(key);
          static_cast<Found*>(arg)->entry.Add(value);
        });
    CHECK(status.ok());
    digest->Add(found.called);
    digest->Add(found.entry.value());
    return found.called;
  };
  Digest digest;
  unsigned called = 0;
  for (const auto& entry : Shape(std::atoi(shape->name.c_str() + 5)).Entries()) {
    // Bloom filters hold bytes, so keys that are equal by the comparator only may be excluded.
    CHECK(get(entry.first, &digest));
  }
  for (int i = 0; i < 300; i++) called += get(shape->Key() + "x", &digest) ? 1 : 0;
  std::printf("%s gets %016llx, %u of 300 absent keys read\n", shape->name.c_str(), digest.value(),
              called);
}

void Read(const std::string& path, unsigned number) {
  for (int mode = 0; mode < 3; mode++) {
    Shape shape(number);
    const std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(mode == 1 ? 10000 : 4 << 20));
    if (mode > 0) shape.options.block_cache = cache.get();
    shape.options.paranoid_checks = mode == 2;
    ReadOptions read;
    read.verify_checksums = mode != 1;
    read.fill_cache = mode != 2;
    const Opened opened(path, shape.options);
    CHECK(opened.status().ok());
    Scans(shape, opened, read);
    Moves(&shape, opened, read);
    Offsets(&shape, opened);
    Gets(&shape, opened);
  }
}

std::string PathOf(const std::string& directory, const Shape& shape) {
  return directory + "/" + shape.name + ".table";
}

}  // namespace

void WriteTables(const std::string& directory) {
  for (unsigned number = 0; number < Shape::kCount; number++) {
    Shape shape(number);
    Write(PathOf(directory, shape), &shape);
  }
}

void ReadTables(const std::string& directory) {
  for (unsigned number = 0; number < Shape::kCount; number++) {
    Read(PathOf(directory, Shape(number)), number);
  }
}
