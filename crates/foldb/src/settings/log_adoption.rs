//! The choice of logs that become value segments.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Chooses which logs become value segments without a copy of their values. Only logs of almost
/// nothing but separated values qualify.
///
/// A log holds values in the order of arrival; a segment that a flush writes holds them in key
/// order. Adopting a log writes every value once instead of twice, and makes scans slower if the
/// two orders differ.
///
/// # Example
/// ```
/// use foldb::{KeyspaceOptions, LogAdoption, Options};
///
/// let adopt_logs: LogAdoption = "always".parse()?;
/// let default =
///     KeyspaceOptions { value_separation_min: Some(4096), ..KeyspaceOptions::default() };
/// let options = Options { default, adopt_logs, ..Options::default() };
/// assert_eq!(options.adopt_logs, LogAdoption::Always);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogAdoption {
    /// Adopts no log: values are logged without the checksum of a segment, and the flush copies
    /// them.
    Never,
    /// Adopts logs whose values arrived in key order, except for one in eight. The values must make
    /// up all but a twentieth of the log (values from about 1.3 KiB on). Scans read ahead in such a
    /// log as in a segment, and garbage collection has no reason to copy it.
    #[default]
    InKeyOrder,
    /// Adopts logs in any order of arrival, if the values are large compared with the bytes that a
    /// log adds (about 64 bytes and the key). This gives the least write amplification. Scans of
    /// values that arrived in another order take about twice as long. Garbage collection of values
    /// of a few hundred bytes takes several times as long, because it copies these logs once to
    /// drop the rest.
    Always,
}

impl LogAdoption {
    /// All choices.
    pub const ALL: [LogAdoption; 3] =
        [LogAdoption::Never, LogAdoption::InKeyOrder, LogAdoption::Always];

    /// Returns the name: `never`, `in_key_order` or `always`.
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
    /// `InvalidArgument`, with the valid names.
    fn from_str(name: &str) -> Result<LogAdoption> {
        let found = LogAdoption::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| {
            let names = LogAdoption::ALL.map(LogAdoption::name).join(", ");
            Error::invalid_argument(format!(
                "unknown value '{name}' for adopt_logs: expected one of {names}"
            ))
        })
    }
}
