// The Bloom filter: every bit of it, and what it answers about damaged filters.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/filter_policy.h"
#include "leveldb/slice.h"
#include "port.h"

using leveldb::Slice;

void Filters() {
  Random random(2);
  for (int bits : {1, 2, 5, 8, 10, 14, 16, 20, 50, 100}) {
    const std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(bits));
    for (size_t count : {0u, 1u, 2u, 6u, 7u, 20u, 100u}) {
      std::vector<std::string> keys;
      for (size_t i = 0; i < count; i++) {
        keys.push_back(random.Bytes(random.Below(20)));
      }
      const std::vector<Slice> slices(keys.begin(), keys.end());
      std::string filter = "before";
      policy->CreateFilter(slices.data(), static_cast<int>(count), &filter);
      std::printf("filter %s %d %zu: %s\n", policy->Name(), bits, count, Hex(filter).c_str());
      const Slice own(filter.data() + 6, filter.size() - 6);
      int found = 0, wrong = 0;
      for (const std::string& key : keys) {
        found += policy->KeyMayMatch(key, own);
      }
      for (int i = 0; i < 1000; i++) {
        wrong += policy->KeyMayMatch(random.Bytes(21), own);
      }
      std::printf("filter finds %d, and %d wrong ones\n", found, wrong);
    }
  }
  const std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(10));
  for (const std::string& filter :
       {std::string(), std::string("\x06"), std::string("\x01\x06"), std::string(9, '\0'),
        std::string(9, '\xff'), std::string("\0\0\0\0\0\0\0\0\x1e", 9),
        std::string("\0\0\0\0\0\0\0\0\x1f", 9)}) {
    std::printf("damaged %s: %d %d\n", Hex(filter).c_str(), policy->KeyMayMatch("a", filter),
                policy->KeyMayMatch("", filter));
  }
}
