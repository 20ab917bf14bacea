// What the database asks about a filter policy of this library.

#ifndef FOLDB_LEVELDB_PORT_FILTER_POLICY_H_
#define FOLDB_LEVELDB_PORT_FILTER_POLICY_H_

#include "leveldb/filter_policy.h"

namespace leveldb {

// The bits a key if policy is from NewBloomFilterPolicy(), or -1 for any other policy. The answer
// needs no typeinfo of the program's classes, which it may be compiled without.
int BitsOfBloomFilterPolicy(const FilterPolicy* policy);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_PORT_FILTER_POLICY_H_
