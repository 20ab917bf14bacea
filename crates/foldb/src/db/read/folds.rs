//! Read-triggered folds: the background compacts a key whose reads fold long chains.
//!
//! Flushes and compactions fold the records that lie together. So a chain grows long only if its
//! operator cannot fold operands among themselves and the base lies deeper. Moving operands and
//! base together rewrites the tables around the key, which costs more than one read. So each read
//! pays credit for the operands that it folded, counted as bytes walked. The rewrite runs once the
//! credit reaches an eighth of the bytes that it moves:
//!
//! ```text
//! a.MERGE x 100 over 4 MiB of tables     100 reads: 10 000 operands x 64 B = 640 KiB >= 4 MiB / 8
//! ```
//!
//! A database of a few kilobytes is folded after the first long read. Write amplification stays
//! bounded by the reads it saves.

use std::sync::atomic::Ordering;

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Claim;
use crate::db::state::tree::Tree;

/// Operands from which a chain in tables is long: more than a tree in shape has runs.
pub(crate) const LONG_CHAIN: usize = 64;

impl Core {
    /// Notes that a read folded a long chain. Without automatic compaction no credit is kept.
    #[cold]
    pub(crate) fn note_long_chain(&self, keyspace: &KeyspaceState, key: &[u8], operands: usize) {
        if self.settings.disable_auto_compactions || self.read_only {
            return;
        }
        if self.read_folds.pay(keyspace.id, key, operands, self.tree_age()) {
            self.wake();
        }
    }

    /// Returns the compaction that reads have paid for, if any.
    pub(crate) fn pick_read_fold(&self, tree: &Tree) -> Option<Claim> {
        self.read_folds.spend(self.tree_age(), |keyspace, key| self.pick_key(tree, keyspace, key))
    }

    /// Returns a number that changes with every change of a tree: each new table takes a file
    /// number.
    fn tree_age(&self) -> u64 {
        self.next_file.load(Ordering::Relaxed)
    }
}
