// What DumpFile learns from a file's name and from its first or last bytes.
//
// Files of foldb and of LevelDB share some names: `000003.log`, `MANIFEST-000002`. The magic tells
// them apart. docs/format/README.md says where each kind of file has its magic and format version;
// these places are frozen.

#ifndef FOLDB_LEVELDB_TABLE_FOLDB_FILES_H_
#define FOLDB_LEVELDB_TABLE_FOLDB_FILES_H_

#include <string>

#include "leveldb/status.h"

namespace leveldb {

class Env;

// What a name in the directory of a database says.
enum class FileName {
  // No file of a database.
  kUnknown,
  // A file without records: CURRENT, LOCK, LOG, LOG.old, a temporary file.
  kNotDumpable,
  kLog,
  kManifest,
  // A table of LevelDB, by either of its extensions.
  kTable,
  // Files that only foldb has.
  kFoldbTable,
  kFoldbSegment,
  kFoldbClosed,
};

// Reads the part of the path behind the last slash.
FileName ParseFileName(const std::string& path);

// Stores kind, size and format version of a file of foldb; an empty text for a file of LevelDB.
// Fails with Corruption for a file that has a name of foldb and not its magic.
Status FoldbFileText(Env* env, const std::string& path, std::string* text);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_TABLE_FOLDB_FILES_H_
