// leveldb::Table: reads a table file. See format.h for its parts.
//
// Invariant: a table without a readable filter block works, only slower.

#include "leveldb/table.h"

#include <memory>
#include <string>
#include <utility>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/options.h"
#include "port/coding.h"
#include "table/block.h"
#include "table/filter_block.h"
#include "table/format.h"
#include "table/table_iterator.h"

namespace leveldb {

struct Table::Rep {
  Rep(const Options& opt, const TableFile& src) : options(opt), source(src) {}

  const Options options;
  const TableFile source;
  // Begins the keys of the table's blocks in the block cache.
  uint64_t cache_id = 0;
  BlockHandle metaindex;
  std::unique_ptr<Block> index;
  std::unique_ptr<FilterBlockReader> filter;
};

Status Table::Open(const Options& options, RandomAccessFile* file, uint64_t file_size,
                   Table** table) {
  *table = nullptr;
  if (file_size < Footer::kSize) {
    return Status::Corruption("file is too short to be an sstable");
  }
  char space[Footer::kSize];
  Slice bytes;
  Status status = file->Read(file_size - Footer::kSize, Footer::kSize, &bytes, space);
  if (!status.ok()) return status;
  Footer footer;
  status = footer.Decode(bytes);
  if (!status.ok()) return status;

  auto rep = std::make_unique<Rep>(options, TableFile{file, file_size});
  BlockContents contents;
  status = ReadBlock(rep->source, options.paranoid_checks, footer.index(), &contents);
  if (!status.ok()) return status;
  rep->index = std::make_unique<Block>(std::move(contents));
  rep->metaindex = footer.metaindex();
  if (options.block_cache != nullptr) rep->cache_id = options.block_cache->NewId();
  *table = new Table(rep.release());
  (*table)->ReadMeta(footer);
  return status;
}

// Reads the parts without which the table is only slower. Their errors are not reported.
void Table::ReadMeta(const Footer& footer) {
  const Options& options = rep_->options;
  if (options.filter_policy == nullptr) return;
  BlockContents contents;
  if (!ReadBlock(rep_->source, options.paranoid_checks, footer.metaindex(), &contents).ok()) return;
  const Block metaindex(std::move(contents));
  const std::unique_ptr<Iterator> entry(metaindex.NewIterator(BytewiseComparator()));
  const std::string name = std::string("filter.") + options.filter_policy->Name();
  entry->Seek(name);
  if (entry->Valid() && entry->key() == Slice(name)) ReadFilter(entry->value());
}

void Table::ReadFilter(const Slice& filter_handle_value) {
  Slice input = filter_handle_value;
  BlockHandle handle;
  if (!handle.TakeFrom(&input).ok()) return;
  BlockContents contents;
  const Options& options = rep_->options;
  if (!ReadBlock(rep_->source, options.paranoid_checks, handle, &contents).ok()) return;
  rep_->filter = std::make_unique<FilterBlockReader>(options.filter_policy, std::move(contents));
}

Table::~Table() { delete rep_; }

namespace {

void DeleteCachedBlock(const Slice&, void* value) { delete static_cast<Block*>(value); }

void DeleteBlock(void* block, void*) { delete static_cast<Block*>(block); }

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

}  // namespace

// Returns an iterator over the block with that encoded handle. It keeps the block alive.
Iterator* Table::BlockReader(void* arg, const ReadOptions& read, const Slice& encoded) {
  const Rep* rep = static_cast<Table*>(arg)->rep_;
  Cache* const cache = rep->options.block_cache;
  Slice input = encoded;
  BlockHandle handle;
  Status status = handle.TakeFrom(&input);
  if (!status.ok()) return NewErrorIterator(status);

  std::string cache_key;
  Cache::Handle* cached = nullptr;
  if (cache != nullptr) {
    cache_key = CacheKey(rep->cache_id, handle.offset());
    cached = cache->Lookup(cache_key);
  }
  Block* block = nullptr;
  if (cached != nullptr) {
    block = static_cast<Block*>(cache->Value(cached));
  } else {
    BlockContents contents;
    status = ReadBlock(rep->source, read.verify_checksums, handle, &contents);
    if (!status.ok()) return NewErrorIterator(status);
    // Bytes that the file maps need no second copy in the cache.
    const bool caches = cache != nullptr && read.fill_cache && contents.owned != nullptr;
    block = new Block(std::move(contents));
    if (caches) cached = cache->Insert(cache_key, block, block->size(), &DeleteCachedBlock);
  }

  Iterator* iterator = block->NewIterator(rep->options.comparator);
  if (cached != nullptr) {
    iterator->RegisterCleanup(&ReleaseBlock, cache, cached);
  } else {
    iterator->RegisterCleanup(&DeleteBlock, block, nullptr);
  }
  return iterator;
}

Iterator* Table::NewIterator(const ReadOptions& options) const {
  Iterator* index = rep_->index->NewIterator(rep_->options.comparator);
  return NewTableIterator(index, &Table::BlockReader, const_cast<Table*>(this), options);
}

// Calls the function with the first entry at or behind the key, if the key's block may hold it.
Status Table::InternalGet(const ReadOptions& options, const Slice& key, void* arg,
                          void (*handle_result)(void*, const Slice&, const Slice&)) {
  const std::unique_ptr<Iterator> index(rep_->index->NewIterator(rep_->options.comparator));
  index->Seek(key);
  if (!index->Valid()) return index->status();
  if (rep_->filter != nullptr) {
    Slice input = index->value();
    BlockHandle handle;
    if (handle.TakeFrom(&input).ok() && !rep_->filter->KeyMayMatch(handle.offset(), key)) {
      return Status::OK();
    }
  }
  const std::unique_ptr<Iterator> block(BlockReader(this, options, index->value()));
  block->Seek(key);
  if (block->Valid()) (*handle_result)(arg, block->key(), block->value());
  const Status status = block->status();
  return status.ok() ? index->status() : status;
}

uint64_t Table::ApproximateOffsetOf(const Slice& key) const {
  const std::unique_ptr<Iterator> index(rep_->index->NewIterator(rep_->options.comparator));
  index->Seek(key);
  if (index->Valid()) {
    Slice input = index->value();
    BlockHandle handle;
    if (handle.TakeFrom(&input).ok()) return handle.offset();
  }
  // Behind the last key, or in a damaged index: near the end of the file.
  return rep_->metaindex.offset();
}

}  // namespace leveldb
