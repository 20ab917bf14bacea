// Tables and dumps, for tests that compare libraries.
//
//   tables DIRECTORY write    writes a table of each shape
//   tables DIRECTORY read     prints everything that can be read from them
//   tables DIRECTORY rules    prints what tables do with a program's files and caches, and damage
//   tables DIRECTORY make     writes a database
//   tables DIRECTORY dump     prints the files of the directory by DumpFile
//
// Each library reads what the other wrote, and prints the same.

#include <map>

#include "tables.h"

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const std::map<std::string, void (*)(const std::string&)> modes = {
      {"write", &WriteTables},
      {"read", &ReadTables},
      {"rules", &Rules},
      {"make", &MakeDatabase},
      {"dump", &DumpFiles},
  };
  CHECK(modes.count(argv[2]) == 1);
  modes.at(argv[2])(argv[1]);
  return 0;
}
