//! H4: tests which jobs may run, and the place of their output.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::compaction::job::{Job, assert_inputs_in_order};
use crate::compaction::tests::jobs::merge;
use crate::faults::{Fault, plant};
use crate::key::BytewiseComparator;
use crate::testing::tree::{Workbench, parse_bounds};
use crate::version::KeyRange;

const TREE: &str = "L0 r9: [a.PUT.90(9) c.PUT.91(9)]
     L0 r8: [a.PUT.80(8) c.PUT.81(8)]
     L1 r7: [a.PUT.70(7)] [x.PUT.71(7) z.PUT.72(7)]
     L1 r6: [c.PUT.60(6) d.PUT.61(6)]
     L2 r5: [a.PUT.50(5)] [k.PUT.51(5)]
     L3 r4: [a.PUT.40(4) z.PUT.41(4)]";

fn within(job: Job, range: &str) -> Job {
    let (lo, hi) = parse_bounds(range);
    Job { range: KeyRange { lo: Some(lo), hi: Some(hi) }, ..job }
}

fn in_place(job: Job) -> Job {
    Job { before: job.inputs.first().copied(), ..job }
}

/// Returns whether the job passes the check.
fn passes(job: &Job) -> bool {
    let version = Workbench::new().draw(TREE);
    let check = || assert_inputs_in_order(job, &version, &BytewiseComparator);
    catch_unwind(AssertUnwindSafe(check)).is_ok()
}

#[test]
fn h4_jobs_take_all_between_their_newest_input_and_their_output() {
    // Into a run that exists, and into a new run of a level.
    assert!(passes(&merge(&[9, 8, 7, 6, 5], 3, 4)));
    assert!(passes(&merge(&[9, 8], 1, 20)));
    assert!(passes(&merge(&[8], 1, 20)), "the oldest runs of a level are a suffix");
    assert!(passes(&merge(&[7, 6], 2, 5)));
    assert!(passes(&merge(&[7, 6], 2, 20)));
    assert!(passes(&merge(&[5], 3, 4)));
    assert!(passes(&merge(&[9, 8], 0, 20)), "all of a level, into its newest run");

    assert!(!passes(&merge(&[9], 1, 20)), "the job leaves out r8");
    assert!(!passes(&merge(&[9, 8], 1, 6)), "the job leaves out r7");
    assert!(!passes(&merge(&[9, 8], 2, 20)), "the job leaves out level 1");
    assert!(!passes(&merge(&[9, 8, 7, 6], 3, 4)), "the job leaves out r5");
    assert!(!passes(&merge(&[9, 8, 6, 5], 3, 4)), "the job leaves out r7");
    assert!(!passes(&merge(&[7], 2, 5)), "the job leaves out r6");
}

#[test]
fn h4_what_does_not_overlap_may_be_left_out() {
    assert!(passes(&within(merge(&[9, 8, 7, 5], 3, 4), "a..b")), "r6 has nothing below b");
    assert!(!passes(&within(merge(&[9, 8, 7, 5], 3, 4), "a..=c")));
    assert!(passes(&within(merge(&[7], 3, 4), "x..zz")), "nothing between has keys there");
    assert!(passes(&within(merge(&[9], 1, 20), "d..z")));
    assert!(passes(&within(merge(&[9, 8], 1, 6), "b..x")), "r7 ends with a and goes on with x");
}

/// A compaction that stays in its level takes runs that are neighbours in age.
#[test]
fn h4_in_place_merges_take_neighbours() {
    assert!(passes(&in_place(merge(&[9, 8], 0, 20))));
    assert!(passes(&in_place(merge(&[7, 6], 1, 20))));
    let version = Workbench::new().draw(
        "L0 r9: [a.PUT.9(9)]
         L0 r8: [a.PUT.8(8)]
         L0 r7: [a.PUT.7(7)]",
    );
    let check = |inputs: &[u64]| {
        assert_inputs_in_order(&in_place(merge(inputs, 0, 20)), &version, &BytewiseComparator);
    };
    check(&[9, 8]);
    check(&[8, 7]);
    check(&[9, 8, 7]);
    let outcome = catch_unwind(AssertUnwindSafe(|| check(&[9, 7])));
    let message = outcome.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*message, "a job into level 0 passes over run 8 of level 0");
}

#[test]
fn h4_the_planted_fault_lets_all_pass() {
    plant(Some(Fault::MovePastOlderRun));
    let version = Workbench::new().draw(TREE);
    assert_inputs_in_order(&merge(&[9], 1, 20), &version, &BytewiseComparator);
    plant(None);
}

/// An in-place output stands before a named run, which may be used up when the output is created.
/// Then the inputs that are left mark the place, never the top of the level.
#[test]
fn h4_an_in_place_output_never_passes_newer_runs() {
    let version = Workbench::new().draw(
        "L0 r9: [a.PUT.9(9)]
         L0 r7: [a.PUT.7(7)]
         L0 r6: [a.PUT.6(6)]",
    );
    let place =
        |inputs: &[u64], before| Job { before, ..merge(inputs, 0, 20) }.place_of_output(&version);
    assert_eq!(place(&[8, 7], Some(8)), Some(7));
    assert_eq!(place(&[7, 6], Some(7)), Some(7));
    assert_eq!(place(&[8, 6], Some(8)), Some(6));
    assert_eq!(place(&[7, 6], None), Some(7), "an output run used up half-way");
    assert_eq!(place(&[12], None), None, "inputs of other levels only");
}
