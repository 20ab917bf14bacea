//! Random programs of every operation against a model.
//!
//! `FOLDB_MODEL_CASES` sets how many programs run, `FOLDB_MODEL_SEED` the seed of the first. A
//! failing program is shrunk and printed with its seed. `FOLDB_PLANT` plants a fault in all
//! threads, so this is a program of its own.
//!
//! `FOLDB_CARRIED` names a directory for databases that several platforms change in turn, and
//! `FOLDB_CARRIED_STAGE` whose turn it is. `cargo xtask emulated` sets both.

mod support;

use std::cell::Cell;
use std::env;
use std::path::Path;

use foldb::stats::KeyspaceStats;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use support::model::carried;
use support::model::program;
use support::model::run::{self, Played};
use support::quiet;

/// Steps of the longest program.
const STEPS: usize = 160;
/// Programs that each test here plays, unless the environment says otherwise.
const CASES: u64 = 500;
/// Milliseconds spent on shrinking a failing program.
const SHRINKING: u32 = 60_000;

#[test]
fn short_programs_do_as_the_model_does() {
    play_programs(0x5_0000, STEPS / 4, CASES * 2);
}

#[test]
fn long_programs_do_as_the_model_does() {
    play_programs(0xa_0000, STEPS * 2, CASES);
}

/// Programs that platforms play in turn. Together they use every feature.
const CARRIED: u64 = 24;

/// Without the variables, all stages are played here.
#[test]
fn carried_databases_hold_what_the_platform_before_wrote() {
    let Some(root) = env::var_os("FOLDB_CARRIED") else {
        let root = tempfile::tempdir().unwrap();
        (1..=carried::STAGES).for_each(|stage| play_stage(root.path(), stage));
        return;
    };
    let stage = env::var("FOLDB_CARRIED_STAGE").expect("FOLDB_CARRIED_STAGE is set too");
    play_stage(root.as_ref(), stage.parse().expect("FOLDB_CARRIED_STAGE is a number"));
}

/// Plays a stage of every carried program, and checks that every kind of file was left.
fn play_stage(root: &Path, stage: usize) {
    for seed in 0..CARRIED {
        let played = quiet::catch(|| carried::play_stage(root, seed, stage));
        played.unwrap_or_else(|reason| panic!("seed {seed}, stage {stage}: {reason}"));
    }
    let left = carried::endings(root, stage);
    for ending in ["tbl", "log", "arc", "seg"] {
        assert!(left.contains(ending), "no stage {stage} left a file .{ending}: {left:?}");
    }
    println!("stage {stage}: {CARRIED} databases hold what the model says");
}

#[test]
fn carried_programs_use_every_feature() {
    let text: String = (0..CARRIED).map(|seed| format!("{:?}", carried::program(seed))).collect();
    for feature in [
        "feed: true",
        "separation: Some",
        "hints: true",
        "rule: Expiry",
        "Load {",
        "Transaction {",
        "Conditional(",
        "Lasting(",
        "CreateKeyspace(fading)",
        "DropKeyspace(",
        "DeleteRange(",
        "Append(",
        "Add",
        "Max",
        "References",
        "Register",
        "Snappy",
        "Lz4",
        "Gc(",
        "Compact(",
        "Kill",
    ] {
        assert!(text.contains(feature), "no carried program has {feature}");
    }
    assert!(!text.contains("Crash"), "what a crash leaves depends on the platform");
}

/// Plays `cases` programs, the first drawn from seed `first`.
///
/// # Panics
/// When one fails, or when all of them together leave a part of the engine untouched.
fn play_programs(first: u64, steps: usize, cases: u64) {
    support::plant_from_environment();
    let from_environment = |name| env::var(name).ok().and_then(|text: String| text.parse().ok());
    let first: u64 = from_environment("FOLDB_MODEL_SEED").unwrap_or(first);
    let cases: u64 = from_environment("FOLDB_MODEL_CASES").unwrap_or(cases);
    println!("seeds {first} to {}, up to {steps} steps", first + cases - 1);
    let reached = Reached::default();
    for seed in first..first + cases {
        play_program(seed, steps, &reached);
    }
    println!("{reached:?}");
    if cases >= CASES {
        reached.assert_everything();
    }
}

/// Number of programs that reached each of the states that are hard to reach.
#[derive(Debug, Default)]
struct Reached {
    flushed: Cell<u64>,
    folded: Cell<u64>,
    compacted: Cell<u64>,
    /// Compactions of more than one slice.
    sliced: Cell<u64>,
    moved: Cell<u64>,
    three_levels: Cell<u64>,
    failed_merges: Cell<u64>,
    /// Garbage collections of value segments.
    garbage_collected: Cell<u64>,
    /// Logs that became value segments.
    adopted: Cell<u64>,
    /// Programs that ended with tables in several keyspaces.
    keyspaces: Cell<u64>,
    /// Programs with followers of the change feed that read a batch.
    followed: Cell<u64>,
    /// Programs in which entries expired.
    expired: Cell<u64>,
    /// Programs in which a commit met a conflict.
    conflicts: Cell<u64>,
}

impl Reached {
    fn add(&self, played: &Played) {
        let stats = &played.stats;
        let levels = stats.levels.iter().filter(|level| level.bytes_written > 0).count();
        let has_tables = |own: &&KeyspaceStats| own.levels.iter().any(|level| level.runs > 0);
        let keyspaces = stats.keyspaces.iter().filter(has_tables).count();
        for (counter, is_reached) in [
            (&self.keyspaces, keyspaces >= 2),
            (&self.followed, played.followed > 0),
            (&self.expired, played.expired > 0),
            (&self.conflicts, played.conflicts > 0),
            (&self.flushed, stats.flushes > 0),
            (&self.garbage_collected, stats.garbage_collections > 0),
            (&self.adopted, stats.bytes_adopted > 0),
            (&self.folded, stats.compaction_records_out < stats.compaction_records_in),
            (&self.compacted, stats.compactions > 0),
            (&self.sliced, stats.compaction_slices > stats.compactions + stats.trivial_moves),
            (&self.moved, stats.trivial_moves > 0),
            (&self.three_levels, levels >= 3),
            (&self.failed_merges, stats.failed_merges > 0),
        ] {
            counter.update(|count| count + u64::from(is_reached));
        }
    }

    fn assert_everything(&self) {
        for counter in [
            &self.flushed,
            &self.folded,
            &self.compacted,
            &self.sliced,
            &self.moved,
            &self.three_levels,
            &self.failed_merges,
            &self.garbage_collected,
            &self.adopted,
            &self.keyspaces,
            &self.followed,
            &self.expired,
            &self.conflicts,
        ] {
            assert!(counter.get() > 0, "some state was never reached: {self:?}");
        }
    }
}

fn play_program(seed: u64, steps: usize, reached: &Reached) {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config {
        cases: 1,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        max_shrink_time: SHRINKING,
        ..Config::default()
    };
    let outcome = TestRunner::new_with_rng(config, rng).run(&program::programs(steps), |program| {
        let played = quiet::catch(|| run::play(&program)).map_err(TestCaseError::fail)?;
        reached.add(&played);
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, program)) => {
            panic!("{reason}\n\nFOLDB_MODEL_SEED={seed} FOLDB_MODEL_CASES=1, shrunk:\n{program:?}")
        }
        Err(error) => panic!("seed {seed}: {error}"),
    }
}
