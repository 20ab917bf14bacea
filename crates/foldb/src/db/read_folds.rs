//! Folds paid for by reads: a key whose reads fold long chains is compacted in the background.
//!
//! Flushes and compactions fold what lies together, so a chain grows long only where its operator
//! cannot fold operands among themselves and the base lies deeper. Bringing operands and base
//! together rewrites the tables around the key, which one read is not worth. So reads pay in advance:
//! each adds the operands it had to fold, and the rewrite is done when what was paid, in bytes
//! walked, has come to a fair share of the bytes it will move:
//!
//! ```text
//! a.MERGE x 100 over 4 MiB of tables     100 reads: 10 000 operands x 64 B = 640 KiB >= 4 MiB / 8
//! ```
//!
//! A database of a few kilobytes is folded after the first long read; write amplification stays
//! bounded by the reads it saves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::db::core::Core;
use crate::db::keyspace::KeyspaceState;
use crate::db::schedule::Claim;
use crate::db::tree::Tree;
use crate::key::KeyspaceId;

/// Operands from which a chain is long: as many as a memtable gathers before it folds them.
pub(crate) const LONG_CHAIN: usize = 64;

/// Bytes that an operand on the way of a read is worth.
const BYTES_PER_OPERAND: u64 = 64;

/// A rewrite must be paid to this part.
const SHARE: u64 = 8;

/// Keys whose payments are remembered.
const MOST_KEYS: usize = 64;

/// What reads have paid.
#[derive(Debug, Default)]
pub(crate) struct ReadFolds {
    /// Whether there are any accounts, so that nobody takes the lock to find none.
    any: AtomicBool,
    accounts: Mutex<Vec<Account>>,
}

#[derive(Debug)]
struct Account {
    keyspace: KeyspaceId,
    key: Arc<[u8]>,
    operands: u64,
}

impl ReadFolds {
    /// A read of the key folded so many operands.
    fn pay(&self, keyspace: KeyspaceId, key: &[u8], operands: usize) {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let own = accounts.iter_mut().find(|own| own.keyspace == keyspace && *own.key == *key);
        if let Some(own) = own {
            own.operands += operands as u64;
            return;
        }
        if accounts.len() == MOST_KEYS {
            // The poorest makes room.
            accounts.sort_by_key(|own| std::cmp::Reverse(own.operands));
            accounts.pop();
        }
        accounts.push(Account { keyspace, key: key.into(), operands: operands as u64 });
        self.any.store(true, Ordering::Release);
    }

    /// Closes the richest account that can pay what `price` asks for its key. One that has nothing
    /// to buy is closed, too.
    fn spend<T>(
        &self,
        mut price: impl FnMut(KeyspaceId, &Arc<[u8]>) -> Option<(u64, T)>,
    ) -> Option<T> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.sort_by_key(|own| std::cmp::Reverse(own.operands));
        let mut bought = None;
        accounts.retain(|own| {
            if bought.is_some() {
                return true;
            }
            match price(own.keyspace, &own.key) {
                None => false,
                Some((bytes, _)) if own.operands * BYTES_PER_OPERAND < bytes / SHARE => true,
                Some((_, thing)) => {
                    bought = Some(thing);
                    false
                }
            }
        });
        self.any.store(!accounts.is_empty(), Ordering::Release);
        bought
    }
}

impl Core {
    /// A read had to fold a long chain.
    #[cold]
    pub(crate) fn note_long_chain(&self, keyspace: &KeyspaceState, key: &[u8], operands: usize) {
        self.read_folds.pay(keyspace.id, key, operands);
        self.wake();
    }

    /// The job that brings together what reads have paid for, if any.
    pub(crate) fn pick_read_fold(&self, tree: &Tree) -> Option<Claim> {
        self.read_folds.spend(|keyspace, key| self.pick_key(tree, keyspace, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend(folds: &ReadFolds, bytes: u64) -> Option<Vec<u8>> {
        folds.spend(|_, key| Some((bytes, key.to_vec())))
    }

    #[test]
    fn a_fold_is_done_when_reads_have_paid_for_it() {
        let folds = ReadFolds::default();
        assert_eq!(spend(&folds, 0), None);
        for _ in 0..10 {
            assert_eq!(spend(&folds, 1000 * BYTES_PER_OPERAND * SHARE), None);
            folds.pay(0, b"a", 100);
        }
        folds.pay(0, b"b", 999);
        assert_eq!(spend(&folds, 1000 * BYTES_PER_OPERAND * SHARE), Some(b"a".to_vec()));
        assert_eq!(spend(&folds, 1000 * BYTES_PER_OPERAND * SHARE), None, "spent");
        assert_eq!(spend(&folds, 999 * BYTES_PER_OPERAND * SHARE), Some(b"b".to_vec()));
    }

    #[test]
    fn accounts_are_few_and_close_when_there_is_nothing_to_buy() {
        let folds = ReadFolds::default();
        for n in 0..1000u32 {
            folds.pay(0, &n.to_be_bytes(), n as usize);
        }
        assert_eq!(folds.accounts.lock().unwrap().len(), MOST_KEYS);
        assert_eq!(folds.spend(|_, _| None::<(u64, ())>), None);
        assert!(!folds.any.load(Ordering::Relaxed));
    }
}
