//! The features of the engine, and which pairs of them met in a run.
//!
//! Faults hide where two features meet. Each seed leaves some features out, so the pairs are
//! counted over many seeds. A run of seeds that never drew a pair tested less than it claims.
//!
//! Invariant: a feature counts for a seed only if something happened that uses it, not because the
//! seed drew it.

use std::fmt::Write as _;

use crate::counts::Counted;
use crate::report::Totals;

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident $short:literal by $($counted:ident)|+,)*) => {
        /// A feature of the engine whose pairs are counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Feature {
            $($(#[$doc])* $name,)*
        }

        impl Feature {
            /// All features.
            pub const ALL: [Feature; [$(Feature::$name),*].len()] = [$(Feature::$name),*];

            /// Returns the name in tables.
            pub fn name(self) -> &'static str {
                match self {
                    $(Feature::$name => $short,)*
                }
            }

            /// Returns the events of which one shows that a run used the feature.
            fn shown_by(self) -> &'static [Counted] {
                match self {
                    $(Feature::$name => &[$(Counted::$counted),+],)*
                }
            }
        }
    };
}

features! {
    /// Entries that expire.
    Expiry "expiry" by ExpiringWrite,
    /// Resets of a false time.
    Reset "reset" by Reset,
    /// The change feed.
    Feed "feed" by Followed,
    /// Sorted loads.
    Load "load" by Load,
    /// Serializable transactions.
    Serializable "serializable" by Commit,
    /// Transactions under snapshot isolation.
    SnapshotIsolation "snapshot isolation" by SnapshotCommit,
    /// Conditional writes.
    Conditional "conditional" by Conditional,
    /// Values in segments.
    Separated "segments" by Separated,
    /// Logs that become segments.
    Adopted "adopted log" by AdoptedLog,
    /// Range deletes.
    RangeDelete "range delete" by RangeDelete,
    /// A key order of the program.
    OwnOrder "own order" by OwnOrder,
    /// Several operators in one key, some of them of the program.
    Operators "operators" by OtherOperator,
    /// Files that only grow.
    AppendOnly "append-only" by AppendOnly,
    /// Checkpoints.
    Checkpoint "checkpoint" by Checkpoint,
    /// Backups and their restores.
    Backup "backup" by Backup,
    /// Dumps and their restores.
    Dump "dump" by Dump,
    /// Read-only opens beside the writer.
    ReadOnly "read-only" by ReadOnlyOpen,
    /// Repairs.
    Repair "repair" by Repair | Rebuild,
    /// Several keyspaces.
    Keyspaces "keyspaces" by OtherKeyspace,
    /// Snapshots that are read later.
    Snapshot "snapshot" by SnapshotRead,
    /// A small memory budget.
    Budget "budget" by Budget,
}

const FEATURES: usize = Feature::ALL.len();

/// Pairs that cannot meet, the smaller feature first. A log becomes a segment by a hard link, which
/// files that only grow do not have.
const IMPOSSIBLE: [(Feature, Feature); 1] = [(Feature::Adopted, Feature::AppendOnly)];

/// Returns all pairs that can meet, the smaller feature first.
fn possible() -> impl Iterator<Item = (Feature, Feature)> {
    let behind = |one| Feature::ALL.into_iter().filter(move |&other| one < other);
    let pairs =
        Feature::ALL.into_iter().flat_map(move |one| behind(one).map(move |two| (one, two)));
    pairs.filter(|pair| !IMPOSSIBLE.contains(pair))
}

/// How many seeds drew each pair of features. The diagonal counts single features.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs([[u64; FEATURES]; FEATURES]);

impl Pairs {
    /// Counts the pairs of one run, of which `counts` tells the events.
    pub fn add(&mut self, counts: &Totals) {
        let happened =
            |event: &Counted| counts.get(&format!("{event:?}")).is_some_and(|&count| count > 0);
        let used: Vec<usize> = Feature::ALL
            .into_iter()
            .filter(|feature| feature.shown_by().iter().any(happened))
            .map(|feature| feature as usize)
            .collect();
        for &one in &used {
            for &other in &used {
                self.0[one][other] += 1;
            }
        }
    }

    /// Returns the seeds that drew both features.
    pub fn of(&self, one: Feature, other: Feature) -> u64 {
        self.0[one as usize][other as usize]
    }

    /// Returns the possible pairs that no seed drew.
    pub fn missing(&self) -> Vec<(Feature, Feature)> {
        possible().filter(|&(one, other)| self.of(one, other) == 0).collect()
    }

    /// Returns the possible pair that the fewest seeds drew.
    pub fn rarest(&self) -> Option<(Feature, Feature, u64)> {
        let counted = possible().map(|(one, other)| (one, other, self.of(one, other)));
        counted.min_by_key(|pair| pair.2)
    }

    /// Returns the matrix as a table in Markdown. Each row is a feature; the columns are numbered
    /// like the rows.
    pub fn table(&self) -> String {
        let numbers: Vec<String> = (1..=FEATURES).map(|number| number.to_string()).collect();
        let mut table = format!("| | {} |\n", numbers.join(" | "));
        table += &format!("|{}\n", " --- |".repeat(FEATURES + 1));
        for (at, one) in Feature::ALL.into_iter().enumerate() {
            let cells = Feature::ALL.into_iter().map(|other| match other <= one {
                true if IMPOSSIBLE.contains(&(other, one)) => "–".to_owned(),
                true => self.of(one, other).to_string(),
                false => String::new(),
            });
            let cells: Vec<String> = cells.collect();
            let _never_fails =
                writeln!(table, "| {} {} | {} |", at + 1, one.name(), cells.join(" | "));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(events: &[Counted]) -> Totals {
        events.iter().map(|event| (format!("{event:?}"), 1)).collect()
    }

    #[test]
    fn a_pair_counts_if_both_features_happened_in_one_run() {
        let mut pairs = Pairs::default();
        assert_eq!(pairs.missing().len(), possible().count());
        pairs.add(&totals(&[Counted::Load, Counted::Rebuild]));
        pairs.add(&totals(&[Counted::Load, Counted::Dump]));
        assert_eq!(pairs.of(Feature::Load, Feature::Repair), 1);
        assert_eq!(pairs.of(Feature::Repair, Feature::Load), 1);
        assert_eq!(pairs.of(Feature::Dump, Feature::Repair), 0);
        assert_eq!(pairs.of(Feature::Load, Feature::Load), 2);
        let missing = pairs.missing();
        assert!(missing.contains(&(Feature::Dump, Feature::Repair)), "{missing:?}");
        assert_eq!(missing.len(), possible().count() - 2);
    }

    #[test]
    fn all_events_together_draw_every_pair() {
        let mut pairs = Pairs::default();
        pairs.add(&totals(&Counted::ALL));
        assert_eq!(pairs.missing(), []);
        assert_eq!(pairs.table().lines().count(), FEATURES + 2);
    }
}
