/* Prints what the C program observes, one line an observation.
 *
 * Invariant: the lines depend only on the documented behaviour of the library. */

#ifndef COMPAT_LEVELDB_TESTS_C_REPORT_H_
#define COMPAT_LEVELDB_TESTS_C_REPORT_H_

#include <stddef.h>
#include <stdint.h>

#include "leveldb/c.h"

/* Sets the directory whose path the lines show as DIR. */
void set_directory(const char* directory);

/* Returns a path below the directory. The text stays until the next call. */
const char* path_of(const char* name);

void say(const char* what, const char* observed);
void yes_no(const char* what, int observed);
void number(const char* what, uint64_t observed);
void bytes(const char* what, const char* data, size_t length);

/* Prints the error, or "no error", and frees it. */
void result(const char* what, char** error);

/* Prints the value of a key, or that there is none. */
void get(leveldb_t* db, const leveldb_readoptions_t* read, const char* key, size_t length);

/* Prints where the iterator is. */
void at(const char* what, const leveldb_iterator_t* iterator);

/* Prints all entries in both directions; of many, their number and a hash. */
void entries(leveldb_t* db, const leveldb_readoptions_t* read);

#endif
