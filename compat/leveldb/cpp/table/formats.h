// The formats of LevelDB's files, from the Rust half of the library (src/reader.rs, src/writer.rs,
// src/dumps.rs), and the program's objects as it calls them (src/foreign.rs).
//
// Invariant: every object that a structure names outlives the Rust object that got the structure.

#ifndef FOLDB_LEVELDB_TABLE_FORMATS_H_
#define FOLDB_LEVELDB_TABLE_FORMATS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

class Comparator;
class FilterPolicy;

namespace formats {

// Rust's `Bytes` has the same two members.
static_assert(std::is_trivially_copyable<Slice>::value &&
                  sizeof(Slice) == sizeof(const char*) + sizeof(size_t),
              "a Slice is passed as its members");

// Null for success, an empty text if a function of C++ failed, or the message of damage.
using Outcome = const char*;

extern "C" {

struct Order {
  const Comparator* object;
  bool is_bytewise;
  int (*compare)(const Comparator*, Slice, Slice);
  void (*separator)(const Comparator*, void* shorter, Slice start, Slice limit);
  void (*successor)(const Comparator*, void* shorter, Slice key);
};

struct Policy {
  const FilterPolicy* object;
  Slice name;
  void (*create)(const FilterPolicy*, const Slice* keys, int count, void* filter);
  bool (*may_match)(const FilterPolicy*, Slice key, Slice filter);
};

void foldbport_append(void* to, Slice bytes);

// The functions return false after a failure, and keep its status.
struct Readable {
  const void* object;
  uint64_t size;
  bool (*read)(const void*, uint64_t offset, size_t length, char* scratch, Slice* found);
};

struct Contents;
Outcome foldbport_block_read(const Readable*, uint64_t offset, uint64_t length, bool verify,
                             Contents**, bool* is_lent);
void foldbport_block_bytes(const Contents*, Slice* bytes);
void foldbport_block_free(Contents*);

struct OpenTable;
Outcome foldbport_table_open(const Readable*, const Order*, const Policy*, bool verify,
                             const OpenTable**);
uint64_t foldbport_table_offset_of(const OpenTable*, Slice key);
void foldbport_table_free(const OpenTable*);

struct LentBlock {
  Slice bytes;
  void (*release)(void* owner, void* handle);
  void* owner;
  void* handle;
};

struct Blocks {
  void* object;
  Outcome (*find)(void*, uint64_t offset, uint64_t length, LentBlock*);
};

struct Entry {
  bool is_valid;
  Slice key;
  Slice value;
};

enum Step : int { kFirst = 0, kLast = 1, kNext = 2, kPrev = 3 };

struct Place;
Place* foldbport_iterator_new(const OpenTable*, const Blocks*);
void foldbport_iterator_move(Place*, Step, Entry*);
void foldbport_iterator_seek(Place*, Slice key, Entry*);
void foldbport_iterator_get(Place*, Slice key, Entry*);
Outcome foldbport_iterator_status(const Place*);
void foldbport_iterator_free(Place*);

struct Writable {
  void* object;
  bool (*append)(void*, Slice bytes);
  bool (*flush)(void*);
};

struct Choices {
  size_t block_size;
  size_t restart_interval;
  bool compress;
};

struct Builder;
Builder* foldbport_builder_new(const Writable*, const Order*, const Policy*, const Choices*);
void foldbport_builder_set(Builder*, const Choices*);
void foldbport_builder_add(Builder*, Slice key, Slice value);
void foldbport_builder_flush(Builder*);
void foldbport_builder_finish(Builder*);
uint64_t foldbport_builder_entries(const Builder*);
uint64_t foldbport_builder_written(const Builder*);
void foldbport_builder_free(Builder*);

using Append = void (*)(void* out, Slice text);
void foldbport_dump_log(Slice file, void* out, Append);
void foldbport_dump_manifest(Slice file, void* out, Append);
void foldbport_dump_entry(Slice key, Slice value, void* out, Append);

}  // extern "C"

Order OrderOf(const Comparator* comparator);

// A policy without object if there is none.
Policy PolicyOf(const FilterPolicy* policy);

// The status of a call whose functions kept `kept`.
Status StatusOf(Outcome outcome, const Status& kept);

}  // namespace formats
}  // namespace leveldb

#endif  // FOLDB_LEVELDB_TABLE_FORMATS_H_
