// Comparators, filter policies, caches, merge operators and logs of the program, as the engine
// calls them.

#include "db/adapters.h"

#include <memory>
#include <string>

#include "db/bytes.h"
#include "db/log.h"
#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/filter_policy.h"
#include "leveldb/merge.h"

namespace leveldb {

namespace {

int Compare(void* state, foldb_bytes_t a, foldb_bytes_t b) {
  return static_cast<const Comparator*>(state)->Compare(SliceOf(a), SliceOf(b));
}

void Append(foldb_output_t* output, const std::string& bytes) {
  foldb_output_append(output, BytesOf(bytes), bytes.size());
}

// LevelDB's functions change the key in place.

void Separator(void* state, foldb_bytes_t start, foldb_bytes_t limit, foldb_output_t* output) {
  std::string key = SliceOf(start).ToString();
  static_cast<const Comparator*>(state)->FindShortestSeparator(&key, SliceOf(limit));
  Append(output, key);
}

void Successor(void* state, foldb_bytes_t last, foldb_output_t* output) {
  std::string key = SliceOf(last).ToString();
  static_cast<const Comparator*>(state)->FindShortSuccessor(&key);
  Append(output, key);
}

// The strings of a call as slices: a few on the stack, more on the heap. Thread-local memory would
// be wrong: the main thread may fold after its destruction, in the destructor of a static object.
class Slices {
 public:
  Slices(const foldb_bytes_t* strings, size_t count) {
    if (count > kFew) {
      many_.reset(new Slice[count]);
      first_ = many_.get();
    }
    for (size_t i = 0; i < count; i++) {
      first_[i] = SliceOf(strings[i]);
    }
  }

  const Slice* data() const { return first_; }

 private:
  static constexpr size_t kFew = 8;

  Slice few_[kFew];
  std::unique_ptr<Slice[]> many_;
  Slice* first_ = few_;
};

void CreateFilter(void* state, const foldb_bytes_t* keys, size_t count, foldb_output_t* output) {
  std::string filter;
  const Slices slices(keys, count);
  static_cast<const FilterPolicy*>(state)->CreateFilter(slices.data(), static_cast<int>(count),
                                                        &filter);
  Append(output, filter);
}

bool MayContain(void* state, foldb_bytes_t key, foldb_bytes_t filter) {
  return static_cast<const FilterPolicy*>(state)->KeyMayMatch(SliceOf(key), SliceOf(filter));
}

int FullMerge(void* state, foldb_bytes_t key, const foldb_bytes_t* base,
              const foldb_bytes_t* operands, size_t count, foldb_output_t* output) {
  const Slice old = base != nullptr ? SliceOf(*base) : Slice();
  const Slices slices(operands, count);
  std::string value;
  const MergeOperator* own = static_cast<const MergeOperator*>(state);
  switch (own->Full(SliceOf(key), base != nullptr ? &old : nullptr, slices.data(), count,
                    &value)) {
    case MergeOperator::kValue:
      Append(output, value);
      return FOLDB_FOLD_VALUE;
    case MergeOperator::kDelete:
      return FOLDB_FOLD_DELETE;
    case MergeOperator::kFailed:
      break;
  }
  return FOLDB_FOLD_FAILED;
}

int PartialMerge(void* state, foldb_bytes_t key, const foldb_bytes_t* operands, size_t count,
                 foldb_output_t* output) {
  const Slices slices(operands, count);
  std::string operand;
  const MergeOperator* own = static_cast<const MergeOperator*>(state);
  if (!own->Partial(SliceOf(key), slices.data(), count, &operand)) {
    return FOLDB_FOLD_FAILED;
  }
  Append(output, operand);
  return FOLDB_FOLD_OPERAND;
}

Cache* CacheOf(void* state) { return static_cast<Cache*>(state); }

void FreeBlock(const Slice&, void* value) { foldb_cached_block_free(value); }

void* InsertBlock(void* state, foldb_bytes_t key, void* value, size_t charge) {
  return CacheOf(state)->Insert(SliceOf(key), value, charge, FreeBlock);
}

void* LookUpBlock(void* state, foldb_bytes_t key) { return CacheOf(state)->Lookup(SliceOf(key)); }

void* BlockOf(void* state, void* handle) {
  return CacheOf(state)->Value(static_cast<Cache::Handle*>(handle));
}

void ReleaseBlock(void* state, void* handle) {
  CacheOf(state)->Release(static_cast<Cache::Handle*>(handle));
}

uint64_t NewCacheId(void* state) { return CacheOf(state)->NewId(); }

using SharedLog = std::shared_ptr<DatabaseLog>;

void LogEvent(void* state, const char* name, const char* text) {
  (*static_cast<SharedLog*>(state))->Line("%s: %s", name, text);
}

void ForgetLog(void* state) { delete static_cast<SharedLog*>(state); }

}  // namespace

foldb_block_cache_t AdaptCache(Cache* cache) {
  foldb_block_cache_t own = {};
  own.size = sizeof(own);
  own.state = cache;
  own.insert = InsertBlock;
  own.lookup = LookUpBlock;
  own.value = BlockOf;
  own.release = ReleaseBlock;
  own.new_id = NewCacheId;
  return own;
}

foldb_listener_t AdaptLog(const SharedLog& log) {
  foldb_listener_t own = {};
  own.size = sizeof(own);
  own.state = new SharedLog(log);
  own.destructor = ForgetLog;
  own.on_event = LogEvent;
  return own;
}

foldb_comparator_t AdaptComparator(const Comparator* comparator) {
  foldb_comparator_t own = {};
  own.size = sizeof(own);
  own.state = const_cast<Comparator*>(comparator);
  own.name = comparator->Name();
  own.compare = Compare;
  own.separator = Separator;
  own.successor = Successor;
  own.equal_keys_may_differ = true;  // LevelDB asks no comparator to promise otherwise
  return own;
}

foldb_filter_policy_t AdaptFilterPolicy(const FilterPolicy* policy) {
  foldb_filter_policy_t own = {};
  own.size = sizeof(own);
  own.state = const_cast<FilterPolicy*>(policy);
  own.name = policy->Name();
  own.create_filter = CreateFilter;
  own.may_contain = MayContain;
  return own;
}

foldb_operator_t AdaptOperator(const MergeOperator* merge_operator) {
  foldb_operator_t own = {};
  own.size = sizeof(own);
  own.state = const_cast<MergeOperator*>(merge_operator);
  own.name = merge_operator->Name();
  own.full = FullMerge;
  own.partial = PartialMerge;
  own.shrinks = merge_operator->Shrinks();
  return own;
}

}  // namespace leveldb
