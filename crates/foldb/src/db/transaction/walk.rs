//! The ranges that the iterators of a transaction read.
//!
//! While an iterator lives, it claims all of its range. When it is dropped, only what it walked
//! over stays claimed.

use std::sync::{Mutex, PoisonError, Weak};

use crate::db::handle::keyspace::Keyspace;
use crate::db::state::recent_writes::EdgeRange;
use crate::db::transaction::claims::Claims;

/// The claim of one live iterator.
pub(super) struct Walk {
    /// The claims, unless the transaction has ended.
    pub(super) claims: Weak<Mutex<Claims>>,
    pub(super) keyspace: Keyspace,
    pub(super) number: u64,
}

impl Walk {
    /// Claims a range that the iterator walked over.
    pub(super) fn walked(&self, range: EdgeRange) {
        if let Some(claims) = self.claims.upgrade() {
            let mut claims = claims.lock().unwrap_or_else(PoisonError::into_inner);
            claims.add_range(&self.keyspace, range);
        }
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The walk is not settled, so the claim on the whole range stays.
            return;
        }
        if let Some(claims) = self.claims.upgrade() {
            claims.lock().unwrap_or_else(PoisonError::into_inner).end_walk(self.number);
        }
    }
}

#[cfg(test)]
mod tests;
