// Objects of LevelDB's classes as what foldb.h calls back.
//
// Each adapter holds only a pointer to its object, which must outlive the database.

#ifndef FOLDB_LEVELDB_DB_ADAPTERS_H_
#define FOLDB_LEVELDB_DB_ADAPTERS_H_

#include "foldb.h"

namespace leveldb {

class Comparator;
class MergeOperator;

foldb_comparator_t AdaptComparator(const Comparator* comparator);
foldb_operator_t AdaptOperator(const MergeOperator* merge_operator);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_ADAPTERS_H_
