//! Estimates how many bytes of a table lie below a key, without reading the table. So it describes
//! the part of a tree in a range.
//!
//! Samples cut a table into parts of equal bytes. Inside a part, the estimate interpolates the
//! key's position from the bytes after the common prefix, as if keys were spread evenly.

use crate::compaction::policy::shape::{CutRange, Key, RunShape, TableShape, TreeShape};
use crate::key::Comparator;

/// Returns the part of the tree in a range. `most` says how many of a level's newest runs belong to
/// it.
pub(super) fn tree_within(
    tree: &TreeShape,
    range: &CutRange,
    cmp: &dyn Comparator,
    most: impl Fn(usize) -> usize,
) -> TreeShape {
    let run_within = |run: &RunShape| {
        let tables = run.tables_in(range, cmp).iter();
        let tables: Vec<_> = tables.map(|table| table_within(table, range, cmp)).collect();
        (!tables.is_empty()).then_some(RunShape { id: run.id, busy: run.busy, tables })
    };
    let levels = tree
        .levels
        .iter()
        .enumerate()
        .map(|(level, runs)| runs.iter().take(most(level)).filter_map(run_within).collect());
    TreeShape { levels: levels.collect(), dead_share: tree.dead_share, damage: Vec::new() }
}

/// Returns the part of a table in a range that it overlaps.
fn table_within(table: &TableShape, range: &CutRange, cmp: &dyn Comparator) -> TableShape {
    let mut part = table.clone();
    if let Some(lo) = &range.lo
        && cmp.compare(&part.lo, lo).is_lt()
    {
        part.lo = lo.clone();
    }
    if let Some(hi) = &range.hi
        && !table.ends_before(hi, cmp)
    {
        (part.hi, part.hi_included) = (hi.clone(), false);
    }
    part.bytes = bytes_in(table, range, cmp).clamp(1, table.bytes.max(1));
    let share =
        |count: u64| (count as u128 * part.bytes as u128 / table.bytes.max(1) as u128) as u64;
    part.entries = share(table.entries).max(table.entries.min(1));
    part.deletes = share(table.deletes).max(table.deletes.min(1));
    part
}

/// Estimates the bytes of the table with keys in the range.
pub(super) fn bytes_in(table: &TableShape, range: &CutRange, cmp: &dyn Comparator) -> u64 {
    let upto = |bound: &Option<Key>, unbounded| {
        bound.as_ref().map_or(unbounded, |key| bytes_below(table, key, cmp))
    };
    upto(&range.hi, table.bytes).saturating_sub(upto(&range.lo, 0))
}

/// Estimates the bytes of the table with keys below `key`.
pub(super) fn bytes_below(table: &TableShape, key: &[u8], cmp: &dyn Comparator) -> u64 {
    if cmp.compare(key, &table.lo).is_le() {
        return 0;
    }
    if table.ends_before(key, cmp) {
        return table.bytes;
    }
    let samples = &table.samples;
    let first = samples.partition_point(|s| cmp.compare(s, &table.lo).is_le());
    let end = samples.partition_point(|s| cmp.compare(s, &table.hi).is_lt()).max(first);
    // The first sample above the key.
    let next = samples.partition_point(|s| cmp.compare(s, key).is_le()).clamp(first, end);
    let lo = if next == first { None } else { samples.get(next - 1) }.unwrap_or(&table.lo);
    let hi = if next == end { None } else { samples.get(next) }.unwrap_or(&table.hi);
    let stretch = (next - first) as f64;
    let share = (stretch + position(lo, hi, key, cmp)) / (end - first + 1) as f64;
    (table.bytes as f64 * share) as u64
}

/// Returns where `key` lies between `lo` (0) and `hi` (1).
fn position(lo: &[u8], hi: &[u8], key: &[u8], cmp: &dyn Comparator) -> f64 {
    if !cmp.bytewise_order() {
        return 0.5;
    }
    let prefix = lo.iter().zip(hi).take_while(|(a, b)| a == b).count();
    let word = |key: &[u8]| {
        let mut bytes = [0; 8];
        let rest = &key[prefix.min(key.len())..];
        let len = rest.len().min(8);
        bytes[..len].copy_from_slice(&rest[..len]);
        u64::from_be_bytes(bytes) as f64
    };
    let (lo, hi, key) = (word(lo), word(hi), word(key));
    if hi <= lo { 0.5 } else { ((key - lo) / (hi - lo)).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::BytewiseComparator;

    fn table(lo: &str, hi: &str, samples: &[&str]) -> TableShape {
        TableShape {
            lo: lo.as_bytes().into(),
            hi: hi.as_bytes().into(),
            hi_included: true,
            bytes: 1000,
            samples: samples.iter().collect(),
            deletes: 0,
            entries: 10,
            released: false,
        }
    }

    fn below(table: &TableShape, key: &str) -> u64 {
        bytes_below(table, key.as_bytes(), &BytewiseComparator)
    }

    #[test]
    fn without_samples_bytes_are_spread_evenly_behind_the_common_prefix() {
        let table = table("user0", "user8", &[]);
        assert_eq!(below(&table, "user0"), 0);
        assert_eq!(below(&table, "user4"), 500);
        assert_eq!(below(&table, "user9"), 1000);
    }

    #[test]
    fn samples_carry_a_skew_that_interpolation_cannot_see() {
        // Three quarters of the bytes lie below "b".
        let table = table("a", "z", &["ab", "ac", "b"]);
        assert_eq!(below(&table, "b"), 750);
        assert!(below(&table, "m") > 750);
    }

    #[test]
    fn samples_outside_trimmed_bounds_are_ignored() {
        let trimmed = table("m", "z", &["c", "f", "m", "s"]);
        assert_eq!(below(&trimmed, "m"), 0);
        assert_eq!(below(&trimmed, "s"), 500);
    }

    #[test]
    fn an_order_that_is_not_the_bytes_falls_back_to_the_middle_of_a_stretch() {
        #[derive(Debug)]
        struct Backwards;
        impl Comparator for Backwards {
            fn name(&self) -> &str {
                "test.backwards"
            }
            fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
                b.cmp(a)
            }
            fn bytewise_order(&self) -> bool {
                false
            }
            fn bytewise_equality(&self) -> bool {
                true
            }
        }
        let table = table("z", "a", &["s"]);
        assert_eq!(bytes_below(&table, b"t", &Backwards), 250);
        let range = CutRange { lo: Some(Key::from(&b"s"[..])), hi: None };
        assert_eq!(bytes_in(&table, &range, &Backwards), 250);
    }
}
