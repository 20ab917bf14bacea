//! Trees of very many tables: what a decision costs.
//!
//! A test of time would depend on the machine, so comparisons are counted. A decision looks at each
//! table once, but it spreads the newer runs over a bounded number of cells, and finds the tables
//! around a key by a search.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};

use super::{MIB, policy};
use crate::compaction::policy::{RunShape, Signals, TableShape, TreeShape};
use crate::key::{Comparator, KeyList};
use crate::settings::CompactionPreset;

/// Counts comparisons.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, Atomic::Relaxed);
        a.cmp(b)
    }

    fn bytewise_order(&self) -> bool {
        true
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// Returns a run of `count` tables that together hold the numbers below `end`.
fn run(id: u64, count: u64, end: u64, bytes: u64, deletes: u64) -> RunShape {
    let key = |number: u64| Arc::from(number.to_be_bytes());
    let table = |at: u64| TableShape {
        lo: key(at * end / count),
        hi: key((at + 1) * end / count - 1),
        hi_included: true,
        bytes,
        samples: KeyList::default(),
        deletes,
        entries: 1000,
        released: false,
    };
    RunShape { id, busy: false, tables: (0..count).map(table).collect() }
}

/// Returns a tree whose last level has `tables` tables, under runs of 50 tables that hold deletes.
fn tree(tables: u64, upper: u64, deletes: u64) -> TreeShape {
    let end = 1 << 40;
    let mut levels = vec![Vec::new(); 7];
    levels[6].push(run(1, tables, end, 64 * MIB, 0));
    let upper = (2..2 + upper).map(|id| run(id, 50, end, 32 * MIB, deletes));
    levels[5].extend(upper);
    TreeShape { levels, dead_share: 1.0, damage: Vec::new() }
}

fn comparisons(tables: u64, upper: u64, deletes: u64, is_idle: bool) -> u64 {
    let (policy, cmp) = (policy(CompactionPreset::LazyLeveled, 64 * MIB), Counting::default());
    let tree = tree(tables, upper, deletes);
    policy.choose(&tree, &Signals { is_idle, ..Signals::default() }, &cmp);
    policy.debt(&tree, &[], &cmp);
    cmp.0.into_inner()
}

#[test]
fn a_decision_takes_no_more_work_for_seventy_five_thousand_tables_than_for_ten_thousand() {
    for (upper, deletes, is_idle) in [(3, 0, false), (12, 0, false), (3, 0, true), (3, 900, false)]
    {
        let of = |tables| comparisons(tables, upper, deletes, is_idle);
        let (thousand, ten, seventy_five) = (of(1_000), of(10_000), of(75_000));
        let shown = format!("{upper} runs, {deletes} deletes: {thousand}, {ten}, {seventy_five}");
        // A binary search over more tables takes some more steps.
        assert!(seventy_five as f64 <= 1.2 * ten as f64, "{shown}");
        // From a thousand cells to the most.
        assert!(seventy_five <= 5 * thousand, "{shown}");
    }
}
