/* Short calls on transactions, for the programs about them. */

#ifndef COMPAT_ROCKSDB_TESTS_TRANSACTIONS_H_
#define COMPAT_ROCKSDB_TESTS_TRANSACTIONS_H_

#include "check.h"

static inline void put_in(rocksdb_transaction_t* transaction, const char* key, const char* text) {
  rocksdb_transaction_put(transaction, TEXT(key), TEXT(text), &error);
  must("put in a transaction");
}

static inline void get_in(rocksdb_transaction_t* transaction, const char* key) {
  size_t length = 0;
  char* found = rocksdb_transaction_get(transaction, reads, TEXT(key), &length, &error);
  value(key, found, length);
}

static inline void get_for_update(const char* what, rocksdb_transaction_t* transaction,
                                  const char* key, unsigned char exclusive) {
  size_t length = 0;
  char* found = rocksdb_transaction_get_for_update(transaction, reads, TEXT(key), &length,
                                                   exclusive, &error);
  value(what, found, length);
}

static inline void walk_in(const char* what, rocksdb_transaction_t* transaction) {
  walk(what, rocksdb_transaction_create_iterator(transaction, reads));
}

static inline void commit(const char* what, rocksdb_transaction_t* transaction) {
  rocksdb_transaction_commit(transaction, &error);
  result(what);
}

static inline void roll_back(const char* what, rocksdb_transaction_t* transaction) {
  rocksdb_transaction_rollback(transaction, &error);
  result(what);
}

#endif
