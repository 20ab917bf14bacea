//! Returns each option's value, its source, and the effect of more and of less.
//!
//! The sentences about effects are those of the fields' own documentation: a test compares them.

use std::fmt;

use crate::options::{Options, Profile};

/// One option in effect.
///
/// # Example
/// ```
/// use foldb::{Options, OptionSource, OptionValue};
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
    /// The name: the field of [`Options`].
    pub name: &'static str,
    /// The value. An automatic option has the number that was computed for it.
    pub value: OptionValue,
    /// What the value counts: `bytes`, `runs`, …; empty if it counts nothing.
    pub unit: &'static str,
    /// Where the value comes from.
    pub source: OptionSource,
    /// The effect of more and of less, or of another choice, in one line.
    pub cost: &'static str,
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

impl From<bool> for OptionValue {
    fn from(on: bool) -> OptionValue {
        OptionValue::Flag(on)
    }
}

impl From<usize> for OptionValue {
    fn from(n: usize) -> OptionValue {
        OptionValue::Number(n as u64)
    }
}

impl From<u64> for OptionValue {
    fn from(n: u64) -> OptionValue {
        OptionValue::Number(n)
    }
}

impl From<u32> for OptionValue {
    fn from(n: u32) -> OptionValue {
        OptionValue::Number(u64::from(n))
    }
}

impl From<Option<usize>> for OptionValue {
    fn from(n: Option<usize>) -> OptionValue {
        n.map_or(OptionValue::Text(None), OptionValue::from)
    }
}

impl From<f64> for OptionValue {
    fn from(x: f64) -> OptionValue {
        OptionValue::Fraction(x)
    }
}

impl From<&str> for OptionValue {
    fn from(text: &str) -> OptionValue {
        OptionValue::Text(Some(text.to_owned()))
    }
}

impl From<Option<String>> for OptionValue {
    fn from(text: Option<String>) -> OptionValue {
        OptionValue::Text(text)
    }
}

/// An option before its source is known.
struct Row {
    name: &'static str,
    unit: &'static str,
    /// The value as it is set.
    set: OptionValue,
    /// The number that follows from other options, if the option is automatic.
    derived: Option<OptionValue>,
    cost: &'static str,
}

/// `row!(options.field, "unit", "cost")` makes a row. `=> derived` after the field computes the
/// number of an automatic option, which is set to 0. `as text` shows a field that is no plain
/// value.
macro_rules! row {
    ($options:ident.$field:ident, $unit:literal, $cost:literal) => {
        row!(@ $options.$field, $unit, $options.$field.clone().into(), None, $cost)
    };
    ($options:ident.$field:ident => $derived:expr, $unit:literal, $cost:literal) => {
        row!(@ $options.$field, $unit, $options.$field.into(),
             ($options.$field == 0).then(|| $derived.into()), $cost)
    };
    ($options:ident.$field:ident as $text:expr, $cost:literal) => {
        row!(@ $options.$field, "", $text.into(), None, $cost)
    };
    (@ $options:ident.$field:ident, $unit:literal, $set:expr, $derived:expr, $cost:literal) => {
        Row { name: stringify!($field), unit: $unit, set: $set, derived: $derived, cost: $cost }
    };
}

impl Options {
    /// Returns every option in effect except [`Options::env`]: its value, where the value comes
    /// from, its unit, and its effect in one line.
    /// [`Db::explain_options`](crate::Db::explain_options) does the same for an open database.
    ///
    /// The source is found by comparison: an option does not count as given if its value equals the
    /// profile's.
    pub fn explain(&self) -> Vec<ExplainedOption> {
        let (default, profile) = (Options::default().rows(), Options::profile(self.profile).rows());
        let bases = default.into_iter().zip(profile);
        let explained = self.rows().into_iter().zip(bases).map(|(row, (default, profile))| {
            let source = match () {
                () if row.derived.is_some() => OptionSource::Derived,
                () if row.set == profile.set && row.set != default.set => {
                    OptionSource::Profile(self.profile)
                }
                () if row.set == default.set && row.set == profile.set => OptionSource::Default,
                () => OptionSource::Given,
            };
            let Row { name, unit, set, derived, cost } = row;
            ExplainedOption { name, value: derived.unwrap_or(set), unit, source, cost }
        });
        explained.collect()
    }

    #[rustfmt::skip]
    fn rows(&self) -> Vec<Row> {
        let settings = self.resolve();
        let operators = list(self.operators.iter().map(|operator| operator.name()));
        let listeners = Some(self.listeners.len()).filter(|&n| n > 0).map(|n| format!("{n} given"));
        let comparators = list(self.comparators.iter().map(|comparator| comparator.name()));
        let filter_policy = self.filter_policy.as_ref().map(|policy| policy.name().to_owned());
        let filter_policies = list(self.filter_policies.iter().map(|policy| policy.name()));
        vec![
            row!(self.profile as self.profile.name(),
                 "A label only: setting this field changes no other option."),
            row!(self.create_if_missing, "", "true: a mistyped path becomes an empty database."),
            row!(self.error_if_exists, "", "true: an open never writes to an existing database."),
            row!(self.merge_operator, "",
                 "A different operator than at the last open affects later merges only."),
            row!(self.operators as operators,
                 "Every open must register each operator that is not built in and whose operands the database holds."),
            row!(self.allow_unresolved_operators, "",
                 "true: a read of a key with operands of an unregistered operator fails."),
            row!(self.listeners as listeners, "The thread that reports an event waits for each listener."),
            row!(self.comparator as self.comparator.name(),
                 "An order other than that of the bytes makes comparisons slower."),
            row!(self.comparators as comparators,
                 "Every open must register each comparator of a keyspace, except the byte order."),
            row!(self.write_buffer_size, "bytes",
                 "More: fewer, larger flushes, less write amplification, longer recovery. Less: less memory."),
            row!(self.max_write_buffers => settings.write_buffers.most, "buffers",
                 "More: absorbs bursts. Less: less memory."),
            row!(self.wal_limit => settings.wal_limit, "bytes",
                 "More: fewer flushes of hot keys. Less: shorter recovery, less space."),
            row!(self.wal_retention_bytes, "bytes",
                 "More: a follower of the change feed may fall further behind. Less: less space."),
            row!(self.wal_retention_seconds, "seconds",
                 "More: a follower may be away for longer. Less: less space."),
            row!(self.memory_budget => self.memory_shares().budget, "bytes",
                 "More: fewer tables opened again. Less: less memory."),
            row!(self.compaction_memory_budget => self.memory_shares().background, "bytes",
                 "More: larger tables of small records, longer read-ahead when a compaction has many inputs. Less: less memory."),
            row!(self.runtime as self.runtime.as_ref().map(|_| "shared".to_owned()),
                 "Databases that share a runtime share its threads, cache, table handles and memory."),
            row!(self.block_cache_size, "bytes",
                 "More: fewer blocks are read and decompressed again. Less: less memory."),
            row!(self.block_cache as self.block_cache.as_ref().map(|_| "given".to_owned()),
                 "Its memory is no part of the memory budget."),
            row!(self.block_size, "bytes", "More: smaller index. Less: a little less to decode."),
            row!(self.bloom_bits, "bits a key",
                 "More: fewer reads of tables that do not have the key. Less: less memory."),
            row!(self.filter_policy as filter_policy,
                 "A policy that knows the keys may rule out more missing ones. Reads take longer."),
            row!(self.filter_policies as filter_policies,
                 "Without its policy, a keyspace is read without the filters of that policy."),
            row!(self.compression as self.compression.name(),
                 "None: faster, larger. Zstd: smaller, slower."),
            row!(self.min_level_to_compress, "levels",
                 "More: cheaper flushes and small compactions. Less: less space."),
            row!(self.target_file_size => settings.tree.target_file_size, "bytes",
                 "More: fewer files. Less: smaller slices of background work."),
            row!(self.max_open_files, "tables",
                 "More: fewer tables opened again. Less: less memory for indexes and filters, fewer file handles."),
            row!(self.compaction as self.compaction.name(),
                 "Leveled: shortest reads, most write amplification. Tiered: least write amplification, longest reads, most space."),
            row!(self.num_levels, "levels",
                 "More: room for a larger tree. Less: fewer runs before the last level."),
            row!(self.tier_fan_in, "runs",
                 "More: less write amplification, more runs to read. Less: shorter reads, more write amplification."),
            row!(self.staging_ratio, "of the last level",
                 "More: less write amplification. Less: less space and shorter reads."),
            row!(self.level0_compaction_trigger, "runs",
                 "More: less write amplification, more runs to read. Less: shorter reads, more write amplification."),
            row!(self.level0_slowdown_trigger, "runs",
                 "More: longer bursts at full speed, longer reads after them. Less: writes slow down earlier."),
            row!(self.level0_stop_trigger, "runs",
                 "More: writes stall later, reads meet more runs until then. Less: a firmer bound on reads."),
            row!(self.max_bytes_for_level_base, "bytes",
                 "More: fewer levels, and more rewritten at each compaction into level 1. Less: the reverse."),
            row!(self.max_bytes_for_level_multiplier, "times",
                 "More: fewer levels to read and less space, more rewriting in each. Less: the reverse."),
            row!(self.idle_runs, "runs",
                 "Less, but not 0: shorter reads after a pause, more write amplification."),
            row!(self.disable_auto_compactions, "",
                 "true: no background rewriting, but reads meet ever more runs."),
            row!(self.max_background_compactions, "threads",
                 "More: keeps up with faster writes, for processor time and memory."),
            row!(self.value_separation_min, "bytes",
                 "Less: less write amplification and faster random reads, slower scans."),
            row!(self.segment_size, "bytes",
                 "More: fewer files. Less: smaller steps of garbage collection."),
            row!(self.value_hints, "",
                 "false: each key is stored next to its value, and a repair reads the values too."),
            row!(self.adopt_logs as self.adopt_logs.name(),
                 "`Always`: values that arrive out of key order are also written only once, but scans of them take about twice as long."),
            row!(self.max_dead_fraction, "of the segments",
                 "More: less rewriting. Less: less space."),
            row!(self.gc_memory_budget, "bytes",
                 "More: fewer but longer reads and writes of files. Less: less memory."),
            row!(self.gc_io_budget, "bytes a second",
                 "More: space is reclaimed sooner. Less: less interference with reads and writes."),
            row!(self.scrub_io_budget, "bytes a second",
                 "More: damage is found sooner. Less: fewer reads."),
            row!(self.map_log, "",
                 "false: each write is a system call, and a failing disk is an error instead of a SIGBUS."),
            row!(self.visible_when_durable, "",
                 "true: threads that sync their writes sync one after another, so put writes of several callers into one batch."),
            row!(self.space_reserve, "bytes",
                 "More: more deletes pass on a full disk, and larger memtables are flushed there. Less: less space."),
        ]
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    names.map(str::to_owned).reduce(|all, name| all + ", " + &name)
}
