//! Runs whole benchmarks on a few keys. Checks the measured figures, and that the verification
//! detects wrong values.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldb::Db;
use foldb_report::merges::MergeRun;

use crate::dataset::{
    ALONE, BUDGETS, DEFAULT_BUDGET, Dataset, PATTERNS, Pattern, SCENARIOS, STANDARD, WORKLOADS,
    Workload,
};
use crate::deadline::Deadline;
use crate::directory::Directory;
use crate::failure::Failure;
use crate::load::HotKeys;
use crate::matrix::{Case, Data, Lengths, plan};
use crate::plan::key;
use crate::prepare::{check_all_is_there, options, prepare};
use crate::repetition::Bench;
use crate::session::Session;
use crate::verify::Expected;

/// Small enough for many runs, with several segment files.
const TINY: Dataset =
    Dataset { name: "tiny", entries: 3000, value_len: 64, segment_size: 32 << 10 };

/// Makes other tests wait until the guard is dropped: allocations count for the whole process.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn case(pattern: Pattern, scatter: bool, workload: Workload) -> Case {
    Case {
        subcommand: "standard",
        data: Data { dataset: TINY, pattern, scatter, hint: true },
        workload,
        budget: DEFAULT_BUDGET,
        has_baseline: false,
        sync: false,
        sample_every: 1,
        repetitions: 1,
    }
}

fn run(cases: &[Case], meddle: fn(&Db)) -> Result<Vec<MergeRun>, Failure> {
    let _alone = alone();
    let temporary = tempfile::tempdir().unwrap();
    let directory = Directory::new(Some(temporary.path())).unwrap();
    let short = Duration::from_millis(60);
    let lengths = Lengths { baseline: short, load: short };
    let bench = Bench { directory: &directory, lengths, deadline: Deadline::new(None), meddle };
    let runs = Session::new(&bench).run(cases)?;
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "no file is left");
    Ok(runs)
}

#[test]
fn every_pattern_gives_its_dead_records_back_and_loses_no_key() {
    let patterns = PATTERNS.into_iter().chain([STANDARD]);
    let cases: Vec<Case> = patterns
        .flat_map(|pattern| [false, true].map(|scatter| case(pattern, scatter, WORKLOADS[0])))
        .flat_map(|case| {
            [true, false].map(|hint| Case { data: Data { hint, ..case.data }, ..case.clone() })
        })
        .collect();
    for (run, case) in run(&cases, |_| {}).unwrap().iter().zip(&cases) {
        let plan = plan(case.data);
        assert_eq!(run.verified_live, plan.live(), "{}", case.name());
        assert_eq!(run.verified_deleted, plan.deleted.len() as u64);
        let merge = &run.merge;
        assert_eq!(merge.dead_record_bytes, plan.dead_records() * plan.record_len());
        assert!(merge.reclaimed_bytes as f64 >= 0.95 * merge.dead_record_bytes as f64);
        let has_dead = plan.dead_records() > 0;
        assert_eq!(merge.reduction_ratio_pct > 10.0, has_dead, "{}: {merge:?}", case.name());
        assert!(merge.ms > 0.0 && merge.bytes_per_mb_budget > 0.0);
        assert!(merge.allocs > 0 || !has_dead);
    }
}

#[test]
fn merges_repeat_until_the_load_has_run_long_enough() {
    let loads = WORKLOADS.into_iter().chain(SCENARIOS).chain(ALONE);
    let cases: Vec<Case> = loads
        .map(|workload| Case {
            has_baseline: !WORKLOADS.contains(&workload),
            ..case(STANDARD, true, workload)
        })
        .collect();
    for (run, case) in run(&cases, |_| {}).unwrap().iter().zip(&cases) {
        let (load, repetition) = (&run.load, &run.repetitions[0]);
        let name = case.name();
        assert_eq!(load.read_p99_us.is_some(), case.workload.readers > 0, "{name}");
        assert_eq!(load.write_p99_us.is_some(), case.workload.writers > 0, "{name}");
        assert_eq!(load.baseline_ops_per_sec.is_some(), case.has_baseline, "{name}");
        assert_eq!(load.throughput_degradation_pct.is_some(), case.has_baseline, "{name}");
        assert_eq!(repetition.spans.len() as u64, repetition.merges, "{name}");
        if case.has_load() {
            assert!(
                repetition.load_seconds >= 0.06 && load.merge_ops_per_sec > Some(0.0),
                "{name}"
            );
        } else {
            assert_eq!((repetition.merges, load.merge_ops_per_sec), (1, None), "{name}");
        }
        if case.has_baseline {
            assert!(repetition.spans[0].from >= 0.06, "{name}: the baseline comes first");
        }
    }
}

#[test]
fn one_operation_in_a_hundred_is_timed() {
    let sampled = Case { sample_every: 100, ..case(STANDARD, false, WORKLOADS[1]) };
    let run = &run(&[sampled], |_| {}).unwrap()[0];
    let operations = run.load.read_ops_per_sec.unwrap() * run.repetitions[0].load_seconds;
    let timed = run.load.read_timed_ops.unwrap() as f64;
    assert!(timed >= 1.0 && timed <= operations / 50.0, "{timed} of {operations}");
}

#[test]
fn runs_with_synced_writers_also_measure_a_bare_sync() {
    let synced = Case { sync: true, ..case(STANDARD, false, WORKLOADS[2]) };
    let run = &run(&[synced], |_| {}).unwrap()[0];
    assert!(run.longest_bare_sync_us.unwrap() > 0.0);
    assert!(run.load.write_max_us.unwrap() > 0.0);
}

#[test]
fn each_budget_does_the_job() {
    let budgets = BUDGETS.map(|budget| Case { budget, ..case(STANDARD, true, WORKLOADS[0]) });
    let runs = run(&budgets, |_| {}).unwrap();
    assert_eq!(runs.len(), 4);
    assert!(runs[0].merge.bytes_per_mb_budget > runs[3].merge.bytes_per_mb_budget);
}

fn refusal(workload: Workload, meddle: fn(&Db)) -> String {
    match run(&[case(STANDARD, false, workload)], meddle) {
        Err(Failure::Message(message)) => message,
        other => panic!("the run did not fail: {other:?}"),
    }
}

#[test]
fn a_lost_key_fails_the_run() {
    let message = refusal(WORKLOADS[0], |db| db.delete(key(2500)).unwrap());
    assert_eq!(
        message,
        "verification after reopen failed: key 0000000000002500: expected its value of generation 0, \
         found no value"
    );
}

#[test]
fn a_stale_value_fails_the_run() {
    let message = refusal(WORKLOADS[0], |db| {
        let plan = plan(Data { dataset: TINY, pattern: STANDARD, scatter: false, hint: true });
        let mut stale = Vec::new();
        plan.value(5, 0, &mut stale);
        db.put(key(5), stale).unwrap();
    });
    assert!(
        message.contains("key 0000000000000005: expected its value of generation 1"),
        "{message}"
    );
    assert!(message.ends_with("found generation 0 of key number 5"), "{message}");
}

#[test]
fn a_deleted_key_that_is_back_fails_the_run() {
    let message = refusal(WORKLOADS[0], |db| db.put(key(1000), "back").unwrap());
    assert!(message.contains("key 0000000000001000: expected no value"), "{message}");
}

#[test]
fn a_key_that_was_never_written_fails_the_run() {
    let message = refusal(WORKLOADS[0], |db| db.put(key(999_999), "new").unwrap());
    assert!(message.ends_with("key 0000000000999999 is there and must not be"), "{message}");
}

/// `meddle` undoes writes of the load on every copy of a repetition, not only on the last one.
#[test]
fn a_write_of_the_load_that_is_undone_fails_the_run() {
    let message = refusal(WORKLOADS[3], |db| {
        let plan = plan(Data { dataset: TINY, pattern: STANDARD, scatter: false, hint: true });
        for (index, generation) in HotKeys::of(&plan).generations() {
            let mut old = Vec::new();
            plan.value(index, generation, &mut old);
            db.put(key(index), old).unwrap();
        }
    });
    assert!(message.starts_with("verification after reopen failed: key "), "{message}");
}

#[test]
fn too_little_on_disk_before_the_merge_fails_the_run() {
    let temporary = tempfile::tempdir().unwrap();
    let data = Data { dataset: TINY, pattern: STANDARD, scatter: false, hint: true };
    let (plan, path) = (plan(data), temporary.path().join("db"));
    prepare(&path, data, &plan).unwrap();
    let db = Db::open(&path, options(data, DEFAULT_BUDGET)).unwrap();
    check_all_is_there(&db, &plan).unwrap();
    db.collect_garbage().unwrap();
    let Err(Failure::Message(message)) = check_all_is_there(&db, &plan) else {
        panic!("the check passes although the dead records are gone")
    };
    assert!(message.contains("must hold all 3990 records"), "{message}");
    Expected::new(&plan, &HotKeys::of(&plan)).check_every_key(&db).unwrap();
}
