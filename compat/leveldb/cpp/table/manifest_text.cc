// Prints the edits of a LevelDB manifest. See manifest_text.h for the bytes.

#include "table/manifest_text.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "port/coding.h"
#include "table/dump_text.h"

namespace leveldb {
namespace dump {

namespace {

// LevelDB has levels 0 to 6.
constexpr uint32_t kLevels = 7;

// A number of the edit that the last field with its tag sets.
struct Number {
  bool set = false;
  uint64_t value = 0;

  bool Take(Slice* input) {
    set = GetVarint64(input, &value);
    return set;
  }
};

bool TakeLevel(Slice* input, uint32_t* level) {
  return GetVarint32(input, level) && *level < kLevels;
}

bool TakeKey(Slice* input, Slice* key) {
  return GetLengthPrefixedSlice(input, key) && !key->empty();
}

class EditText {
 public:
  // Reads one field behind its tag. Returns the field's name if it is damaged.
  const char* TakeField(uint32_t tag, Slice* input) {
    switch (tag) {
      case 1:
        has_comparator_ = GetLengthPrefixedSlice(input, &comparator_);
        return has_comparator_ ? nullptr : "comparator name";
      case 2:
        return log_.Take(input) ? nullptr : "log number";
      case 3:
        return next_file_.Take(input) ? nullptr : "next file number";
      case 4:
        return last_sequence_.Take(input) ? nullptr : "last sequence number";
      case 5:
        return TakePointer(input) ? nullptr : "compaction pointer";
      case 6:
        return TakeDeleted(input) ? nullptr : "deleted file";
      case 7:
        return TakeAdded(input) ? nullptr : "new-file entry";
      case 9:
        return previous_log_.Take(input) ? nullptr : "previous log number";
      default:
        return "unknown tag";
    }
  }

  // The fields by kind, whatever their order in the edit.
  std::string Text() const {
    std::string text = "VersionEdit {";
    if (has_comparator_) text += "\n  Comparator: " + comparator_.ToString();
    Line("LogNumber: ", log_, &text);
    Line("PrevLogNumber: ", previous_log_, &text);
    Line("NextFile: ", next_file_, &text);
    Line("LastSeq: ", last_sequence_, &text);
    for (const std::string& pointer : pointers_) text += "\n  CompactPointer: " + pointer;
    for (const auto& file : deleted_) {
      text += "\n  RemoveFile: " + std::to_string(file.first) + " " + std::to_string(file.second);
    }
    for (const std::string& file : added_) text += "\n  AddFile: " + file;
    return text + "\n}\n";
  }

 private:
  static void Line(const char* name, const Number& number, std::string* text) {
    if (number.set) *text += std::string("\n  ") + name + std::to_string(number.value);
  }

  bool TakePointer(Slice* input) {
    uint32_t level;
    Slice key;
    if (!TakeLevel(input, &level) || !TakeKey(input, &key)) return false;
    pointers_.push_back(std::to_string(level) + " " + InternalKeyText(key));
    return true;
  }

  bool TakeDeleted(Slice* input) {
    uint32_t level;
    uint64_t number;
    if (!TakeLevel(input, &level) || !GetVarint64(input, &number)) return false;
    deleted_.emplace(level, number);
    return true;
  }

  bool TakeAdded(Slice* input) {
    uint32_t level;
    uint64_t number, size;
    Slice smallest, largest;
    if (!TakeLevel(input, &level) || !GetVarint64(input, &number) || !GetVarint64(input, &size) ||
        !TakeKey(input, &smallest) || !TakeKey(input, &largest)) {
      return false;
    }
    added_.push_back(std::to_string(level) + " " + std::to_string(number) + " " +
                     std::to_string(size) + " " + InternalKeyText(smallest) + " .. " +
                     InternalKeyText(largest));
    return true;
  }

  bool has_comparator_ = false;
  Slice comparator_;
  Number log_, previous_log_, next_file_, last_sequence_;
  std::vector<std::string> pointers_;
  std::set<std::pair<uint32_t, uint64_t>> deleted_;
  std::vector<std::string> added_;
};

}  // namespace

Status ManifestEditText(const Slice& edit, std::string* text) {
  EditText fields;
  Slice input = edit;
  while (!input.empty()) {
    uint32_t tag;
    const char* damaged =
        GetVarint32(&input, &tag) ? fields.TakeField(tag, &input) : "invalid tag";
    if (damaged != nullptr) return Status::Corruption("VersionEdit", damaged);
  }
  *text = fields.Text();
  return Status::OK();
}

}  // namespace dump
}  // namespace leveldb
