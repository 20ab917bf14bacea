//! The times that a keyspace with expiry stores behind each value and operand.
//!
//! ```text
//! value or operand | written u32 | expires u32 | rule u8      little-endian, seconds since 2020
//!   written: the moment of the write, rounded down to the keyspace's bucket. A folded operand
//!            has the moment of its oldest part
//!   expires: the moment from which the value is gone, rounded up to a bucket; 2^32 - 1: never
//!   rule:    0 keep     an operand leaves the expiry of the value below it. `expires` holds
//!                       where there is none
//!            1 renew    an operand sets the expiry. A put always does
//! ```
//!
//! Until its commit, a write has a *pending* stamp, because only the commit knows the time:
//!
//! ```text
//! value or operand | lifetime in nanoseconds u64 | 0x80 + rule u8
//! value or operand | end, as in `expires`, u64   | 0x90 + rule u8
//! ```
//!
//! Invariant: an entry lives at least its lifetime, and at most one bucket longer. So the moment of
//! the commit counts in nanoseconds, and only the end is rounded:
//!
//! ```text
//! commit at 12.9 s, lifetime 1.2 s, bucket 1 s: 14.1 s, so the end is 15
//! ```
//!
//! An operand that comes when the value below it has expired begins anew. Whether it does depends
//! on the two stamps alone, never on the moment of the fold. With a lifetime of 10 that each write
//! renews:
//!
//! ```text
//! a.MERGE@12 a.MERGE@9 a.PUT@0       all three: 9 is before 10, and 12 before 19
//! a.MERGE@12 a.MERGE@11 a.PUT@0      the merges only: the put expired at 10
//! ```

use std::time::{Duration, SystemTime};

use crate::faults::{Fault, planted};
use crate::settings::Expiry;

/// Bytes of a stamp.
pub(crate) const STAMP_LEN: usize = 9;

/// Seconds since 2020-01-01T00:00:00Z, as stamps hold them.
pub(crate) type Moment = u32;

/// The expiry of what never expires.
pub(crate) const NEVER: Moment = Moment::MAX;

/// 2020-01-01T00:00:00Z, in seconds of Unix time.
const ORIGIN: u64 = 1_577_836_800;

const NANOS: u64 = 1_000_000_000;

const PENDING: u8 = 0x80;
const ENDS_AT: u8 = 0x10;

/// Returns the moment of a time since 1970, rounded down. It never returns [`NEVER`].
pub(crate) fn moment_of(since_1970: Duration) -> Moment {
    let seconds = since_1970.as_secs().saturating_sub(ORIGIN);
    Moment::try_from(seconds).unwrap_or(NEVER).min(NEVER - 1)
}

/// Returns the first moment at or after a time since 1970; [`NEVER`] if no moment is so late.
pub(crate) fn moment_after(since_1970: Duration) -> Moment {
    let whole = since_1970.as_secs();
    let seconds = if since_1970.subsec_nanos() > 0 { whole.saturating_add(1) } else { whole };
    Moment::try_from(seconds.saturating_sub(ORIGIN)).unwrap_or(NEVER)
}

/// Returns the time of a moment; `None` for [`NEVER`].
pub(crate) fn time_of(moment: Moment) -> Option<SystemTime> {
    let since_1970 = Duration::from_secs(ORIGIN + u64::from(moment));
    (moment != NEVER).then(|| SystemTime::UNIX_EPOCH + since_1970)
}

/// What an operand does to the expiry of the value below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Keep = 0,
    Renew = 1,
}

/// When a value or operand was written, and when it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) written: Moment,
    pub(crate) expires: Moment,
    pub(crate) rule: Rule,
}

impl Stamp {
    pub(crate) fn encode(self) -> [u8; STAMP_LEN] {
        let mut bytes = [0; STAMP_LEN];
        bytes[..4].copy_from_slice(&self.written.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.expires.to_le_bytes());
        bytes[8] = self.rule as u8;
        bytes
    }

    /// Splits what is stored into the value or operand and its stamp; `None` for other bytes.
    #[inline]
    pub(crate) fn split(stored: &[u8]) -> Option<(&[u8], Stamp)> {
        let (payload, stamp) = stored.split_last_chunk::<STAMP_LEN>()?;
        let [w0, w1, w2, w3, e0, e1, e2, e3, rule] = *stamp;
        let rule = match rule {
            0 => Rule::Keep,
            1 => Rule::Renew,
            _ => return None,
        };
        let written = Moment::from_le_bytes([w0, w1, w2, w3]);
        Some((payload, Stamp { written, expires: Moment::from_le_bytes([e0, e1, e2, e3]), rule }))
    }

    /// Returns whether the value has expired at a moment.
    #[inline]
    pub(crate) fn has_expired(self, now: Moment) -> bool {
        self.expires <= now
    }
}

/// How long a write lives. The commit turns it into a [`Stamp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) end: End,
    pub(crate) rule: Rule,
}

/// The end of a write's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// This many nanoseconds after the commit.
    After(u64),
    At(Moment),
}

/// The time at which a write commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommitTime {
    pub(crate) moment: Moment,
    /// Nanoseconds since 2020, not before the moment.
    nanos: u64,
}

impl CommitTime {
    /// Returns the beginning of a moment.
    pub(crate) fn at(moment: Moment) -> CommitTime {
        CommitTime { moment, nanos: u64::from(moment) * NANOS }
    }

    /// Returns a time of day within a moment. The moment may be later than the time of day, which
    /// may fall. Then it is the beginning of the moment.
    pub(crate) fn within(moment: Moment, since_1970: Duration) -> CommitTime {
        let since_2020 = since_1970.saturating_sub(Duration::from_secs(ORIGIN));
        let nanos = u64::try_from(since_2020.as_nanos()).unwrap_or(u64::MAX);
        CommitTime { moment, nanos: nanos.max(CommitTime::at(moment).nanos) }
    }
}

impl Pending {
    pub(crate) fn encode(self) -> [u8; STAMP_LEN] {
        let (end, code) = match self.end {
            End::After(nanos) => (nanos, PENDING),
            End::At(moment) => (u64::from(moment), PENDING | ENDS_AT),
        };
        let mut bytes = [0; STAMP_LEN];
        bytes[..8].copy_from_slice(&end.to_le_bytes());
        bytes[8] = code | self.rule as u8;
        bytes
    }

    fn decode(bytes: [u8; STAMP_LEN]) -> Option<Pending> {
        let [e0, e1, e2, e3, e4, e5, e6, e7, code] = bytes;
        let end = u64::from_le_bytes([e0, e1, e2, e3, e4, e5, e6, e7]);
        let rule = if code & 1 == 0 { Rule::Keep } else { Rule::Renew };
        let end = match code & !1 {
            PENDING => End::After(end),
            code if code == PENDING | ENDS_AT => End::At(Moment::try_from(end).unwrap_or(NEVER)),
            _ => return None,
        };
        Some(Pending { end, rule })
    }

    /// Returns the stamp of a write that commits now, to a keyspace with this bucket.
    pub(crate) fn at(self, now: CommitTime, bucket: Bucket) -> Stamp {
        let expires = match self.end {
            End::After(nanos) => {
                let end = now.nanos.saturating_add(nanos);
                let seconds = match planted(Fault::EndsEarly) {
                    true => end / NANOS,
                    false => end.div_ceil(NANOS),
                };
                let expires = Moment::try_from(seconds).unwrap_or(NEVER);
                debug_assert!(
                    expires == NEVER
                        || u64::from(expires) * NANOS >= end
                        || planted(Fault::EndsEarly),
                    "a value lives as long as it was asked to"
                );
                expires
            }
            End::At(moment) => moment,
        };
        bucket.round(Stamp { written: now.moment, expires, rule: self.rule })
    }
}

/// The seconds to which a keyspace rounds times; at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket(u32);

impl Bucket {
    pub(crate) fn of(expiry: &Expiry) -> Bucket {
        Bucket(expiry.bucket_seconds().max(1))
    }

    /// Rounds a stamp: the moment of the write down, its end up.
    pub(crate) fn round(self, stamp: Stamp) -> Stamp {
        let Stamp { written, expires, rule } = stamp;
        let expires = expires.checked_next_multiple_of(self.0).unwrap_or(NEVER);
        debug_assert!(expires >= stamp.expires, "rounding ends nothing early");
        Stamp { written: written - written % self.0, expires, rule }
    }
}

/// Replaces a pending stamp with the stamp of a write that commits now. A stamp that is not pending
/// stays as it is.
pub(crate) fn resolve(stamp: &mut [u8; STAMP_LEN], now: CommitTime, bucket: Bucket) {
    if let Some(pending) = Pending::decode(*stamp) {
        *stamp = pending.at(now, bucket).encode();
    }
}

/// Rounds a stamp as a keyspace with this bucket does.
pub(crate) fn round_to(stamp: &mut [u8; STAMP_LEN], bucket: Bucket) {
    if let Some((_, own)) = Stamp::split(&stamp[..]) {
        *stamp = bucket.round(own).encode();
    }
}
