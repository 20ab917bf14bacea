// DumpFile on a table, a log and a manifest in LevelDB's formats.
//
// Invariant: the program makes each file by itself, so no library's own files matter.

#include <memory>
#include <string>
#include <utility>

#include "everything.h"
#include "leveldb/dumpfile.h"
#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/table_builder.h"
#include "report.h"

using leveldb::Env;
using leveldb::Slice;

namespace {

// CRC-32C, masked as LevelDB stores it.
uint32_t Checksum(const std::string& bytes) {
  uint32_t crc = 0xffffffffu;
  for (char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string Fixed(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; i++) text += static_cast<char>(number >> (8 * i));
  return text;
}

std::string Varint(uint64_t number) {
  std::string text;
  for (; number >= 128; number >>= 7) text += static_cast<char>(number | 128);
  return text + static_cast<char>(number);
}

std::string Prefixed(const std::string& bytes) { return Varint(bytes.size()) + bytes; }

// A whole record of a log.
std::string Record(const std::string& payload) {
  const std::string type(1, '\x01');
  return Fixed(Checksum(type + payload), 4) + Fixed(payload.size(), 2) + type + payload;
}

// A key of LevelDB's tables: the user's key, then sequence number and kind.
std::string Internal(const std::string& key, uint64_t sequence, int kind) {
  return key + Fixed(sequence << 8 | static_cast<uint64_t>(kind), 8);
}

void Dump(Env* env, const std::string& name) {
  leveldb::WritableFile* file = nullptr;
  report::Need("new file", env->NewWritableFile("/dump", &file));
  report::Result("dump of " + name, leveldb::DumpFile(env, name, file));
  file->Close();
  delete file;
  std::string text;
  leveldb::ReadFileToString(env, "/dump", &text);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    report::Say("  line", text.substr(at, end - at));
    at = end + 1;
  }
}

void DumpTable(Env* env) {
  leveldb::Options options;
  options.env = env;
  leveldb::WritableFile* file = nullptr;
  for (const char* name : {"/000005.ldb", "/000006.sst"}) {
    report::Need("new file", env->NewWritableFile(name, &file));
    leveldb::TableBuilder builder(options, file);
    builder.Add(Internal("apple", 5, 1), "red");
    builder.Add(Internal("banana", 9, 0), "");
    builder.Add(Internal("ch\\'e\xff", 70000, 1), Slice("\0\n", 2));
    builder.Add("short", "no internal key");
    report::Need("finish", builder.Finish());
    file->Close();
    delete file;
    Dump(env, name);
  }
}

void DumpLog(Env* env) {
  std::string batch = Fixed(7, 8) + Fixed(3, 4);
  batch += '\x01' + Prefixed("key") + Prefixed("value");
  batch += std::string(1, '\0') + Prefixed("gone");
  batch += '\x01' + Prefixed("") + Prefixed(std::string("\0", 1));
  const std::string second = Fixed(10, 8) + Fixed(1, 4) + '\x01' + Prefixed("b") + Prefixed("2");
  std::string bytes = Record(batch) + Record(second);
  leveldb::WriteStringToFile(env, bytes, "/000004.log");
  Dump(env, "/000004.log");
  bytes += Record("too short");
  bytes += Record(Fixed(11, 8) + Fixed(2, 4) + '\x01' + Prefixed("c") + Prefixed("3"));
  bytes += Record(Fixed(12, 8) + Fixed(1, 4) + '\x07');
  leveldb::WriteStringToFile(env, bytes, "/000007.log");
  Dump(env, "/000007.log");
  bytes[10] ^= 1;
  leveldb::WriteStringToFile(env, bytes, "/000008.log");
  Dump(env, "/000008.log");
}

void DumpManifest(Env* env) {
  const std::string first = Varint(1) + Prefixed("leveldb.BytewiseComparator");
  std::string second = Varint(2) + Varint(12) + Varint(9) + Varint(11) + Varint(3) + Varint(14);
  second += Varint(4) + Varint(70001);
  second += Varint(5) + Varint(1) + Prefixed(Internal("m", 3, 1));
  second += Varint(6) + Varint(0) + Varint(5);
  second += Varint(7) + Varint(1) + Varint(13) + Varint(4096) + Prefixed(Internal("a", 1, 1)) +
            Prefixed(Internal("z", 2, 0));
  leveldb::WriteStringToFile(env, Record(first) + Record(second), "/MANIFEST-000002");
  Dump(env, "/MANIFEST-000002");
}

}  // namespace

void Dumps() {
  std::unique_ptr<Env> env(leveldb::NewMemEnv(Env::Default()));
  DumpTable(env.get());
  DumpLog(env.get());
  DumpManifest(env.get());
  leveldb::WriteStringToFile(env.get(), "text", "/CURRENT");
  for (const char* name : {"/CURRENT", "/LOCK", "/notes.txt", "/000099.ldb", "/000099.log"}) {
    Dump(env.get(), name);
  }
}
