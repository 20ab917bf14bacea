//! What the flight recorder costs: processor time of the calling thread, with and without it.
//!
//! Three databases take turns, a slice of calls each: one records, two do not. A slice is short, so
//! a machine that becomes slower meets all three. The second one without a recorder shows the
//! noise: its ratio would be 1 on a perfect machine.
//!
//! `cargo bench -p foldb --bench recorder [-- SLICES]` prints the median of the slices' ratios.

use foldb::{Db, KeyspaceOptions, Options};

/// Calls of a slice.
const CALLS: u64 = 50_000;

/// The databases: one with a recorder, and two without.
const RECORDERS: [u64; 3] = [2 << 20, 0, 0];

/// Returns the processor time of the calling thread in seconds.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok());
    nanos.expect("the system tells the processor time of a thread") / 1e9
}

/// Returns nanoseconds a call.
fn time(mut call: impl FnMut()) -> f64 {
    let begin = processor_time();
    (0..CALLS).for_each(|_| call());
    (processor_time() - begin) / CALLS as f64 * 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs the slices of a row, and prints its ratios.
fn row(name: &str, slices: usize, databases: &[Db], call: impl Fn(&Db, &mut fastrand::Rng)) {
    let mut randoms = [(); 3].map(|()| fastrand::Rng::with_seed(7));
    let mut nanos = [const { Vec::new() }; 3];
    for slice in 0..slices {
        for turn in 0..3 {
            // Another database begins each slice.
            let number = (slice + turn) % 3;
            let (db, random) = (&databases[number], &mut randoms[number]);
            nanos[number].push(time(|| call(db, random)));
        }
    }
    let [with, without, again] = nanos;
    let percent_of = |times: &[f64]| {
        let ratios = times.iter().zip(&without).map(|(time, base)| time / base);
        100.0 * (median(ratios.collect()) - 1.0)
    };
    let (recorder, noise) = (percent_of(&with), percent_of(&again));
    let base = median(without.clone());
    println!("{name:<20} {base:>7.1} ns, recorder {recorder:+.1} %, noise {noise:+.1} %");
}

fn main() {
    let slices: usize =
        std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(301);
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let open = |(dir, flight_recorder): (&tempfile::TempDir, u64)| {
        let options = Options {
            create_if_missing: true,
            flight_recorder,
            default: KeyspaceOptions::with_operator("uint64add"),
            ..Options::default()
        };
        Db::open(dir.path(), options).unwrap()
    };
    let databases: Vec<Db> = dirs.iter().zip(RECORDERS).map(open).collect();
    let key = |random: &mut fastrand::Rng, keys: u64| random.u64(..keys).to_be_bytes();
    let one = 1u64.to_le_bytes();
    let merge = |keys| move |db: &Db, random: &mut _| db.merge(key(random, keys), one).unwrap();
    let get = |keys| move |db: &Db, random: &mut _| drop(db.get(key(random, keys)).unwrap());
    row("merge, 1000 keys", slices, &databases, merge(1000));
    row("get from a memtable", slices, &databases, get(1000));
    row("merge, 5 M keys", slices, &databases, merge(5_000_000));
    databases.iter().for_each(|db| db.compact(..).unwrap());
    row("get from tables", slices, &databases, get(5_000_000));
}
