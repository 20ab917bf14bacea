// Prints observations; see report.h.
//
// Invariant: no line holds the path of the test's directory.

#include "report.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace report {

namespace {

std::string directory;
std::string section;

std::string WithoutDirectory(std::string text) {
  for (size_t at = text.find(directory); at != std::string::npos; at = text.find(directory, at)) {
    text.replace(at, directory.size(), "DIR");
  }
  return text;
}

}  // namespace

void SetDirectory(const std::string& path) { directory = path; }

std::string Path(const std::string& name) { return directory + "/" + name; }

void Section(const std::string& name) { section = name; }

void Say(const std::string& what, const std::string& observed) {
  std::printf("%s: %s: %s\n", section.c_str(), what.c_str(), WithoutDirectory(observed).c_str());
  std::fflush(stdout);
}

void YesNo(const std::string& what, bool observed) { Say(what, observed ? "yes" : "no"); }

void Number(const std::string& what, uint64_t observed) { Say(what, std::to_string(observed)); }

void Result(const std::string& what, const leveldb::Status& observed) {
  std::string kinds;
  if (observed.ok()) kinds += " ok";
  if (observed.IsNotFound()) kinds += " IsNotFound";
  if (observed.IsCorruption()) kinds += " IsCorruption";
  if (observed.IsIOError()) kinds += " IsIOError";
  if (observed.IsNotSupportedError()) kinds += " IsNotSupportedError";
  if (observed.IsInvalidArgument()) kinds += " IsInvalidArgument";
  Say(what, observed.ToString() + " (" + kinds.substr(kinds.empty() ? 0 : 1) + ")");
}

void Need(const std::string& step, const leveldb::Status& status) {
  if (status.ok()) return;
  std::printf("%s: %s FAILED: %s\n", section.c_str(), step.c_str(), status.ToString().c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

uint64_t Hash(const leveldb::Slice& bytes) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < bytes.size(); i++) {
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211u;
  }
  return hash;
}

std::string Quoted(const leveldb::Slice& bytes) {
  std::string text = "'";
  for (size_t i = 0; i < bytes.size() && i < 40; i++) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (byte >= ' ' && byte <= '~' && byte != '\\' && byte != '\'') {
      text += static_cast<char>(byte);
    } else {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
      text += escape;
    }
  }
  text += "'";
  if (bytes.size() > 40) {
    char rest[64];
    std::snprintf(rest, sizeof(rest), "... (%zu bytes, %016llx)", bytes.size(),
                  static_cast<unsigned long long>(Hash(bytes)));
    text += rest;
  }
  return text;
}

std::string At(const leveldb::Iterator* iterator) {
  if (iterator->Valid()) return Quoted(iterator->key()) + "=" + Quoted(iterator->value());
  return iterator->status().ok() ? "invalid" : "invalid, " + iterator->status().ToString();
}

std::string Forward(leveldb::Iterator* iterator) {
  std::string text;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    text += (text.empty() ? "" : " ") + At(iterator);
  }
  return text + (iterator->status().ok() ? "" : " then " + iterator->status().ToString());
}

std::string Backward(leveldb::Iterator* iterator) {
  std::string text;
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
    text += (text.empty() ? "" : " ") + At(iterator);
  }
  return text + (iterator->status().ok() ? "" : " then " + iterator->status().ToString());
}

std::string Entries(leveldb::DB* db, const leveldb::ReadOptions& options) {
  std::unique_ptr<leveldb::Iterator> iterator(db->NewIterator(options));
  std::string text;
  std::vector<std::string> seen;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    seen.push_back(At(iterator.get()));
    text += seen.back() + " ";
  }
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
    if (seen.empty() || seen.back() != At(iterator.get())) return text + "BACKWARD DIFFERS";
    seen.pop_back();
  }
  if (!seen.empty()) return text + "BACKWARD ENDS EARLY";
  if (!iterator->status().ok()) return text + iterator->status().ToString();
  if (text.size() > 400) return Quoted(text);
  return text.empty() ? "none" : text.substr(0, text.size() - 1);
}

std::string Get(leveldb::DB* db, const leveldb::Slice& key, const leveldb::ReadOptions& options) {
  std::string value;
  const leveldb::Status status = db->Get(options, key, &value);
  return status.ok() ? Quoted(value) : status.ToString();
}

}  // namespace report
