//! Folds paid for by reads: a key whose reads fold long chains is compacted in the background.
//!
//! Flushes and compactions fold what lies together, so a chain grows long only where its operator
//! cannot fold operands among themselves and the base lies deeper. Bringing operands and base
//! together rewrites the tables around the key, which one read is not worth. So reads pay in
//! advance: each adds the operands it had to fold, and the rewrite is done when what was paid, in
//! bytes walked, has come to a fair share of the bytes it will move:
//!
//! ```text
//! a.MERGE x 100 over 4 MiB of tables     100 reads: 10 000 operands x 64 B = 640 KiB >= 4 MiB / 8
//! ```
//!
//! A database of a few kilobytes is folded after the first long read; write amplification stays
//! bounded by the reads it saves.

use std::sync::atomic::Ordering;

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Claim;
use crate::db::state::tree::Tree;

/// Operands from which a chain in tables is long: more than the runs of a well-kept tree.
pub(crate) const LONG_CHAIN: usize = 64;

impl Core {
    /// A read had to fold a long chain. Where no worker compacts, nothing is paid for.
    #[cold]
    pub(crate) fn note_long_chain(&self, keyspace: &KeyspaceState, key: &[u8], operands: usize) {
        if self.settings.disable_auto_compactions || self.read_only {
            return;
        }
        if self.read_folds.pay(keyspace.id, key, operands, self.tree_age()) {
            self.wake();
        }
    }

    /// The job that brings together what reads have paid for, if any.
    pub(crate) fn pick_read_fold(&self, tree: &Tree) -> Option<Claim> {
        self.read_folds.spend(self.tree_age(), |keyspace, key| self.pick_key(tree, keyspace, key))
    }

    /// Changes whenever a tree does: every new table takes a number.
    fn tree_age(&self) -> u64 {
        self.next_file.load(Ordering::Relaxed)
    }
}
