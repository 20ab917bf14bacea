// The C++ side of the speed comparison: fills, reads at random, reads in order, with LevelDB's
// default options. Prints the nanoseconds of an entry, in the order of the work.
//
//   driver DIRECTORY ENTRIES
//
// Invariant: the source is the same for every library.

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/db.h"
#include "workload.h"

namespace {

void Check(const leveldb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "driver: %s\n", status.ToString().c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const uint64_t entries = std::strtoull(argv[2], nullptr, 10);
  std::vector<char> pool(POOL_VALUES * VALUE_BYTES);
  fill_pool(pool.data());
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* opened = nullptr;
  Check(leveldb::DB::Open(options, argv[1], &opened));
  std::unique_ptr<leveldb::DB> db(opened);

  const leveldb::WriteOptions write;
  const leveldb::ReadOptions read;
  char key[KEY_BYTES];
  uint64_t state = 1;
  double begin = nanoseconds();
  for (uint64_t i = 0; i < entries; i++) {
    key_of(next_number(&state) % entries, key);
    Check(db->Put(write, leveldb::Slice(key, KEY_BYTES),
                  leveldb::Slice(value_of(pool.data(), i), VALUE_BYTES)));
  }
  std::printf("%f\n", (nanoseconds() - begin) / static_cast<double>(entries));

  std::string value;
  uint64_t found = 0, bytes = 0;
  begin = nanoseconds();
  for (uint64_t i = 0; i < entries; i++) {
    key_of(next_number(&state) % entries, key);
    const leveldb::Status status = db->Get(read, leveldb::Slice(key, KEY_BYTES), &value);
    if (status.ok()) {
      found++;
    } else if (!status.IsNotFound()) {
      Check(status);
    }
  }
  std::printf("%f\n", (nanoseconds() - begin) / static_cast<double>(entries));

  uint64_t seen = 0;
  begin = nanoseconds();
  {
    std::unique_ptr<leveldb::Iterator> it(db->NewIterator(read));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      bytes += it->key().size() + it->value().size();
      seen++;
    }
    Check(it->status());
  }
  std::printf("%f\n", (nanoseconds() - begin) / static_cast<double>(seen));
  std::printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", found, seen, bytes);
  return 0;
}
