//! The range of every option, and the options that must agree with each other.
//!
//! Invariant: with options that pass, no sum or product of sizes overflows, and background work
//! advances.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::fold::{MergeOperator, builtin};
use crate::key::{BytewiseComparator, Comparator, GuardedPolicy};
use crate::options::Options;
use crate::settings::MAX_LEVELS;
use crate::settings::range::{
    BACKGROUND_THREADS, BLOCK_CACHE_SIZE, COMPACTION_MEMORY_BUDGET, GIB, KIB, MAX_OPEN_FILES,
    MEMORY_BUDGET, MIB, MOST_BYTES, MOST_MEMORY, MOST_RUNS, Range, TIB, automatic_or, between,
    number, out_of_range,
};
use crate::user_code::guarded;

const WRITE_BUFFER_SIZE: Range = between(4 * KIB, 4 * GIB);
const MAX_WRITE_BUFFERS: Range = automatic_or(2, 4096);
/// Below the floor each put would begin a new log.
const WAL_LIMIT: Range = automatic_or(4 * KIB, MOST_BYTES);
/// 0 and no time: logs are not kept.
const WAL_RETENTION_BYTES: Range = between(0, MOST_BYTES);
const BLOCK_SIZE: Range = between(256, 64 * MIB);
const BLOOM_BITS: Range = between(0, 64);
/// Below the floor each key would be a table.
const TARGET_FILE_SIZE: Range = automatic_or(KIB, TIB);
const IO_BUDGET: Range = automatic_or(4 * KIB, MOST_BYTES);

impl Options {
    /// Checks that every option is in its range. The floors keep a few thousand writes from making
    /// as many files. The ceilings keep sums of sizes within 64 bits.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option, its value and the range; `Unsupported` for
    /// [`Compression::Snappy`](crate::Compression::Snappy) or
    /// [`Compression::Zstd`](crate::Compression::Zstd) in a build without the cargo feature of that
    /// name.
    pub fn validate(&self) -> Result<()> {
        for (option, value, range) in self.numbers() {
            range.check(option, value)?;
        }
        let fractions = [
            ("staging_ratio", self.staging_ratio, 0.0, 10.0),
            ("max_dead_fraction", self.max_dead_fraction, 0.0, 1.0),
        ];
        for (option, value, above, at_most) in fractions {
            if !(value > above && value <= at_most) {
                let range = format!("above {above} and at most {at_most}");
                return Err(out_of_range(option, &value, &range));
            }
        }
        if !(1.0..=MOST_TIMES).contains(&self.max_bytes_for_level_multiplier) {
            let value = &self.max_bytes_for_level_multiplier;
            let range = format!("between 1 and {MOST_TIMES}");
            return Err(out_of_range("max_bytes_for_level_multiplier", value, &range));
        }
        if self.level0_stop_trigger < self.level0_compaction_trigger {
            let range = "at least level0_compaction_trigger, or writes would stall for ever";
            return Err(out_of_range("level0_stop_trigger", &self.level0_stop_trigger, range));
        }
        self.compression.check_supported()?;
        check_operators(&self.operators)?;
        std::iter::once(&self.comparator)
            .chain(&self.comparators)
            .try_for_each(|comparator| check_comparator(&**comparator))?;
        let mut policies = self.filter_policy.iter().chain(&self.filter_policies);
        policies.try_for_each(|policy| GuardedPolicy::new(Arc::clone(policy)).map(drop))
    }

    /// Returns every option that is a whole number, with its range.
    pub(super) fn numbers(&self) -> [(&'static str, u64, Range); 26] {
        [
            ("write_buffer_size", number(self.write_buffer_size), WRITE_BUFFER_SIZE),
            ("max_write_buffers", number(self.max_write_buffers), MAX_WRITE_BUFFERS),
            ("wal_limit", self.wal_limit, WAL_LIMIT),
            ("wal_retention_bytes", self.wal_retention_bytes, WAL_RETENTION_BYTES),
            ("wal_retention_seconds", self.wal_retention_seconds, between(0, u64::MAX)),
            ("memory_budget", number(self.memory_budget), MEMORY_BUDGET),
            (
                "compaction_memory_budget",
                number(self.compaction_memory_budget),
                COMPACTION_MEMORY_BUDGET,
            ),
            ("block_cache_size", number(self.block_cache_size), BLOCK_CACHE_SIZE),
            ("block_size", number(self.block_size), BLOCK_SIZE),
            ("bloom_bits", u64::from(self.bloom_bits), BLOOM_BITS),
            ("target_file_size", self.target_file_size, TARGET_FILE_SIZE),
            ("max_open_files", number(self.max_open_files), MAX_OPEN_FILES),
            ("num_levels", number(self.num_levels), between(2, MAX_LEVELS as u64)),
            ("tier_fan_in", number(self.tier_fan_in), between(2, MOST_RUNS)),
            (
                "level0_compaction_trigger",
                number(self.level0_compaction_trigger),
                between(1, MOST_RUNS),
            ),
            (
                "level0_slowdown_trigger",
                number(self.level0_slowdown_trigger),
                between(0, MOST_RUNS),
            ),
            ("level0_stop_trigger", number(self.level0_stop_trigger), between(1, MOST_RUNS)),
            ("max_bytes_for_level_base", self.max_bytes_for_level_base, between(KIB, MOST_BYTES)),
            ("idle_runs", number(self.idle_runs), between(0, MOST_RUNS)),
            (
                "max_background_compactions",
                number(self.max_background_compactions),
                BACKGROUND_THREADS,
            ),
            ("segment_size", self.segment_size, between(4 * KIB, 4 * GIB)),
            ("gc_memory_budget", number(self.gc_memory_budget), between(64 * KIB, MOST_MEMORY)),
            ("gc_io_budget", self.gc_io_budget, IO_BUDGET),
            ("scrub_io_budget", self.scrub_io_budget, IO_BUDGET),
            ("space_reserve", self.space_reserve, between(0, MOST_BYTES)),
            // A number above every level: no level is compressed.
            ("min_level_to_compress", number(self.min_level_to_compress), between(0, u64::MAX)),
        ]
    }
}

/// Largest `max_bytes_for_level_multiplier`.
const MOST_TIMES: f64 = 1e6;

/// Longest name of an operator or comparator, in bytes.
const MAX_NAME: usize = 255;

/// # Errors
/// `InvalidArgument` for a name that another operator has or that is not allowed, and for an
/// operator that panics.
fn check_operators(operators: &[Arc<dyn MergeOperator>]) -> Result<()> {
    let mut known = BTreeSet::new();
    for operator in operators {
        let identity = guarded(|| {
            (operator.name().to_owned(), operator.parameters().to_vec(), operator.version())
        });
        let identity = identity.map_err(|panic| {
            Error::invalid_argument(format!(
                "an operator of Options::operators panicked when it was asked for its name, \
                 parameters and version: {panic}"
            ))
        })?;
        check_operator_name(&identity.0)?;
        let (name, _, version) = &identity;
        if known.contains(&identity) {
            return Err(Error::invalid_argument(format!(
                "Options::operators has two operators '{name}' of version {version} with the same \
                 parameters: give each a name of its own"
            )));
        }
        known.insert(identity);
    }
    Ok(())
}

fn check_operator_name(name: &str) -> Result<()> {
    let refuse = |why: &str| {
        let shown = name.chars().take(80).collect::<String>();
        Err(Error::invalid_argument(format!(
            "'{}' is not a valid operator name in Options::operators: {why}",
            shown.escape_debug()
        )))
    };
    if name.is_empty() {
        return refuse("it is empty; use a name with a dot, such as 'app.counter'");
    }
    if builtin(name).is_some() {
        return refuse(
            "a built-in operator has this name, and needs no registration; for another operator \
             use a name with a dot, such as 'app.counter'",
        );
    }
    if name.contains(':') {
        return refuse("a colon separates a name from its parameter; leave the colon out");
    }
    if !name.contains('.') {
        return refuse(
            "names without a dot are kept for built-in operators; use one such as 'app.counter'",
        );
    }
    if name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return refuse("a name has at most 255 bytes and no control characters");
    }
    Ok(())
}

/// # Errors
/// `InvalidArgument` for promises that contradict each other, for a name that is not allowed, and
/// for a comparator that panics.
pub(crate) fn check_comparator(comparator: &dyn Comparator) -> Result<()> {
    let asked = guarded(|| {
        let (bytewise, equality) = (comparator.bytewise_order(), comparator.bytewise_equality());
        (comparator.name().to_owned(), bytewise, equality)
    });
    let (name, bytewise, equality) = asked.map_err(|panic| {
        Error::invalid_argument(format!(
            "a comparator panicked when it was asked for its name and its promises: {panic}"
        ))
    })?;
    if bytewise && !equality {
        return Err(Error::invalid_argument(format!(
            "comparator '{name}' has bytewise_order without bytewise_equality, but in byte order \
             equal keys have equal bytes: return false from bytewise_order"
        )));
    }
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(Error::invalid_argument(format!(
            "the name of a comparator must have 1 to {MAX_NAME} bytes and no control characters, \
             not '{}'",
            name.chars().take(80).collect::<String>().escape_debug()
        )));
    }
    if name == BytewiseComparator.name() && !bytewise {
        return Err(Error::invalid_argument(format!(
            "'{name}' is the name of the built-in byte order: give the comparator another name"
        )));
    }
    Ok(())
}
