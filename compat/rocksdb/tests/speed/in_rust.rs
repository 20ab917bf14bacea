//! The work of driver.c over the engine's own interface.
//!
//! Invariant: the options are those that the library sets for RocksDB's defaults.

use std::path::Path;
use std::time::Instant;

use foldb::operators::{Full, MergeOperator, Partial};
use foldb::{Db, Options};

use crate::workload::{POOL_VALUES, key_of, next, pool};
use crate::{Figures, ROWS};

/// Does all the work below a directory.
pub(crate) fn run(directory: &Path, entries: u64) -> Figures {
    let mut figures = values(&directory.join("values"), entries);
    let builtin = opened(&directory.join("counters"), |options| {
        options.default.merge_operator = Some("uint64add".to_owned());
    });
    let own =
        |path: &Path| opened(path, |options| *options = std::mem::take(options).operator(Sum));
    let (mut keys, mut sum) = (0, 0);
    for db in [builtin, own(&directory.join("own_counters"))] {
        figures.nanoseconds.push(merge(&db, entries));
        let (own_keys, own_sum) = added_up(&db);
        (keys, sum) = (keys + own_keys, sum + own_sum);
        db.close().expect("a close");
    }
    assert_eq!(figures.nanoseconds.len(), ROWS.len());
    figures.counted += &format!(" {keys} {sum}");
    figures
}

fn opened(path: &Path, change: impl FnOnce(&mut Options)) -> Db {
    let mut options = Options {
        create_if_missing: true,
        // The library keeps the newest log for `rocksdb_get_updates_since`.
        wal_retention_bytes: 1,
        // RocksDB has no limit.
        max_open_files: 100_000,
        ..Options::default()
    };
    change(&mut options);
    Db::open(path, options).expect("a database")
}

fn per_entry(begin: Instant, entries: u64) -> f64 {
    begin.elapsed().as_nanos() as f64 / entries as f64
}

fn values(path: &Path, entries: u64) -> Figures {
    let db = opened(path, |_| ());
    let mut state = 1;
    let mut nanoseconds = vec![fill(&db, &mut state, entries)];
    let (time, found, _) = read(&db, &mut state, entries, |value| value.to_vec().len());
    nanoseconds.push(time);
    let (time, _, pinned) = read(&db, &mut state, entries, <[u8]>::len);
    nanoseconds.push(time);
    let (time, seen, bytes) = scan(&db);
    nanoseconds.push(time);
    db.close().expect("a close");
    Figures { nanoseconds, counted: format!("{found} {pinned} {seen} {bytes}") }
}

fn fill(db: &Db, state: &mut u64, entries: u64) -> f64 {
    let pool = pool();
    let begin = Instant::now();
    for i in 0..entries {
        let key = key_of(next(state) % entries);
        db.put(key, pool[(i % POOL_VALUES) as usize]).expect("a put");
    }
    per_entry(begin, entries)
}

/// Returns the time of a read, how many values there were, and the sum of `look`.
fn read(
    db: &Db,
    state: &mut u64,
    entries: u64,
    look: impl Fn(&[u8]) -> usize,
) -> (f64, u64, usize) {
    let (mut found, mut sum) = (0, 0);
    let begin = Instant::now();
    for _ in 0..entries {
        if let Some(value) = db.get(key_of(next(state) % entries)).expect("a get") {
            sum += std::hint::black_box(look(&value));
            found += 1;
        }
    }
    (per_entry(begin, entries), found, sum)
}

fn scan(db: &Db) -> (f64, u64, usize) {
    let (mut seen, mut bytes) = (0, 0);
    let begin = Instant::now();
    let mut iter = db.iter().expect("an iterator");
    iter.seek_to_first().expect("the first entry");
    while iter.valid() {
        bytes += iter.key().len() + iter.value().expect("a value").len();
        seen += 1;
        iter.advance().expect("the next entry");
    }
    (per_entry(begin, seen), seen, bytes)
}

fn merge(db: &Db, entries: u64) -> f64 {
    let mut state = 1;
    let begin = Instant::now();
    for i in 0..entries {
        let key = key_of(next(&mut state) % entries);
        db.merge(key, (i % 8).to_le_bytes()).expect("a merge");
    }
    per_entry(begin, entries)
}

/// Returns how many counters a database has, and their sum.
fn added_up(db: &Db) -> (u64, u64) {
    let (mut keys, mut sum) = (0, 0);
    let mut iter = db.iter().expect("an iterator");
    iter.seek_to_first().expect("the first entry");
    while iter.valid() {
        sum += word(iter.value().expect("a value"));
        keys += 1;
        iter.advance().expect("the next entry");
    }
    (keys, sum)
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("8 bytes"))
}

/// The program's own operator of driver.c.
#[derive(Debug)]
struct Sum;

impl MergeOperator for Sum {
    fn name(&self) -> &str {
        "speed.sum"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let sum = base.into_iter().chain(operands.iter().copied()).map(word).sum::<u64>();
        out.extend_from_slice(&sum.to_le_bytes());
        Full::Value
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let sum = operands.iter().copied().map(word).sum::<u64>();
        out.extend_from_slice(&sum.to_le_bytes());
        Partial::Operand
    }
}
