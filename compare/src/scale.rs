//! How large the workloads are.

use std::fmt;

use crate::failure::{Failure, Result};

/// How large the workloads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A thousandth: for tests.
    Tiny,
    /// A fiftieth: runs everything in a few minutes, to check that it works.
    Small,
    /// A fifth.
    Medium,
    /// The sizes of the table.
    Full,
    /// The sizes of the table, for jobs that are too large for the others: `growth/large`.
    Large,
}

impl Scale {
    /// All of them, smallest first.
    pub const ALL: [Scale; 5] =
        [Scale::Tiny, Scale::Small, Scale::Medium, Scale::Full, Scale::Large];

    /// Returns the scale of this name.
    ///
    /// # Errors
    /// Fails for an unknown name; the error lists the known ones.
    pub fn named(name: &str) -> Result<Scale> {
        Scale::ALL.into_iter().find(|scale| scale.name() == name).ok_or_else(|| {
            let names = Scale::ALL.map(Scale::name).join(", ");
            Failure::new(format!("unknown scale {name}; there are {names}"))
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Tiny => "tiny",
            Scale::Small => "small",
            Scale::Medium => "medium",
            Scale::Full => "full",
            Scale::Large => "large",
        }
    }

    /// Returns the divisor of the table's sizes at this scale.
    pub fn divisor(self) -> u64 {
        match self {
            Scale::Tiny => 1000,
            Scale::Small => 50,
            Scale::Medium => 5,
            Scale::Full | Scale::Large => 1,
        }
    }

    /// A size of the table at this scale, at least 1.
    pub fn of(self, full: u64) -> u64 {
        (full / self.divisor()).max(1)
    }

    /// Returns the default number of repetitions.
    pub fn repetitions(self) -> u32 {
        match self {
            Scale::Tiny | Scale::Small | Scale::Large => 1,
            Scale::Medium | Scale::Full => 3,
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
