// LevelDB's options as options of the engine.

#ifndef FOLDB_LEVELDB_DB_ENGINE_OPTIONS_H_
#define FOLDB_LEVELDB_DB_ENGINE_OPTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "db/log.h"
#include "db/shared_runtime.h"
#include "foldb.h"
#include "leveldb/options.h"
#include "leveldb/status.h"

namespace leveldb {

class MergeOperator;

// The merge operators of an open. `operators` must outlive the database.
struct MergeSetup {
  // The operator of merges that name none, as NAME or NAME:PARAM. Empty: as at the last open.
  std::string default_operator;
  std::vector<const MergeOperator*> operators;
};

struct FreeEngineOptions {
  void operator()(foldb_options_t* options) const { foldb_options_free(options); }
};

using EngineOptions = std::unique_ptr<foldb_options_t, FreeEngineOptions>;

// Sets *engine to the options of an open. Numbers outside of LevelDB's limits become the nearest
// limit, as LevelDB does it. The comparator, filter policy, environment, cache and operators must
// outlive the database. Events of the engine become lines of the log. `runtime` may be null: the
// database then has a runtime of its own.
Status MakeEngineOptions(const Options& options, const MergeSetup& merge,
                         const std::shared_ptr<DatabaseLog>& log, const SharedRuntime& runtime,
                         EngineOptions* engine);

// Returns whether the comparator orders keys by their bytes.
bool IsBytewise(const Comparator* comparator);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_DB_ENGINE_OPTIONS_H_
