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
//! value or operand | bucket u32 | lifetime or end u32 | 0x80 + rule u8, 0x90 + rule u8 for an end
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

/// Bytes of a stamp.
pub(crate) const STAMP_LEN: usize = 9;

/// Seconds since 2020-01-01T00:00:00Z, as stamps hold them.
pub(crate) type Moment = u32;

/// The expiry of what never expires.
pub(crate) const NEVER: Moment = Moment::MAX;

/// 2020-01-01T00:00:00Z, in seconds of Unix time.
const ORIGIN: u64 = 1_577_836_800;

const PENDING: u8 = 0x80;
const ENDS_AT: u8 = 0x10;

/// Returns the moment of a time since 1970, rounded down. It never returns [`NEVER`].
pub(crate) fn moment_of(since_1970: Duration) -> Moment {
    let seconds = since_1970.as_secs().saturating_sub(ORIGIN);
    Moment::try_from(seconds).unwrap_or(NEVER).min(NEVER - 1)
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
    /// Seconds to which the keyspace rounds times; at least 1.
    pub(crate) bucket: u32,
    pub(crate) end: End,
    pub(crate) rule: Rule,
}

/// The end of a write's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// This many seconds after the commit.
    After(u32),
    At(Moment),
}

impl Pending {
    pub(crate) fn encode(self) -> [u8; STAMP_LEN] {
        let (end, code) = match self.end {
            End::After(seconds) => (seconds, PENDING),
            End::At(moment) => (moment, PENDING | ENDS_AT),
        };
        let mut bytes = [0; STAMP_LEN];
        bytes[..4].copy_from_slice(&self.bucket.to_le_bytes());
        bytes[4..8].copy_from_slice(&end.to_le_bytes());
        bytes[8] = code | self.rule as u8;
        bytes
    }

    fn decode(bytes: [u8; STAMP_LEN]) -> Option<Pending> {
        let [b0, b1, b2, b3, e0, e1, e2, e3, code] = bytes;
        let end = u32::from_le_bytes([e0, e1, e2, e3]);
        let rule = if code & 1 == 0 { Rule::Keep } else { Rule::Renew };
        let end = match code & !1 {
            PENDING => End::After(end),
            code if code == PENDING | ENDS_AT => End::At(end),
            _ => return None,
        };
        Some(Pending { bucket: u32::from_le_bytes([b0, b1, b2, b3]).max(1), end, rule })
    }

    /// Returns the stamp of a write that commits now.
    pub(crate) fn at(self, now: Moment) -> Stamp {
        let Pending { bucket, end, rule } = self;
        let end = match end {
            End::After(seconds) => now.saturating_add(seconds),
            End::At(moment) => moment,
        };
        let rounded = end.checked_next_multiple_of(bucket).unwrap_or(NEVER);
        Stamp { written: now - now % bucket, expires: rounded, rule }
    }
}

/// Replaces a pending stamp with the stamp of a write that commits now. A stamp that is not pending
/// stays as it is.
pub(crate) fn resolve(stamp: &mut [u8], now: Moment) {
    let Some(bytes) = stamp.first_chunk_mut::<STAMP_LEN>() else { return };
    if let Some(pending) = Pending::decode(*bytes) {
        *bytes = pending.at(now).encode();
    }
}

/// Rounds a stamp as a keyspace with this bucket, in seconds, does.
pub(crate) fn round_to(stamp: &mut [u8; STAMP_LEN], bucket: u32) {
    if let Some((_, own)) = Stamp::split(&stamp[..]) {
        let pending = Pending { bucket, end: End::At(own.expires), rule: own.rule };
        *stamp = pending.at(own.written).encode();
    }
}
