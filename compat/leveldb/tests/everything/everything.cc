// Uses every call of LevelDB's C++ interface and prints what it observes.
//
//   everything DIRECTORY [PART...]
//
// Invariant: the output is the same with every library that behaves as LevelDB does.

#include "everything.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "report.h"

namespace {

struct Part {
  const char* name;
  void (*run)();
};

const Part kParts[] = {
    {"values", Values},
    {"batches", Batches},
    {"builtins", Builtins},
    {"databases", Databases},
    {"iterators", Iterators},
    {"threads", Threads},
    {"opening", Opening},
    {"comparators", Comparators},
    {"plugins", Plugins},
    {"subclasses", Subclasses},
    {"environments", Environments},
    {"user environments", UserEnvironments},
    {"tables", Tables},
    {"dumps", Dumps},
};

bool Asked(const char* name, int argc, char** argv) {
  for (int i = 2; i < argc; i++) {
    if (std::strcmp(argv[i], name) == 0) return true;
  }
  return argc == 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--open") == 0) return OpenInChild(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) return WriteUntilKilled(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "--read-table") == 0) return ReadTable(argv[2]);
  if (argc < 2) {
    std::fprintf(stderr, "usage: everything DIRECTORY [PART...]\n");
    return 2;
  }
  report::SetDirectory(argv[1]);
  for (const Part& part : kParts) {
    if (!Asked(part.name, argc, argv)) continue;
    report::Section(part.name);
    part.run();
  }
  std::printf("every call was used\n");
  return 0;
}
