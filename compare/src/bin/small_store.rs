//! What a small tool's own store costs: open, a synced put, a get, close, memory, disk, threads.
//!
//! ```text
//! small_store DIRECTORY [ROUNDS]
//! ```
//!
//! Each use is a process of its own, and the engines take turns. The figures are the least of the
//! rounds. A use creates a store, puts one entry durably, then 99 more, reads them, and closes; a
//! second one opens it, reads an entry and closes.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use foldb::{Db, Options, WriteOptions};
use redb::{Database, ReadableDatabase as _, TableDefinition};

type Failed = Box<dyn std::error::Error>;
type Figures = Vec<(&'static str, f64)>;

const ENGINES: [&str; 4] = ["foldb small", "foldb balanced", "sqlite", "redb"];
const ENTRIES: u32 = 100;
const VALUE: [u8; 50] = [7; 50];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match &arguments[..] {
        [one, engine, directory] if one == "--one" => use_once(engine, Path::new(directory)),
        [directory] => compare(Path::new(directory), 15),
        [directory, rounds] => match rounds.parse() {
            Ok(rounds) => compare(Path::new(directory), rounds),
            Err(_) => Err("ROUNDS is a number".into()),
        },
        _ => Err("usage: small_store DIRECTORY [ROUNDS]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("small_store: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the engines in turn, and prints the least figures.
fn compare(directory: &Path, rounds: u32) -> Result<(), Failed> {
    let mut least: Vec<Vec<(String, f64)>> = vec![Vec::new(); ENGINES.len()];
    for round in 0..rounds {
        for (engine, least) in ENGINES.iter().zip(&mut least) {
            let path = directory.join(format!("{}-{round}", engine.replace(' ', "-")));
            std::fs::create_dir_all(&path)?;
            let program = std::env::current_exe()?;
            let ran = Command::new(program).args(["--one", engine]).arg(&path).output()?;
            if !ran.status.success() {
                return Err(String::from_utf8_lossy(&ran.stderr).into_owned().into());
            }
            for (at, line) in String::from_utf8(ran.stdout)?.lines().enumerate() {
                let (name, figure) = line.split_once('=').ok_or("a figure has a name")?;
                let figure: f64 = figure.parse()?;
                match least.get_mut(at) {
                    Some((_, known)) => *known = known.min(figure),
                    None => least.push((name.to_owned(), figure)),
                }
            }
            std::fs::remove_dir_all(&path)?;
        }
    }
    println!("| | {} |\n| --- {}|", ENGINES.join(" | "), "| ---: ".repeat(ENGINES.len()));
    for at in 0..least[0].len() {
        let shown = |figure: f64| match figure < 10.0 && figure.fract() > 0.0 {
            true => format!("{figure:.1}"),
            false => format!("{figure:.0}"),
        };
        let row: Vec<String> = least.iter().map(|figures| shown(figures[at].1)).collect();
        println!("| {} | {} |", least[0][at].0, row.join(" | "));
    }
    Ok(())
}

/// Uses one engine, and prints the figures.
fn use_once(engine: &str, path: &Path) -> Result<(), Failed> {
    let figures = match engine {
        "foldb small" => use_foldb(&Options::small(), path)?,
        "foldb balanced" => use_foldb(&Options::balanced(), path)?,
        "sqlite" => use_sqlite(path)?,
        _ => use_redb(path)?,
    };
    figures.iter().for_each(|(name, figure)| println!("{name}={figure}"));
    Ok(())
}

/// Takes times between steps.
struct Watch {
    since: Instant,
    before: u64,
    figures: Figures,
}

impl Watch {
    fn start() -> Watch {
        Watch { since: Instant::now(), before: resident(), figures: Vec::new() }
    }

    /// Notes the microseconds since the last step, each of `calls`.
    fn step(&mut self, name: &'static str, calls: u32) {
        let micros = self.since.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
        self.figures.push((name, micros));
        self.since = Instant::now();
    }

    /// Notes what the store takes while it is open.
    fn open(&mut self, path: &Path) {
        self.figures.push(("memory while open, KiB", (resident() - self.before) as f64 / 1024.0));
        self.figures.push(("threads beside the program's", threads() - 1.0));
        self.disk("disk while open, KiB", path);
        self.since = Instant::now();
    }

    fn disk(&mut self, name: &'static str, path: &Path) {
        self.figures.push((name, disk(path).0 / 1024.0));
    }

    fn closed(mut self, path: &Path) -> Figures {
        self.disk("disk after the close, KiB", path);
        self.figures.push(("files after the close", disk(path).1));
        self.figures
    }
}

fn use_foldb(options: &Options, path: &Path) -> Result<Figures, Failed> {
    let path = path.join("db");
    let sync = WriteOptions { sync: true, ..WriteOptions::default() };
    let mut watch = Watch::start();
    let create = Options { create_if_missing: true, ..options.clone() };
    let db = Db::open(&path, create.clone())?;
    watch.step("create, µs", 1);
    db.with(&sync).put(0_u32.to_be_bytes(), VALUE)?;
    watch.step("first put and sync, µs", 1);
    for n in 1..ENTRIES {
        db.with(&sync).put(n.to_be_bytes(), VALUE)?;
    }
    watch.step("each later put and sync, µs", ENTRIES - 1);
    for n in 0..ENTRIES {
        assert!(db.get(n.to_be_bytes())?.is_some());
    }
    watch.step("get, µs", ENTRIES);
    watch.open(&path);
    db.close()?;
    watch.step("close, µs", 1);
    let db = Db::open(&path, create)?;
    watch.step("open again, µs", 1);
    assert!(db.get(7_u32.to_be_bytes())?.is_some());
    db.close()?;
    watch.step("get and close, µs", 1);
    Ok(watch.closed(&path))
}

fn use_sqlite(path: &Path) -> Result<Figures, Failed> {
    let file = path.join("store.sqlite");
    let open = || -> Result<rusqlite::Connection, rusqlite::Error> {
        let db = rusqlite::Connection::open(&file)?;
        db.execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
             CREATE TABLE IF NOT EXISTS kv (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID;",
        )?;
        Ok(db)
    };
    let get = |db: &rusqlite::Connection, n: u32| -> Result<Vec<u8>, rusqlite::Error> {
        let mut found = db.prepare_cached("SELECT v FROM kv WHERE k = ?1")?;
        found.query_row([n.to_be_bytes()], |row| row.get(0))
    };
    let put = |db: &rusqlite::Connection, n: u32| -> Result<usize, rusqlite::Error> {
        let mut put = db.prepare_cached("INSERT OR REPLACE INTO kv VALUES (?1, ?2)")?;
        put.execute((n.to_be_bytes(), &VALUE[..]))
    };
    let mut watch = Watch::start();
    let db = open()?;
    watch.step("create, µs", 1);
    put(&db, 0)?;
    watch.step("first put and sync, µs", 1);
    for n in 1..ENTRIES {
        put(&db, n)?;
    }
    watch.step("each later put and sync, µs", ENTRIES - 1);
    for n in 0..ENTRIES {
        get(&db, n)?;
    }
    watch.step("get, µs", ENTRIES);
    watch.open(path);
    db.close().map_err(|(_, error)| error)?;
    watch.step("close, µs", 1);
    let db = open()?;
    watch.step("open again, µs", 1);
    get(&db, 7)?;
    db.close().map_err(|(_, error)| error)?;
    watch.step("get and close, µs", 1);
    Ok(watch.closed(path))
}

fn use_redb(path: &Path) -> Result<Figures, Failed> {
    const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("kv");
    let file = path.join("store.redb");
    let put = |db: &Database, n: u32| -> Result<(), Failed> {
        let write = db.begin_write()?;
        write.open_table(TABLE)?.insert(&n.to_be_bytes()[..], &VALUE[..])?;
        Ok(write.commit()?)
    };
    let get = |db: &Database, n: u32| -> Result<(), Failed> {
        let table = db.begin_read()?.open_table(TABLE)?;
        assert!(table.get(&n.to_be_bytes()[..])?.is_some());
        Ok(())
    };
    let mut watch = Watch::start();
    let db = Database::create(&file)?;
    watch.step("create, µs", 1);
    put(&db, 0)?;
    watch.step("first put and sync, µs", 1);
    for n in 1..ENTRIES {
        put(&db, n)?;
    }
    watch.step("each later put and sync, µs", ENTRIES - 1);
    for n in 0..ENTRIES {
        get(&db, n)?;
    }
    watch.step("get, µs", ENTRIES);
    watch.open(path);
    drop(db);
    watch.step("close, µs", 1);
    let db = Database::open(&file)?;
    watch.step("open again, µs", 1);
    get(&db, 7)?;
    drop(db);
    watch.step("get and close, µs", 1);
    Ok(watch.closed(path))
}

/// Returns the resident bytes of the process, without pages of its program and of mapped files.
fn resident() -> u64 {
    status("RssAnon:").map_or(0, |kib| kib << 10)
}

fn threads() -> f64 {
    status("Threads:").map_or(1.0, |count| count as f64)
}

fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the bytes of blocks that a directory's files take, and their number.
fn disk(path: &Path) -> (f64, f64) {
    use std::os::unix::fs::MetadataExt as _;
    let files: Vec<PathBuf> = match std::fs::read_dir(path) {
        Ok(found) => found.filter_map(|file| Some(file.ok()?.path())).collect(),
        Err(_) => Vec::new(),
    };
    let blocks = files.iter().filter_map(|file| file.metadata().ok());
    let bytes: u64 = blocks.map(|file| (file.blocks() * 512).max(file.len())).sum();
    (bytes as f64, files.len() as f64)
}
