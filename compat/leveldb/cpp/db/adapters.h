// Objects of LevelDB's classes as what foldb.h calls back.
//
// An adapter holds a pointer to its object, which must outlive the database.

#ifndef FOLDB_LEVELDB_DB_ADAPTERS_H_
#define FOLDB_LEVELDB_DB_ADAPTERS_H_

#include <memory>

#include "foldb.h"

namespace leveldb {

class Cache;
class Comparator;
class DatabaseLog;
class Env;
class FilterPolicy;
class MergeOperator;

foldb_comparator_t AdaptComparator(const Comparator* comparator);
foldb_block_cache_t AdaptCache(Cache* cache);
foldb_filter_policy_t AdaptFilterPolicy(const FilterPolicy* policy);
foldb_env_t AdaptEnv(Env* env);
foldb_operator_t AdaptOperator(const MergeOperator* merge_operator);

// Events of the engine become lines of the log, which the listener shares.
foldb_listener_t AdaptLog(const std::shared_ptr<DatabaseLog>& log);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_ADAPTERS_H_
