// The parts of the program `tables`, each a mode of it.
//
// Invariant: the program prints the same with the original library and with ours.

#ifndef FOLDB_LEVELDB_TESTS_TABLES_TABLES_H_
#define FOLDB_LEVELDB_TESTS_TABLES_TABLES_H_

#include <cstdio>
#include <cstdlib>
#include <string>

// Ends the program if a condition does not hold, with the text of it.
#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                  \
    }                                                                                \
  } while (false)

// Writes a table of each shape to the directory.
void WriteTables(const std::string& directory);

// Prints everything that can be read from the tables of a directory.
void ReadTables(const std::string& directory);

// Prints what tables do with files, caches and filters of the program, with failures and damage.
// Keeps compressed tables in the directory, or takes those that are there.
void Rules(const std::string& directory);

// Writes a database to the directory.
void MakeDatabase(const std::string& directory);

// Prints each file of a directory by DumpFile.
void DumpFiles(const std::string& directory);

#endif  // FOLDB_LEVELDB_TESTS_TABLES_TABLES_H_
