//! Measures what a load costs under the real policy: write amplification, space, depth.
//!
//! ```text
//! cargo test -p foldb --lib policy::tests::simulator -- --ignored --nocapture
//! ```

use crate::compaction::policy::tests::depth;
use crate::compaction::policy::tests::sim_tree::{Record, SimTree};
use crate::compaction::policy::{Policy, Signals, Verdict};
use crate::key::BytewiseComparator;
use crate::settings::CompactionPreset;

/// A load of uniformly random writes.
struct Load {
    name: &'static str,
    policy: Policy,
    keys: u32,
    value_bytes: u64,
}

/// Cost of one stretch of a load, as multiples of the written bytes and of the live bytes.
#[derive(Debug, Default)]
struct Cost {
    write_amplification: f64,
    space_max: f64,
    space_end: f64,
    depth_mean: f64,
    depth_max: usize,
}

/// What it costs to come to rest after a stretch, and the state afterwards.
#[derive(Debug)]
struct Rest {
    /// Adds to the write amplification of the stretch.
    write_amplification: f64,
    space: f64,
    depth_max: usize,
}

/// A generator with fixed arithmetic, so that a run gives the same result everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((z ^ (z >> 31)) >> 32) * u64::from(n)) >> 32) as u32
    }
}

struct Simulation<'l> {
    load: &'l Load,
    policy: Policy,
    tree: SimTree,
    random: Random,
    seen: Vec<bool>,
    alive: u64,
    writes: u32,
}

impl<'l> Simulation<'l> {
    fn new(load: &'l Load) -> Self {
        let policy = load.policy.clone();
        Simulation {
            tree: SimTree::new(policy.num_levels, load.value_bytes, policy.target_file_size),
            policy,
            load,
            random: Random(1),
            seen: vec![false; load.keys as usize],
            alive: 0,
            writes: 0,
        }
    }

    /// Writes `count` random keys, flush by flush, each followed by all the jobs the policy wants.
    fn write(&mut self, count: u32) -> Cost {
        let per_flush = (self.policy.flush_bytes / self.load.value_bytes) as u32;
        let mut cost = Cost::default();
        let (mut written, mut rests, mut done) = (0, 0, 0);
        while done < count {
            let batch = per_flush.min(count - done);
            done += batch;
            written += u64::from(batch) + self.flush(batch);
            written += self.rest();
            let space = self.tree.len() as f64 / self.alive as f64;
            if done >= count / 10 {
                cost.space_max = cost.space_max.max(space);
            }
            cost.space_end = space;
            let depth = depth(&self.tree.shape(), &BytewiseComparator);
            cost.depth_max = cost.depth_max.max(depth);
            cost.depth_mean += self.tree.mean_depth(self.load.keys);
            rests += 1;
        }
        cost.depth_mean /= f64::from(rests);
        cost.write_amplification = written as f64 / f64::from(count);
        cost
    }

    fn flush(&mut self, writes: u32) -> u64 {
        let mut records = Vec::new();
        for _ in 0..writes {
            let key = self.random.below(self.load.keys);
            self.writes += 1;
            records.push(Record::put(key, self.writes));
            self.alive += u64::from(!std::mem::replace(&mut self.seen[key as usize], true));
        }
        self.tree.add(0, records)
    }

    /// Measures coming to rest, as if writes stopped now.
    fn at_rest(&self, count: u32) -> Rest {
        let mut tree = self.tree.clone();
        let mut written = 0;
        loop {
            let shape = tree.shape();
            let signals = Signals { is_idle: true, ..Signals::default() };
            let decision = self.policy.choose(&shape, &signals, &BytewiseComparator);
            let Verdict::Run(_, pick) = decision.verdict else { break };
            written += tree.apply(&pick).written;
        }
        Rest {
            write_amplification: written as f64 / f64::from(count),
            space: tree.len() as f64 / self.alive as f64,
            depth_max: depth(&tree.shape(), &BytewiseComparator),
        }
    }

    /// Runs jobs until the policy rests. Returns the records written.
    fn rest(&mut self) -> u64 {
        let mut written = 0;
        while let Some(pick) = self.policy.pick(&self.tree.shape(), &[], &BytewiseComparator) {
            let work = self.tree.apply(&pick);
            written += work.written;
        }
        written
    }
}

fn loads() -> Vec<Load> {
    use CompactionPreset::{LazyLeveled, Leveled, Tiered};
    let load = |name, preset, write_buffer, keys| {
        let policy = super::policy(preset, write_buffer);
        Load { name, policy, keys, value_bytes: 4 << 10 }
    };
    vec![
        load("lazy 2 MB x 8, 2 GB", LazyLeveled, 2 << 20, 500_000),
        load("lazy 2 MB x 8, 8 GB", LazyLeveled, 2 << 20, 2_000_000),
        load("lazy 64 MB, 8 GB", LazyLeveled, 64 << 20, 2_000_000),
        load("leveled 2 MB x 8, 2 GB", Leveled, 2 << 20, 500_000),
        load("leveled 64 MB, 8 GB", Leveled, 64 << 20, 2_000_000),
        load("tiered 2 MB x 8, 2 GB", Tiered, 2 << 20, 500_000),
        load("tiered 64 MB, 8 GB", Tiered, 64 << 20, 2_000_000),
    ]
}

/// The load that the default shape is calibrated for: 2 GB of 4 KiB values, 2 MB buffers.
#[test]
fn a_random_fill_writes_less_than_five_times_in_less_than_a_third_more_space() {
    let loads = loads();
    let cost = Simulation::new(&loads[0]).write(loads[0].keys);
    assert!(cost.write_amplification < 5.0, "{cost:?}");
    assert!(cost.space_max < 1.3, "{cost:?}");
}

/// After a fill ends, the policy leaves little above the last level, and the jobs write less than
/// the whole tree once.
#[test]
fn a_random_fill_that_ends_comes_to_rest_in_little_space() {
    let loads = loads();
    let mut simulation = Simulation::new(&loads[0]);
    for stretch in [1.0, 0.3, 0.7] {
        let count = (f64::from(loads[0].keys) * stretch) as u32;
        simulation.write(count);
        let rest = simulation.at_rest(loads[0].keys);
        assert!(rest.space < 1.2 && rest.write_amplification < 1.3, "{rest:?}");
    }
}

#[test]
fn keys_in_rising_order_are_written_once_to_the_log_and_once_to_tables() {
    for load in loads() {
        let mut simulation = Simulation::new(&load);
        let per_flush = (simulation.policy.flush_bytes / load.value_bytes) as u32;
        for flush in 0..20 {
            let first = flush * per_flush;
            let keys = first..first + per_flush;
            simulation.tree.add(0, keys.map(|key| Record::put(key, key + 1)).collect());
            let rewritten = simulation.rest();
            match simulation.policy.preset {
                CompactionPreset::Tiered => {}
                _ => assert_eq!(rewritten, 0, "{}: flush {flush}", load.name),
            }
        }
    }
}

/// A thousand hot keys, flushed again and again over 2 GB of cold ones.
#[test]
fn tiny_flushes_do_not_rewrite_the_large_levels() {
    for load in loads().into_iter().filter(|load| load.keys == 500_000) {
        let mut simulation = Simulation::new(&load);
        simulation.write(load.keys);
        let (mut flushed, mut rewritten) = (0, 0);
        for _ in 0..2000 {
            let hot = (0..20).map(|i| Record::put(i * 20_000, simulation.writes + 1 + i)).collect();
            simulation.writes += 20;
            flushed += simulation.tree.add(0, hot);
            rewritten += simulation.rest();
        }
        let times = rewritten as f64 / flushed as f64;
        assert!(times < 16.0, "{}: each record rewritten {times:.1} times", load.name);
    }
}

#[test]
fn space_comes_back_after_deletes_without_new_writes() {
    for load in loads().into_iter().filter(|load| load.keys == 500_000) {
        let mut simulation = Simulation::new(&load);
        simulation.write(load.keys);
        let before = simulation.tree.len();
        let tombstones = (100_000..300_000).map(|key| Record::delete(key, simulation.writes + 1));
        simulation.tree.add(0, tombstones.collect());
        simulation.rest();
        let alive = simulation.tree.contents().len() as f64;
        let left = simulation.tree.len() as f64;
        let bound = match load.policy.preset {
            CompactionPreset::Tiered => 2.0,
            _ => 1.3,
        };
        assert!(left <= bound * alive, "{}: {before} records, {left} left of {alive}", load.name);
    }
}

#[test]
#[ignore = "prints a table; about a minute in release mode"]
fn table() {
    println!(
        "| load | | WA | space max | space end | depth mean/max | at rest: WA | space | depth |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let only = std::env::var("ONLY").unwrap_or_default();
    for load in loads().iter().filter(|load| load.name.contains(&only)) {
        let mut simulation = Simulation::new(load);
        for stretch in ["fill 1x", "then 1x more", "then 1x more"] {
            let cost = simulation.write(load.keys);
            let rest = simulation.at_rest(load.keys);
            println!(
                "| {} | {stretch} | {:.2} | {:.2} | {:.2} | {:.1}/{} | +{:.2} | {:.2} | {} |",
                load.name,
                cost.write_amplification,
                cost.space_max,
                cost.space_end,
                cost.depth_mean,
                cost.depth_max,
                rest.write_amplification,
                rest.space,
                rest.depth_max
            );
        }
    }
}

/// Measures a pick on a large tree: 1 TB in 64 MB tables, a quarter of it staged.
#[test]
#[ignore = "prints a time"]
fn time_of_a_pick() {
    let mut policy = super::policy(CompactionPreset::LazyLeveled, 64 << 20);
    policy.target_file_size = 32;
    let mut tree = SimTree::new(policy.num_levels, 1, policy.target_file_size);
    tree.add(6, (0..16_384 * 32).map(|key| Record::put(key, 1)).collect());
    for run in 0..4 {
        tree.add(5, (0..1000 * 32).map(|key| Record::put(key * 16, run + 2)).collect());
    }
    let shape = tree.shape();
    let begin = std::time::Instant::now();
    let times = 20;
    for _ in 0..times {
        std::hint::black_box(policy.pick(&shape, &[], &BytewiseComparator));
    }
    println!("20 000 tables: {:?} a pick", begin.elapsed() / times);
    let begin = std::time::Instant::now();
    for _ in 0..times {
        std::hint::black_box(policy.debt(&shape, &[], &BytewiseComparator));
    }
    println!("20 000 tables: {:?} for the debt", begin.elapsed() / times);
}
