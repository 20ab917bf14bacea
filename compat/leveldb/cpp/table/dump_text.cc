// How a dump prints keys and values. See dump_text.h.

#include "table/dump_text.h"

#include "port/coding.h"

namespace leveldb {
namespace dump {

bool ParseInternalKey(const Slice& bytes, InternalKey* key) {
  if (bytes.size() < sizeof(uint64_t)) return false;
  const size_t user_size = bytes.size() - sizeof(uint64_t);
  const uint64_t tag = DecodeFixed64(bytes.data() + user_size);
  key->user_key = Slice(bytes.data(), user_size);
  key->sequence = tag >> 8;
  key->type = tag & 0xff;
  return key->type <= kTypeValue;
}

std::string Escape(const Slice& bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i++) {
    const unsigned char byte = static_cast<unsigned char>(bytes[i]);
    if (byte >= ' ' && byte <= '~') {
      text.push_back(bytes[i]);
    } else {
      text += "\\x";
      text.push_back(kDigits[byte >> 4]);
      text.push_back(kDigits[byte & 15]);
    }
  }
  return text;
}

std::string InternalKeyText(const Slice& bytes) {
  InternalKey key;
  if (!ParseInternalKey(bytes, &key)) return "(bad)" + Escape(bytes);
  return "'" + Escape(key.user_key) + "' @ " + std::to_string(key.sequence) + " : " +
         std::to_string(key.type);
}

}  // namespace dump
}  // namespace leveldb
