// leveldb::TableBuilder: writes a table file. See format.h for its parts.
//
// Invariant: an entry of the index is written when the next key is known. Its key can then be a
// short one between the last key of the block and the next.

#include "leveldb/table_builder.h"

#include <cassert>
#include <memory>
#include <string>

#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/options.h"
#include "port/snappy.h"
#include "table/block_builder.h"
#include "table/filter_block.h"
#include "table/format.h"

namespace leveldb {

struct TableBuilder::Rep {
  Rep(const Options& opt, WritableFile* f)
      : options(opt),
        file(f),
        data(opt.block_restart_interval),
        // Every entry of the index is a restart: a search then needs no scan.
        index(1) {
    if (options.filter_policy != nullptr) {
      filter = std::make_unique<FilterBlockBuilder>(options.filter_policy);
      filter->StartBlock(0);
    }
  }

  Options options;
  WritableFile* const file;
  // Bytes appended to the file.
  uint64_t offset = 0;
  Status status;
  BlockBuilder data;
  BlockBuilder index;
  std::unique_ptr<FilterBlockBuilder> filter;
  std::string last_key;
  uint64_t entries = 0;
  // Finish() or Abandon() was called.
  bool closed = false;
  // The last data block has no entry in the index yet. Then `data` is empty.
  bool index_entry_due = false;
  BlockHandle last_block;
  std::string compressed;
};

TableBuilder::TableBuilder(const Options& options, WritableFile* file)
    : rep_(new Rep(options, file)) {}

TableBuilder::~TableBuilder() {
  assert(rep_->closed);
  delete rep_;
}

Status TableBuilder::ChangeOptions(const Options& options) {
  if (options.comparator != rep_->options.comparator) {
    return Status::InvalidArgument("changing comparator while building table");
  }
  rep_->options = options;
  rep_->data.set_restart_interval(options.block_restart_interval);
  return Status::OK();
}

namespace {

void AddHandle(BlockBuilder* block, const Slice& key, const BlockHandle& handle) {
  std::string encoded;
  handle.AppendTo(&encoded);
  block->Add(key, encoded);
}

}  // namespace

void TableBuilder::Add(const Slice& key, const Slice& value) {
  Rep* r = rep_;
  assert(!r->closed);
  if (!ok()) return;
  assert(r->entries == 0 || r->options.comparator->Compare(key, r->last_key) > 0);
  if (r->index_entry_due) {
    r->options.comparator->FindShortestSeparator(&r->last_key, key);
    AddHandle(&r->index, r->last_key, r->last_block);
    r->index_entry_due = false;
  }
  if (r->filter != nullptr) r->filter->AddKey(key);
  r->last_key.assign(key.data(), key.size());
  r->entries++;
  r->data.Add(key, value);
  if (r->data.FinishedSize() >= r->options.block_size) Flush();
}

void TableBuilder::Flush() {
  Rep* r = rep_;
  assert(!r->closed);
  if (!ok() || r->data.empty()) return;
  WriteBlock(&r->data, &r->last_block);
  if (ok()) {
    r->index_entry_due = true;
    r->status = r->file->Flush();
  }
  if (r->filter != nullptr) r->filter->StartBlock(r->offset);
}

// Writes the block, compressed if that saves at least an eighth, and empties it.
void TableBuilder::WriteBlock(BlockBuilder* block, BlockHandle* handle) {
  Rep* r = rep_;
  Slice contents = block->Finish();
  CompressionType type = kNoCompression;
  if (r->options.compression == kSnappyCompression && snappy::Compress(contents, &r->compressed) &&
      r->compressed.size() < contents.size() - contents.size() / 8) {
    contents = r->compressed;
    type = kSnappyCompression;
  }
  WriteRawBlock(contents, type, handle);
  block->Reset();
}

void TableBuilder::WriteRawBlock(const Slice& contents, CompressionType type,
                                 BlockHandle* handle) {
  Rep* r = rep_;
  *handle = BlockHandle(r->offset, contents.size());
  r->status = r->file->Append(contents);
  if (!ok()) return;
  std::string trailer;
  AppendBlockTrailer(contents, static_cast<char>(type), &trailer);
  r->status = r->file->Append(trailer);
  if (ok()) r->offset += contents.size() + trailer.size();
}

Status TableBuilder::status() const { return rep_->status; }

Status TableBuilder::Finish() {
  Rep* r = rep_;
  Flush();
  assert(!r->closed);
  r->closed = true;

  BlockBuilder metaindex(r->options.block_restart_interval);
  if (ok() && r->filter != nullptr) {
    BlockHandle handle;
    WriteRawBlock(r->filter->Finish(), kNoCompression, &handle);
    AddHandle(&metaindex, std::string("filter.") + r->filter->policy()->Name(), handle);
  }
  BlockHandle metaindex_handle;
  if (ok()) WriteBlock(&metaindex, &metaindex_handle);

  BlockHandle index_handle;
  if (ok()) {
    if (r->index_entry_due) {
      r->options.comparator->FindShortSuccessor(&r->last_key);
      AddHandle(&r->index, r->last_key, r->last_block);
      r->index_entry_due = false;
    }
    WriteBlock(&r->index, &index_handle);
  }
  if (ok()) {
    std::string footer;
    Footer(metaindex_handle, index_handle).AppendTo(&footer);
    r->status = r->file->Append(footer);
    if (ok()) r->offset += footer.size();
  }
  return r->status;
}

void TableBuilder::Abandon() {
  assert(!rep_->closed);
  rep_->closed = true;
}

uint64_t TableBuilder::NumEntries() const { return rep_->entries; }

uint64_t TableBuilder::FileSize() const { return rep_->offset; }

}  // namespace leveldb
