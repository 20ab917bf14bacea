//! RocksDB's rate and ours by C, and the engine's own from Rust, in one run.
//!
//! ```text
//! cargo bench -p foldb-rocksdb                     1 000 000 entries
//! cargo bench -p foldb-rocksdb -- 100000           fewer entries
//! cargo bench -p foldb-rocksdb -- ours             C against Rust only, in more rounds
//! FOLDB_SPEED_DIR=/dev/shm cargo bench ...         the directory of the databases
//! FOLDB_ROCKSDB_PREFIX=/opt/rocksdb cargo bench    another RocksDB beside the installed one
//! ```
//!
//! Every side has RocksDB's default options. The driver is the same source for each library. The
//! rounds of the sides alternate, and each round of a side is a process of its own: this program
//! starts itself for the rounds of Rust. Nothing fails because of a time: the bars are printed.

mod in_rust;
#[path = "../../../speed/workload.rs"]
mod workload;

use std::path::{Path, PathBuf};
use std::process::Command;

/// How often every side does the work.
const ROUNDS: usize = 5;

/// How often ours and Rust's do it, if they are alone: their difference is small.
const ROUNDS_OF_OURS: usize = 15;

const ROWS: [&str; 6] =
    ["fillrandom", "readrandom", "readpinned", "readseq", "mergerandom", "own operator"];

/// How many times RocksDB's rate is asked for, by row.
const BARS: [Option<f64>; 6] = [Some(3.0), Some(2.0), Some(2.0), Some(1.2), Some(4.0), None];

/// What C may cost over Rust: this part of the time, or this time.
const MOST_OVER_RUST: (f64, f64) = (0.15, 15.0);

/// Figures of one run: nanoseconds an entry, in the order of [`ROWS`], and what the run counted.
struct Figures {
    nanoseconds: Vec<f64>,
    counted: String,
}

impl Figures {
    /// Prints as driver.c does.
    fn print(&self) {
        self.nanoseconds.iter().for_each(|figure| println!("{figure}"));
        println!("{}", self.counted);
    }
}

/// A side of the comparison.
struct Side {
    name: &'static str,
    /// The program that does a round, and the words before its directory and number of entries.
    driver: PathBuf,
    words: &'static [&'static str],
    rounds: Vec<Figures>,
}

const OURS: &str = "ours, C";
const RUST: &str = "foldb, Rust";

/// The word with which this program does a round of Rust.
const IN_RUST: &str = "in-rust";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [IN_RUST, directory, entries] = words.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        let entries = entries.parse().expect("a number of entries");
        return in_rust::run(Path::new(directory), entries).print();
    }
    let entries = words.iter().find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    let is_ours_only = words.iter().any(|word| word == "ours");
    let parent = std::env::var("FOLDB_SPEED_DIR").map_or(std::env::temp_dir(), PathBuf::from);
    let dir = tempfile::tempdir_in(parent).expect("a directory for the databases");
    let Some(mut sides) = sides(dir.path(), is_ours_only) else { return };
    for round in 1..=if is_ours_only { ROUNDS_OF_OURS } else { ROUNDS } {
        for side in &mut sides {
            let databases = dir.path().join("databases");
            // No side pays for what the one before it left to the disk.
            // SAFETY: the call takes nothing and returns nothing.
            unsafe { libc::sync() };
            let figures = driven(side, &databases, entries);
            std::fs::remove_dir_all(&databases).expect("the databases");
            println!("round {round}: {:16} {:8.1?} ns", side.name, figures.nanoseconds);
            side.rounds.push(figures);
        }
    }
    report(&sides);
}

/// Compiles the drivers, or says why the bench is skipped.
fn sides(dir: &Path, is_ours_only: bool) -> Option<Vec<Side>> {
    let mut sides = if is_ours_only { Vec::new() } else { originals(dir)? };
    let prefix = dir.join("prefix");
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "-p", "xtask", "--", "rocksdb", "--prefix"]).arg(&prefix);
    run(command.current_dir(env!("CARGO_MANIFEST_DIR")))?;
    sides.push(compiled(dir, OURS, Some(&prefix))?);
    let own = std::env::current_exe().ok()?;
    sides.push(Side { name: RUST, driver: own, words: &[IN_RUST], rounds: Vec::new() });
    Some(sides)
}

/// Compiles the drivers of the original.
fn originals(dir: &Path) -> Option<Vec<Side>> {
    let other = std::env::var_os("FOLDB_ROCKSDB_PREFIX").map(PathBuf::from);
    let mut sides = Vec::new();
    if Path::new("/usr/include/rocksdb/c.h").exists() {
        sides.push(compiled(dir, "RocksDB", None)?);
    }
    if let Some(other) = &other {
        sides.push(compiled(dir, "RocksDB of prefix", Some(other))?);
    }
    if sides.is_empty() {
        eprintln!("SKIPPED: no original to compare with; install librocksdb-dev");
        return None;
    }
    Some(sides)
}

/// Compiles the driver with the library of a prefix, or with the system's.
fn compiled(dir: &Path, name: &'static str, prefix: Option<&Path>) -> Option<Side> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let driver = dir.join(name.replace([' ', ','], "-"));
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(compiler);
    command.args(["-std=c11", "-D_GNU_SOURCE", "-O2"]).arg(own.join("tests/speed/driver.c"));
    command.arg("-I").arg(own.join("../speed")).arg("-o").arg(&driver);
    if let Some(prefix) = prefix {
        let lib = prefix.join("lib");
        command.arg("-I").arg(prefix.join("include")).arg("-L").arg(&lib);
        command.arg(format!("-Wl,-rpath,{}", lib.display()));
    }
    run(command.arg("-lrocksdb"))?;
    Some(Side { name, driver, words: &[], rounds: Vec::new() })
}

/// Runs a command that must succeed. Returns `None` without its program.
fn run(command: &mut Command) -> Option<()> {
    match command.status() {
        Ok(status) => assert!(status.success(), "{command:?}: {status}"),
        Err(error) => {
            eprintln!("SKIPPED: {command:?}: {error}");
            return None;
        }
    }
    Some(())
}

fn driven(side: &Side, databases: &Path, entries: u64) -> Figures {
    std::fs::create_dir(databases).expect("a directory for the databases");
    let mut command = Command::new(&side.driver);
    command.args(side.words).arg(databases).arg(entries.to_string());
    let output = command.output().expect("the driver");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    let figures = lines[..ROWS.len()].iter().map(|line| line.parse().expect("a figure"));
    Figures { nanoseconds: figures.collect(), counted: lines[ROWS.len()].to_owned() }
}

fn report(sides: &[Side]) {
    let counted = &sides[0].rounds[0].counted;
    for side in sides {
        for figures in &side.rounds {
            assert_eq!(&figures.counted, counted, "{} read something else", side.name);
        }
    }
    let line = |name: &str, cells: [String; 6]| {
        println!("{name:30}{}", cells.map(|cell| format!(" {cell:>12}")).concat());
    };
    println!();
    line("medians, ns", ROWS.map(str::to_owned));
    for side in sides {
        line(side.name, medians(side).map(|figure| format!("{figure:.1}")));
    }
    let of = |name| sides.iter().find(|side| side.name == name).map(medians);
    let (Some(ours), Some(rust)) = (of(OURS), of(RUST)) else { return };
    let by_row = |cell: &dyn Fn(usize) -> String| [0, 1, 2, 3, 4, 5].map(cell);
    for side in sides.iter().filter(|side| ![OURS, RUST].contains(&side.name)) {
        let theirs = medians(side);
        let rate = |row: usize| {
            let rate = theirs[row] / ours[row];
            verdict(rate, BARS[row].is_none_or(|bar| rate >= bar))
        };
        line(&format!("our rate, in that of {}", side.name), by_row(&rate));
    }
    let shown = |bar: f64| format!("{bar:.1}");
    line("bar", BARS.map(|bar| bar.map_or_else(String::new, shown)));
    line(
        "time over Rust's, in Rust's",
        by_row(&|row| {
            let over = ours[row] - rust[row];
            let (part, nanoseconds) = MOST_OVER_RUST;
            verdict(over / rust[row], over <= nanoseconds || over <= part * rust[row])
        }),
    );
    line("time over Rust's, ns", by_row(&|row| format!("{:.1}", ours[row] - rust[row])));
    println!("a star marks a figure that misses its bar");
}

/// Shows a ratio, with a star if it misses its bar. A row without a bar reaches it.
fn verdict(ratio: f64, is_reached: bool) -> String {
    format!("{ratio:.3}{}", if is_reached { "" } else { "*" })
}

fn medians(side: &Side) -> [f64; 6] {
    [0, 1, 2, 3, 4, 5].map(|row| {
        let mut figures: Vec<f64> =
            side.rounds.iter().map(|figures| figures.nanoseconds[row]).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    })
}
