//! Which logs become value segments.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Which logs of almost nothing but separated values become value segments as they are.
///
/// A log has values in the order in which they came, a segment that a flush writes in the order of
/// their keys: adopting writes every value once instead of twice, and where the orders differ makes
/// scans slower.
///
/// # Example
/// ```
/// use foldb::{LogAdoption, Options};
///
/// let adopt_logs: LogAdoption = "always".parse()?;
/// let options =
///     Options { value_separation_min: Some(4096), adopt_logs, ..Options::default() };
/// assert_eq!(options.adopt_logs, LogAdoption::Always);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogAdoption {
    /// None: values are logged without the checksum that a segment needs, and copied by the flush.
    Never,
    /// Logs whose values came in the order of their keys, but for one in eight, and are all but a
    /// twentieth of the log (from about 1.3 KiB on): scans read ahead in those as in a segment, and
    /// merges have no reason to copy them.
    #[default]
    InKeyOrder,
    /// Whatever order the values came in, if they are large beside what a log adds to them (about
    /// 64 bytes and the key): least is written. Scans of values that came in another order take
    /// about twice as long, and merges of values of a few hundred bytes several times as long, for
    /// they copy these logs once to be rid of the rest.
    Always,
}

impl LogAdoption {
    /// All of them.
    pub const ALL: [LogAdoption; 3] =
        [LogAdoption::Never, LogAdoption::InKeyOrder, LogAdoption::Always];

    /// Its name: `never`, `in_key_order` or `always`.
    pub fn name(self) -> &'static str {
        match self {
            LogAdoption::Never => "never",
            LogAdoption::InKeyOrder => "in_key_order",
            LogAdoption::Always => "always",
        }
    }
}

impl fmt::Display for LogAdoption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LogAdoption {
    type Err = Error;

    /// # Errors
    /// `InvalidArgument`, with the names there are.
    fn from_str(name: &str) -> Result<LogAdoption> {
        let found = LogAdoption::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| {
            let names = LogAdoption::ALL.map(LogAdoption::name).join(", ");
            Error::invalid_argument(format!("logs are not adopted '{name}', only {names}"))
        })
    }
}
