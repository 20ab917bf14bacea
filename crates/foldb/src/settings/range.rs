//! The range of a number that a user sets, and the error for a number outside it.

use std::fmt::Display;

use crate::error::{Error, Result};
use crate::settings::memory::{SMALLEST_BACKGROUND, SMALLEST_BUDGET};

/// The values that an option may have.
#[derive(Clone, Copy)]
pub(crate) enum Range {
    /// All that its type has.
    Any,
    /// Whole numbers, with both ends. With `zero` also 0, which is below the floor; the text says
    /// what it stands for.
    Whole { zero: Option<&'static str>, floor: u64, ceiling: u64 },
    /// Fractions up to the ceiling, with or without the floor itself.
    Fraction { with_floor: bool, floor: f64, ceiling: f64 },
}

pub(crate) const fn between(floor: u64, ceiling: u64) -> Range {
    Range::Whole { zero: None, floor, ceiling }
}

pub(crate) const fn automatic_or(floor: u64, ceiling: u64) -> Range {
    Range::Whole { zero: Some("0 (automatic) or "), floor, ceiling }
}

/// Numbers of which 0 means that there is none.
pub(crate) const fn or_off(floor: u64, ceiling: u64) -> Range {
    Range::Whole { zero: Some("0 (off) or "), floor, ceiling }
}

pub(crate) const fn above(floor: f64, ceiling: f64) -> Range {
    Range::Fraction { with_floor: false, floor, ceiling }
}

pub(crate) const fn at_least(floor: f64, ceiling: f64) -> Range {
    Range::Fraction { with_floor: true, floor, ceiling }
}

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const TIB: u64 = 1 << 40;

/// More memory, and more bytes in a level or log, than any machine has. Sums of such numbers do not
/// overflow.
pub(crate) const MOST_MEMORY: u64 = 16 * TIB;
pub(crate) const MOST_BYTES: u64 = 1024 * TIB;
/// More runs than can exist, for options that a large number switches off.
pub(crate) const MOST_RUNS: u64 = 1 << 30;
/// More tables or threads than can exist.
pub(crate) const MOST_FILES: u64 = 1 << 30;
pub(crate) const MOST_THREADS: u64 = 1024;

pub(crate) const MEMORY_BUDGET: Range = automatic_or(SMALLEST_BUDGET as u64, MOST_MEMORY);
pub(crate) const COMPACTION_MEMORY_BUDGET: Range =
    automatic_or(SMALLEST_BACKGROUND as u64, MOST_MEMORY);
pub(crate) const BLOCK_CACHE_SIZE: Range = between(0, MOST_MEMORY);
pub(crate) const MAX_OPEN_FILES: Range = between(1, MOST_FILES);
pub(crate) const BACKGROUND_THREADS: Range = between(1, MOST_THREADS);
pub(crate) const COMPACTING_THREADS: Range = between(0, MOST_THREADS);
pub(crate) const BLOOM_BITS: Range = between(0, 64);
pub(crate) const IO_BUDGET: Range = automatic_or(4 * KIB, MOST_BYTES);

impl Range {
    /// # Errors
    /// `InvalidArgument`, naming the option, its value and the range.
    pub(crate) fn check(self, option: &str, value: u64) -> Result<()> {
        match self {
            Range::Whole { floor, ceiling, .. } if (floor..=ceiling).contains(&value) => Ok(()),
            Range::Whole { zero: Some(_), .. } if value == 0 => Ok(()),
            Range::Whole { zero, floor, ceiling } => {
                let zero = zero.unwrap_or_default();
                Err(out_of_range(option, &value, &format!("{zero}between {floor} and {ceiling}")))
            }
            Range::Any | Range::Fraction { .. } => self.check_fraction(option, value as f64),
        }
    }

    /// # Errors
    /// As [`check`](Range::check).
    pub(crate) fn check_fraction(self, option: &str, value: f64) -> Result<()> {
        let Range::Fraction { with_floor, floor, ceiling } = self else { return Ok(()) };
        let is_above = value > floor || with_floor && value == floor;
        if is_above && value <= ceiling {
            return Ok(());
        }
        let range = match with_floor {
            true => format!("between {floor} and {ceiling}"),
            false => format!("above {floor} and at most {ceiling}"),
        };
        Err(out_of_range(option, &value, &range))
    }
}

#[cold]
pub(crate) fn out_of_range(option: &str, value: &dyn Display, range: &str) -> Error {
    Error::invalid_argument(format!("{option} is {value}, but must be {range}"))
}

/// Converts the number of an option. One that does not fit into 64 bits exceeds every ceiling.
pub(crate) fn number(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
