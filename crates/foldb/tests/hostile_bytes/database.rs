//! The database that is damaged, and its expected contents.
//!
//! It has tables that overlap, value segments, an adopted log, range deletes, operands and two
//! keyspaces. Its last writes are only in its log.

use std::collections::BTreeMap;

use foldb::env::MemFs;
use foldb::internals::Knobs;
use foldb::{Compression, Db, KeyspaceOptions, LogAdoption, Options, WriteOptions};

use crate::support::{self, PATH, number};

/// The second keyspace.
pub(crate) const OTHER: &str = "other";

/// The contents of both keyspaces, the default one first.
pub(crate) type State = [BTreeMap<Vec<u8>, Vec<u8>>; 2];

/// A database's files, and the states that a reader may find.
pub(crate) struct Database {
    pub fs: MemFs,
    /// Whether the database was closed. If not, it was killed.
    pub closed: bool,
    /// The contents before the last log, and after each write in that log.
    pub states: Vec<State>,
    /// The first of these states that a reader may find after damage in the middle of the last log.
    /// Later frames say that it was synced.
    pub synced: usize,
}

pub(crate) fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: false,
        disable_auto_compactions: true,
        default: KeyspaceOptions {
            value_separation_min: Some(100),
            compression: Some(Compression::None),
            ..support::options(fs).default
        },
        knobs: Knobs { segment_size: 16 << 10, ..Knobs::default() },
        block_size: 512,
        adopt_logs: LogAdoption::Never,
        write_buffer_size: 64 << 10,
        block_cache_size: 64 << 10,
        ..support::options(fs)
    }
}

/// One write, to the default keyspace (0) or the other one (1).
enum Write {
    Put(usize, String, Vec<u8>),
    Add(usize, String, u64),
    Delete(usize, String),
    DeleteRange(usize, String, String),
}

use Write::{Add, Delete, DeleteRange, Put};

fn key(n: usize) -> String {
    format!("key{n:03}")
}

fn large(n: usize, generation: usize) -> Vec<u8> {
    let mut value = format!("large {n}.{generation}.").into_bytes();
    // A log is adopted if nearly all of it is values.
    value.resize(if generation == 0 { 700 } else { 130 }, b'a' + (n + generation) as u8 % 26);
    value
}

fn small(n: usize, generation: usize) -> Vec<u8> {
    format!("small {n}.{generation}").into_bytes()
}

struct Writer {
    db: Db,
    state: State,
}

impl Writer {
    fn write(&mut self, write: &Write, sync: bool) {
        let options = WriteOptions { sync, ..WriteOptions::default() };
        let keyspaces = [self.db.default_keyspace().clone(), self.db.keyspace(OTHER).unwrap()];
        match write {
            Put(at, key, value) => {
                keyspaces[*at].with(&options).put(key, value).unwrap();
                self.state[*at].insert(key.clone().into_bytes(), value.clone());
            }
            Add(at, key, operand) => {
                keyspaces[*at].with(&options).merge(key, number(*operand)).unwrap();
                let value = self.state[*at].entry(key.clone().into_bytes());
                let value = value.or_insert_with(|| vec![0; 8]);
                let sum = u64::from_le_bytes(value[..].try_into().unwrap()) + operand;
                *value = number(sum).to_vec();
            }
            Delete(at, key) => {
                keyspaces[*at].with(&options).delete(key).unwrap();
                self.state[*at].remove(key.as_bytes());
            }
            DeleteRange(at, from, to) => {
                keyspaces[*at].with(&options).delete_range(from.as_str()..to.as_str()).unwrap();
                let gone = |key: &[u8]| from.as_bytes() <= key && key < to.as_bytes();
                self.state[*at].retain(|key, _| !gone(key));
            }
        }
    }

    /// Writes and flushes in a session of its own with its own files.
    fn session(state: State, options: Options, writes: &[Write]) -> State {
        let mut writer = Writer { db: Db::open(PATH, options).unwrap(), state };
        writes.iter().for_each(|write| writer.write(write, false));
        writer.db.flush().unwrap();
        writer.db.close().unwrap();
        writer.state
    }
}

/// Makes the database.
pub(crate) fn make(closed: bool) -> Database {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { create_if_missing: true, ..options(&fs) }).unwrap();
    let separating =
        KeyspaceOptions { value_separation_min: Some(100), ..KeyspaceOptions::default() };
    db.create_keyspace(OTHER, separating).unwrap();
    db.close().unwrap();
    // A log of large values of one keyspace, which is adopted.
    let writes: Vec<_> = (0..8).map(|n| Put(0, key(n * 5 % 8), large(n, 0))).collect();
    let adopting = Options { adopt_logs: LogAdoption::Always, ..options(&fs) };
    let state = Writer::session(State::default(), adopting, &writes);
    // Small values, counters, and some large values in a segment of their own.
    let mut writes: Vec<_> = (10..40).map(|n| Put(n % 2, key(n), small(n, 1))).collect();
    writes.extend((0..12).map(|n| Add(n % 2, format!("sum{n:02}"), n as u64 + 1)));
    writes.extend((30..40).map(|n| Put(n % 2, key(n), large(n, 1))));
    let state = Writer::session(state, options(&fs), &writes);
    // Writes that hide some of the older records.
    let mut writes = vec![
        DeleteRange(0, key(5), key(9)),
        DeleteRange(1, key(30), key(33)),
        Delete(0, key(20)),
        Delete(1, key(11)),
        Delete(0, key(1)),
    ];
    writes.extend((0..12).map(|n| Add(n % 2, format!("sum{n:02}"), 1000)));
    writes.extend((34..38).map(|n| Put(n % 2, key(n), large(n, 2))));
    writes.extend((22..26).map(|n| Put(n % 2, key(n), small(n, 2))));
    let state = Writer::session(state, options(&fs), &writes);
    // Writes that are only in the log.
    let mut writer = Writer { db: Db::open(PATH, options(&fs)).unwrap(), state };
    let stats = writer.db.stats();
    assert!(stats.bytes_adopted > 0 && stats.bytes_segments > 0, "{stats:?}");
    let mut states = vec![writer.state.clone()];
    let last = [
        Put(0, key(40), small(40, 3)),
        Put(1, key(41), large(41, 3)),
        DeleteRange(0, key(10), key(12)),
        Add(0, "sum00".to_owned(), 1_000_000),
        Delete(1, key(13)),
        Put(0, key(42), small(42, 3)),
        Add(1, "sum01".to_owned(), 1_000_000),
        Put(0, key(40), large(40, 4)),
    ];
    let synced = 5;
    for (at, write) in last.iter().enumerate() {
        writer.write(write, at + 1 == synced);
        states.push(writer.state.clone());
    }
    if closed {
        writer.db.close().unwrap();
        drop(writer);
        // A clean close is provable: no later damage may make an open show less.
        states = states.split_off(states.len() - 1);
        return Database { fs: fs.kill(), closed, states, synced: 0 };
    }
    Database { fs: fs.kill(), closed, states, synced }
}
