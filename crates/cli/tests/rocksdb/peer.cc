// The original RocksDB, to compare foldb with: writes a database, and prints what it reads.
//
//   peer write DIR KEY=VALUE...   writes; see `Plan`
//   peer read DIR [own]           prints each family, and its keys and values in hexadecimal, with
//                                 the program's own operator
//   peer ingest DIR FAMILY FILE...  adds files that were written elsewhere
//   peer hold DIR                 opens DIR, prints a line, and waits for the end of input

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/version.h"
#include "rocksdb/wide_columns.h"

using namespace rocksdb;

// Releases give an open database back in different ways.
#if ROCKSDB_MAJOR >= 10
using Opened = std::unique_ptr<DB>;
static DB* take(Opened& opened) { return opened.release(); }
#else
using Opened = DB*;
static DB* take(Opened opened) { return opened; }
#endif

static void check(const Status& status) {
  if (!status.ok()) {
    fprintf(stderr, "%s\n", status.ToString().c_str());
    exit(1);
  }
}

// What to write. Each field is an argument.
struct Plan {
  std::string directory;
  std::map<std::string, std::string> given;
  std::string text(const char* name, const char* otherwise = "") const {
    auto found = given.find(name);
    return found == given.end() ? otherwise : found->second;
  }
  int number(const char* name, int otherwise) const {
    auto found = given.find(name);
    return found == given.end() ? otherwise : atoi(found->second.c_str());
  }
};

// An operator of the program's own, which appends.
class MyOperator : public AssociativeMergeOperator {
 public:
  bool Merge(const Slice&, const Slice* value, const Slice& operand, std::string* result,
             Logger*) const override {
    *result = value == nullptr ? operand.ToString() : value->ToString() + operand.ToString();
    return true;
  }
  const char* Name() const override { return "MyOperator"; }
};

static std::string key_of(int number) {
  char text[40];
  snprintf(text, sizeof text, "key%06d/%s", number, number % 7 ? "" : "longer");
  return text;
}

static std::string operand_of(const std::string& merge, std::mt19937& random) {
  if (merge == "uint64add") {
    uint64_t number = random() % 1000;
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
  }
  if (merge == "sortlist") {
    int one = random() % 100;
    return std::to_string(one) + "," + std::to_string(one + random() % 100);
  }
  std::string operand;
  for (unsigned n = 0, len = 1 + random() % 5; n < len; n++) operand += 'a' + random() % 26;
  return operand;
}

// A value with repetitions, which compresses.
static std::string value_of(int number, std::mt19937& random, int most) {
  std::string value = "value " + std::to_string(number);
  for (unsigned n = 0, len = random() % (most + 1); n < len; n++) value += 'a' + random() % 3;
  return value;
}

static void fill(DB* db, ColumnFamilyHandle* family, const Plan& plan, std::mt19937& random) {
  std::string merge = plan.text("merge");
  int keys = plan.number("keys", 500), rounds = plan.number("rounds", 3);
  WriteOptions write;
  write.disableWAL = plan.number("nowal", 0);
  for (int round = 0; round < rounds; round++) {
    for (int n = 0; n < keys; n++) {
      int number = random() % keys;
      std::string key = key_of(number);
      unsigned what = random() % 20;
      if (!merge.empty() && what < 8) {
        check(db->Merge(write, family, key, operand_of(merge, random)));
      } else if (what == 8) {
        check(db->Delete(write, family, key));
      } else if (what == 9 && plan.number("ranges", 0)) {
        std::string end = key_of(number + random() % 20);
        if (plan.number("reverse", 0)) std::swap(key, end);
        check(db->DeleteRange(write, family, key, end));
      } else if (what == 10 && plan.number("columns", 0)) {
        WideColumns columns{{kDefaultWideColumnName, value_of(number, random, 20)}};
        check(db->PutEntity(write, family, key, columns));
      } else if (merge == "uint64add" || merge == "sortlist") {
        check(db->Put(write, family, key, operand_of(merge, random)));
      } else {
        check(db->Put(write, family, key, value_of(number, random, plan.number("value", 60))));
      }
    }
    std::string once = "once" + std::to_string(round);
    check(db->Put(write, family, once, operand_of(merge, random)));
    if (round % 2 == 0) check(db->SingleDelete(write, family, once));
    bool is_last = round + 1 == rounds;
    if (!is_last || plan.number("flush", 1)) check(db->Flush(FlushOptions(), family));
    if (round == 0 && plan.number("compact", 1)) {
      check(db->CompactRange(CompactRangeOptions(), family, nullptr, nullptr));
    }
  }
}

static void ingest(DB* db, ColumnFamilyHandle* family, const Options& options,
                   const std::string& path) {
  SstFileWriter writer(EnvOptions(), options);
  check(writer.Open(path));
  for (int n = 0; n < 500; n += 50) check(writer.Put(key_of(n), "ingested"));
  check(writer.DeleteRange("key000101", "key000120"));
  check(writer.Finish());
  check(db->IngestExternalFile(family, {path}, IngestExternalFileOptions()));
}

static void prepare(DB* db, const std::string& name, bool commits) {
  auto transactions = static_cast<TransactionDB*>(db);
  Transaction* transaction = transactions->BeginTransaction(WriteOptions());
  check(transaction->SetName(name));
  check(transaction->Put("transaction " + name, "prepared"));
  check(transaction->Prepare());
  check(db->Put(WriteOptions(), "after " + name, "written"));
  if (commits) check(transaction->Commit());
}

static int write(const Plan& plan) {
  Options options;
  options.create_if_missing = true;
  options.compression = kNoCompression;
  DBOptions database;
  check(GetDBOptionsFromString(ConfigOptions(), options, plan.text("db"), &database));
  ColumnFamilyOptions own;
  check(GetColumnFamilyOptionsFromString(ConfigOptions(), options, plan.text("cf"), &own));
  std::string merge = plan.text("merge_operator", plan.text("merge").c_str());
  if (merge == "own") {
    own.merge_operator = std::make_shared<MyOperator>();
  } else if (!merge.empty()) {
    check(MergeOperator::CreateFromString(ConfigOptions(), merge, &own.merge_operator));
  }
  if (plan.number("reverse", 0)) own.comparator = ReverseBytewiseComparator();
  options = Options(database, own);
  DB* db = nullptr;
  TransactionDB* transactions = nullptr;
  if (plan.number("transactions", 0)) {
    TransactionDBOptions how;
    if (plan.number("write_prepared", 0)) how.write_policy = WRITE_PREPARED;
    check(TransactionDB::Open(options, how, plan.directory, &transactions));
    db = transactions;
  } else {
    Opened opened;
    check(DB::Open(options, plan.directory, &opened));
    db = take(opened);
  }
  std::mt19937 random(plan.number("seed", 1));
  std::vector<ColumnFamilyHandle*> families{db->DefaultColumnFamily()};
  std::istringstream names(plan.text("families"));
  for (std::string name; std::getline(names, name, ',');) {
    ColumnFamilyHandle* family;
    check(db->CreateColumnFamily(own, name, &family));
    families.push_back(family);
  }
  for (auto family : families) fill(db, family, plan, random);
  if (plan.number("ingest", 0)) {
    ingest(db, families[0], options, plan.directory + ".sst");
    check(db->Put(WriteOptions(), key_of(50), "after the file"));
  }
  if (plan.number("transactions", 0)) {
    prepare(db, "committed", true);
    prepare(db, "open", false);
  }
  if (plan.number("entity", 0)) {
    WideColumns columns{{kDefaultWideColumnName, "default"}, {"city", "Bern"}};
    check(db->PutEntity(WriteOptions(), families[0], "entity", columns));
  }
  // As a process that is killed: nothing is flushed or closed.
  if (plan.number("kill", 0)) _exit(0);
  for (size_t n = 1; n < families.size(); n++) delete families[n];
  delete db;
  return 0;
}

static std::string hex(const Slice& bytes) { return bytes.ToString(true); }

static int read(const std::string& directory, bool own) {
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> found;
  ConfigOptions config;
  config.ignore_unknown_options = true;
  config.ignore_unsupported_options = true;
  check(LoadLatestOptions(config, directory, &options, &found));
  for (auto& family : found) {
    if (own) family.options.merge_operator = std::make_shared<MyOperator>();
  }
  std::vector<ColumnFamilyHandle*> families;
  Opened opened;
  check(DB::OpenForReadOnly(options, directory, found, &families, &opened));
  DB* db = take(opened);
  for (size_t n = 0; n < families.size(); n++) {
    printf("family %s\n", families[n]->GetName().c_str());
    std::unique_ptr<Iterator> entries(db->NewIterator(ReadOptions(), families[n]));
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      printf("%s %s\n", hex(entries->key()).c_str(), hex(entries->value()).c_str());
    }
    check(entries->status());
  }
  for (auto family : families) delete family;
  delete db;
  return 0;
}

static int add(int count, char** arguments) {
  std::string directory = arguments[2];
  std::vector<std::string> files(arguments + 4, arguments + count);
  Options options;
  options.create_if_missing = true;
  std::vector<std::string> names;
  DB::ListColumnFamilies(options, directory, &names);
  if (names.empty()) names.push_back("default");
  std::vector<ColumnFamilyDescriptor> known;
  for (auto& name : names) known.emplace_back(name, options);
  std::vector<ColumnFamilyHandle*> families;
  Opened opened;
  check(DB::Open(options, directory, known, &families, &opened));
  DB* db = take(opened);
  ColumnFamilyHandle* into = nullptr;
  for (auto family : families) {
    if (family->GetName() == arguments[3]) into = family;
  }
  if (into == nullptr) {
    check(db->CreateColumnFamily(options, arguments[3], &into));
    families.push_back(into);
  }
  check(db->IngestExternalFile(into, files, IngestExternalFileOptions()));
  for (auto family : families) delete family;
  delete db;
  return 0;
}

static int hold(const std::string& directory) {
  Opened opened;
  check(DB::Open(Options(), directory, &opened));
  DB* db = take(opened);
  puts("open");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  delete db;
  return 0;
}

int main(int count, char** arguments) {
  std::string command = count > 2 ? arguments[1] : "";
  if (command == "read") return read(arguments[2], count > 3);
  if (command == "ingest" && count > 4) return add(count, arguments);
  if (command == "hold") return hold(arguments[2]);
  if (command != "write") return 2;
  Plan plan{arguments[2], {}};
  for (int n = 3; n < count; n++) {
    std::string argument = arguments[n];
    size_t at = argument.find('=');
    plan.given[argument.substr(0, at)] = argument.substr(at + 1);
  }
  return write(plan);
}
