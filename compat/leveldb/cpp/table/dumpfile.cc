// leveldb::DumpFile: prints a file of a database as text.
//
// It prints LevelDB's logs, manifests and tables as LevelDB does: every record. Of a file of foldb
// it prints kind, size and format version.
//
// Invariant: the name says whether a file can be printed, and its magic whether foldb wrote it.

#include "leveldb/dumpfile.h"

#include <memory>
#include <string>

#include "leveldb/env.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/table.h"
#include "leveldb/write_batch.h"
#include "port/coding.h"
#include "port/write_batch_internal.h"
#include "table/dump_text.h"
#include "table/foldb_files.h"
#include "table/log_reader.h"
#include "table/manifest_text.h"

namespace leveldb {

namespace dump {
namespace {

// A batch begins with its sequence number and the number of its operations.
constexpr size_t kBatchHeaderSize = 12;

class OperationPrinter final : public WriteBatch::Handler {
 public:
  explicit OperationPrinter(WritableFile* out) : out_(out) {}

  void Put(const Slice& key, const Slice& value) override {
    out_->Append("  put '" + Escape(key) + "' '" + Escape(value) + "'\n");
  }
  void Delete(const Slice& key) override { out_->Append("  del '" + Escape(key) + "'\n"); }

 private:
  WritableFile* const out_;
};

void PrintBatch(const std::string& record, WritableFile* out) {
  if (record.size() < kBatchHeaderSize) {
    out->Append("log record length " + std::to_string(record.size()) + " is too small\n");
    return;
  }
  out->Append("sequence " + std::to_string(DecodeFixed64(record.data())) + "\n");
  WriteBatch batch;
  WriteBatchInternal::SetContents(&batch, record);
  OperationPrinter printer(out);
  const Status status = batch.Iterate(&printer);
  if (!status.ok()) out->Append("  error: " + status.ToString() + "\n");
}

void PrintEdit(const std::string& record, WritableFile* out) {
  std::string text;
  const Status status = ManifestEditText(record, &text);
  out->Append(status.ok() ? text : status.ToString() + "\n");
}

// Prints each record of a log or manifest.
Status PrintRecords(Env* env, const std::string& fname,
                    void (*print)(const std::string&, WritableFile*), WritableFile* out) {
  SequentialFile* opened;
  const Status status = env->NewSequentialFile(fname, &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<SequentialFile> file(opened);
  LogReader reader(file.get(), [out](size_t bytes, const Status& why) {
    out->Append("corruption: " + std::to_string(bytes) + " bytes; " + why.ToString() + "\n");
  });
  std::string record;
  while (reader.Read(&record)) {
    out->Append("--- offset " + std::to_string(reader.offset()) + "; ");
    print(record, out);
  }
  return Status::OK();
}

std::string EntryText(const Slice& key, const Slice& value) {
  InternalKey parsed;
  if (!ParseInternalKey(key, &parsed)) {
    return "badkey '" + Escape(key) + "' => '" + Escape(value) + "'\n";
  }
  return "'" + Escape(parsed.user_key) + "' @ " + std::to_string(parsed.sequence) + " : " +
         (parsed.type == kTypeDeletion ? "del" : "val") + " => '" + Escape(value) + "'\n";
}

Status PrintTable(Env* env, const std::string& fname, WritableFile* out) {
  uint64_t size = 0;
  Status status = env->GetFileSize(fname, &size);
  RandomAccessFile* opened = nullptr;
  if (status.ok()) status = env->NewRandomAccessFile(fname, &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<RandomAccessFile> file(opened);
  Table* table_opened = nullptr;
  // The table's own comparator is unknown. A walk from the first entry compares no keys.
  status = Table::Open(Options(), file.get(), size, &table_opened);
  if (!status.ok()) return status;
  const std::unique_ptr<Table> table(table_opened);
  ReadOptions once;
  once.fill_cache = false;
  const std::unique_ptr<Iterator> entry(table->NewIterator(once));
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    out->Append(EntryText(entry->key(), entry->value()));
  }
  if (!entry->status().ok()) {
    out->Append("iterator error: " + entry->status().ToString() + "\n");
  }
  return Status::OK();
}

}  // namespace
}  // namespace dump

Status DumpFile(Env* env, const std::string& fname, WritableFile* dst) {
  const FileName name = ParseFileName(fname);
  if (name == FileName::kUnknown) return Status::InvalidArgument(fname, "unknown file type");
  if (name == FileName::kNotDumpable) {
    return Status::InvalidArgument(fname, "not a dump-able file type");
  }
  std::string text;
  const Status status = FoldbFileText(env, fname, &text);
  if (!status.ok()) return status;
  if (!text.empty()) {
    dst->Append(text);
    return Status::OK();
  }
  switch (name) {
    case FileName::kLog:
      return dump::PrintRecords(env, fname, &dump::PrintBatch, dst);
    case FileName::kManifest:
      return dump::PrintRecords(env, fname, &dump::PrintEdit, dst);
    default:
      return dump::PrintTable(env, fname, dst);
  }
}

}  // namespace leveldb
