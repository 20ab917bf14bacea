// The built-in cache, comparator and filter policy.
//
// Invariant: the cache never holds more charge than its capacity, unless handles pin entries.

#include <memory>
#include <string>
#include <vector>

#include "everything.h"
#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/filter_policy.h"
#include "report.h"

using leveldb::Cache;
using leveldb::Slice;

namespace {

std::string deleted;

void Deleter(const Slice& key, void* value) {
  deleted += key.ToString() + "=" + static_cast<const char*>(value) + " ";
}

std::string Deleted() {
  std::string text = deleted.empty() ? "none" : deleted;
  deleted.clear();
  return text;
}

char one[] = "one";
char two[] = "two";

std::string Cached(Cache* cache, const Slice& key) {
  Cache::Handle* handle = cache->Lookup(key);
  if (handle == nullptr) return "absent";
  const std::string text = static_cast<const char*>(cache->Value(handle));
  cache->Release(handle);
  return text;
}

void Caches() {
  std::unique_ptr<Cache> cache(leveldb::NewLRUCache(1000));
  report::Number("charge of an empty cache", cache->TotalCharge());
  report::Say("absent key", Cached(cache.get(), "k"));
  cache->Release(cache->Insert("k", one, 3, Deleter));
  report::Say("inserted", Cached(cache.get(), "k"));
  report::Number("its charge", cache->TotalCharge());
  Cache::Handle* held = cache->Lookup("k");
  cache->Release(cache->Insert("k", two, 5, Deleter));
  report::Say("replaced", Cached(cache.get(), "k"));
  report::Say("handle of the old", static_cast<const char*>(cache->Value(held)));
  report::Say("deleted while held", Deleted());
  cache->Release(held);
  report::Say("deleted after release", Deleted());
  held = cache->Lookup("k");
  cache->Erase("k");
  report::Say("erased", Cached(cache.get(), "k"));
  report::Say("deleted while held", Deleted());
  cache->Release(held);
  report::Say("deleted after release", Deleted());
  cache->Erase("never there");
  const uint64_t id = cache->NewId();
  report::YesNo("ids differ", cache->NewId() != id);

  cache->Release(cache->Insert("unused", one, 1, Deleter));
  held = cache->Insert("used", two, 1, Deleter);
  cache->Prune();
  report::Say("pruned", Deleted());
  report::Say("in use", Cached(cache.get(), "used"));
  cache->Release(held);
  for (int i = 0; i < 5000; i++) {
    cache->Release(cache->Insert("key" + std::to_string(i), one, 10, Deleter));
  }
  report::YesNo("evicted some", !Deleted().empty());
  report::YesNo("kept some", cache->TotalCharge() > 0);
  // A cache of several shards may round its capacity up in each.
  report::YesNo("kept about its capacity", cache->TotalCharge() <= 1200);
  cache->Release(cache->Insert("last", two, 1, Deleter));
  deleted.clear();
  cache.reset();
  report::YesNo("deleted at the end", deleted.find("last=two") != std::string::npos);
  deleted.clear();

  std::unique_ptr<Cache> none(leveldb::NewLRUCache(0));
  held = none->Insert("k", one, 1, Deleter);
  report::Say("value in a cache without capacity", static_cast<const char*>(none->Value(held)));
  none->Release(held);
  report::Say("not kept", Cached(none.get(), "k"));
  report::Say("but deleted", Deleted());
}

void Bytewise() {
  const leveldb::Comparator* order = leveldb::BytewiseComparator();
  report::Say("comparator", order->Name());
  report::YesNo("a before b", order->Compare("a", "b") < 0);
  report::YesNo("equal", order->Compare("a", "a") == 0);
  report::YesNo("unsigned", order->Compare("\x80", "\x7f") > 0);
  const char* pairs[][2] = {{"abcdefghi", "abzz"}, {"abc", "abd"},   {"abc", "abcd"},
                            {"abcd", "abc"},       {"", "x"},        {"same", "same"},
                            {"a\xff\xff", "b"},    {"a\xfe", "c"},   {"abc1xyz", "abc3"},
                            {"abc1xyz", "abc2"},   {"\xff", "\xff\xff"}};
  for (const auto& pair : pairs) {
    std::string start = pair[0];
    order->FindShortestSeparator(&start, pair[1]);
    report::Say("separator of " + report::Quoted(pair[0]) + " and " + report::Quoted(pair[1]),
                report::Quoted(start));
  }
  for (const char* key : {"abc", "", "\xff\xff", "\xff\x01z", "zz"}) {
    std::string successor = key;
    order->FindShortSuccessor(&successor);
    report::Say("successor of " + report::Quoted(key), report::Quoted(successor));
  }
}

void Bloom() {
  for (int bits : {1, 10, 100}) {
    std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(bits));
    report::Say("filter policy", policy->Name());
    std::vector<std::string> keys;
    for (int i = 0; i < 2000; i++) keys.push_back("key" + std::to_string(i));
    std::vector<Slice> slices(keys.begin(), keys.end());
    std::string filter = "before";
    policy->CreateFilter(slices.data(), 2000, &filter);
    report::YesNo("appended", filter.compare(0, 6, "before") == 0 && filter.size() > 6);
    const Slice own(filter.data() + 6, filter.size() - 6);
    report::Number("size", own.size());
    report::Number("hash", report::Hash(own));
    int found = 0, wrong = 0;
    for (const std::string& key : keys) found += policy->KeyMayMatch(key, own);
    for (int i = 0; i < 2000; i++) wrong += policy->KeyMayMatch("other" + std::to_string(i), own);
    report::Number("keys that may match", static_cast<uint64_t>(found));
    report::Number("other keys that may match", static_cast<uint64_t>(wrong));
    std::string of_none;
    policy->CreateFilter(nullptr, 0, &of_none);
    report::Say("filter of no keys", report::Quoted(of_none));
    report::YesNo("matches nothing", !policy->KeyMayMatch("x", of_none));
    report::YesNo("an empty filter matches nothing", !policy->KeyMayMatch("x", ""));
  }
}

}  // namespace

void Builtins() {
  Caches();
  Bytewise();
  Bloom();
}
