// Runs each part in an empty directory, which the caller names.

#include <cstdio>

#include "port.h"

std::string Hex(const leveldb::Slice& bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at++) {
    const uint8_t byte = static_cast<uint8_t>(bytes[at]);
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = 0;
  while ((at = text.find(from, at)) != std::string::npos) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

std::string Random::Bytes(size_t length, int letters) {
  std::string bytes;
  for (size_t at = 0; at < length; at++) {
    bytes += static_cast<char>(Below(static_cast<uint64_t>(letters)));
  }
  return bytes;
}

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
    return 2;
  }
  const std::string directory = arguments[1];
  Slices();
  Statuses();
  Orders();
  Batches();
  Iterators();
  Defaults();
  Filters();
  Caches();
  Files(directory);
  Locks(directory);
  Threads();
  Loggers(directory);
  EnvSubclasses(directory);
  FilesInMemory();
  return 0;
}
