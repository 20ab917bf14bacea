//! Transactions: reads and writes of several keys that happen at one moment, or not at all.
//!
//! A transaction is optimistic. It reads a snapshot, and keeps its writes in a batch. The commit
//! takes the writer lock, checks its *claims* and writes the batch. A claim is a key or a range
//! that no other write may have changed since the snapshot:
//!
//! ```text
//!   serializable   what the transaction read: keys, ranges, absent keys
//!   snapshot       what the transaction writes; a merge claims only that the base is unchanged
//! ```
//!
//! A merge reads nothing. So transactions that only merge have no claims, and never conflict.
//!
//! ```text
//!   handle       Transaction, TransactionKeyspace, Savepoint
//!   transact     the loop that runs a transaction again after a conflict
//!   reader       the reads of the handle, as the trait `Reader`
//!   reading      reads through the transaction's own writes, over its snapshot
//!   own_writes   indexes the own writes: in memtables that only this transaction reads
//!   conditional_calls  compare-and-swap and its kin, of all handles
//!   steps        their bodies, over one way to read and write in one step
//!   conditional  a step without a transaction object
//!   take_first   the front of a queue
//!   inside       a step in a transaction; reads that claim more or less
//!   claims       keys and ranges, in bounded memory
//!   walk         the ranges that iterators read
//!   changed      whether a key was written after a snapshot
//!   check        whether the claims hold: by notes under the lock, by records without it
//! ```

mod changed;
mod check;
mod claiming;
mod claims;
mod conditional;
mod conditional_calls;
mod handle;
mod inside;
mod own_writes;
mod reader;
mod reading;
mod steps;
mod take_first;
mod transact;

pub use handle::{Savepoint, Transaction, TransactionKeyspace};
pub use steps::CompareAndSwap;
pub use transact::{Isolation, TransactionOptions};
