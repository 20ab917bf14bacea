//! Parts of a job, whose slices end in any order.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::compaction::job::{FinishedSlice, Job, Moves};
use crate::compaction::tests::jobs::{Case, Running, case, merge};
use crate::key::BytewiseComparator;
use crate::testing::tree::Workbench;
use crate::version::{KeyRange, Upper};

/// A part, and the slice that it has written and not installed.
struct Part {
    job: Job,
    written: Option<FinishedSlice>,
}

/// Runs the parts to their end. `turns` says whose turn is next. A part writes a slice in one turn,
/// and installs it in a later one, when the tree may be another.
fn run(running: &mut Running<'_>, mut parts: Vec<Part>, turns: &[Index]) {
    for turn in turns.iter().cycle().take(2000) {
        if parts.is_empty() {
            break;
        }
        let at = turn.index(parts.len());
        let Part { job, written } = &mut parts[at];
        if let Some(mut slice) = written.take() {
            job.place_output(&mut slice.edits, &running.version);
            running.install(&slice);
            continue;
        }
        *written = running.write(job).unwrap();
        if written.is_none() {
            parts.remove(at);
        }
    }
    assert!(parts.is_empty(), "every slice uses something up");
    running.check_end();
}

fn parts_of(job: &Job, case: &Case, running: &Running<'_>) -> Vec<Part> {
    let parts = job.clone().parts(3, 1, &running.version, &*case.comparator);
    parts.into_iter().map(|job| Part { job, written: None }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the tree and the job, no reader notices any slice of any part (H1, H4).
    #[test]
    fn no_reader_notices_the_slices_of_parts(
        case in case(),
        turns in proptest::collection::vec(any::<Index>(), 8..32),
    ) {
        let bench = Workbench::ordered_by(Arc::clone(&case.comparator));
        if let Some(mut running) = case.begin(&bench) {
            let parts = parts_of(&running.job, &case, &running);
            run(&mut running, parts, &turns);
        }
    }

    #[test]
    fn parts_lie_side_by_side_and_fill_the_range(case in case()) {
        let bench = Workbench::ordered_by(Arc::clone(&case.comparator));
        let Some(running) = case.begin(&bench) else { return Ok(()) };
        let parts = parts_of(&running.job, &case, &running);
        let ranges: Vec<&KeyRange> = parts.iter().map(|part| &part.job.range).collect();
        prop_assert_eq!(&ranges[0].lo, &running.job.range.lo);
        prop_assert_eq!(&ranges[ranges.len() - 1].hi, &running.job.range.hi);
        for pair in ranges.windows(2) {
            prop_assert_eq!(&pair[0].hi, &pair[1].lo.clone().map(Upper::Excluded));
            if let (Some(lo), Some(hi)) = (&pair[0].lo, &pair[0].hi) {
                prop_assert!(hi.admits(&*case.comparator, lo), "no part is empty");
            }
        }
    }
}

/// Returns the ends of the parts of a job over two runs, whose larger one has ten tables.
fn ends(most: usize, least_bytes: impl Fn(u64) -> u64, moves: Moves) -> Vec<String> {
    let bench = Workbench::new();
    let tables: Vec<String> =
        ('a'..='j').zip(1..).map(|(key, seqno)| format!("[{key}.PUT.{seqno}(1)]")).collect();
    let version = bench.draw(&format!("L1 r5: [c.MERGE.50(+1)]\nL2 r2: {}", tables.join(" ")));
    let bytes = version.tables().map(|table| table.file.len).sum();
    let job = Job { moves, ..merge(&[5], 2, 2) };
    let parts = job.parts(most, least_bytes(bytes), &version, &BytewiseComparator);
    let end = |part: &Job| part.range.hi.as_ref().map(|hi| hi.key().escape_ascii().to_string());
    parts.iter().map(|part| end(part).unwrap_or_default()).collect()
}

#[test]
fn parts_have_about_the_same_size() {
    assert_eq!(ends(2, |_| 1, Moves::None), ["f", ""]);
    assert_eq!(ends(3, |_| 1, Moves::None), ["d", "g", ""]);
    assert_eq!(ends(10, |_| 1, Moves::None).len(), 10);
}

#[test]
fn a_job_is_divided_only_if_its_parts_are_large_enough() {
    assert_eq!(ends(8, |bytes| bytes / 3, Moves::None).len(), 3);
    assert_eq!(ends(8, |bytes| bytes / 2 + 1, Moves::None), [""]);
    assert_eq!(ends(1, |_| 1, Moves::None), [""]);
}

#[test]
fn a_job_that_only_moves_tables_stays_whole() {
    assert_eq!(ends(8, |_| 1, Moves::All), [""]);
}

#[test]
fn a_cut_between_two_tables_of_equal_size_divides_neither() {
    let bench = Workbench::new();
    let version =
        bench.draw("L2 r2: [a.PUT.1(1) b.PUT.2(1) c.PUT.3(1)] [d.PUT.4(1) e.PUT.5(1) f.PUT.6(1)]");
    let parts = merge(&[2], 3, 3).parts(2, 1, &version, &BytewiseComparator);
    let end = parts[0].range.hi.as_ref().map(|hi| hi.key().escape_ascii().to_string());
    assert_eq!((parts.len(), end.as_deref()), (2, Some("d")));
}
