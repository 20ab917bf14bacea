// leveldb::Table: reads a table file through the functions of formats.h.
//
// Invariant: a data block that an iterator reads stays alive until Rust releases it, in the block
// cache or without one.

#include "leveldb/table.h"

#include <cstdint>
#include <memory>
#include <string>

#include "leveldb/cache.h"
#include "leveldb/env.h"
#include "leveldb/options.h"
#include "port/coding.h"
#include "table/formats.h"

namespace leveldb {

using formats::Outcome;

namespace {

// A file, and the first status that a read of it kept.
struct Source {
  RandomAccessFile* file;
  uint64_t size;
  Status failure;

  formats::Readable Readable() { return {this, size, &Read}; }

  static bool Read(const void* arg, uint64_t offset, size_t length, char* scratch, Slice* found) {
    auto* source = static_cast<Source*>(const_cast<void*>(arg));
    const Status status = source->file->Read(offset, length, found, scratch);
    if (!status.ok() && source->failure.ok()) source->failure = status;
    return status.ok();
  }
};

// What an open table and its iterators read with.
struct Opened {
  Opened(const Options& opt, RandomAccessFile* f, uint64_t s) : options(opt), file(f), size(s) {}
  ~Opened() {
    if (table != nullptr) formats::foldbport_table_free(table);
  }

  const Options options;
  RandomAccessFile* const file;
  const uint64_t size;
  // Begins the keys of the table's blocks in the block cache.
  uint64_t cache_id = 0;
  const formats::OpenTable* table = nullptr;
};

}  // namespace

struct Table::Rep : Opened {
  using Opened::Opened;
};

Status Table::Open(const Options& options, RandomAccessFile* file, uint64_t file_size,
                   Table** table) {
  *table = nullptr;
  auto rep = std::make_unique<Rep>(options, file, file_size);
  Source source{file, file_size, Status()};
  const formats::Readable readable = source.Readable();
  const formats::Order order = formats::OrderOf(options.comparator);
  const formats::Policy policy = formats::PolicyOf(options.filter_policy);
  const Outcome outcome = formats::foldbport_table_open(&readable, &order, &policy,
                                                        options.paranoid_checks, &rep->table);
  if (outcome != nullptr) return formats::StatusOf(outcome, source.failure);
  if (options.block_cache != nullptr) rep->cache_id = options.block_cache->NewId();
  *table = new Table(rep.release());
  return Status::OK();
}

Table::~Table() { delete rep_; }

namespace {

void DeleteCachedBlock(const Slice&, void* block) {
  formats::foldbport_block_free(static_cast<formats::Contents*>(block));
}

void DeleteBlock(void* block, void*) { DeleteCachedBlock(Slice(), block); }

void ReleaseBlock(void* cache, void* handle) {
  static_cast<Cache*>(cache)->Release(static_cast<Cache::Handle*>(handle));
}

// The key of a block in the cache: table, then offset.
std::string CacheKey(uint64_t cache_id, uint64_t offset) {
  std::string key;
  PutFixed64(&key, cache_id);
  PutFixed64(&key, offset);
  return key;
}

// Whether some bytes begin within others.
bool BeginsWithin(const Slice& bytes, const Slice& others) {
  const auto at = reinterpret_cast<uintptr_t>(bytes.data());
  const auto begin = reinterpret_cast<uintptr_t>(others.data());
  return begin <= at && at - begin < others.size();
}

// An iterator that reads data blocks through the block cache.
class TableIterator final : public Iterator {
 public:
  TableIterator(const Opened& table, const ReadOptions& options)
      : cache_(table.options.block_cache),
        cache_id_(table.cache_id),
        options_(options),
        source_{table.file, table.size, Status()} {
    const formats::Blocks blocks{this, &FindBlock};
    place_ = formats::foldbport_iterator_new(table.table, &blocks);
  }

  ~TableIterator() override { formats::foldbport_iterator_free(place_); }

  bool Valid() const override { return entry_.is_valid; }
  Slice key() const override { return entry_.key; }
  Slice value() const override { return entry_.value; }

  Status status() const override {
    return formats::StatusOf(formats::foldbport_iterator_status(place_), source_.failure);
  }

  void SeekToFirst() override { Move(formats::kFirst); }
  void SeekToLast() override { Move(formats::kLast); }
  void Next() override { Move(formats::kNext); }
  void Prev() override { Move(formats::kPrev); }

  void Seek(const Slice& target) override {
    // The caller may pass a part of the entry, which the search overwrites or frees.
    if (BeginsWithin(target, entry_.key) || BeginsWithin(target, entry_.value)) {
      const std::string copy = target.ToString();
      formats::foldbport_iterator_seek(place_, copy, &entry_);
    } else {
      formats::foldbport_iterator_seek(place_, target, &entry_);
    }
  }

  // Moves to the entry that Seek(key) finds in its data block, unless a filter excludes the key.
  void Get(const Slice& key) { formats::foldbport_iterator_get(place_, key, &entry_); }

 private:
  void Move(formats::Step step) { formats::foldbport_iterator_move(place_, step, &entry_); }

  static Outcome FindBlock(void* arg, uint64_t offset, uint64_t length, formats::LentBlock* found) {
    return static_cast<TableIterator*>(arg)->Find(offset, length, found);
  }

  Outcome Find(uint64_t offset, uint64_t length, formats::LentBlock* found) {
    std::string cache_key;
    Cache::Handle* cached = nullptr;
    if (cache_ != nullptr) {
      cache_key = CacheKey(cache_id_, offset);
      cached = cache_->Lookup(cache_key);
    }
    formats::Contents* block = nullptr;
    Slice bytes;
    if (cached != nullptr) {
      block = static_cast<formats::Contents*>(cache_->Value(cached));
    } else {
      bool is_lent = false;
      const formats::Readable readable = source_.Readable();
      const Outcome outcome = formats::foldbport_block_read(
          &readable, offset, length, options_.verify_checksums, &block, &is_lent);
      if (outcome != nullptr) return outcome;
      // Bytes that the file maps need no second copy in the cache.
      if (cache_ != nullptr && options_.fill_cache && !is_lent) {
        formats::foldbport_block_bytes(block, &bytes);
        cached = cache_->Insert(cache_key, block, bytes.size(), &DeleteCachedBlock);
      }
    }
    formats::foldbport_block_bytes(block, &bytes);
    if (cached != nullptr) {
      *found = {bytes, &ReleaseBlock, cache_, cached};
    } else {
      *found = {bytes, &DeleteBlock, block, nullptr};
    }
    return nullptr;
  }

  Cache* const cache_;
  const uint64_t cache_id_;
  const ReadOptions options_;
  Source source_;
  formats::Place* place_;
  formats::Entry entry_{};
};

}  // namespace

Iterator* Table::NewIterator(const ReadOptions& options) const {
  return new TableIterator(*rep_, options);
}

// Calls the function with the first entry at or behind the key, if the key's block may hold it.
Status Table::InternalGet(const ReadOptions& options, const Slice& key, void* arg,
                          void (*handle_result)(void*, const Slice&, const Slice&)) {
  TableIterator block(*rep_, options);
  block.Get(key);
  if (block.Valid()) (*handle_result)(arg, block.key(), block.value());
  return block.status();
}

uint64_t Table::ApproximateOffsetOf(const Slice& key) const {
  return formats::foldbport_table_offset_of(rep_->table, key);
}

// LevelDB's library exports these private names. Nothing calls them.
Iterator* Table::BlockReader(void*, const ReadOptions&, const Slice&) { return nullptr; }
void Table::ReadMeta(const Footer&) {}
void Table::ReadFilter(const Slice&) {}

}  // namespace leveldb
