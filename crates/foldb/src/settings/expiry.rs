//! When the entries of a keyspace expire.
//!
//! ```text
//! expiry, in the settings:   rule u8 (1 per write, 2 after the last write, 3 after the first) |
//!                            lifetime in seconds varint, 0 for rule 1 | bucket in seconds varint
//!
//! A lifetime with a fraction of a second has rule 4 for 2, 5 for 3, and its nanoseconds.
//! ```

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, ErrorKind, Result};

/// When the entries of a keyspace expire. An expired entry is absent for every reader, as if it had
/// been deleted at that moment, and compactions reclaim its space.
///
/// An entry lives at least for its lifetime, and at most one bucket longer
/// ([`Expiry::with_bucket`]). Lifetimes count in nanoseconds, and ends fall on whole seconds. A
/// lifetime that ends after the year 2155 never ends.
///
/// # Merges
/// Whether a merge applies to an older value depends on the moment of the merge alone: it does if
/// the value had not expired by then. It does not matter when the records are folded:
///
/// ```text
/// lifetime 10, renewed by each write:
///   a.PUT@0  a.MERGE@9   a.MERGE@12     one value of all three, which expires at 22
///   a.PUT@0  a.MERGE@11  a.MERGE@12     the two merges onto nothing
/// ```
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use std::time::Duration;
/// use foldb::expiry::{Expires, Expiry};
/// use foldb::{KeyspaceOptions, WriteOptions};
///
/// let db = foldb::Db::create(dir.path().join("db"))?;
/// let options = KeyspaceOptions {
///     expiry: Some(Expiry::after_last_write(Duration::from_secs(3600))),
///     ..KeyspaceOptions::default()
/// };
/// let sessions = db.create_keyspace("sessions", options)?;
/// sessions.put("ann", "an hour from now on")?;
/// let day = Expires::After(Duration::from_secs(86_400));
/// let options = WriteOptions { expires: Some(day), ..WriteOptions::default() };
/// sessions.with(&options).put("bob", "a day")?;
/// assert!(sessions.expires_at("ann")? < sessions.expires_at("bob")?);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    pub(crate) rule: ExpiryRule,
    bucket: Duration,
}

/// Which writes set the end of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpiryRule {
    Each,
    AfterLast(Duration),
    AfterFirst(Duration),
}

/// When one write expires, in a keyspace with [`Expiry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expires {
    /// This long after its commit, rounded up to the bucket of the keyspace. A lifetime that ends
    /// after the year 2155 never ends.
    After(Duration),
    /// At this moment, rounded up to the bucket. A moment in the past: at once. One after the year
    /// 2155: never.
    At(SystemTime),
    /// Not by itself.
    Never,
}

impl Expiry {
    /// An entry expires only if a write says so ([`Expires`]). A put that does not say so makes an
    /// entry that never expires. A merge that does not say so keeps the end of the entry.
    pub fn per_write() -> Expiry {
        Expiry { rule: ExpiryRule::Each, bucket: Duration::from_secs(1) }
    }

    /// An entry expires this long after its last put or merge.
    pub fn after_last_write(lifetime: Duration) -> Expiry {
        Expiry { rule: ExpiryRule::AfterLast(lifetime), bucket: Duration::from_secs(1) }
    }

    /// An entry expires this long after the put, or the merge onto nothing, that began it. Merges
    /// onto it do not renew it. The bucket is a 64th of the lifetime, rounded up to whole seconds.
    pub fn after_first_write(lifetime: Duration) -> Expiry {
        let bucket = lifetime.as_nanos().div_ceil(64 * 1_000_000_000);
        let bucket = u32::try_from(bucket.max(1)).unwrap_or(u32::MAX);
        Expiry {
            rule: ExpiryRule::AfterFirst(lifetime),
            bucket: Duration::from_secs(bucket.into()),
        }
    }

    /// Rounds all ends up to a multiple of this many whole seconds, from 1 to 2^32 - 1. Merges that
    /// keep the end of their entry fold before their base is known only if one bucket holds them
    /// all. So larger buckets make shorter chains.
    pub fn with_bucket(self, bucket: Duration) -> Expiry {
        Expiry { bucket, ..self }
    }

    /// Returns the same rule and bucket with another lifetime.
    ///
    /// # Errors
    /// `InvalidArgument` for a lifetime of zero, or if each write says when it expires.
    pub(crate) fn with_lifetime(self, lifetime: Duration) -> Result<Expiry> {
        let rule = match self.rule {
            ExpiryRule::AfterLast(_) => ExpiryRule::AfterLast(lifetime),
            ExpiryRule::AfterFirst(_) => ExpiryRule::AfterFirst(lifetime),
            ExpiryRule::Each => {
                return Err(Error::invalid_argument(
                    "entries of this keyspace have no lifetime: each write says when it expires",
                ));
            }
        };
        let changed = Expiry { rule, ..self };
        changed.check().map(|()| changed)
    }

    /// Returns the bucket in seconds.
    pub(crate) fn bucket_seconds(&self) -> u32 {
        u32::try_from(self.bucket.as_secs()).unwrap_or(u32::MAX)
    }

    /// # Errors
    /// `InvalidArgument` for a lifetime of zero, or a bucket that is not whole seconds from 1 to
    /// 2^32 - 1.
    pub(crate) fn check(&self) -> Result<()> {
        if let ExpiryRule::AfterLast(lifetime) | ExpiryRule::AfterFirst(lifetime) = self.rule
            && lifetime.is_zero()
        {
            return Err(Error::invalid_argument(
                "the lifetime of an expiry is zero: give one that is longer, or let each write                  say when it expires (per-write)",
            ));
        }
        let bucket = self.bucket;
        let is_whole = bucket.subsec_nanos() == 0 && u32::try_from(bucket.as_secs()).is_ok();
        if bucket.is_zero() || !is_whole {
            return Err(Error::invalid_argument(format!(
                "the bucket of an expiry is {bucket:?}, but must be whole seconds from 1 to {}",
                u32::MAX
            )));
        }
        Ok(())
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let (rule, lifetime) = match self.rule {
            ExpiryRule::Each => (1, Duration::ZERO),
            ExpiryRule::AfterLast(lifetime) => (2, lifetime),
            ExpiryRule::AfterFirst(lifetime) => (3, lifetime),
        };
        // Without its fraction, a lifetime whose nanoseconds do not fit is centuries longer than
        // any clock.
        let nanos = u64::try_from(lifetime.as_nanos()).ok();
        match nanos.filter(|_| lifetime.subsec_nanos() > 0) {
            Some(nanos) => {
                out.push(rule + IN_NANOSECONDS);
                put_varint(out, nanos);
            }
            None => {
                out.push(rule);
                put_varint(out, lifetime.as_secs());
            }
        }
        put_varint(out, self.bucket.as_secs());
    }

    pub(crate) fn decode(body: &mut ByteReader<'_>) -> Result<Expiry> {
        let rule = body.u8("rule of the expiry")?;
        let lifetime = body.varint("lifetime")?;
        let (seconds, nanos) = (Duration::from_secs(lifetime), Duration::from_nanos(lifetime));
        let bucket = Duration::from_secs(body.varint("bucket of the expiry")?.max(1));
        let rule = match rule {
            1 => ExpiryRule::Each,
            2 => ExpiryRule::AfterLast(seconds),
            3 => ExpiryRule::AfterFirst(seconds),
            4 => ExpiryRule::AfterLast(nanos),
            5 => ExpiryRule::AfterFirst(nanos),
            _ => {
                let message = format!("unknown rule of expiry {rule}: use the foldb that wrote it");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        Ok(Expiry { rule, bucket })
    }
}

/// Added to the rule of an expiry that is stored with its lifetime in nanoseconds.
const IN_NANOSECONDS: u8 = 2;

/// Writes what [`Expiry`] parses from text: `per-write`, `after-last-write:3600` or
/// `after-first-write:0.25`, with `/BUCKET` where the bucket is not the usual one. Times are
/// seconds.
///
/// # Example
/// ```
/// use std::time::Duration;
/// use foldb::expiry::Expiry;
///
/// let hour = Expiry::after_last_write(Duration::from_secs(3600));
/// assert_eq!(hour.to_string(), "after-last-write:3600");
/// let coarse = "per-write/60".parse::<Expiry>()?;
/// assert_eq!(coarse, Expiry::per_write().with_bucket(Duration::from_secs(60)));
/// # Ok::<(), foldb::Error>(())
/// ```
impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = match self.rule {
            ExpiryRule::Each => {
                f.write_str("per-write")?;
                Expiry::per_write()
            }
            ExpiryRule::AfterLast(lifetime) => {
                write!(f, "after-last-write:{}", InSeconds(lifetime))?;
                Expiry::after_last_write(lifetime)
            }
            ExpiryRule::AfterFirst(lifetime) => {
                write!(f, "after-first-write:{}", InSeconds(lifetime))?;
                Expiry::after_first_write(lifetime)
            }
        };
        match self.bucket {
            bucket if bucket == usual.bucket => Ok(()),
            bucket => write!(f, "/{}", InSeconds(bucket)),
        }
    }
}

/// Writes a time in seconds, with its fraction if it has one.
struct InSeconds(Duration);

impl fmt::Display for InSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs())?;
        match self.0.subsec_nanos() {
            0 => Ok(()),
            nanos => f.write_str(format!(".{nanos:09}").trim_end_matches('0')),
        }
    }
}

/// Reads what [`InSeconds`] writes.
fn in_seconds(text: &str) -> Option<Duration> {
    let Some((whole, fraction)) = text.split_once('.') else {
        return text.parse().ok().map(Duration::from_secs);
    };
    let is_fraction = fraction.bytes().all(|digit| digit.is_ascii_digit());
    if !is_fraction || !(1..=9).contains(&fraction.len()) {
        return None;
    }
    let nanos: u32 = format!("{fraction:0<9}").parse().ok()?;
    Some(Duration::new(whole.parse().ok()?, nanos))
}

impl FromStr for Expiry {
    type Err = Error;

    fn from_str(text: &str) -> Result<Expiry> {
        let malformed = || {
            Error::invalid_argument(format!(
                "the expiry '{text}' is not one of per-write, after-last-write:SECONDS and \
                 after-first-write:SECONDS, perhaps with /BUCKET"
            ))
        };
        let time = |number: &str| in_seconds(number).ok_or_else(malformed);
        let (rule, bucket) = match text.split_once('/') {
            Some((rule, bucket)) => (rule, Some(time(bucket)?)),
            None => (text, None),
        };
        let expiry = match rule.split_once(':') {
            None if rule == "per-write" => Expiry::per_write(),
            Some(("after-last-write", lifetime)) => Expiry::after_last_write(time(lifetime)?),
            Some(("after-first-write", lifetime)) => Expiry::after_first_write(time(lifetime)?),
            _ => return Err(malformed()),
        };
        let expiry = bucket.map_or(expiry, |bucket| expiry.with_bucket(bucket));
        expiry.check()?;
        Ok(expiry)
    }
}

/// Returns nanoseconds. More than fit are five centuries, later than the end of any stamp.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
