//! When the entries of a keyspace expire.
//!
//! ```text
//! expiry, in the settings:   rule u8 (1 per write, 2 after the last write, 3 after the first) |
//!                            lifetime in seconds varint, 0 for rule 1 | bucket in seconds varint
//! ```

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, ErrorKind, Result};

/// When the entries of a keyspace expire. An expired entry is absent for every reader, as if it had
/// been deleted at that moment, and compactions reclaim its space.
///
/// Times have whole seconds. An entry lives for its lifetime, and up to one bucket longer
/// ([`Expiry::with_bucket`]).
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
/// use foldb::{Expires, Expiry, KeyspaceOptions, WriteOptions};
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
/// sessions.put_opt("bob", "a day", &options)?;
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
    /// This long after its commit, rounded up to a second.
    After(Duration),
    /// At this moment, rounded up to a second. A moment in the past: at once.
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
    /// onto it do not renew it. The bucket is a 64th of the lifetime, and at least one second.
    pub fn after_first_write(lifetime: Duration) -> Expiry {
        let bucket = (lifetime / 64).max(Duration::from_secs(1));
        Expiry { rule: ExpiryRule::AfterFirst(lifetime), bucket }
    }

    /// Rounds all ends up to a multiple of this many whole seconds. Merges that keep the end of
    /// their entry fold before their base is known only if one bucket holds them all. So larger
    /// buckets make shorter chains.
    pub fn with_bucket(self, bucket: Duration) -> Expiry {
        Expiry { bucket, ..self }
    }

    /// Returns the bucket in seconds.
    pub(crate) fn bucket_seconds(&self) -> u32 {
        seconds(self.bucket)
    }

    /// # Errors
    /// `InvalidArgument` for a lifetime or bucket below one second.
    pub(crate) fn check(&self) -> Result<()> {
        let lifetime = match self.rule {
            ExpiryRule::Each => None,
            ExpiryRule::AfterLast(lifetime) | ExpiryRule::AfterFirst(lifetime) => {
                Some(("lifetime", lifetime))
            }
        };
        for (what, time) in lifetime.into_iter().chain([("bucket", self.bucket)]) {
            if time < Duration::from_secs(1) {
                return Err(Error::invalid_argument(format!(
                    "the {what} of an expiry is {time:?}, but must be at least one second"
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let (rule, lifetime) = match self.rule {
            ExpiryRule::Each => (1, Duration::ZERO),
            ExpiryRule::AfterLast(lifetime) => (2, lifetime),
            ExpiryRule::AfterFirst(lifetime) => (3, lifetime),
        };
        out.push(rule);
        put_varint(out, u64::from(seconds(lifetime)));
        put_varint(out, u64::from(self.bucket_seconds()));
    }

    pub(crate) fn decode(body: &mut ByteReader<'_>) -> Result<Expiry> {
        let rule = body.u8("rule of the expiry")?;
        let lifetime = Duration::from_secs(body.varint("lifetime")?);
        let bucket = Duration::from_secs(body.varint("bucket of the expiry")?.max(1));
        let rule = match rule {
            1 => ExpiryRule::Each,
            2 => ExpiryRule::AfterLast(lifetime),
            3 => ExpiryRule::AfterFirst(lifetime),
            _ => {
                let message = format!("unknown rule of expiry {rule}: use the foldb that wrote it");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        Ok(Expiry { rule, bucket })
    }
}

/// Writes what [`Expiry`] parses from text: `per-write`, `after-last-write:3600` or
/// `after-first-write:3600`, with `/BUCKET` where the bucket is not the usual one. Times are
/// seconds.
///
/// # Example
/// ```
/// use std::time::Duration;
/// use foldb::Expiry;
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
                write!(f, "after-last-write:{}", seconds(lifetime))?;
                Expiry::after_last_write(lifetime)
            }
            ExpiryRule::AfterFirst(lifetime) => {
                write!(f, "after-first-write:{}", seconds(lifetime))?;
                Expiry::after_first_write(lifetime)
            }
        };
        match self.bucket_seconds() {
            bucket if bucket == usual.bucket_seconds() => Ok(()),
            bucket => write!(f, "/{bucket}"),
        }
    }
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
        let whole = |number: &str| number.parse().map(Duration::from_secs).map_err(|_| malformed());
        let (rule, bucket) = match text.split_once('/') {
            Some((rule, bucket)) => (rule, Some(whole(bucket)?)),
            None => (text, None),
        };
        let expiry = match rule.split_once(':') {
            None if rule == "per-write" => Expiry::per_write(),
            Some(("after-last-write", lifetime)) => Expiry::after_last_write(whole(lifetime)?),
            Some(("after-first-write", lifetime)) => Expiry::after_first_write(whole(lifetime)?),
            _ => return Err(malformed()),
        };
        let expiry = bucket.map_or(expiry, |bucket| expiry.with_bucket(bucket));
        expiry.check()?;
        Ok(expiry)
    }
}

/// Returns whole seconds, rounded up.
pub(crate) fn seconds(time: Duration) -> u32 {
    let whole = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    u32::try_from(whole).unwrap_or(u32::MAX)
}
