// The merges of leveldb/c.h, over leveldb/merge.h.

#include <vector>

#include "c/types.h"
#include "leveldb/merge.h"

using leveldb::SaveError;
using leveldb::Slice;

struct leveldb_mergeresult_t {
  std::string* bytes;
};

namespace {

// Operands as the two arrays that C functions take.
struct Arrays {
  Arrays(const Slice* operands, size_t count) {
    data.reserve(count);
    lengths.reserve(count);
    for (size_t i = 0; i < count; i++) {
      data.push_back(operands[i].data());
      lengths.push_back(operands[i].size());
    }
  }

  std::vector<const char*> data;
  std::vector<size_t> lengths;
};

}  // namespace

leveldb_mergeoperator_t::~leveldb_mergeoperator_t() {
  if (destructor != nullptr) destructor(state);
}

const char* leveldb_mergeoperator_t::Name() const {
  return builtin.empty() ? name(state) : builtin.c_str();
}

leveldb::MergeOperator::Outcome leveldb_mergeoperator_t::Full(const Slice& key, const Slice* base,
                                                              const Slice* operands, size_t count,
                                                              std::string* result) const {
  const Arrays arrays(operands, count);
  leveldb_mergeresult_t own{result};
  switch (full_merge(state, key.data(), key.size(), base != nullptr ? base->data() : nullptr,
                     base != nullptr ? base->size() : 0, arrays.data.data(),
                     arrays.lengths.data(), count, &own)) {
    case leveldb_merge_value:
      return kValue;
    case leveldb_merge_delete:
      return kDelete;
    default:
      return kFailed;
  }
}

bool leveldb_mergeoperator_t::Partial(const Slice& key, const Slice* operands, size_t count,
                                      std::string* result) const {
  if (partial_merge == nullptr) return false;
  const Arrays arrays(operands, count);
  leveldb_mergeresult_t own{result};
  return partial_merge(state, key.data(), key.size(), arrays.data.data(), arrays.lengths.data(),
                       count, &own) != 0;
}

leveldb::Status leveldb_mergeoperator_t::Open(const leveldb::Options& options, const char* path,
                                              leveldb::DB** db) const {
  if (!builtin.empty()) return leveldb::OpenWithMerge(options, path, builtin, db);
  return leveldb::OpenWithMerge(options, path, this, db);
}

extern "C" {

leveldb_mergeoperator_t* leveldb_mergeoperator_create(
    void* state, void (*destructor)(void*), leveldb_mergeoperator_t::FullMerge full_merge,
    leveldb_mergeoperator_t::PartialMerge partial_merge, const char* (*name)(void*)) {
  leveldb_mergeoperator_t* own = new leveldb_mergeoperator_t;
  own->state = state;
  own->destructor = destructor;
  own->full_merge = full_merge;
  own->partial_merge = partial_merge;
  own->name = name;
  return own;
}

leveldb_mergeoperator_t* leveldb_mergeoperator_create_builtin(const char* name) {
  leveldb_mergeoperator_t* own = new leveldb_mergeoperator_t;
  own->builtin = name;
  return own;
}

void leveldb_mergeoperator_destroy(leveldb_mergeoperator_t* merge_operator) {
  delete merge_operator;
}

void leveldb_mergeresult_append(leveldb_mergeresult_t* result, const char* data, size_t length) {
  result->bytes->append(data, length);
}

void leveldb_options_set_merge_operator(leveldb_options_t* options,
                                        leveldb_mergeoperator_t* merge_operator) {
  options->merge_operator = merge_operator;
}

void leveldb_merge(leveldb_t* db, const leveldb_writeoptions_t* options, const char* key,
                   size_t keylen, const char* operand, size_t operandlen, char** errptr) {
  SaveError(errptr, leveldb::Merge(db->rep, options->rep, Slice(key, keylen),
                                   Slice(operand, operandlen)));
}

void leveldb_writebatch_merge(leveldb_writebatch_t* batch, const char* key, size_t klen,
                              const char* operand, size_t operandlen) {
  leveldb::Merge(&batch->rep, Slice(key, klen), Slice(operand, operandlen));
}

void leveldb_writebatch_iterate_with_merges(
    const leveldb_writebatch_t* batch, void* state,
    void (*put)(void*, const char* k, size_t klen, const char* v, size_t vlen),
    void (*deleted)(void*, const char* k, size_t klen),
    void (*merged)(void*, const char* k, size_t klen, const char* operand, size_t operandlen)) {
  struct Callbacks final : public leveldb::MergeHandler {
    void Put(const Slice& key, const Slice& value) override {
      put(state, key.data(), key.size(), value.data(), value.size());
    }
    void Delete(const Slice& key) override { deleted(state, key.data(), key.size()); }
    void Merge(const Slice&, const Slice& key, const Slice& operand) override {
      merged(state, key.data(), key.size(), operand.data(), operand.size());
    }

    void* state;
    void (*put)(void*, const char*, size_t, const char*, size_t);
    void (*deleted)(void*, const char*, size_t);
    void (*merged)(void*, const char*, size_t, const char*, size_t);
  };
  Callbacks callbacks;
  callbacks.state = state;
  callbacks.put = put;
  callbacks.deleted = deleted;
  callbacks.merged = merged;
  batch->rep.Iterate(&callbacks);
}

}  // extern "C"
