// Prints what a test program observes, one line an observation.
//
// Invariant: the lines depend only on the documented behaviour of the library, so two libraries
// that behave alike print the same bytes.

#ifndef COMPAT_LEVELDB_TESTS_SUPPORT_REPORT_H_
#define COMPAT_LEVELDB_TESTS_SUPPORT_REPORT_H_

#include <cstdint>
#include <string>

#include "leveldb/db.h"
#include "leveldb/iterator.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace report {

// Sets the directory whose path the lines show as DIR.
void SetDirectory(const std::string& directory);

// Returns a path below the directory.
std::string Path(const std::string& name);

// Names the subject of the lines that follow.
void Section(const std::string& name);

void Say(const std::string& what, const std::string& observed);
void YesNo(const std::string& what, bool observed);
void Number(const std::string& what, uint64_t observed);
void Result(const std::string& what, const leveldb::Status& observed);

// Ends the process with a message if a step that must succeed fails.
void Need(const std::string& step, const leveldb::Status& status);

// Returns the bytes in quotes, with escapes; of long ones the beginning, the length and a hash.
std::string Quoted(const leveldb::Slice& bytes);

// Returns a hash of the bytes (FNV-1a with 64 bits).
uint64_t Hash(const leveldb::Slice& bytes);

// Returns the entry at the iterator as key=value, or "invalid", or its error.
std::string At(const leveldb::Iterator* iterator);

// Returns all entries from first to last; Backward from last to first.
std::string Forward(leveldb::Iterator* iterator);
std::string Backward(leveldb::Iterator* iterator);

// Returns all entries of the database, and whether a scan backward agrees.
std::string Entries(leveldb::DB* db, const leveldb::ReadOptions& options = {});

// Returns the value of a key, or the status.
std::string Get(leveldb::DB* db, const leveldb::Slice& key,
                const leveldb::ReadOptions& options = {});

}  // namespace report

#endif  // COMPAT_LEVELDB_TESTS_SUPPORT_REPORT_H_
