//! Stamps of writes to keyspaces with expiry.
//!
//! A batch holds pending stamps, because only the commit knows the time. The commit replaces them
//! under the writer lock. So the moments of writes never fall from one write to the next, and a
//! flush or compaction knows that later writes come at its own moment or after it.

use std::time::SystemTime;

use smallvec::SmallVec;

use crate::fold::stamp::{
    Bucket, CommitTime, End, NEVER, Pending, Rule, STAMP_LEN, moment_after, resolve,
};
use crate::key::Kind;
use crate::settings::{Expires, Expiry, ExpiryRule, nanoseconds};

/// A stored value or operand. A short one needs no allocation.
pub(crate) type Stamped = SmallVec<[u8; 128]>;

/// Appends a pending stamp to the value or operand of a write.
pub(crate) fn with_pending_stamp(
    value: &[u8],
    kind: Kind,
    expiry: &Expiry,
    expires: Option<Expires>,
) -> Stamped {
    let (end, rule) = match expires {
        Some(expires) => (end_of(expires), Rule::Renew),
        None => match expiry.rule {
            ExpiryRule::Each => (End::At(NEVER), Rule::Keep),
            ExpiryRule::AfterLast(lifetime) => (End::After(nanoseconds(lifetime)), Rule::Renew),
            ExpiryRule::AfterFirst(lifetime) => (End::After(nanoseconds(lifetime)), Rule::Keep),
        },
    };
    let rule = if kind == Kind::Put { Rule::Renew } else { rule };
    let stamp = Pending { end, rule }.encode();
    let mut stored = Stamped::with_capacity(value.len() + STAMP_LEN);
    stored.extend_from_slice(value);
    stored.extend_from_slice(&stamp);
    stored
}

fn end_of(expires: Expires) -> End {
    match expires {
        Expires::After(lifetime) => End::After(nanoseconds(lifetime)),
        Expires::At(time) => {
            let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            End::At(moment_after(since_1970))
        }
        Expires::Never => End::At(NEVER),
    }
}

/// Replaces the pending stamp at the end of a stored value or operand.
pub(crate) fn resolve_last(stored: &mut [u8], now: CommitTime, bucket: Bucket) {
    debug_assert!(stored.len() >= STAMP_LEN, "a stamped value ends with its stamp");
    if let Some(stamp) = stored.last_chunk_mut::<STAMP_LEN>() {
        resolve(stamp, now, bucket);
    }
}
