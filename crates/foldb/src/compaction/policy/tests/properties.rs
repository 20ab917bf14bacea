//! Random histories of writes, deletes, half-finished and running jobs. Every pick keeps the order
//! invariant, picks never disturb each other, and the policy comes to rest.

use proptest::prelude::*;

use crate::compaction::policy::slices::MOST_CELLS;
use crate::compaction::policy::tests::depth;
use crate::compaction::policy::tests::order::{assert_apart, assert_keeps_order, mark_busy};
use crate::compaction::policy::tests::sim_tree::{Record, SimTree, key};
use crate::compaction::policy::{CutRange, Pick, Policy, RunningJob, Verdict, reads, rest, whole};
use crate::key::BytewiseComparator;
use crate::settings::CompactionPreset;

const CMP: &BytewiseComparator = &BytewiseComparator;
const KEYS: u32 = 400;
/// More jobs than any of these trees can need.
const MANY: usize = 2000;

/// One event of a history.
#[derive(Clone, Debug)]
enum Event {
    /// A memtable of `count` records, from a key on, every `step`th key.
    Flush { from: u32, count: u32, step: u32, deletes: bool },
    /// At most this many jobs.
    Compact(usize),
    /// A job that stops after part of its range, as a crash would stop it.
    CompactPartly { share: f64 },
    /// Two jobs at the same time, with memtables flushed between their beginnings. The flag says
    /// which ends first.
    CompactTogether { flushes: u32, second_first: bool },
    /// A change of preset.
    Preset(CompactionPreset),
}

fn presets() -> impl Strategy<Value = CompactionPreset> {
    use CompactionPreset::{LazyLeveled, Leveled, Tiered};
    prop_oneof![2 => Just(LazyLeveled), 1 => Just(Leveled), 1 => Just(Tiered)]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        8 => (0..KEYS, 1..60u32, 1..12u32, prop::bool::weighted(0.2)).prop_map(
            |(from, count, step, deletes)| Event::Flush { from, count, step, deletes }
        ),
        2 => (0..6usize).prop_map(Event::Compact),
        2 => (0.0..1.0).prop_map(|share| Event::CompactPartly { share }),
        2 => (0..10u32, any::<bool>()).prop_map(|(flushes, second_first)| Event::CompactTogether {
            flushes,
            second_first,
        }),
        1 => presets().prop_map(Event::Preset),
    ];
    prop::collection::vec(event, 1..60)
}

fn policy(preset: CompactionPreset, num_levels: usize) -> Policy {
    Policy {
        num_levels,
        staging_max_runs: 3,
        fan_in: 3,
        level0_trigger: 3,
        level0_limit: 6,
        level_base: 60,
        level_multiplier: 3.0,
        target_file_size: 8,
        flush_bytes: 20,
        // Half of the histories have cells of several tables.
        most_cells: if num_levels.is_multiple_of(2) { 3 } else { MOST_CELLS },
        ..super::policy(preset, 2 << 20)
    }
}

struct History {
    policy: Policy,
    tree: SimTree,
    writes: u32,
}

impl History {
    fn new(preset: CompactionPreset, num_levels: usize) -> History {
        let policy = policy(preset, num_levels);
        History { tree: SimTree::new(num_levels, 1, policy.target_file_size), policy, writes: 0 }
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Flush { from, count, step, deletes } => self.flush(from, count, step, deletes),
            Event::Compact(jobs) => {
                for _ in 0..jobs {
                    if let Some(pick) = self.pick(&[]) {
                        self.apply(&pick);
                    }
                }
            }
            Event::CompactPartly { share } => {
                if let Some(mut pick) = self.pick(&[]) {
                    pick.range = first_part(&pick.range, share);
                    self.apply(&pick);
                }
            }
            Event::CompactTogether { flushes, second_first } => {
                self.compact_together(flushes, second_first)
            }
            Event::Preset(preset) => self.policy = policy(preset, self.policy.num_levels),
        }
        self.tree.assert_ordered();
    }

    fn flush(&mut self, from: u32, count: u32, step: u32, deletes: bool) {
        let record = |i| {
            let key = (from + i * step) % KEYS;
            let write = self.writes + i + 1;
            if deletes { Record::delete(key, write) } else { Record::put(key, write) }
        };
        let records = (0..count).map(record).collect();
        self.writes += count;
        self.tree.add(0, records);
    }

    /// Picks a job and checks it.
    fn pick(&self, running: &[&Pick]) -> Option<Pick> {
        let mut shape = self.tree.shape();
        for pick in running {
            mark_busy(&mut shape, pick);
        }
        let jobs: Vec<RunningJob> = running.iter().map(|pick| job(pick)).collect();
        let pick = self.policy.pick(&shape, &jobs, CMP);
        if let Some(pick) = &pick {
            assert_keeps_order(&shape, pick);
            running.iter().for_each(|other| assert_apart(pick, other));
        } else if running.is_empty() {
            assert_eq!(self.policy.debt(&shape, &[], CMP), 0, "debt at rest");
        }
        pick
    }

    /// Does a job, which must change nothing for readers.
    fn apply(&mut self, pick: &Pick) {
        let before = self.tree.contents();
        self.tree.apply(pick);
        self.tree.assert_ordered();
        assert_eq!(before, self.tree.contents(), "{pick:?}");
    }

    fn compact_together(&mut self, flushes: u32, second_first: bool) {
        let Some(first) = self.pick(&[]) else { return };
        (0..flushes).for_each(|i| self.flush(i * 37, 20, 7, i == 3));
        let Some(second) = self.pick(&[&first]) else { return self.apply(&first) };
        let order = if second_first { [&second, &first] } else { [&first, &second] };
        order.into_iter().for_each(|pick| self.apply(pick));
    }

    /// Does jobs until nothing is left to do.
    fn come_to_rest(&mut self) {
        for _ in 0..MANY {
            let Some(pick) = self.pick(&[]) else { return };
            self.apply(&pick);
        }
        panic!("{MANY} jobs did not bring the policy to rest: {:?}", self.pick(&[]));
    }
}

fn job(pick: &Pick) -> RunningJob {
    RunningJob {
        input_level: pick.inputs[0].level,
        output_level: pick.output_level,
        range: pick.range.clone(),
        remaining_bytes: 0,
    }
}

/// Returns what a stopped job has done: the keys below some key.
fn first_part(range: &CutRange, share: f64) -> CutRange {
    let number =
        |key: &[u8]| u32::from_be_bytes(key.try_into().expect("keys of the model have 4 bytes"));
    let lo = range.lo.as_ref().map_or(0, |key| number(key));
    let hi = range.hi.as_ref().map_or(KEYS, |key| number(key));
    let cut = lo + (f64::from(hi.saturating_sub(lo)) * share) as u32;
    CutRange { lo: range.lo.clone(), hi: Some(key(cut)) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_pick_keeps_the_order_and_the_policy_comes_to_rest(
        preset in presets(),
        levels in 2..7usize,
        events in events(),
    ) {
        let mut history = History::new(preset, levels);
        events.iter().for_each(|event| history.happen(event));
        history.come_to_rest();
    }

    /// Two small runs over a large tree lie below every bound in bytes. With a stop trigger of two,
    /// they once stopped writers for ever.
    #[test]
    fn a_policy_at_rest_stops_no_writer(
        preset in presets(),
        levels in 2..8usize,
        (trigger, over) in (1..9usize, 0..3usize),
        fan_in in 2..9usize,
        staging_ratio in prop::sample::select(vec![0.01, 0.25, 1.0, 10.0]),
        events in events(),
    ) {
        let mut history = History::new(preset, levels);
        let stop = trigger + over;
        let edges = |own: Policy| Policy {
            fan_in,
            staging_ratio,
            level0_trigger: trigger,
            level0_limit: (2 * trigger).min(stop).max(trigger),
            level0_stop: stop,
            ..own
        };
        history.policy = edges(history.policy);
        for event in &events {
            history.happen(event);
            history.policy = edges(history.policy);
            history.come_to_rest();
            let runs = history.tree.shape().levels[0].len();
            prop_assert!(runs < stop, "{runs} runs stop writers, and the policy has no job");
        }
    }

    #[test]
    fn at_rest_space_and_depth_are_bounded(
        preset in presets(),
        levels in 3..7usize,
        events in events(),
    ) {
        let mut history = History::new(preset, levels);
        events.iter().for_each(|event| history.happen(event));
        history.come_to_rest();
        let (policy, shape) = (&history.policy, history.tree.shape());
        let last = shape.level_bytes(levels - 1) as f64;
        let depth = depth(&shape, CMP);
        match policy.preset {
            CompactionPreset::Leveled => {
                prop_assert!(depth < policy.level0_limit + levels, "depth {depth}");
            }
            CompactionPreset::LazyLeveled => {
                let staged = shape.level_bytes(levels - 2) as f64;
                let above: f64 = (0..levels - 1).map(|level| shape.level_bytes(level) as f64).sum();
                let bound = policy.staging_ratio * last;
                prop_assert!(
                    staged == 0.0 || above * shape.dead_share <= bound,
                    "{above} bytes over {last}, {staged} of them staged"
                );
                let tiers = policy.tiers(last as u64);
                let bound = policy.level0_limit + (tiers - 1) * 2 * policy.fan_in
                    + policy.staging_max_runs * 5 / 4 + 1;
                prop_assert!(depth <= bound, "depth {depth}");
            }
            CompactionPreset::Tiered => {
                prop_assert!(depth <= levels * policy.level0_limit, "depth {depth}");
            }
        }
    }

    #[test]
    fn manual_compaction_ends_with_one_run_over_its_range(
        preset in presets(),
        levels in 2..7usize,
        events in events(),
        range in (0..KEYS, 0..KEYS),
    ) {
        let mut history = History::new(preset, levels);
        events.iter().for_each(|event| history.happen(event));
        let range = CutRange {
            lo: Some(key(range.0.min(range.1))),
            hi: Some(key(range.0.max(range.1) + 1)),
        };
        for _ in 0..MANY {
            let shape = history.tree.shape();
            match whole::into_one_run(&history.policy.picker(&shape, &[], CMP), &range) {
                Verdict::Run(_, pick) => {
                    assert_keeps_order(&shape, &pick);
                    history.apply(&pick);
                }
                Verdict::Wait => prop_assert!(false, "no job runs that it could wait for"),
                Verdict::Rest => {
                    let here = |run: &&crate::compaction::policy::RunShape| {
                        !run.tables_in(&range, CMP).is_empty()
                    };
                    let runs = shape.levels.iter().flatten().filter(here).count();
                    prop_assert!(runs <= 1, "{runs} runs are left in the range");
                    return Ok(());
                }
            }
        }
        prop_assert!(false, "{MANY} steps did not finish");
    }

    /// Whatever the tree's history, the jobs done at rest end and wake no other rule for long. They
    /// leave no slice under more dead bytes than allowed.
    #[test]
    fn at_rest_jobs_end_and_no_slice_is_left_under_much(
        preset in presets(),
        levels in 2..7usize,
        events in events(),
    ) {
        let mut history = History::new(preset, levels);
        events.iter().for_each(|event| history.happen(event));
        for _ in 0..MANY {
            history.come_to_rest();
            let shape = history.tree.shape();
            let Some(pick) = rest::at_rest(&history.policy.picker(&shape, &[], CMP)) else {
                if history.policy.preset == CompactionPreset::LazyLeveled {
                    let last = shape.level_bytes(levels - 1) as f64;
                    let all: f64 = (0..levels).map(|level| shape.level_bytes(level) as f64).sum();
                    // Slices have the size of four tables, and there are few.
                    let bound = history.policy.staging_ratio * 2.0 / (1.0 + shape.dead_share);
                    let runs = shape.levels.iter().map(Vec::len).sum::<usize>();
                    prop_assert!(
                        runs < 2 || all - last <= bound * last + 1.0,
                        "{all} bytes, {last} of them in the last level"
                    );
                }
                return Ok(());
            };
            assert_keeps_order(&shape, &pick);
            history.apply(&pick);
        }
        prop_assert!(false, "{MANY} jobs did not finish");
    }

    /// However much time reads lose, the jobs for reads end, and each price is at least half of the
    /// job's bytes.
    #[test]
    fn jobs_for_reads_end_when_no_run_is_too_many(
        preset in presets(),
        levels in 2..7usize,
        events in events(),
    ) {
        let mut history = History::new(preset, levels);
        events.iter().for_each(|event| history.happen(event));
        for _ in 0..MANY {
            history.come_to_rest();
            let shape = history.tree.shape();
            let Some((price, pick)) = reads::fewer_runs(&history.policy.picker(&shape, &[], CMP)) else {
                if history.policy.preset == CompactionPreset::LazyLeveled {
                    let mut filled = shape;
                    // Some references keep only their bounds.
                    for run in filled.levels.iter_mut().flatten() {
                        run.tables.retain(|table| table.bytes > 0);
                    }
                    prop_assert!(depth(&filled, CMP) <= 1, "{filled:?}");
                }
                return Ok(());
            };
            prop_assert!(2 * price >= pick.bytes, "{price} for {pick:?}");
            assert_keeps_order(&shape, &pick);
            history.apply(&pick);
        }
        prop_assert!(false, "{MANY} jobs did not finish");
    }

    /// The same for scans over deleted keys: each job keeps the order, and the jobs end.
    #[test]
    fn jobs_for_scans_end(
        preset in presets(),
        levels in 2..7usize,
        events in events(),
    ) {
        let mut history = History::new(preset, levels);
        events.iter().for_each(|event| history.happen(event));
        for _ in 0..MANY {
            history.come_to_rest();
            let shape = history.tree.shape();
            let Some((price, pick)) = reads::fewer_tombstones(&history.policy.picker(&shape, &[], CMP)) else {
                return Ok(());
            };
            prop_assert!(2 * price >= pick.bytes, "{price} for {pick:?}");
            assert_keeps_order(&shape, &pick);
            history.apply(&pick);
        }
        prop_assert!(false, "{MANY} jobs did not finish");
    }
}
