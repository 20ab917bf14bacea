// The program's comparators and filter policies as Rust calls them. See formats.h.

#include "table/formats.h"

#include <string>

#include "leveldb/comparator.h"
#include "leveldb/filter_policy.h"

namespace leveldb {
namespace formats {

namespace {

int Compare(const Comparator* comparator, Slice a, Slice b) { return comparator->Compare(a, b); }

void Separator(const Comparator* comparator, void* shorter, Slice start, Slice limit) {
  std::string key = start.ToString();
  comparator->FindShortestSeparator(&key, limit);
  foldbport_append(shorter, key);
}

void Successor(const Comparator* comparator, void* shorter, Slice key) {
  std::string found = key.ToString();
  comparator->FindShortSuccessor(&found);
  foldbport_append(shorter, found);
}

void CreateFilter(const FilterPolicy* policy, const Slice* keys, int count, void* filter) {
  std::string made;
  policy->CreateFilter(keys, count, &made);
  foldbport_append(filter, made);
}

bool MayMatch(const FilterPolicy* policy, Slice key, Slice filter) {
  return policy->KeyMayMatch(key, filter);
}

}  // namespace

Order OrderOf(const Comparator* comparator) {
  return {comparator, comparator == BytewiseComparator(), &Compare, &Separator, &Successor};
}

Policy PolicyOf(const FilterPolicy* policy) {
  return {policy, policy == nullptr ? Slice() : Slice(policy->Name()), &CreateFilter, &MayMatch};
}

Status StatusOf(Outcome outcome, const Status& kept) {
  if (outcome == nullptr) return Status::OK();
  return *outcome == '\0' ? kept : Status::Corruption(outcome);
}

}  // namespace formats
}  // namespace leveldb
