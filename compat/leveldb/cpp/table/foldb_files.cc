// What DumpFile learns from a file's name and magic. See foldb_files.h.

#include "table/foldb_files.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "leveldb/env.h"
#include "port/coding.h"

namespace leveldb {

namespace {

// The numbers of files that LevelDB can name: digits that fit 64 bits.
bool IsNumber(const Slice& text) {
  if (text.empty()) return false;
  uint64_t number = 0;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    const unsigned digit = text[i] - '0';
    if (number > (UINT64_MAX - digit) / 10) return false;
    number = number * 10 + digit;
  }
  return true;
}

Slice BaseName(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t start = slash == std::string::npos ? 0 : slash + 1;
  return Slice(path.data() + start, path.size() - start);
}

// A kind of file of foldb, and where it has its magic and the version, 4 bytes.
struct Kind {
  FileName name;
  const char* what;
  const char* magic;
  // From the end of the file, not from its beginning.
  bool at_end;
  size_t magic_at;
  size_t version_at;
};

constexpr size_t kMagicSize = 8;

// The bytes that hold both, at the beginning or the end.
constexpr size_t kWindow = 48;

const Kind kKinds[] = {
    {FileName::kLog, "log", "log/fold", false, 33, 41},
    {FileName::kManifest, "manifest", "man/fold", false, 33, 41},
    {FileName::kFoldbSegment, "value segment", "seg/fold", false, 0, 8},
    {FileName::kFoldbSegment, "log that became a value segment", "log/fold", false, 33, 41},
    {FileName::kFoldbClosed, "record of a close", "end/fold", false, 0, 8},
    {FileName::kFoldbTable, "table", "tbl/fold", true, kWindow - 8, kWindow - 24},
};

// Reads up to `kWindow` bytes of the file's beginning or end.
Status ReadWindow(Env* env, const std::string& path, uint64_t size, bool at_end,
                  std::string* bytes) {
  // An empty file cannot be mapped.
  if (size == 0) return Status::OK();
  RandomAccessFile* opened;
  Status status = env->NewRandomAccessFile(path, &opened);
  if (!status.ok()) return status;
  const std::unique_ptr<RandomAccessFile> file(opened);
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(size, kWindow));
  char space[kWindow];
  Slice read;
  status = file->Read(at_end ? size - wanted : 0, wanted, &read, space);
  bytes->assign(read.data(), read.size());
  return status;
}

bool HasMagic(const Kind& kind, const std::string& bytes) {
  const size_t needed = std::max(kind.magic_at + kMagicSize, kind.version_at + sizeof(uint32_t));
  return bytes.size() >= needed &&
         bytes.compare(kind.magic_at, kMagicSize, kind.magic, kMagicSize) == 0;
}

}  // namespace

FileName ParseFileName(const std::string& path) {
  const Slice base = BaseName(path);
  const std::string name = base.ToString();
  for (const char* plain : {"CURRENT", "LOCK", "LOG", "LOG.old"}) {
    if (name == plain) return FileName::kNotDumpable;
  }
  if (name == "CLOSED") return FileName::kFoldbClosed;
  if (base.starts_with("MANIFEST-")) {
    Slice number = base;
    number.remove_prefix(9);
    return IsNumber(number) ? FileName::kManifest : FileName::kUnknown;
  }
  const size_t dot = name.find('.');
  if (dot == std::string::npos || !IsNumber(Slice(name.data(), dot))) return FileName::kUnknown;
  const std::string extension = name.substr(dot + 1);
  if (extension == "log") return FileName::kLog;
  if (extension == "ldb" || extension == "sst") return FileName::kTable;
  if (extension == "tbl") return FileName::kFoldbTable;
  if (extension == "seg") return FileName::kFoldbSegment;
  if (extension == "dbtmp") return FileName::kNotDumpable;
  return FileName::kUnknown;
}

Status FoldbFileText(Env* env, const std::string& path, std::string* text) {
  text->clear();
  const FileName name = ParseFileName(path);
  uint64_t size = 0;
  Status status = env->GetFileSize(path, &size);
  for (const Kind& kind : kKinds) {
    if (kind.name != name || !status.ok()) continue;
    std::string bytes;
    status = ReadWindow(env, path, size, kind.at_end, &bytes);
    if (status.ok() && HasMagic(kind, bytes)) {
      *text = std::string("foldb ") + kind.what + "\n  file: " + BaseName(path).ToString() +
              "\n  size: " + std::to_string(size) + " bytes\n  format version: " +
              std::to_string(DecodeFixed32(bytes.data() + kind.version_at)) + "\n";
      return status;
    }
  }
  switch (name) {
    case FileName::kFoldbTable:
    case FileName::kFoldbSegment:
    case FileName::kFoldbClosed:
      return status.ok() ? Status::Corruption(path, "the magic of a file of foldb is missing")
                         : status;
    default:
      // A file that cannot be read in this way may still be one of LevelDB.
      return Status::OK();
  }
}

}  // namespace leveldb
