//! LevelDB's rate and ours, by C++ and by C, and the engine's own from Rust, in one run.
//!
//! ```text
//! cargo bench -p foldb-leveldb                     1 000 000 entries with values of 100 bytes
//! cargo bench -p foldb-leveldb -- 100000           fewer entries
//! FOLDB_SPEED_DIR=/dev/shm cargo bench ...         the directory of the databases
//! ```
//!
//! Every side has LevelDB's default options. The drivers are the same source for both libraries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use foldb::{Compression, Db, KeyspaceOptions, Options};

#[path = "../../../speed/workload.rs"]
mod workload;

use workload::{POOL_VALUES, key_of, next, pool};

/// How often every side does the work.
const ROUNDS: usize = 5;

const ROWS: [&str; 3] = ["fillrandom", "readrandom", "readseq"];

/// Figures of one run: nanoseconds an entry, in the order of [`ROWS`], and what the run counted.
struct Figures {
    nanoseconds: [f64; 3],
    counted: String,
}

/// A side of the comparison.
struct Side {
    name: &'static str,
    /// `None` for Rust, which this program runs itself.
    driver: Option<PathBuf>,
    rounds: Vec<Figures>,
}

fn main() {
    let entries = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    let parent = std::env::var("FOLDB_SPEED_DIR").map_or(std::env::temp_dir(), PathBuf::from);
    let dir = tempfile::tempdir_in(parent).expect("a directory for the databases");
    let Some(mut sides) = sides(dir.path()) else { return };
    for round in 1..=ROUNDS {
        for side in &mut sides {
            let database = dir.path().join("db");
            let figures = match &side.driver {
                Some(driver) => driven(driver, &database, entries),
                None => in_rust(&database, entries),
            };
            std::fs::remove_dir_all(&database).expect("the database");
            println!("round {round}: {:14} {:9.1?} ns", side.name, figures.nanoseconds);
            side.rounds.push(figures);
        }
    }
    report(&sides);
}

/// Compiles the drivers, or says why the bench is skipped.
fn sides(dir: &Path) -> Option<Vec<Side>> {
    let original = Path::new("/usr/include/leveldb/db.h");
    if !original.exists() {
        eprintln!("SKIPPED: no original to compare with; install libleveldb-dev");
        return None;
    }
    let prefix = dir.join("prefix");
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "-p", "xtask", "--", "leveldb", "--prefix"]).arg(&prefix);
    run(command.current_dir(env!("CARGO_MANIFEST_DIR")))?;
    let original_library = ["-lleveldb".to_owned()];
    let ours = [
        format!("-L{}", prefix.join("lib").display()),
        "-lleveldb".to_owned(),
        format!("-Wl,-rpath,{}", prefix.join("lib").display()),
    ];
    let include = prefix.join("include");
    let mut sides = Vec::new();
    for (name, source, include, library) in [
        ("LevelDB, C++", "driver.cc", None, &original_library[..]),
        ("ours, C++", "driver.cc", Some(&include), &ours),
        ("LevelDB, C", "driver.c", None, &original_library),
        ("ours, C", "driver.c", Some(&include), &ours),
    ] {
        let driver = compiled(dir, name, source, include.map(PathBuf::as_path), library)?;
        sides.push(Side { name, driver: Some(driver), rounds: Vec::new() });
    }
    sides.push(Side { name: "foldb, Rust", driver: None, rounds: Vec::new() });
    Some(sides)
}

fn compiled(
    dir: &Path,
    name: &str,
    source: &str,
    include: Option<&Path>,
    library: &[String],
) -> Option<PathBuf> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/speed");
    let file = |ending: &str| dir.join(name.replace(", ", "-").to_lowercase() + ending);
    let [object, driver] = [file(".o"), file("")];
    let mut compile = Command::new(&compiler);
    let language: &[&str] =
        if source.ends_with(".c") { &["-x", "c", "-std=c11"] } else { &["-std=c++17"] };
    compile.args(language).args(["-O2", "-DNDEBUG", "-c"]).arg(own.join(source));
    compile.arg("-I").arg(own.join("../../../speed"));
    if let Some(include) = include {
        compile.arg("-I").arg(include);
    }
    run(compile.arg("-o").arg(&object))?;
    run(Command::new(&compiler).arg(&object).arg("-o").arg(&driver).args(library))?;
    Some(driver)
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

fn driven(driver: &Path, db: &Path, entries: u64) -> Figures {
    let output =
        Command::new(driver).arg(db).arg(entries.to_string()).output().expect("the driver");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    let figure = |line: usize| lines[line].parse().expect("a figure");
    Figures { nanoseconds: [figure(0), figure(1), figure(2)], counted: lines[3].to_owned() }
}

fn report(sides: &[Side]) {
    let counted = &sides[0].rounds[0].counted;
    for side in sides {
        for figures in &side.rounds {
            assert_eq!(&figures.counted, counted, "{} read something else", side.name);
        }
    }
    print!("\n{:14}", "medians, ns");
    println!("{}", ROWS.map(|row| format!(" {row:>12}")).concat());
    let medians: Vec<[f64; 3]> = sides.iter().map(medians).collect();
    for (side, figures) in sides.iter().zip(&medians) {
        println!("{:14}{}", side.name, figures.map(|figure| format!(" {figure:12.1}")).concat());
    }
    let [original, ours, original_c, ours_c, rust] = medians[..] else { return };
    for (name, of, to) in [
        ("rate of ours by C++, in LevelDB's", original, ours),
        ("rate of ours by C, in LevelDB's", original_c, ours_c),
        ("time of C++, in Rust's", ours, rust),
        ("time of C, in Rust's", ours_c, rust),
    ] {
        let ratios: Vec<String> = (0..3).map(|row| format!("{:12.3}", of[row] / to[row])).collect();
        println!("{name:34} {}", ratios.join(" "));
    }
}

fn medians(side: &Side) -> [f64; 3] {
    [0, 1, 2].map(|row| {
        let mut figures: Vec<f64> =
            side.rounds.iter().map(|figures| figures.nanoseconds[row]).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    })
}

fn in_rust(path: &Path, entries: u64) -> Figures {
    // The options that libleveldb sets for LevelDB's defaults.
    let options = Options {
        create_if_missing: true,
        write_buffer_size: 4 << 20,
        target_file_size: 2 << 20,
        block_size: 4 << 10,
        block_cache_size: 8 << 20,
        max_open_files: 1000,
        default: KeyspaceOptions {
            compression: Some(Compression::Snappy),
            ..KeyspaceOptions::default()
        },
        ..Options::default()
    };
    let db = Db::open(path, options).expect("a database");
    let per_entry = |begin: Instant, count: u64| begin.elapsed().as_nanos() as f64 / count as f64;
    let (pool, mut state, mut value) = (pool(), 1, Vec::new());
    let begin = Instant::now();
    for i in 0..entries {
        let key = key_of(next(&mut state) % entries);
        db.put(key, pool[(i % POOL_VALUES) as usize]).expect("a put");
    }
    let fill = per_entry(begin, entries);

    let mut found = 0_u64;
    let begin = Instant::now();
    for _ in 0..entries {
        if let Some(read) = db.get(key_of(next(&mut state) % entries)).expect("a get") {
            value.clear();
            value.extend_from_slice(&read);
            found += 1;
        }
    }
    let read = per_entry(begin, entries);

    let begin = Instant::now();
    let (mut seen, mut bytes) = (0_u64, 0);
    let mut iter = db.iter().expect("an iterator");
    iter.seek_to_first().expect("the first entry");
    while iter.valid() {
        bytes += iter.key().len() + iter.value().expect("a value").len();
        seen += 1;
        iter.advance().expect("the next entry");
    }
    let scan = per_entry(begin, seen);
    drop(iter);
    db.close().expect("a close");
    Figures { nanoseconds: [fill, read, scan], counted: format!("{found} {seen} {bytes}") }
}
