// What the original library does not offer, or does wrong: internal functions, and the cases in
// which this library differs on purpose. Ends with an error at the first surprise.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/write_batch.h"
#include "port/coding.h"
#include "port/filter_policy.h"
#include "port/hash.h"
#include "port/write_batch_internal.h"

using namespace leveldb;

namespace {

void Check(bool holds, const char* what, int line) {
  if (!holds) {
    std::fprintf(stderr, "line %d: %s does not hold\n", line, what);
    std::exit(1);
  }
}

#define CHECK(condition) Check((condition), #condition, __LINE__)

void Numbers() {
  std::string bytes;
  PutFixed64(&bytes, 0x0807060504030201);
  CHECK(bytes == "\x01\x02\x03\x04\x05\x06\x07\x08");
  CHECK(DecodeFixed32(bytes.data()) == 0x04030201);

  std::vector<uint32_t> numbers = {0, 1, 127, 128, 300, 16383, 16384, ~uint32_t{0}};
  for (int bit = 0; bit < 32; bit++) {
    numbers.push_back(uint32_t{1} << bit);
    numbers.push_back((uint32_t{1} << bit) - 1);
  }
  uint32_t found = 0;
  for (uint32_t number : numbers) {
    std::string varint;
    PutVarint32(&varint, number);
    Slice from(varint);
    CHECK(GetVarint32(&from, &found) && found == number && from.empty());
    // No part of a varint is one.
    for (size_t length = 0; length < varint.size(); length++) {
      from = Slice(varint.data(), length);
      CHECK(!GetVarint32(&from, &found) && from.size() == length);
    }
  }
  std::string varint;
  PutVarint32(&varint, 300);
  CHECK(varint == "\xac\x02");
  for (const char* bad : {"\xff\xff\xff\xff\xff\xff", "\xff\xff\xff\xff\x1f"}) {
    Slice from(bad);
    CHECK(!GetVarint32(&from, &found) && from == Slice(bad));
  }

  std::string prefixed;
  PutLengthPrefixedSlice(&prefixed, "abc");
  PutLengthPrefixedSlice(&prefixed, "");
  Slice from(prefixed), piece;
  CHECK(GetLengthPrefixedSlice(&from, &piece) && piece == "abc");
  CHECK(GetLengthPrefixedSlice(&from, &piece) && piece.empty() && from.empty());
  CHECK(!GetLengthPrefixedSlice(&from, &piece));
  from = Slice("\x04" "abc");
  CHECK(!GetLengthPrefixedSlice(&from, &piece));
}

void Hashes() { CHECK(Hash("", 0) == 0 && Hash("", 7) == 7); }

class Counter : public WriteBatch::Handler {
 public:
  void Put(const Slice&, const Slice&) override { puts++; }
  void Delete(const Slice&) override { deletes++; }
  int puts = 0, deletes = 0;
};

std::string Contents(const WriteBatch& batch) {
  return WriteBatchInternal::Contents(batch).ToString();
}

// What reading a batch of these bytes ends with.
std::string ReadToEnd(const std::string& contents) {
  WriteBatch batch;
  WriteBatchInternal::SetContents(&batch, contents);
  WriteBatchInternal::Reader reader(batch);
  WriteBatchInternal::Operation operation;
  while (reader.Next(&operation)) {
  }
  return reader.status().ToString();
}

void Batches() {
  WriteBatch batch;
  CHECK(Contents(batch) == std::string(12, '\0'));
  batch.Put("key", "value");
  batch.Delete("gone");
  WriteBatchInternal::Merge(&batch, "counter", "+1");
  WriteBatchInternal::Merge(&batch, "add", "named", "+2");
  batch.Put("last", "");
  const std::string expected = std::string("\0\0\0\0\0\0\0\0\5\0\0\0", 12) + "\1\3key\5value" +
                               std::string("\0\4gone", 6) + "\2\7counter\2+1" +
                               "\3\3add\5named\2+2" + std::string("\1\4last\0", 7);
  CHECK(Contents(batch) == expected);
  CHECK(WriteBatchInternal::Count(batch) == 5);

  std::string seen;
  WriteBatchInternal::Operation operation;
  WriteBatchInternal::Reader reader(batch);
  while (reader.Next(&operation)) {
    seen += std::to_string(operation.kind) + " " + operation.operator_name.ToString() + " " +
            operation.key.ToString() + " " + operation.value.ToString() + "\n";
  }
  CHECK(reader.status().ok() && !reader.Next(&operation));
  CHECK(seen == "1  key value\n0  gone \n2  counter +1\n3 add named +2\n1  last \n");

  // A handler that knows no merges gets an error at the first one, and nothing after it.
  Counter counter;
  CHECK(batch.Iterate(&counter).IsNotSupportedError());
  CHECK(counter.puts == 1 && counter.deletes == 1);

  // Appending keeps merges.
  WriteBatch twice;
  twice.Append(batch);
  twice.Append(twice);
  CHECK(WriteBatchInternal::Count(twice) == 10);
  CHECK(Contents(twice).substr(12) == expected.substr(12) + expected.substr(12));

  // Every damaged form is found, and none is read past its end.
  CHECK(ReadToEnd(expected) == "OK");
  for (size_t length = 12; length < expected.size(); length++) {
    CHECK(ReadToEnd(expected.substr(0, length)).find("Corruption: ") == 0);
  }
  const std::string one_more = expected + std::string("\0\0", 2);
  CHECK(ReadToEnd(one_more) == "Corruption: WriteBatch has wrong count");
  CHECK(ReadToEnd(expected + "\4\1a") == "Corruption: unknown WriteBatch tag");
  CHECK(ReadToEnd(expected + "\2\1") == "Corruption: bad WriteBatch Merge");
  CHECK(ReadToEnd(expected + "\1\1a") == "Corruption: bad WriteBatch Put");
  CHECK(ReadToEnd(expected + std::string("\0\5a", 3)) == "Corruption: bad WriteBatch Delete");
}

void Registries() {
  std::unique_ptr<const FilterPolicy> policy(NewBloomFilterPolicy(14));
  CHECK(BitsOfBloomFilterPolicy(policy.get()) == 14);
  const FilterPolicy* const gone_policy = policy.get();
  policy.reset();
  CHECK(BitsOfBloomFilterPolicy(gone_policy) == -1 && BitsOfBloomFilterPolicy(nullptr) == -1);
}

Cache* cache_in_deleter = nullptr;
int deletions = 0;

// A deleter may call the cache.
void Deleter(const Slice&, void*) {
  deletions++;
  cache_in_deleter->Erase("other");
  CHECK(cache_in_deleter->TotalCharge() <= 1000 + 16);
}

void Deleters() {
  std::unique_ptr<Cache> cache(NewLRUCache(1000));
  cache_in_deleter = cache.get();
  for (int i = 0; i < 2000; i++) {
    cache->Release(cache->Insert(std::to_string(i), nullptr, 1, Deleter));
  }
  cache->Release(cache->Insert("1999", nullptr, 1, Deleter));
  CHECK(deletions > 900);
  cache->Prune();
  CHECK(deletions == 2001 && cache->TotalCharge() == 0);
}

void Files(const std::string& directory) {
  Env* const env = Env::Default();
  const std::string name = directory + "/file";
  CHECK(WriteStringToFile(env, "0123456789", name).ok());
  // The sum of offset and length does not overflow.
  RandomAccessFile* opened;
  CHECK(env->NewRandomAccessFile(name, &opened).ok());
  std::unique_ptr<RandomAccessFile> file(opened);
  char scratch[10];
  Slice result;
  CHECK(file->Read(~uint64_t{0}, 2, &result, scratch).IsIOError());
  CHECK(file->Read(2, ~size_t{0}, &result, scratch).IsIOError());

  // A refused lock leaves the lock of this process alone: another process still sees it. That holds
  // for another path of the same file too.
  const std::string lock_name = directory + "/LOCK", other = directory + "/./LOCK";
  FileLock *lock, *second;
  CHECK(env->LockFile(lock_name, &lock).ok());
  CHECK(env->LockFile(lock_name, &second).ToString() ==
        "IO error: lock " + lock_name + ": already held by process");
  CHECK(env->LockFile(other, &second).IsIOError() && second == nullptr);
  const auto is_free = [&] {
    const pid_t child = fork();
    if (child == 0) {
      struct flock wanted = {};
      wanted.l_type = F_WRLCK;
      _exit(fcntl(open(lock_name.c_str(), O_RDWR), F_SETLK, &wanted) == 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 1;
  };
  CHECK(!is_free());
  CHECK(env->UnlockFile(lock).ok());
  CHECK(is_free());

  // A file in memory that an append creates has its bytes.
  std::unique_ptr<Env> memory(NewMemEnv(env));
  WritableFile* writable;
  CHECK(memory->NewAppendableFile("/dir/new", &writable).ok());
  CHECK(writable->Append("bytes").ok());
  delete writable;
  std::string text;
  CHECK(ReadFileToString(memory.get(), "/dir/new", &text).ok() && text == "bytes");

  // The shared libraries do not export Log().
  Logger* logger;
  CHECK(env->NewLogger(directory + "/LOG", &logger).ok());
  Log(logger, "%d by %s", 7, "Log()");
  Log(nullptr, "nowhere");
  delete logger;
  CHECK(ReadFileToString(env, directory + "/LOG", &text).ok());
  CHECK(text.find(" 7 by Log()\n") != std::string::npos);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
    return 2;
  }
  Numbers();
  Hashes();
  Batches();
  Registries();
  Deleters();
  Files(arguments[1]);
  std::printf("all as it should be\n");
  return 0;
}
