//! What the flight recorder costs: processor time of the calling thread, with and without it, in
//! turns. `cargo bench -p foldb --bench recorder [-- ROUNDS]` prints the least of the rounds.

use foldb::{Db, KeyspaceOptions, Options};

/// Calls of each kind in a round.
const CALLS: u64 = 4_000_000;

/// Nanoseconds a call.
type Times = [f64; 4];

const NAMES: [&str; 4] =
    ["merge, 1000 keys", "merge, 5 M keys", "get from a memtable", "get from tables"];

/// Returns the processor time of the calling thread in seconds.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok());
    nanos.expect("the system tells the processor time of a thread") / 1e9
}

fn time(calls: u64, mut call: impl FnMut()) -> f64 {
    let begin = processor_time();
    (0..calls).for_each(|_| call());
    (processor_time() - begin) / calls as f64 * 1e9
}

fn round(flight_recorder: u64) -> Times {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        create_if_missing: true,
        flight_recorder,
        default: KeyspaceOptions::with_operator("uint64add"),
        ..Options::default()
    };
    let db = Db::open(dir.path(), options).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut key = |keys: u64| random.u64(..keys).to_be_bytes();
    let one = 1u64.to_le_bytes();
    let hot = time(CALLS, || db.merge(key(1000), one).unwrap());
    let many = time(CALLS, || db.merge(key(5_000_000), one).unwrap());
    let near = time(CALLS, || drop(db.get(key(1000)).unwrap()));
    db.compact(..).unwrap();
    let far = time(CALLS / 4, || drop(db.get(key(5_000_000)).unwrap()));
    [hot, many, near, far]
}

fn main() {
    let rounds: usize =
        std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(5);
    let (mut with, mut without) = ([f64::MAX; 4], [f64::MAX; 4]);
    for number in 0..2 * rounds {
        // Which comes first changes from pair to pair.
        let is_with = (number + number / 2).is_multiple_of(2);
        let (least, bytes) = if is_with { (&mut with, 2 << 20) } else { (&mut without, 0) };
        for (least, nanos) in least.iter_mut().zip(round(bytes)) {
            *least = least.min(nanos);
        }
    }
    for ((name, with), without) in NAMES.iter().zip(with).zip(without) {
        let percent = 100.0 * (with / without - 1.0);
        println!("{name:<20} with {with:>6.1} ns, without {without:>6.1} ns: {percent:+.1} %");
    }
}
