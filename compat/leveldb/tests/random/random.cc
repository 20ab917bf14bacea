// Random operations on one database, from a seed, with every answer printed.
//
//   random DIRECTORY SEED OPERATIONS
//
// The seed also chooses the comparator, the Env and the options. With the default Env, the process
// that works on the database dies by SIGKILL several times, and a new one goes on.
//
// Invariant: the output depends on the seed and on LevelDB's documented behaviour only.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/write_batch.h"
#include "report.h"
#include "user_comparators.h"
#include "user_env.h"

using leveldb::DB;
using leveldb::Iterator;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Snapshot;
using leveldb::WriteBatch;
using leveldb::WriteOptions;

namespace {

enum Order { kBytewise, kReverse, kNumbers };
enum Files { kDefault, kMemory, kUser };

// Writes every update down.
class Recorder : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override {
    text += "+" + key.ToString() + "=" + value.ToString();
  }
  void Delete(const Slice& key) override { text += "-" + key.ToString(); }
  std::string text;
};

class Run {
 public:
  Run(uint64_t seed, int life)
      : random_(seed * 1000 + static_cast<uint64_t>(life)),
        order_(static_cast<Order>(seed % 3)),
        files_(static_cast<Files>(seed / 3 % 3)),
        keys_(seed % 2 ? 60 : 800),
        memory_(leveldb::NewMemEnv(leveldb::Env::Default())),
        bloom_(leveldb::NewBloomFilterPolicy(10)) {
    user_.appends = seed / 9 % 2 == 0;
  }

  ~Run() { Close(); }

  void Go(int operations) {
    Open();
    for (int i = 0; i < operations; i++) Step();
    Scan(ReadOptions());
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<uint64_t>(limit)); }
  bool OneIn(int n) { return Below(n) == 0; }

  std::string Key() {
    const int number = Below(keys_);
    char key[64];
    if (order_ == kNumbers) {
      std::snprintf(key, sizeof(key), "%0*d", 1 + Below(8), number);
      return key;
    }
    if (number == 0) return std::string();
    if (number % 7 == 0) return std::string(static_cast<size_t>(number % 5), '\xff');
    if (number % 5 == 0) return std::string("a\0", 2) + std::to_string(number);
    std::snprintf(key, sizeof(key), "k%d", number);
    return number % 11 == 0 ? key + std::string(300, 'l') : key;
  }

  std::string Value() {
    const size_t length = static_cast<size_t>(OneIn(50) ? Below(20000) : Below(120));
    std::string value = std::to_string(count_++) + ".";
    const char fill = static_cast<char>('a' + Below(26));
    while (value.size() < length) value += static_cast<char>(OneIn(4) ? random_() : fill);
    if (OneIn(20)) value.clear();
    return value;
  }

  void Open() {
    static const NumberComparator numbers;
    static const ReverseComparator reverse;
    static const NumberPolicy policy;
    Options options;
    options.create_if_missing = true;
    options.write_buffer_size = static_cast<size_t>(65536 << Below(3));
    options.max_file_size = 1 << 20;
    options.block_size = static_cast<size_t>(256 << Below(5));
    options.block_restart_interval = 1 + Below(20);
    options.max_open_files = 74 + Below(100);
    options.paranoid_checks = OneIn(2);
    options.reuse_logs = OneIn(3);
    options.compression = OneIn(2) ? leveldb::kNoCompression : leveldb::kSnappyCompression;
    options.filter_policy = OneIn(2) ? bloom_.get() : nullptr;
    if (order_ == kReverse) options.comparator = &reverse;
    if (order_ == kNumbers) {
      options.comparator = &numbers;
      if (options.filter_policy != nullptr) options.filter_policy = &policy;
    }
    if (files_ == kMemory) options.env = memory_.get();
    if (files_ == kUser) options.env = &user_;
    report::Need("open", DB::Open(options, report::Path("db"), &db_));
    Scan(ReadOptions());
  }

  void Close() {
    for (Iterator* iterator : iterators_) delete iterator;
    iterators_.clear();
    for (const Snapshot* snapshot : snapshots_) db_->ReleaseSnapshot(snapshot);
    snapshots_.clear();
    delete db_;
    db_ = nullptr;
  }

  // Prints the hash of all entries, forward and backward.
  void Scan(const ReadOptions& options) {
    std::unique_ptr<Iterator> it(db_->NewIterator(options));
    const std::string forward = report::Forward(it.get());
    const std::string backward = report::Backward(it.get());
    std::printf("scan %zu %016llx %016llx\n", forward.size(),
                static_cast<unsigned long long>(report::Hash(forward)),
                static_cast<unsigned long long>(report::Hash(backward)));
  }

  ReadOptions Reading() {
    ReadOptions options;
    options.verify_checksums = OneIn(2);
    options.fill_cache = !OneIn(3);
    if (!snapshots_.empty() && OneIn(2)) {
      options.snapshot = snapshots_[random_() % snapshots_.size()];
    }
    return options;
  }

  WriteOptions Writing() {
    WriteOptions options;
    options.sync = OneIn(50);
    return options;
  }

  void Batch() {
    WriteBatch batch, other;
    for (int i = Below(30); i >= 0; i--) {
      WriteBatch& target = OneIn(3) ? other : batch;
      if (OneIn(3)) {
        target.Delete(Key());
      } else {
        target.Put(Key(), Value());
      }
    }
    if (OneIn(2)) batch.Append(other);
    Recorder recorder;
    const leveldb::Status iterated = batch.Iterate(&recorder);
    std::printf("batch %016llx %s %s\n",
                static_cast<unsigned long long>(report::Hash(recorder.text)),
                iterated.ToString().c_str(), db_->Write(Writing(), &batch).ToString().c_str());
  }

  void Move(Iterator* it) {
    std::string text;
    for (int i = Below(12); i >= 0; i--) {
      const int move = Below(10);
      if (move == 0) it->SeekToFirst();
      if (move == 1) it->SeekToLast();
      if (move == 2 || !it->Valid()) it->Seek(Key());
      if (move > 2 && move < 7 && it->Valid()) it->Next();
      if (move >= 7 && it->Valid()) it->Prev();
      text += report::At(it) + " ";
    }
    std::printf("moves %s\n", report::Quoted(text).c_str());
  }

  void Compact() {
    const std::string begin = Key(), end = Key();
    const Slice first = begin, last = end;
    db_->CompactRange(OneIn(2) ? nullptr : &first, OneIn(2) ? nullptr : &last);
  }

  void Fill() {
    for (int i = Below(600); i >= 0; i--) {
      const leveldb::Status status = db_->Put(Writing(), Key(), Value());
      if (!status.ok()) std::printf("fill %s\n", status.ToString().c_str());
    }
    Scan(Reading());
  }

  void Step() {
    const int choice = Below(1000);
    if (choice < 300) {
      std::printf("put %s\n", db_->Put(Writing(), Key(), Value()).ToString().c_str());
    } else if (choice < 400) {
      std::printf("delete %s\n", db_->Delete(Writing(), Key()).ToString().c_str());
    } else if (choice < 500) {
      Batch();
    } else if (choice < 700) {
      std::printf("get %s\n", report::Get(db_, Key(), Reading()).c_str());
    } else if (choice < 740) {
      if (snapshots_.size() < 6) snapshots_.push_back(db_->GetSnapshot());
    } else if (choice < 770) {
      if (!snapshots_.empty()) {
        db_->ReleaseSnapshot(snapshots_.back());
        snapshots_.pop_back();
      }
    } else if (choice < 800) {
      if (iterators_.size() < 5) iterators_.push_back(db_->NewIterator(Reading()));
    } else if (choice < 930) {
      if (!iterators_.empty()) Move(iterators_[random_() % iterators_.size()]);
    } else if (choice < 950) {
      if (!iterators_.empty()) {
        delete iterators_.front();
        iterators_.erase(iterators_.begin());
      }
    } else if (choice < 965) {
      Scan(Reading());
    } else if (choice < 980) {
      Fill();
    } else if (choice < 990) {
      Compact();
    } else {
      Close();
      std::printf("closed\n");
      Open();
    }
  }

  std::mt19937_64 random_;
  Order order_;
  Files files_;
  int keys_;
  int count_ = 0;
  CountingEnv user_;
  std::unique_ptr<leveldb::Env> memory_;
  std::unique_ptr<const leveldb::FilterPolicy> bloom_;
  DB* db_ = nullptr;
  std::vector<Iterator*> iterators_;
  std::vector<const Snapshot*> snapshots_;
};

constexpr int kLives = 3;

// Works on the database and dies.
int Live(uint64_t seed, int life, int operations) {
  Run* run = new Run(seed, life);
  run->Go(operations);
  std::fflush(stdout);
  if (life + 1 < kLives) ::kill(::getpid(), SIGKILL);
  delete run;
  return 0;
}

// Runs a life in a process of its own. Returns whether it ended as it should.
bool Outlive(char** argv, int life) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string number = std::to_string(life);
    ::execl("/proc/self/exe", argv[0], argv[1], argv[2], argv[3], number.c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("life %d ended\n", life);
  return life + 1 < kLives ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                           : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: random DIRECTORY SEED OPERATIONS\n");
    return 2;
  }
  report::SetDirectory(argv[1]);
  report::Section("random");
  const uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  const int operations = std::atoi(argv[3]);
  if (argc > 4) return Live(seed, std::atoi(argv[4]), operations);
  if (seed / 3 % 3 != kDefault) {
    Run(seed, 0).Go(operations);
  } else {
    for (int life = 0; life < kLives; life++) {
      if (!Outlive(argv, life)) {
        std::printf("a life ended otherwise\n");
        return 1;
      }
    }
  }
  std::printf("end\n");
  return 0;
}
