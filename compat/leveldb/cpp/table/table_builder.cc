// leveldb::TableBuilder: writes a table file through the functions of formats.h.
//
// Invariant: after the first failure of the file, nothing is added to the table.

#include "leveldb/table_builder.h"

#include <algorithm>
#include <cassert>

#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/options.h"
#include "table/formats.h"

namespace leveldb {

namespace {

formats::Choices ChoicesOf(const Options& options) {
  const size_t interval = static_cast<size_t>(std::max(options.block_restart_interval, 0));
  return {options.block_size, interval, options.compression == kSnappyCompression};
}

}  // namespace

struct TableBuilder::Rep {
  Rep(const Options& options, WritableFile* f) : comparator(options.comparator), file(f) {
    const formats::Writable writable{this, &Append, &FlushFile};
    const formats::Order order = formats::OrderOf(comparator);
    const formats::Policy policy = formats::PolicyOf(options.filter_policy);
    const formats::Choices choices = ChoicesOf(options);
    builder = formats::foldbport_builder_new(&writable, &order, &policy, &choices);
  }

  ~Rep() { formats::foldbport_builder_free(builder); }

  static bool Append(void* arg, Slice bytes) {
    Rep* rep = static_cast<Rep*>(arg);
    rep->status = rep->file->Append(bytes);
    return rep->status.ok();
  }

  static bool FlushFile(void* arg) {
    Rep* rep = static_cast<Rep*>(arg);
    rep->status = rep->file->Flush();
    return rep->status.ok();
  }

  const Comparator* const comparator;
  WritableFile* const file;
  Status status;
  formats::Builder* builder;
  // Finish() or Abandon() was called.
  bool closed = false;
};

TableBuilder::TableBuilder(const Options& options, WritableFile* file)
    : rep_(new Rep(options, file)) {}

TableBuilder::~TableBuilder() {
  assert(rep_->closed);
  delete rep_;
}

Status TableBuilder::ChangeOptions(const Options& options) {
  if (options.comparator != rep_->comparator) {
    return Status::InvalidArgument("changing comparator while building table");
  }
  const formats::Choices choices = ChoicesOf(options);
  formats::foldbport_builder_set(rep_->builder, &choices);
  return Status::OK();
}

void TableBuilder::Add(const Slice& key, const Slice& value) {
  assert(!rep_->closed);
  if (ok()) formats::foldbport_builder_add(rep_->builder, key, value);
}

void TableBuilder::Flush() {
  assert(!rep_->closed);
  if (ok()) formats::foldbport_builder_flush(rep_->builder);
}

Status TableBuilder::status() const { return rep_->status; }

Status TableBuilder::Finish() {
  assert(!rep_->closed);
  if (ok()) formats::foldbport_builder_finish(rep_->builder);
  rep_->closed = true;
  return rep_->status;
}

void TableBuilder::Abandon() {
  assert(!rep_->closed);
  rep_->closed = true;
}

uint64_t TableBuilder::NumEntries() const {
  return formats::foldbport_builder_entries(rep_->builder);
}

uint64_t TableBuilder::FileSize() const {
  return formats::foldbport_builder_written(rep_->builder);
}

// LevelDB's library exports these private names. Nothing calls them.
void TableBuilder::WriteBlock(BlockBuilder*, BlockHandle*) {}
void TableBuilder::WriteRawBlock(const Slice&, CompressionType, BlockHandle*) {}

}  // namespace leveldb
