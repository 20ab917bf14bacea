//! The one home of a rule: every read of a serializable transaction leaves a claim.
//!
//! A read of a key claims the key, unless the own writes alone answer it. An iterator claims all of
//! its range while it lives. When it is dropped, only what it walked over stays claimed: a
//! [`Watched`] cursor tells. A second cursor of an iterator walks unobserved, so it claims all of
//! the range for good.

use std::sync::{Arc, Weak};

use crate::db::handle::keyspace::Keyspace;
use crate::db::state::recent_writes::EdgeRange;
use crate::db::transaction::claims::{Claims, Forbids};
use crate::db::transaction::reading::OverSnapshot;
use crate::encoding::key_hash;
use crate::iterator::{Bounds, Watched};
use crate::locks::Lock;
use crate::locks::rank::CLAIMS;
use crate::range_tombstone::Edge;

fn range_of(bounds: &Bounds) -> EdgeRange {
    let (lower, upper) = bounds.as_refs();
    EdgeRange { start: Edge::at_start(lower), end: Edge::at_end(upper) }
}

impl OverSnapshot<'_> {
    /// Claims a key that a read comes to.
    pub(super) fn claim_key(&self, key: &[u8]) {
        if let Some(claims) = self.claims {
            claims.lock().add_key(self.keyspace, key, key_hash(key), Forbids::Any);
        }
    }

    /// Lets a cursor claim what it reads.
    pub(super) fn claim_walks(&self, cursor: &mut Watched, bounds: &Bounds) {
        let Some(claims) = self.claims else { return };
        let number = claims.lock().begin_walk(self.keyspace, range_of(bounds));
        let walk = Walk { claimed: self.claimed(claims), number };
        cursor.watch(Box::new(move |start, end| walk.claimed.add(EdgeRange { start, end })));
    }

    /// Returns the claim of a second cursor over a range.
    pub(super) fn second_claim(&self, bounds: &Bounds) -> Option<SecondClaim> {
        let claimed = self.claims.map(|claims| self.claimed(claims))?;
        Some(SecondClaim { claimed, range: range_of(bounds) })
    }

    fn claimed(&self, claims: &Arc<Lock<Claims, CLAIMS>>) -> Claimed {
        Claimed { claims: Arc::downgrade(claims), keyspace: self.keyspace.clone() }
    }
}

/// Where the iterators of a keyspace leave their claims.
struct Claimed {
    /// The claims, unless the transaction has ended.
    claims: Weak<Lock<Claims, CLAIMS>>,
    keyspace: Keyspace,
}

impl Claimed {
    fn add(&self, range: EdgeRange) {
        if let Some(claims) = self.claims.upgrade() {
            claims.lock().add_range(&self.keyspace, range);
        }
    }
}

/// The claim of one live iterator.
struct Walk {
    claimed: Claimed,
    number: u64,
}

impl Drop for Walk {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The walk is not settled, so the claim on the whole range stays.
            return;
        }
        if let Some(claims) = self.claimed.claims.upgrade() {
            claims.lock().end_walk(self.number);
        }
    }
}

/// The claim of a second cursor of an iterator.
pub(super) struct SecondClaim {
    claimed: Claimed,
    range: EdgeRange,
}

impl SecondClaim {
    pub(super) fn add(&self) {
        self.claimed.add(self.range.clone());
    }
}

#[cfg(test)]
mod tests;
