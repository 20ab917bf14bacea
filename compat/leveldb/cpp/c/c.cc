// Databases, iterators and batches of leveldb/c.h, over the C++ classes.
//
// Invariant: each function that returns memory to free returns memory of malloc().

#include "c/types.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using leveldb::Range;
using leveldb::Slice;
using leveldb::Status;

namespace leveldb {

char* CopyText(const std::string& text) {
  char* copy = CopyBytes(text);
  copy[text.size()] = '\0';
  return copy;
}

char* CopyBytes(const Slice& bytes) {
  // One byte more: malloc(0) may return NULL, which means "not found".
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) std::abort();
  std::memcpy(copy, bytes.data(), bytes.size());
  return copy;
}

bool SaveError(char** errptr, const Status& status) {
  assert(errptr != nullptr);
  if (status.ok()) return false;
  std::free(*errptr);
  *errptr = CopyText(status.ToString());
  return true;
}

}  // namespace leveldb

using leveldb::SaveError;

extern "C" {

leveldb_t* leveldb_open(const leveldb_options_t* options, const char* name, char** errptr) {
  leveldb::DB* db;
  const leveldb_mergeoperator_t* merge_operator = options->merge_operator;
  const Status status = merge_operator != nullptr ? merge_operator->Open(options->rep, name, &db)
                                                  : leveldb::DB::Open(options->rep, name, &db);
  if (SaveError(errptr, status)) return nullptr;
  return new leveldb_t{db};
}

void leveldb_close(leveldb_t* db) {
  delete db->rep;
  delete db;
}

void leveldb_put(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                 size_t keylen, const char* val, size_t vallen, char** errptr) {
  SaveError(errptr, db->rep->Put(options->rep, Slice(key, keylen), Slice(val, vallen)));
}

void leveldb_delete(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                    size_t keylen, char** errptr) {
  SaveError(errptr, db->rep->Delete(options->rep, Slice(key, keylen)));
}

void leveldb_write(leveldb_t* db, const leveldb_writeoptions_t* options,
                   leveldb_writebatch_t* batch, char** errptr) {
  SaveError(errptr, db->rep->Write(options->rep, &batch->rep));
}

char* leveldb_get(leveldb_t* db, const leveldb_readoptions_t* options, const char* key,
                  size_t keylen, size_t* vallen, char** errptr) {
  std::string value;
  const Status status = db->rep->Get(options->rep, Slice(key, keylen), &value);
  *vallen = 0;
  if (!status.ok()) {
    if (!status.IsNotFound()) SaveError(errptr, status);
    return nullptr;
  }
  *vallen = value.size();
  return leveldb::CopyBytes(value);
}

leveldb_iterator_t* leveldb_create_iterator(leveldb_t* db, const leveldb_readoptions_t* options) {
  return new leveldb_iterator_t{db->rep->NewIterator(options->rep)};
}

const leveldb_snapshot_t* leveldb_create_snapshot(leveldb_t* db) {
  return new leveldb_snapshot_t{db->rep->GetSnapshot()};
}

void leveldb_release_snapshot(leveldb_t* db, const leveldb_snapshot_t* snapshot) {
  db->rep->ReleaseSnapshot(snapshot->rep);
  delete snapshot;
}

char* leveldb_property_value(leveldb_t* db, const char* propname) {
  std::string value;
  if (!db->rep->GetProperty(propname, &value)) return nullptr;
  return leveldb::CopyText(value);
}

void leveldb_approximate_sizes(leveldb_t* db, int num_ranges, const char* const* range_start_key,
                               const size_t* range_start_key_len,
                               const char* const* range_limit_key,
                               const size_t* range_limit_key_len, uint64_t* sizes) {
  std::vector<Range> ranges;
  ranges.reserve(num_ranges);
  for (int i = 0; i < num_ranges; i++) {
    ranges.emplace_back(Slice(range_start_key[i], range_start_key_len[i]),
                        Slice(range_limit_key[i], range_limit_key_len[i]));
  }
  db->rep->GetApproximateSizes(ranges.data(), num_ranges, sizes);
}

void leveldb_compact_range(leveldb_t* db, const char* start_key, size_t start_key_len,
                           const char* limit_key, size_t limit_key_len) {
  const Slice start(start_key, start_key_len);
  const Slice limit(limit_key, limit_key_len);
  db->rep->CompactRange(start_key != nullptr ? &start : nullptr,
                        limit_key != nullptr ? &limit : nullptr);
}

void leveldb_destroy_db(const leveldb_options_t* options, const char* name, char** errptr) {
  SaveError(errptr, leveldb::DestroyDB(name, options->rep));
}

void leveldb_repair_db(const leveldb_options_t* options, const char* name, char** errptr) {
  SaveError(errptr, leveldb::RepairDB(name, options->rep));
}

void leveldb_iter_destroy(leveldb_iterator_t* iterator) {
  delete iterator->rep;
  delete iterator;
}

uint8_t leveldb_iter_valid(const leveldb_iterator_t* iterator) { return iterator->rep->Valid(); }

void leveldb_iter_seek_to_first(leveldb_iterator_t* iterator) { iterator->rep->SeekToFirst(); }

void leveldb_iter_seek_to_last(leveldb_iterator_t* iterator) { iterator->rep->SeekToLast(); }

void leveldb_iter_seek(leveldb_iterator_t* iterator, const char* k, size_t klen) {
  iterator->rep->Seek(Slice(k, klen));
}

void leveldb_iter_next(leveldb_iterator_t* iterator) { iterator->rep->Next(); }

void leveldb_iter_prev(leveldb_iterator_t* iterator) { iterator->rep->Prev(); }

const char* leveldb_iter_key(const leveldb_iterator_t* iterator, size_t* klen) {
  const Slice key = iterator->rep->key();
  *klen = key.size();
  return key.data();
}

const char* leveldb_iter_value(const leveldb_iterator_t* iterator, size_t* vlen) {
  const Slice value = iterator->rep->value();
  *vlen = value.size();
  return value.data();
}

void leveldb_iter_get_error(const leveldb_iterator_t* iterator, char** errptr) {
  SaveError(errptr, iterator->rep->status());
}

leveldb_writebatch_t* leveldb_writebatch_create() { return new leveldb_writebatch_t; }

void leveldb_writebatch_destroy(leveldb_writebatch_t* batch) { delete batch; }

void leveldb_writebatch_clear(leveldb_writebatch_t* batch) { batch->rep.Clear(); }

void leveldb_writebatch_put(leveldb_writebatch_t* batch, const char* key, size_t klen,
                            const char* val, size_t vlen) {
  batch->rep.Put(Slice(key, klen), Slice(val, vlen));
}

void leveldb_writebatch_delete(leveldb_writebatch_t* batch, const char* key, size_t klen) {
  batch->rep.Delete(Slice(key, klen));
}

void leveldb_writebatch_iterate(const leveldb_writebatch_t* batch, void* state,
                                void (*put)(void*, const char* k, size_t klen, const char* v,
                                            size_t vlen),
                                void (*deleted)(void*, const char* k, size_t klen)) {
  class Callbacks final : public leveldb::WriteBatch::Handler {
   public:
    Callbacks(void* state, void (*put)(void*, const char*, size_t, const char*, size_t),
              void (*deleted)(void*, const char*, size_t))
        : state_(state), put_(put), deleted_(deleted) {}
    void Put(const Slice& key, const Slice& value) override {
      put_(state_, key.data(), key.size(), value.data(), value.size());
    }
    void Delete(const Slice& key) override { deleted_(state_, key.data(), key.size()); }

   private:
    void* const state_;
    void (*const put_)(void*, const char*, size_t, const char*, size_t);
    void (*const deleted_)(void*, const char*, size_t);
  };
  Callbacks callbacks(state, put, deleted);
  // LevelDB's C interface has no place for an error here.
  batch->rep.Iterate(&callbacks);
}

void leveldb_writebatch_append(leveldb_writebatch_t* destination,
                               const leveldb_writebatch_t* source) {
  destination->rep.Append(source->rep);
}

}  // extern "C"
