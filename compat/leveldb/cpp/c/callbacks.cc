// What C programs provide as function pointers: comparators and filter policies.
//
// Invariant: the destructor of the program's state runs once, when the program destroys the object.

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "c/types.h"

using leveldb::Slice;

leveldb_comparator_t::~leveldb_comparator_t() { destructor(state); }

int leveldb_comparator_t::Compare(const Slice& a, const Slice& b) const {
  return compare(state, a.data(), a.size(), b.data(), b.size());
}

const char* leveldb_comparator_t::Name() const { return name(state); }

void leveldb_comparator_t::FindShortestSeparator(std::string*, const Slice&) const {}

void leveldb_comparator_t::FindShortSuccessor(std::string*) const {}

namespace {

using CreateFilterFn = char* (*)(void*, const char* const*, const size_t*, int, size_t*);
using KeyMayMatchFn = uint8_t (*)(void*, const char*, size_t, const char*, size_t);

// A filter policy of function pointers.
class CallbackPolicy final : public leveldb_filterpolicy_t {
 public:
  CallbackPolicy(void* state, void (*destructor)(void*), CreateFilterFn create,
                 KeyMayMatchFn matches, const char* (*name)(void*))
      : state_(state),
        destructor_(destructor),
        create_(create),
        matches_(matches),
        name_(name) {}
  ~CallbackPolicy() override { destructor_(state_); }

  const char* Name() const override { return name_(state_); }

  // The callback returns its filter in memory of malloc(), which this library frees.
  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    std::vector<const char*> data(n);
    std::vector<size_t> sizes(n);
    for (int i = 0; i < n; i++) {
      data[i] = keys[i].data();
      sizes[i] = keys[i].size();
    }
    size_t length = 0;
    char* filter = create_(state_, data.data(), sizes.data(), n, &length);
    dst->append(filter, length);
    std::free(filter);
  }

  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    return matches_(state_, key.data(), key.size(), filter.data(), filter.size()) != 0;
  }

 private:
  void* const state_;
  void (*const destructor_)(void*);
  const CreateFilterFn create_;
  const KeyMayMatchFn matches_;
  const char* (*const name_)(void*);
};

// A policy of the library, as the C type.
class BuiltinPolicy final : public leveldb_filterpolicy_t {
 public:
  explicit BuiltinPolicy(const leveldb::FilterPolicy* policy) : policy_(policy) {}

  const char* Name() const override { return policy_->Name(); }
  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    policy_->CreateFilter(keys, n, dst);
  }
  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    return policy_->KeyMayMatch(key, filter);
  }
  const leveldb::FilterPolicy* ForDatabases() const override { return policy_.get(); }

 private:
  const std::unique_ptr<const leveldb::FilterPolicy> policy_;
};

}  // namespace

extern "C" {

leveldb_comparator_t* leveldb_comparator_create(
    void* state, void (*destructor)(void*),
    int (*compare)(void*, const char* a, size_t alen, const char* b, size_t blen),
    const char* (*name)(void*)) {
  return new leveldb_comparator_t(state, destructor, compare, name);
}

void leveldb_comparator_destroy(leveldb_comparator_t* comparator) { delete comparator; }

leveldb_filterpolicy_t* leveldb_filterpolicy_create(
    void* state, void (*destructor)(void*),
    char* (*create_filter)(void*, const char* const* key_array, const size_t* key_length_array,
                           int num_keys, size_t* filter_length),
    uint8_t (*key_may_match)(void*, const char* key, size_t length, const char* filter,
                             size_t filter_length),
    const char* (*name)(void*)) {
  return new CallbackPolicy(state, destructor, create_filter, key_may_match, name);
}

leveldb_filterpolicy_t* leveldb_filterpolicy_create_bloom(int bits_per_key) {
  return new BuiltinPolicy(leveldb::NewBloomFilterPolicy(bits_per_key));
}

void leveldb_filterpolicy_destroy(leveldb_filterpolicy_t* filter) { delete filter; }

}  // extern "C"
