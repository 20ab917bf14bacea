// Options, caches, environments and versions of leveldb/c.h.

#include "c/types.h"

#include <cstdlib>
#include <string>

extern "C" {

leveldb_options_t* leveldb_options_create() { return new leveldb_options_t; }

void leveldb_options_destroy(leveldb_options_t* options) { delete options; }

void leveldb_options_set_comparator(leveldb_options_t* options, leveldb_comparator_t* comparator) {
  options->rep.comparator = comparator;
}

void leveldb_options_set_filter_policy(leveldb_options_t* options,
                                       leveldb_filterpolicy_t* policy) {
  options->rep.filter_policy = policy != nullptr ? policy->ForDatabases() : nullptr;
}

void leveldb_options_set_create_if_missing(leveldb_options_t* options, uint8_t create) {
  options->rep.create_if_missing = create != 0;
}

void leveldb_options_set_error_if_exists(leveldb_options_t* options, uint8_t error) {
  options->rep.error_if_exists = error != 0;
}

void leveldb_options_set_paranoid_checks(leveldb_options_t* options, uint8_t paranoid) {
  options->rep.paranoid_checks = paranoid != 0;
}

void leveldb_options_set_env(leveldb_options_t* options, leveldb_env_t* env) {
  options->rep.env = env != nullptr ? env->rep : nullptr;
}

void leveldb_options_set_info_log(leveldb_options_t* options, leveldb_logger_t* logger) {
  options->rep.info_log = logger != nullptr ? logger->rep : nullptr;
}

void leveldb_options_set_write_buffer_size(leveldb_options_t* options, size_t size) {
  options->rep.write_buffer_size = size;
}

void leveldb_options_set_max_open_files(leveldb_options_t* options, int files) {
  options->rep.max_open_files = files;
}

void leveldb_options_set_cache(leveldb_options_t* options, leveldb_cache_t* cache) {
  options->rep.block_cache = cache != nullptr ? cache->rep : nullptr;
}

void leveldb_options_set_block_size(leveldb_options_t* options, size_t size) {
  options->rep.block_size = size;
}

void leveldb_options_set_block_restart_interval(leveldb_options_t* options, int interval) {
  options->rep.block_restart_interval = interval;
}

void leveldb_options_set_max_file_size(leveldb_options_t* options, size_t size) {
  options->rep.max_file_size = size;
}

void leveldb_options_set_compression(leveldb_options_t* options, int type) {
  options->rep.compression = static_cast<leveldb::CompressionType>(type);
}

leveldb_readoptions_t* leveldb_readoptions_create() { return new leveldb_readoptions_t; }

void leveldb_readoptions_destroy(leveldb_readoptions_t* options) { delete options; }

void leveldb_readoptions_set_verify_checksums(leveldb_readoptions_t* options, uint8_t verify) {
  options->rep.verify_checksums = verify != 0;
}

void leveldb_readoptions_set_fill_cache(leveldb_readoptions_t* options, uint8_t fill) {
  options->rep.fill_cache = fill != 0;
}

void leveldb_readoptions_set_snapshot(leveldb_readoptions_t* options,
                                      const leveldb_snapshot_t* snapshot) {
  options->rep.snapshot = snapshot != nullptr ? snapshot->rep : nullptr;
}

leveldb_writeoptions_t* leveldb_writeoptions_create() { return new leveldb_writeoptions_t; }

void leveldb_writeoptions_destroy(leveldb_writeoptions_t* options) { delete options; }

void leveldb_writeoptions_set_sync(leveldb_writeoptions_t* options, uint8_t sync) {
  options->rep.sync = sync != 0;
}

leveldb_cache_t* leveldb_cache_create_lru(size_t capacity) {
  return new leveldb_cache_t{leveldb::NewLRUCache(capacity)};
}

void leveldb_cache_destroy(leveldb_cache_t* cache) {
  delete cache->rep;
  delete cache;
}

leveldb_env_t* leveldb_create_default_env() {
  return new leveldb_env_t{leveldb::Env::Default(), true};
}

void leveldb_env_destroy(leveldb_env_t* env) {
  if (!env->is_default) delete env->rep;
  delete env;
}

char* leveldb_env_get_test_directory(leveldb_env_t* env) {
  std::string path;
  if (!env->rep->GetTestDirectory(&path).ok()) return nullptr;
  return leveldb::CopyText(path);
}

void leveldb_free(void* ptr) { std::free(ptr); }

int leveldb_major_version() { return leveldb::kMajorVersion; }

int leveldb_minor_version() { return leveldb::kMinorVersion; }

}  // extern "C"
