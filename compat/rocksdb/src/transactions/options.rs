//! Options of transactions and of databases with transactions.

use std::ffi::c_uchar;

use crate::options::values::{made_and_freed, values};

/// RocksDB: `TransactionDBOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_transactiondb_options_t {
    pub(crate) values: TransactionDbValues,
}

/// RocksDB: `TransactionOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_transaction_options_t {
    pub(crate) values: TransactionValues,
}

/// RocksDB: `OptimisticTransactionOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_optimistictransaction_options_t {
    pub(crate) values: OptimisticValues,
}

made_and_freed! {
    rocksdb_transactiondb_options_t:
        rocksdb_transactiondb_options_create, rocksdb_transactiondb_options_destroy;
    rocksdb_transaction_options_t:
        rocksdb_transaction_options_create, rocksdb_transaction_options_destroy;
    rocksdb_optimistictransaction_options_t:
        rocksdb_optimistictransaction_options_create,
        rocksdb_optimistictransaction_options_destroy;
}

values! {
    /// Plain values of a [`rocksdb_transactiondb_options_t`].
    TransactionDbValues of rocksdb_transactiondb_options_t {
        max_num_locks: i64 = -1, rocksdb_transactiondb_options_set_max_num_locks(i64);
        num_stripes: usize = 16, rocksdb_transactiondb_options_set_num_stripes(usize);
        transaction_lock_timeout: i64 = 1000,
            rocksdb_transactiondb_options_set_transaction_lock_timeout(i64);
        default_lock_timeout: i64 = 1000,
            rocksdb_transactiondb_options_set_default_lock_timeout(i64);
    }
}
values! {
    /// Plain values of a [`rocksdb_transaction_options_t`].
    TransactionValues of rocksdb_transaction_options_t {
        set_snapshot: c_uchar = 0, rocksdb_transaction_options_set_set_snapshot(c_uchar);
        deadlock_detect: c_uchar = 0, rocksdb_transaction_options_set_deadlock_detect(c_uchar);
        lock_timeout: i64 = -1, rocksdb_transaction_options_set_lock_timeout(i64);
        expiration: i64 = -1, rocksdb_transaction_options_set_expiration(i64);
        deadlock_detect_depth: i64 = 50,
            rocksdb_transaction_options_set_deadlock_detect_depth(i64);
        max_write_batch_size: usize = 0,
            rocksdb_transaction_options_set_max_write_batch_size(usize);
        skip_prepare: c_uchar = 1, rocksdb_transaction_options_set_skip_prepare(c_uchar);
    }
}
values! {
    /// Plain values of a [`rocksdb_optimistictransaction_options_t`].
    OptimisticValues of rocksdb_optimistictransaction_options_t {
        set_snapshot: c_uchar = 0,
            rocksdb_optimistictransaction_options_set_set_snapshot(c_uchar);
    }
}
