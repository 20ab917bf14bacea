//! What a call costs through C: the same work in Rust and in C, in turn.
//!
//! ```text
//! cargo bench -p foldb-capi                      1 000 000 entries with values of 100 bytes
//! cargo bench -p foldb-capi -- 200000            fewer entries
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use foldb::{Db, Options, Value};

/// How often both sides do the work.
const ROUNDS: usize = 5;

const ROWS: [&str; 4] = ["fillrandom", "readrandom, into a buffer", "readrandom", "readseq"];

fn main() {
    let entries = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    let dir = tempfile::tempdir().expect("a directory for the databases");
    let Some(driver) = compiled(dir.path()) else { return };
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let rust = in_rust(&dir.path().join("rust"), entries);
        let c = in_c(&driver, &dir.path().join("c"), entries);
        println!("round {}: {rust:.0?} ns in Rust, {c:.0?} ns in C", round + 1);
        rounds.push((rust, c));
    }
    println!("{:28} {:>9} {:>9} {:>7}", "medians, ns an entry", "Rust", "C", "ratio");
    for (row, name) in ROWS.into_iter().enumerate() {
        let rust = median(rounds.iter().map(|(rust, _)| rust[row]));
        let c = median(rounds.iter().map(|(_, c)| c[row]));
        println!("{name:28} {rust:9.1} {c:9.1} {:7.3}", c / rust);
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Compiles the C side, or says why the bench is skipped.
fn compiled(dir: &Path) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bench = std::env::current_exe().expect("the path of the bench");
    let library = bench.with_file_name("libfoldb_capi.a");
    let driver = dir.join("driver");
    let mut command = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    command.args(["-std=c11", "-O2", "-I"]).arg(own.join("include"));
    command.arg(own.join("benches/driver.c")).arg(library).arg("-o").arg(&driver);
    match command.args(["-lpthread", "-ldl", "-lm"]).status() {
        Ok(status) if status.success() => Some(driver),
        Ok(_) => None,
        Err(error) => {
            eprintln!("SKIPPED: no C compiler ({error}); install one, or name it in CC");
            None
        }
    }
}

fn in_c(driver: &Path, db: &Path, entries: u64) -> [f64; 4] {
    let output =
        Command::new(driver).arg(db).arg(entries.to_string()).output().expect("the driver");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_dir_all(db).expect("the driver's database");
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text.lines().map(|line| line.parse().expect("a figure")).collect();
    figures.try_into().expect("a figure for each row")
}

/// The numbers of Marsaglia's xorshift, as in driver.c.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A key of 16 digits.
fn key_of(mut number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    for digit in key.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    key
}

fn in_rust(path: &Path, entries: u64) -> [f64; 4] {
    let options = Options { create_if_missing: true, ..Options::default() };
    let db = Db::open(path, options).expect("a database");
    let per_entry = |begin: Instant, count: u64| begin.elapsed().as_nanos() as f64 / count as f64;
    let (mut state, mut value) = (1, [b'v'; 100]);
    let begin = Instant::now();
    for _ in 0..entries {
        db.put(key_of(next(&mut state) % entries), value).expect("a put");
    }
    let fill = per_entry(begin, entries);

    db.compact(..).expect("a compaction");
    db.wait_for_background().expect("no background work");
    let (mut found, mut bytes) = (0, 0);
    let begin = Instant::now();
    for _ in 0..entries {
        let read = db.get(key_of(next(&mut state) % entries)).expect("a get");
        if let Some(read) = read {
            value[..read.len()].copy_from_slice(&read);
            found += 1;
        }
    }
    let read_into = per_entry(begin, entries);

    state = 2;
    let begin = Instant::now();
    for _ in 0..entries {
        let read = db.get(key_of(next(&mut state) % entries)).expect("a get");
        bytes += read.as_ref().map_or(0, |read| Value::as_slice(read).len());
    }
    let read = per_entry(begin, entries);

    let begin = Instant::now();
    let mut iter = db.iter().expect("an iterator");
    let mut seen = 0;
    iter.seek_to_first().expect("the first entry");
    while iter.valid() {
        bytes += iter.key().len() + iter.value().expect("a value").len();
        seen += 1;
        iter.advance().expect("the next entry");
    }
    let scan = per_entry(begin, seen);
    assert!(found > 0 && bytes > 0);
    drop(iter);
    db.close().expect("a close");
    std::fs::remove_dir_all(path).expect("the database");
    [fill, read_into, read, scan]
}
