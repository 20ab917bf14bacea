// The parts of Status that are not inline: its message and its text.

#include "leveldb/status.h"

#include <cstdint>
#include <cstring>

namespace leveldb {

namespace {

// Bytes before the message: its length in four, and the code in one.
constexpr size_t kHeader = 5;

uint32_t MessageLength(const char* state) {
  uint32_t length;
  std::memcpy(&length, state, sizeof(length));
  return length;
}

}  // namespace

Status::Status(Code code, const Slice& msg, const Slice& msg2) {
  assert(code != kOk);
  std::string message = msg.ToString();
  if (!msg2.empty()) {
    message.append(": ").append(msg2.data(), msg2.size());
  }
  const uint32_t length = static_cast<uint32_t>(message.size());
  char* state = new char[kHeader + length];
  std::memcpy(state, &length, sizeof(length));
  state[4] = static_cast<char>(code);
  std::memcpy(state + kHeader, message.data(), length);
  state_ = state;
}

const char* Status::CopyState(const char* s) {
  const size_t size = kHeader + MessageLength(s);
  char* copy = new char[size];
  std::memcpy(copy, s, size);
  return copy;
}

std::string Status::ToString() const {
  if (ok()) {
    return "OK";
  }
  std::string text;
  switch (code()) {
    case kOk:
      break;
    case kNotFound:
      text = "NotFound: ";
      break;
    case kCorruption:
      text = "Corruption: ";
      break;
    case kNotSupported:
      text = "Not implemented: ";
      break;
    case kInvalidArgument:
      text = "Invalid argument: ";
      break;
    case kIOError:
      text = "IO error: ";
      break;
    default:
      text = "Unknown code(" + std::to_string(static_cast<int>(code())) + "): ";
      break;
  }
  return text.append(state_ + kHeader, MessageLength(state_));
}

}  // namespace leveldb
