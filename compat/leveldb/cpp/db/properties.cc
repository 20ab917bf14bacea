// GetProperty(): the texts have LevelDB's shapes, the numbers are the engine's.

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "db/bytes.h"
#include "db/db_impl.h"

namespace leveldb {

namespace {

// The number of levels of LevelDB. It is the engine's default too; a database may have more.
constexpr int kLevels = 7;

constexpr double kMiB = 1048576.0;

// The statistics of the engine, one "name value" a line.
class Statistics {
 public:
  explicit Statistics(const foldb_t* db) {
    char* text = nullptr;
    foldb_error_free(foldb_stats(db, &text));
    if (text != nullptr) {
      text_ = text;
    }
    foldb_string_free(text);
  }

  // Returns the value of a name, or 0 without one.
  double Of(const std::string& name) const {
    const std::string line = "\n" + name + " ";
    const size_t found = text_.find(line);
    return found == std::string::npos ? 0 : std::atof(text_.c_str() + found + line.size());
  }

  // Returns the sum of the values of a name with labels.
  double SumOf(const std::string& name) const {
    const std::string begin = "\n" + name + "{";
    double sum = 0;
    for (size_t at = text_.find(begin); at != std::string::npos; at = text_.find(begin, at + 1)) {
      const size_t end = text_.find("} ", at);
      sum += end == std::string::npos ? 0 : std::atof(text_.c_str() + end + 2);
    }
    return sum;
  }

  double OfLevel(const char* name, int level) const {
    return Of(std::string(name) + "{level=\"" + std::to_string(level) + "\"}");
  }

 private:
  std::string text_;
};

// Bytes as LevelDB prints them in its texts: those that are not printable ASCII as \xHH.
std::string Escaped(const Slice& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i++) {
    const unsigned char byte = static_cast<unsigned char>(bytes[i]);
    if (byte >= ' ' && byte <= '~') {
      text.push_back(static_cast<char>(byte));
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\x%02x", byte);
    text.append(escape);
  }
  return text;
}

// The tables of each level, as lines.
struct TableLines {
  std::string levels[kLevels];
};

void AddTable(void* state, const foldb_table_t* table) {
  if (table->level >= kLevels) {
    return;
  }
  char numbers[64];
  std::string& lines = static_cast<TableLines*>(state)->levels[table->level];
  std::snprintf(numbers, sizeof numbers, " %" PRIu64 ":%" PRIu64 "['", table->number,
                table->bytes);
  lines += numbers + Escaped(SliceOf(table->smallest));
  std::snprintf(numbers, sizeof numbers, "' @ %" PRIu64 " : 1 .. '", table->smallest_seqno);
  lines += numbers + Escaped(SliceOf(table->largest));
  std::snprintf(numbers, sizeof numbers, "' @ %" PRIu64 " : 1]\n", table->largest_seqno);
  lines += numbers;
}

std::string TablesText(const foldb_t* db) {
  TableLines lines;
  foldb_error_free(foldb_tables(db, nullptr, AddTable, &lines));
  std::string text;
  for (int level = 0; level < kLevels; level++) {
    text += "--- level " + std::to_string(level) + " ---\n" + lines.levels[level];
  }
  return text;
}

std::string StatsText(const Statistics& statistics) {
  std::string text =
      "                               Compactions\n"
      "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n"
      "--------------------------------------------------\n";
  for (int level = 0; level < kLevels; level++) {
    const double tables = statistics.OfLevel("foldb_level_tables", level);
    const double written = statistics.OfLevel("foldb_level_written_bytes_total", level);
    if (tables == 0 && written == 0) {
      continue;
    }
    // The engine measures the time and the reads of compactions for the database as a whole.
    char line[128];
    std::snprintf(line, sizeof line, "%3d %8d %8.0f %9.0f %8.0f %9.0f\n", level,
                  static_cast<int>(tables),
                  statistics.OfLevel("foldb_level_bytes", level) / kMiB, 0.0, 0.0,
                  written / kMiB);
    text += line;
  }
  return text;
}

// Takes a level from its digits. Returns false for anything but one of LevelDB's levels.
bool ParseLevel(Slice digits, int* level) {
  if (digits.empty()) {
    return false;
  }
  int found = 0;
  for (size_t i = 0; i < digits.size(); i++) {
    if (digits[i] < '0' || digits[i] > '9') {
      return false;
    }
    found = found * 10 + (digits[i] - '0');
    if (found >= kLevels) {
      return false;
    }
  }
  *level = found;
  return true;
}

}  // namespace

bool DBImpl::GetProperty(const Slice& property, std::string* value) {
  static const char kLevelPrefix[] = "leveldb.num-files-at-level";
  value->clear();
  if (property.starts_with(kLevelPrefix)) {
    Slice digits = property;
    digits.remove_prefix(std::strlen(kLevelPrefix));
    int level;
    if (!ParseLevel(digits, &level)) {
      return false;
    }
    const double tables = Statistics(db_).OfLevel("foldb_level_tables", level);
    *value = std::to_string(static_cast<uint64_t>(tables));
    return true;
  }
  if (property == "leveldb.stats") {
    *value = StatsText(Statistics(db_));
    return true;
  }
  if (property == "leveldb.sstables") {
    *value = TablesText(db_);
    return true;
  }
  if (property == "leveldb.approximate-memory-usage") {
    *value = std::to_string(static_cast<uint64_t>(Statistics(db_).SumOf("foldb_memory_bytes")));
    return true;
  }
  return false;
}

}  // namespace leveldb
