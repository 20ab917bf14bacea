// LevelDB's options as options of the engine.
//
//   written as they are    create_if_missing, error_if_exists, compression
//   within LevelDB's limits    write_buffer_size, max_open_files, max_file_size, block_size
//   and within the process's   max_open_files
//   by what they are       comparator, filter_policy, block_cache, env
//   without a meaning      paranoid_checks, block_restart_interval, reuse_logs

#include "db/engine_options.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "db/adapters.h"
#include "db/errors.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "port/filter_policy.h"
#include "port/hash.h"
#include "port/posix_files.h"

namespace leveldb {

namespace {

// LevelDB's cache for a database whose options have none.
constexpr size_t kDefaultCache = 8 << 20;

// The longest name of a comparator in the engine.
constexpr size_t kMaxName = 255;

// LevelDB maps its tables into memory without descriptors. The engine keeps one for each open
// table, and some for other files. The open tables have at most a third of the process's.
constexpr int kDescriptorsShare = 3;

// Sets options by name, until one is refused.
class Setter {
 public:
  explicit Setter(foldb_options_t* options) : options_(options) {}

  void Text(const char* name, const std::string& value) {
    if (status_.ok()) {
      status_ = StatusOf(foldb_options_set(options_, name, value.c_str()));
    }
  }

  void Number(const char* name, uint64_t value) { Text(name, std::to_string(value)); }
  void Flag(const char* name, bool value) { Text(name, value ? "true" : "false"); }

  // Takes the answer of another call that sets an option.
  void Took(foldb_error_t* error) {
    const Status status = StatusOf(error);
    if (status_.ok()) {
      status_ = status;
    }
  }

  void Refuse(const Status& status) {
    if (status_.ok()) {
      status_ = status;
    }
  }

  const Status& status() const { return status_; }
  foldb_options_t* options() const { return options_; }

 private:
  foldb_options_t* const options_;
  Status status_;
};

uint64_t Within(uint64_t value, uint64_t least, uint64_t most) {
  return std::min(std::max(value, least), most);
}

void SetNumbers(const Options& options, Setter* set) {
  set->Flag("create_if_missing", options.create_if_missing);
  set->Flag("error_if_exists", options.error_if_exists);
  // In LevelDB a synced write is never seen before it is durable.
  set->Flag("visible_when_durable", true);
  set->Number("write_buffer_size", Within(options.write_buffer_size, 64 << 10, 1 << 30));
  set->Number("target_file_size", Within(options.max_file_size, 1 << 20, 1 << 30));
  set->Number("block_size", Within(options.block_size, 1 << 10, 4 << 20));
  const int files = std::min(std::max(options.max_open_files, 74), 50000);
  const int allowed = std::max(MostDescriptors() / kDescriptorsShare, 1);
  set->Number("max_open_files", static_cast<uint64_t>(std::min(files, allowed)));
}

void SetCompression(const Options& options, Setter* set) {
  switch (options.compression) {
    case kNoCompression:
      return set->Text("compression", "none");
    case kSnappyCompression:
      return set->Text("compression", "snappy");
  }
  set->Refuse(Status::InvalidArgument("Options::compression is unknown",
                                      std::to_string(static_cast<int>(options.compression))));
}

void SetCache(const Options& options, Setter* set) {
  if (options.block_cache == nullptr) {
    return set->Number("block_cache_size", kDefaultCache);
  }
  // Also one of NewLRUCache(): databases share it, and the program may prune it.
  const foldb_block_cache_t cache = AdaptCache(options.block_cache);
  set->Took(foldb_options_set_block_cache(set->options(), &cache));
}

void SetFilter(const Options& options, Setter* set) {
  if (options.filter_policy == nullptr) {
    return;
  }
  const int bits = BitsOfBloomFilterPolicy(options.filter_policy);
  if (bits >= 0) {
    set->Number("bloom_bits", Within(static_cast<uint64_t>(bits), 1, 64));
  } else {
    const foldb_filter_policy_t policy = AdaptFilterPolicy(options.filter_policy);
    set->Took(foldb_options_set_filter_policy(set->options(), &policy));
  }
}

// Returns the name under which the engine stores a comparator. LevelDB takes any bytes. The engine
// takes 1 to 255 without control characters, in UTF-8, so this escapes all others.
std::string StoredName(const std::string& name) {
  static const char kEscaped[] = "leveldb.escaped:";
  const bool plain =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (plain && !name.empty() && name.size() <= kMaxName && name != kEngineBytewise &&
      name.compare(0, sizeof kEscaped - 1, kEscaped) != 0) {
    return name;
  }
  std::string stored = kEscaped;
  for (const char c : name) {
    char escape[4];
    std::snprintf(escape, sizeof escape, "%02x", static_cast<unsigned>(static_cast<uint8_t>(c)));
    stored += escape;
  }
  if (stored.size() > kMaxName) {
    // Hashes tell long names apart.
    const std::string hashes = std::to_string(Hash(name, 0)) + "-" + std::to_string(Hash(name, 1));
    stored = stored.substr(0, kMaxName - hashes.size() - 1) + "-" + hashes;
  }
  return stored;
}

void SetComparator(const Options& options, Setter* set) {
  if (!IsBytewise(options.comparator)) {
    const std::string name = StoredName(options.comparator->Name());
    foldb_comparator_t comparator = AdaptComparator(options.comparator);
    comparator.name = name.c_str();
    set->Took(foldb_options_set_comparator(set->options(), &comparator));
  }
}

void SetOperators(const MergeSetup& merge, Setter* set) {
  for (const MergeOperator* own : merge.operators) {
    const foldb_operator_t adapted = AdaptOperator(own);
    set->Took(foldb_options_add_operator(set->options(), &adapted));
  }
  if (!merge.default_operator.empty()) {
    set->Text("merge_operator", merge.default_operator);
  }
}

}  // namespace

bool IsBytewise(const Comparator* comparator) {
  return comparator == BytewiseComparator() ||
         std::strcmp(comparator->Name(), kLevelDBBytewise) == 0;
}

Status MakeEngineOptions(const Options& options, const MergeSetup& merge,
                         const std::shared_ptr<DatabaseLog>& log, const SharedRuntime& runtime,
                         EngineOptions* engine) {
  engine->reset(foldb_options_new());
  Setter set(engine->get());
  SetNumbers(options, &set);
  SetCompression(options, &set);
  SetCache(options, &set);
  SetFilter(options, &set);
  SetComparator(options, &set);
  SetOperators(merge, &set);
  if (options.env != Env::Default()) {
    const foldb_env_t env = AdaptEnv(options.env);
    set.Took(foldb_options_set_env(engine->get(), &env));
  }
  if (runtime != nullptr) {
    set.Took(foldb_options_set_runtime(engine->get(), runtime.get()));
  }
  const foldb_listener_t listener = AdaptLog(log);
  set.Took(foldb_options_add_listener(engine->get(), &listener));
  return set.status();
}

}  // namespace leveldb
