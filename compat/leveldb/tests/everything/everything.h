// The parts of the program that uses every call of LevelDB's C++ interface.
//
// Invariant: each part works in paths of its own below the test's directory.

#ifndef COMPAT_LEVELDB_TESTS_EVERYTHING_EVERYTHING_H_
#define COMPAT_LEVELDB_TESTS_EVERYTHING_EVERYTHING_H_

#include <string>

// Slice, Status, Range, the default Options, the iterators without a database.
void Values();
// WriteBatch with its handler.
void Batches();
// The built-in cache, comparator and filter policy.
void Builtins();
// One database: reads, writes, iterators, snapshots, sizes, properties, big and binary data.
void Databases();
// Iterators: the rules at the edges, both directions, over memory and files.
void Iterators();
// Several threads on one database.
void Threads();
// Open, the lock, DestroyDB, RepairDB, a second open, a killed process.
void Opening();
// Subclasses of Comparator.
void Comparators();
// Subclasses of FilterPolicy, Cache and Logger.
void Plugins();
// Subclasses of DB, Iterator and Snapshot.
void Subclasses();
// The default Env, the one in memory, EnvWrapper, and the functions over an Env.
void Environments();
// A database over a subclass of Env, and over one that fails.
void UserEnvironments();
// TableBuilder and Table.
void Tables();
// DumpFile.
void Dumps();

// Prints the entries of a table's file, as a hash, with the first one.
int ReadTable(const std::string& path);

// What a second process of the program does.
int OpenInChild(const std::string& path);
int WriteUntilKilled(const std::string& path);

#endif  // COMPAT_LEVELDB_TESTS_EVERYTHING_EVERYTHING_H_
