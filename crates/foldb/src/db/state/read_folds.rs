//! The credit of reads that folded the chains of single keys.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::key::KeyspaceId;

/// Bytes that one folded operand adds to the credit.
const BYTES_PER_OPERAND: u64 = 64;

/// A rewrite runs once the credit reaches this part of its bytes.
const SHARE: u64 = 8;

/// Keys whose credit is kept.
const MOST_KEYS: usize = 64;

/// The credit of reads, by key.
#[derive(Debug, Default)]
pub(crate) struct ReadFolds {
    /// Whether there are any accounts, so that no thread takes the lock in vain.
    any: AtomicBool,
    accounts: Mutex<Vec<Account>>,
}

#[derive(Clone, Debug)]
struct Account {
    keyspace: KeyspaceId,
    key: Arc<[u8]>,
    operands: u64,
    /// The bytes of the rewrite at the last query, which are its price.
    price: u64,
    /// The state of the tree when there was nothing to rewrite. Until it changes, there is nothing.
    nothing_at: Option<u64>,
}

impl Account {
    fn can_pay(&self) -> bool {
        self.operands * BYTES_PER_OPERAND >= self.price / SHARE
    }
}

impl ReadFolds {
    fn lock(&self) -> MutexGuard<'_, Vec<Account>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a read of the key folded this many operands, with the tree at `tree`. Returns
    /// whether to ask for the price.
    pub(crate) fn pay(&self, keyspace: KeyspaceId, key: &[u8], operands: usize, tree: u64) -> bool {
        let mut accounts = self.lock();
        let own = accounts.iter_mut().find(|own| own.keyspace == keyspace && *own.key == *key);
        if let Some(own) = own {
            own.operands += operands as u64;
            return own.nothing_at != Some(tree) && own.can_pay();
        }
        if accounts.len() == MOST_KEYS {
            // The account with the least credit makes room.
            accounts.sort_by_key(|own| std::cmp::Reverse(own.operands));
            accounts.pop();
        }
        let (operands, price, nothing_at) = (operands as u64, 0, None);
        accounts.push(Account { keyspace, key: key.into(), operands, price, nothing_at });
        self.any.store(true, Ordering::Release);
        true
    }

    /// Closes the account with the most credit that can pay the `price` of its key, with the tree
    /// at `tree`. The accounts are not locked meanwhile, because reads pay into them.
    pub(crate) fn spend<T>(
        &self,
        tree: u64,
        mut price: impl FnMut(KeyspaceId, &Arc<[u8]>) -> Option<(u64, T)>,
    ) -> Option<T> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut asking = self.lock().clone();
        asking.retain(|own| own.nothing_at != Some(tree) && own.can_pay());
        asking.sort_by_key(|own| std::cmp::Reverse(own.operands));
        for mut own in asking {
            match price(own.keyspace, &own.key) {
                None => {
                    own.operands = 0;
                    own.nothing_at = Some(tree);
                    self.note(own);
                }
                Some((bytes, thing)) => {
                    own.price = bytes;
                    if own.can_pay() {
                        self.close(&own);
                        return Some(thing);
                    }
                    self.note(own);
                }
            }
        }
        None
    }

    /// Notes facts about an account, if it still exists.
    fn note(&self, known: Account) {
        let mut accounts = self.lock();
        let is_same = |own: &&mut Account| own.keyspace == known.keyspace && own.key == known.key;
        if let Some(own) = accounts.iter_mut().find(is_same) {
            *own = known;
        }
    }

    fn close(&self, closed: &Account) {
        let mut accounts = self.lock();
        accounts.retain(|own| own.keyspace != closed.keyspace || own.key != closed.key);
        self.any.store(!accounts.is_empty(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::read::folds::LONG_CHAIN;

    fn spend(folds: &ReadFolds, bytes: u64) -> Option<Vec<u8>> {
        folds.spend(1, |_, key| Some((bytes, key.to_vec())))
    }

    #[test]
    fn a_fold_is_done_when_reads_have_paid_for_it() {
        let folds = ReadFolds::default();
        assert_eq!(spend(&folds, 0), None);
        for n in 0..10 {
            assert_eq!(spend(&folds, 1000 * BYTES_PER_OPERAND * SHARE), None);
            let asks = folds.pay(0, b"a", 100, 1);
            assert_eq!(asks, n == 0 || n == 9, "new, or able to pay");
        }
        folds.pay(0, b"b", 999, 1);
        assert_eq!(spend(&folds, 1000 * BYTES_PER_OPERAND * SHARE), Some(b"a".to_vec()));
        assert_eq!(spend(&folds, 1000 * BYTES_PER_OPERAND * SHARE), None, "spent");
        folds.pay(0, b"b", 1, 1);
        assert_eq!(spend(&folds, 1000 * BYTES_PER_OPERAND * SHARE), Some(b"b".to_vec()));
    }

    /// A key that cannot be folded is looked at again only after the tree changed, not at each
    /// read.
    #[test]
    fn nothing_to_buy_is_remembered_until_the_tree_changes() {
        let folds = ReadFolds::default();
        assert!(folds.pay(0, b"wall", 100, 7));
        assert_eq!(folds.spend(7, |_, _| None::<(u64, ())>), None);
        assert!(!folds.pay(0, b"wall", 100, 7));
        assert_eq!(folds.spend(7, |_, _| -> Option<(u64, ())> { panic!("asked again") }), None);
        assert!(folds.pay(0, b"wall", 100, 8));
    }

    /// Without automatic compaction each long read once took two locks of the database, and woke
    /// workers without work.
    #[test]
    fn without_automatic_compaction_reads_pay_for_nothing() {
        for disable_auto_compactions in [false, true] {
            let options = crate::Options {
                create_if_missing: true,
                merge_operator: Some("float64add".to_owned()),
                disable_auto_compactions,
                env: foldb_env::Env::in_memory(foldb_env::MemFs::new()),
                ..crate::Options::default()
            };
            let db = crate::Db::open("db", options).unwrap();
            db.put("key", 0f64.to_le_bytes()).unwrap();
            db.flush().unwrap();
            (0..2 * LONG_CHAIN).for_each(|_| db.merge("key", 1f64.to_le_bytes()).unwrap());
            db.flush().unwrap();
            assert!(db.get("key").unwrap().is_some());
            let paid = db.core().read_folds.any.load(Ordering::Relaxed);
            assert_eq!(paid, !disable_auto_compactions);
        }
    }

    #[test]
    fn accounts_are_few() {
        let folds = ReadFolds::default();
        for n in 0..1000u32 {
            folds.pay(0, &n.to_be_bytes(), n as usize, 1);
        }
        assert_eq!(folds.lock().len(), MOST_KEYS);
    }
}
