// FilterPolicy, and the Bloom filter in LevelDB's encoding.
//
//   filter   bits (at least 8 bytes) | number of probes (1 byte)
//
// A key sets one bit for each probe. The first is that of its hash, and each next one adds the hash
// rotated to the right by 17 bits. Bit i is bit i % 8 of byte i / 8.

#include "leveldb/filter_policy.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "leveldb/slice.h"
#include "port/filter_policy.h"
#include "port/hash.h"

namespace leveldb {

FilterPolicy::~FilterPolicy() = default;

namespace {

constexpr uint32_t kSeed = 0xbc9f1d34;
// More probes are a later encoding, which this one cannot read.
constexpr int kMaxProbes = 30;
constexpr size_t kMinBits = 64;

// The policies that are alive, with their bits a key.
struct Registry {
  std::mutex mutex;
  std::unordered_map<const FilterPolicy*, int> policies;

  static Registry& Get() {
    static Registry* const registry = new Registry;
    return *registry;
  }
};

// The positions of the bits of a key, modulo the bits of the filter.
class Probes {
 public:
  Probes(const Slice& key, size_t bits) : hash_(Hash(key, kSeed)), bits_(bits) {
    step_ = (hash_ >> 17) | (hash_ << 15);
  }

  size_t Next() {
    const size_t position = hash_ % bits_;
    hash_ += step_;
    return position;
  }

 private:
  uint32_t hash_;
  uint32_t step_;
  const size_t bits_;
};

class BloomFilterPolicy : public FilterPolicy {
 public:
  explicit BloomFilterPolicy(int bits_per_key) : bits_per_key_(bits_per_key) {
    // The number of probes with the fewest false answers is the bits a key times ln 2.
    const int probes = static_cast<int>(bits_per_key * 0.69);
    probes_ = std::min(std::max(probes, 1), kMaxProbes);
    Registry& registry = Registry::Get();
    std::lock_guard<std::mutex> lock(registry.mutex);
    registry.policies[this] = bits_per_key;
  }

  ~BloomFilterPolicy() override {
    Registry& registry = Registry::Get();
    std::lock_guard<std::mutex> lock(registry.mutex);
    registry.policies.erase(this);
  }

  const char* Name() const override { return "leveldb.BuiltinBloomFilter2"; }

  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    const size_t wanted = std::max(static_cast<size_t>(n) * bits_per_key_, kMinBits);
    const size_t bytes = (wanted + 7) / 8;
    const size_t begin = dst->size();
    dst->resize(begin + bytes, '\0');
    dst->push_back(static_cast<char>(probes_));
    char* const filter = &(*dst)[begin];
    for (int i = 0; i < n; i++) {
      Probes probes(keys[i], 8 * bytes);
      for (int probe = 0; probe < probes_; probe++) {
        const size_t bit = probes.Next();
        filter[bit / 8] |= static_cast<char>(1 << (bit % 8));
      }
    }
  }

  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    if (filter.size() < 2) {
      return false;
    }
    const size_t bytes = filter.size() - 1;
    const int count = static_cast<uint8_t>(filter[bytes]);
    if (count > kMaxProbes) {
      return true;
    }
    Probes probes(key, 8 * bytes);
    for (int probe = 0; probe < count; probe++) {
      const size_t bit = probes.Next();
      if ((filter[bit / 8] >> (bit % 8) & 1) == 0) {
        return false;
      }
    }
    return true;
  }

 private:
  const size_t bits_per_key_;
  int probes_;
};

}  // namespace

const FilterPolicy* NewBloomFilterPolicy(int bits_per_key) {
  return new BloomFilterPolicy(bits_per_key);
}

int BitsOfBloomFilterPolicy(const FilterPolicy* policy) {
  Registry& registry = Registry::Get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.policies.find(policy);
  return found == registry.policies.end() ? -1 : found->second;
}

}  // namespace leveldb
