// The LRU cache: what is evicted when, when deleters run, and what handles keep alive.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/cache.h"
#include "port.h"

using leveldb::Cache;
using leveldb::Slice;

namespace {

std::vector<std::string> deleted;

void Deleter(const Slice& key, void* value) {
  deleted.push_back(Hex(key) + "=" + std::to_string(reinterpret_cast<uintptr_t>(value)));
}

void* Number(uintptr_t number) { return reinterpret_cast<void*>(number); }

// Prints the deleted entries since the last call.
void SayDeleted(const char* what) {
  std::printf("cache %s:", what);
  for (const std::string& entry : deleted) {
    std::printf(" %s", entry.c_str());
  }
  std::printf("\n");
  deleted.clear();
}

std::string Value(Cache* cache, const std::string& key) {
  Cache::Handle* const handle = cache->Lookup(key);
  if (handle == nullptr) {
    return "none";
  }
  const uintptr_t number = reinterpret_cast<uintptr_t>(cache->Value(handle));
  cache->Release(handle);
  return std::to_string(number);
}

// Random operations with some handles held for a while.
void RandomOperations(size_t capacity, uint64_t seed) {
  Random random(seed);
  std::unique_ptr<Cache> cache(leveldb::NewLRUCache(capacity));
  std::vector<Cache::Handle*> held;
  for (int step = 0; step < 2000; step++) {
    const std::string key = random.Bytes(2, 8);
    switch (random.Below(10)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const size_t charge = random.Below(4) == 0 ? random.Below(20) : 1;
        held.push_back(cache->Insert(key, Number(static_cast<uintptr_t>(step)), charge, Deleter));
        break;
      }
      case 4:
      case 5:
      case 6:
        if (Cache::Handle* handle = cache->Lookup(key)) {
          held.push_back(handle);
        }
        break;
      case 7:
        cache->Erase(key);
        break;
      case 8:
        if (random.Below(50) == 0) {
          cache->Prune();
        }
        break;
      default:
        std::printf("cache value %s\n", Value(cache.get(), key).c_str());
    }
    while (held.size() > random.Below(20)) {
      const size_t at = random.Below(held.size());
      cache->Release(held[at]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (!deleted.empty()) {
      SayDeleted(std::to_string(cache->TotalCharge()).c_str());
    }
  }
  for (Cache::Handle* handle : held) {
    cache->Release(handle);
  }
  SayDeleted("released");
  cache.reset();
  SayDeleted("gone");
}

}  // namespace

void Caches() {
  std::unique_ptr<Cache> cache(leveldb::NewLRUCache(1000));
  std::printf("cache ids %llu %llu\n", static_cast<unsigned long long>(cache->NewId()),
              static_cast<unsigned long long>(cache->NewId()));
  Cache::Handle* first = cache->Insert("key", Number(1), 10, Deleter);
  Cache::Handle* second = cache->Insert("key", Number(2), 5, Deleter);
  std::printf("cache %zu %s\n", cache->TotalCharge(), Value(cache.get(), "key").c_str());
  SayDeleted("replaced, with handles");
  cache->Release(first);
  SayDeleted("first released");
  cache->Erase("key");
  cache->Erase("absent");
  std::printf("cache %zu %s\n", cache->TotalCharge(), Value(cache.get(), "key").c_str());
  SayDeleted("erased");
  cache->Release(second);
  SayDeleted("second released");
  cache->Release(cache->Insert("", Number(3), 0, Deleter));
  cache->Prune();
  SayDeleted("pruned");

  cache.reset(leveldb::NewLRUCache(0));
  first = cache->Insert("key", Number(4), 1, Deleter);
  std::printf("cache of nothing: %s %zu\n", Value(cache.get(), "key").c_str(),
              cache->TotalCharge());
  cache->Release(first);
  SayDeleted("of nothing");

  for (size_t capacity : {0u, 1u, 16u, 17u, 100u, 400u}) {
    RandomOperations(capacity, capacity);
  }
}
