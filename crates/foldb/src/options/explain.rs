//! Returns each option's value, its source, and the effect of more and of less.

use std::fmt;

use crate::options::declared::listed;
use crate::options::{Options, Profile};

/// One option in effect.
///
/// # Example
/// ```
/// use foldb::explain::{OptionSource, OptionValue};
/// use foldb::Options;
///
/// let options = Options { block_cache_size: 1 << 30, ..Options::default() };
/// let explained = options.explain();
/// let cache = explained.iter().find(|option| option.name == "block_cache_size").unwrap();
/// assert_eq!(cache.value, OptionValue::Number(1 << 30));
/// assert_eq!((cache.unit, cache.source), ("bytes", OptionSource::Given));
/// let limit = explained.iter().find(|option| option.name == "wal_limit").unwrap();
/// assert_eq!(limit.value, OptionValue::Number(256 << 20));
/// assert_eq!(limit.source, OptionSource::Derived);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExplainedOption {
    /// The name: the field of [`Options`] or [`KeyspaceOptions`](crate::KeyspaceOptions).
    pub name: &'static str,
    /// The value. An automatic option has the number that was computed for it.
    pub value: OptionValue,
    /// What the value counts: `bytes`, `runs`, …; empty if it counts nothing.
    pub unit: &'static str,
    /// Where the value comes from.
    pub source: OptionSource,
    /// The effect of more and of less, or of another choice, in one line.
    pub cost: &'static str,
    /// What this database lacks now because of the value, in one line; `None` if it lacks nothing.
    /// Only [`Db::explain_options`](crate::Db::explain_options) can tell.
    pub lack: Option<String>,
    /// Other engines that have the option, each with its name there.
    pub elsewhere: &'static [(&'static str, &'static str)],
    /// Whether the program must set the field: [`Options::named`] and files cannot.
    pub is_handle: bool,
    /// Whether it is a field of [`KeyspaceOptions`](crate::KeyspaceOptions), so that each keyspace
    /// may have a value of its own.
    pub is_of_keyspace: bool,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OptionValue {
    /// On or off.
    Flag(bool),
    /// A whole number.
    Number(u64),
    /// A fraction or a factor.
    Fraction(f64),
    /// A choice or a name; `None` if none is given.
    Text(Option<String>),
}

/// Where the value of an option comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OptionSource {
    /// Neither the caller nor the profile set it.
    Default,
    /// It is automatic, and its number follows from other options.
    Derived,
    /// The profile sets it to this value.
    Profile(Profile),
    /// The caller set it.
    Given,
    /// The database stores it: an earlier open set it, or the call that created the keyspace.
    Stored,
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Flag(on) => write!(f, "{on}"),
            OptionValue::Number(n) => write!(f, "{n}"),
            OptionValue::Fraction(x) => write!(f, "{x}"),
            OptionValue::Text(text) => f.write_str(text.as_deref().unwrap_or("none")),
        }
    }
}

impl fmt::Display for OptionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionSource::Default => f.write_str("default"),
            OptionSource::Derived => f.write_str("derived"),
            OptionSource::Profile(profile) => write!(f, "profile {profile}"),
            OptionSource::Given => f.write_str("given"),
            OptionSource::Stored => f.write_str("stored"),
        }
    }
}

impl Options {
    /// Returns every option in effect except [`Options::env`]: its value, where the value comes
    /// from, its unit, and its effect in one line.
    /// [`Db::explain_options`](crate::Db::explain_options) does the same for an open database.
    ///
    /// The source is found by comparison: an option does not count as given if its value equals the
    /// profile's.
    pub fn explain(&self) -> Vec<ExplainedOption> {
        let (default, profile) = (Options::default(), Options::profile(self.profile));
        let explained = listed().filter(|option| option.name != "env").map(|option| {
            let [set, default, profile] = [self, &default, &profile].map(option.value);
            let derived = (option.derived)(self);
            let source = match () {
                () if derived.is_some() => OptionSource::Derived,
                () if set == profile && set != default => OptionSource::Profile(self.profile),
                () if set == default && set == profile => OptionSource::Default,
                () => OptionSource::Given,
            };
            ExplainedOption {
                name: option.name,
                value: derived.unwrap_or(set),
                unit: option.unit,
                source,
                cost: option.effect,
                lack: None,
                elsewhere: option.elsewhere,
                is_handle: option.is_handle(),
                is_of_keyspace: option.is_of_keyspace,
            }
        });
        explained.collect()
    }
}
