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
#include "table/foldb_files.h"
#include "table/formats.h"

namespace leveldb {

namespace {

// What LevelDB reads of a log at once. Less than that says that the file ends.
constexpr size_t kReadSize = 32 << 10;

void AppendTo(void* out, Slice text) { static_cast<WritableFile*>(out)->Append(text); }

// Prints each record of a log or manifest.
Status PrintRecords(Env* env, const std::string& fname,
                    void (*print)(Slice file, void* out, formats::Append), WritableFile* out) {
  SequentialFile* opened;
  Status status = env->NewSequentialFile(fname, &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<SequentialFile> file(opened);
  const std::unique_ptr<char[]> space(new char[kReadSize]);
  std::string bytes;
  Slice read;
  do {
    status = file->Read(kReadSize, &read, space.get());
    if (status.ok()) bytes.append(read.data(), read.size());
  } while (status.ok() && read.size() == kReadSize);
  print(bytes, out, &AppendTo);
  if (!status.ok()) {
    out->Append("corruption: " + std::to_string(kReadSize) + " bytes; " + status.ToString() + "\n");
  }
  return Status::OK();
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
    formats::foldbport_dump_entry(entry->key(), entry->value(), out, &AppendTo);
  }
  if (!entry->status().ok()) {
    out->Append("iterator error: " + entry->status().ToString() + "\n");
  }
  return Status::OK();
}

}  // namespace

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
      return PrintRecords(env, fname, &formats::foldbport_dump_log, dst);
    case FileName::kManifest:
      return PrintRecords(env, fname, &formats::foldbport_dump_manifest, dst);
    default:
      return PrintTable(env, fname, dst);
  }
}

}  // namespace leveldb
