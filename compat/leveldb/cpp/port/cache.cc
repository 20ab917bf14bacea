// The LRU cache: 16 shards, each with its own lock and a sixteenth of the capacity.
//
// An entry of a shard is in its index until it is erased, replaced or evicted. An entry in the
// index without handles is in the list `unused`, the least recently used first. Only these are
// evicted, so a shard with many handles exceeds its capacity. The number of users of an entry is
// that of its handles, plus one while it is in the index. Deleters run without the lock.

#include "leveldb/cache.h"

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "port/hash.h"

namespace leveldb {

Cache::~Cache() = default;

namespace {

constexpr int kShardBits = 4;
constexpr int kShards = 1 << kShardBits;

struct Entry : public Cache::Handle {
  std::string key;
  uint32_t hash;
  void* value;
  size_t charge;
  void (*deleter)(const Slice& key, void* value);
  uint32_t users;
  bool in_index;
  std::list<Entry*>::iterator place;  // In `unused` or in `used`, while in the index.
};

// Entries whose last user is gone. The destructor deletes them.
class Garbage {
 public:
  Garbage() = default;
  Garbage(const Garbage&) = delete;
  ~Garbage() {
    for (Entry* entry : entries_) {
      entry->deleter(entry->key, entry->value);
      delete entry;
    }
  }

  void Add(Entry* entry) { entries_.push_back(entry); }

 private:
  std::vector<Entry*> entries_;
};

class Shard {
 public:
  void SetCapacity(size_t capacity) { capacity_ = capacity; }

  ~Shard() {
    assert(used_.empty());
    Garbage garbage;
    while (!unused_.empty()) {
      Remove(unused_.front(), &garbage);
    }
  }

  Entry* Insert(Entry* entry) {
    Garbage garbage;
    std::lock_guard<std::mutex> lock(mutex_);
    entry->users = 1;
    entry->in_index = false;
    // A cache of capacity 0 keeps nothing, so the handle is the only user.
    if (capacity_ == 0) {
      return entry;
    }
    const auto older = index_.find(entry->key);
    if (older != index_.end()) {
      Remove(older->second, &garbage);
    }
    entry->users++;
    entry->in_index = true;
    entry->place = used_.insert(used_.end(), entry);
    index_.emplace(std::string_view(entry->key), entry);
    usage_ += entry->charge;
    while (usage_ > capacity_ && !unused_.empty()) {
      Remove(unused_.front(), &garbage);
    }
    return entry;
  }

  Entry* Lookup(const Slice& key) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = index_.find(std::string_view(key.data(), key.size()));
    if (found == index_.end()) {
      return nullptr;
    }
    Entry* const entry = found->second;
    if (entry->users == 1) {
      used_.splice(used_.end(), unused_, entry->place);
    }
    entry->users++;
    return entry;
  }

  void Release(Entry* entry) {
    Garbage garbage;
    std::lock_guard<std::mutex> lock(mutex_);
    Drop(entry, &garbage);
  }

  void Erase(const Slice& key) {
    Garbage garbage;
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = index_.find(std::string_view(key.data(), key.size()));
    if (found != index_.end()) {
      Remove(found->second, &garbage);
    }
  }

  void Prune() {
    Garbage garbage;
    std::lock_guard<std::mutex> lock(mutex_);
    while (!unused_.empty()) {
      Remove(unused_.front(), &garbage);
    }
  }

  size_t TotalCharge() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return usage_;
  }

 private:
  // Takes an entry out of the index.
  void Remove(Entry* entry, Garbage* garbage) {
    assert(entry->in_index);
    index_.erase(std::string_view(entry->key));
    (entry->users == 1 ? unused_ : used_).erase(entry->place);
    entry->in_index = false;
    usage_ -= entry->charge;
    Drop(entry, garbage);
  }

  // Takes a user from an entry.
  void Drop(Entry* entry, Garbage* garbage) {
    assert(entry->users > 0);
    entry->users--;
    if (entry->users == 0) {
      assert(!entry->in_index);
      garbage->Add(entry);
    } else if (entry->users == 1 && entry->in_index) {
      unused_.splice(unused_.end(), used_, entry->place);
    }
  }

  size_t capacity_ = 0;

  mutable std::mutex mutex_;
  // The lock guards these, and `users`, `in_index` and `place` of each entry.
  size_t usage_ = 0;
  std::list<Entry*> unused_;
  std::list<Entry*> used_;
  std::unordered_map<std::string_view, Entry*> index_;
};

class LRUCache : public Cache {
 public:
  explicit LRUCache(size_t capacity) {
    for (Shard& shard : shards_) {
      shard.SetCapacity((capacity + kShards - 1) / kShards);
    }
  }

  Handle* Insert(const Slice& key, void* value, size_t charge,
                 void (*deleter)(const Slice& key, void* value)) override {
    Entry* const entry = new Entry;
    entry->key.assign(key.data(), key.size());
    entry->hash = Hash(key, 0);
    entry->value = value;
    entry->charge = charge;
    entry->deleter = deleter;
    return shards_[ShardOf(entry->hash)].Insert(entry);
  }

  Handle* Lookup(const Slice& key) override { return shards_[ShardOf(Hash(key, 0))].Lookup(key); }

  void Release(Handle* handle) override {
    Entry* const entry = static_cast<Entry*>(handle);
    shards_[ShardOf(entry->hash)].Release(entry);
  }

  void* Value(Handle* handle) override { return static_cast<Entry*>(handle)->value; }

  void Erase(const Slice& key) override { shards_[ShardOf(Hash(key, 0))].Erase(key); }

  uint64_t NewId() override { return last_id_.fetch_add(1) + 1; }

  void Prune() override {
    for (Shard& shard : shards_) {
      shard.Prune();
    }
  }

  size_t TotalCharge() const override {
    size_t total = 0;
    for (const Shard& shard : shards_) {
      total += shard.TotalCharge();
    }
    return total;
  }

 private:
  static uint32_t ShardOf(uint32_t hash) { return hash >> (32 - kShardBits); }

  Shard shards_[kShards];
  std::atomic<uint64_t> last_id_{0};
};

}  // namespace

Cache* NewLRUCache(size_t capacity) { return new LRUCache(capacity); }

}  // namespace leveldb
