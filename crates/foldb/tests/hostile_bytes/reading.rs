//! Reads a database in every way, and judges the answers.

use std::path::Path;

use foldb::env::MemFs;
use foldb::{Db, Error, ErrorKind, KeyspaceReader, Options, Value};

use crate::database::{OTHER, State, options};
use crate::support::{AnyDb, PATH};

/// The outcome of reading a database.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The states that all answers so far agree with.
    states: Vec<usize>,
    /// The errors of reads, with that of the open.
    pub errors: Vec<Error>,
    /// Whether the open failed.
    pub unopened: bool,
    /// The first wrong answer.
    pub wrong: Option<String>,
    /// Whether verification found tables and segments intact.
    pub verified: bool,
}

impl Reading {
    fn new(states: &[State], floor: usize) -> Reading {
        Reading { states: (floor..states.len()).collect(), ..Reading::default() }
    }

    /// Notes an error that a read returned.
    fn fail(&mut self, error: Error) {
        self.errors.push(error);
    }

    /// Keeps the states in which an answer is right.
    fn keep(&mut self, what: impl Fn() -> String, is_right: impl Fn(usize) -> bool) {
        let before = std::mem::take(&mut self.states);
        self.states = before.iter().copied().filter(|state| is_right(*state)).collect();
        if self.states.is_empty() {
            self.wrong.get_or_insert_with(|| format!("{} of states {before:?}", what()));
            self.states = before;
        }
    }

    fn got(
        &mut self,
        how: &str,
        states: &[State],
        place: (usize, &[u8]),
        answer: foldb::Result<Option<Value>>,
    ) {
        match answer {
            Err(error) => self.fail(error),
            Ok(value) => {
                let (keyspace, key) = place;
                let value = value.map(Value::into_owned);
                let brief = || brief(value.as_deref());
                let what = || format!("{how} {keyspace}/{} is {}", key.escape_ascii(), brief());
                self.keep(what, |state| states[state][keyspace].get(key) == value.as_ref());
            }
        }
    }

    fn scanned(
        &mut self,
        states: &[State],
        number: usize,
        entries: impl Iterator<Item = foldb::Result<(Vec<u8>, Value)>>,
        backwards: bool,
    ) {
        let most = states.iter().map(|state| state[number].len()).max().unwrap_or(0) + 1;
        let mut found = Vec::new();
        let mut failed = false;
        // An iterator that never ends is wrong, and stops here.
        for entry in entries.take(most + 1) {
            match entry {
                Ok((key, value)) => found.push((key, value.into_owned())),
                Err(error) => {
                    failed = true;
                    self.fail(error);
                    break;
                }
            }
        }
        let what = || format!("a scan of {number} (backwards: {backwards}) with {}", found.len());
        self.keep(what, |state| {
            let expected = states[state][number].iter();
            let expected: Vec<_> = match backwards {
                true => expected.rev().collect(),
                false => expected.collect(),
            };
            let is_long_enough =
                if failed { found.len() <= expected.len() } else { found.len() == expected.len() };
            is_long_enough && found.iter().zip(&expected).all(|(a, b)| (&a.0, &a.1) == *b)
        });
    }

    fn keyspace(&mut self, states: &[State], number: usize, keyspace: &KeyspaceReader) {
        let mut keys: Vec<Vec<u8>> =
            states.iter().flat_map(|it| it[number].keys().cloned()).collect();
        keys.extend((0..43).map(|n| format!("key{n:03}").into_bytes()));
        keys.sort();
        keys.dedup();
        for key in &keys {
            self.got("get", states, (number, key), keyspace.get(key));
        }
        match keyspace.multi_get(&keys) {
            Err(error) => self.fail(error),
            Ok(answers) => {
                for (key, answer) in keys.iter().zip(answers) {
                    self.got("multi_get", states, (number, key), answer);
                }
            }
        }
        match keyspace.iter() {
            Err(error) => self.fail(error),
            Ok(entries) => self.scanned(states, number, entries, false),
        }
        match keyspace.iter() {
            Err(error) => self.fail(error),
            Ok(entries) => self.scanned(states, number, entries.rev(), true),
        }
        for key in keys.iter().step_by(7) {
            if let Err(error) = keyspace.explain(key) {
                self.fail(error);
            }
        }
    }

    fn database(&mut self, states: &[State], db: &impl AnyDb) {
        for (number, name) in ["default", OTHER].into_iter().enumerate() {
            match db.reader(name) {
                Err(error) => self.fail(error),
                Ok(keyspace) => self.keyspace(states, number, &keyspace),
            }
        }
    }
}

fn brief(value: Option<&[u8]>) -> String {
    value.map_or("nothing".to_owned(), |value| {
        value[..value.len().min(20)].escape_ascii().to_string()
    })
}

/// How much to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// All reads, verify and stats.
    Read,
    /// Also a checkpoint, and all reads again after a full compaction.
    Compact,
}

/// Opens a database and reads it. A right answer fits one of `states` from `floor` on.
pub(crate) fn read(fs: &MemFs, states: &[State], floor: usize, depth: Depth) -> Reading {
    let mut reading = Reading::new(states, floor);
    let db = match Db::open(PATH, options(fs)) {
        Ok(db) => db,
        Err(error) => {
            reading.unopened = true;
            reading.fail(error);
            return reading;
        }
    };
    reading.database(states, &db);
    match db.verify() {
        Ok(_) => reading.verified = true,
        Err(error) => reading.fail(error),
    }
    let _ = (db.stats(), db.memory());
    if depth == Depth::Compact {
        copied(&mut reading, fs, states, &db);
        for keyspace in [Some(db.default_keyspace().clone()), db.keyspace(OTHER).ok()] {
            if let Some(Err(error)) = keyspace.map(|it| it.compact(..)) {
                reading.fail(error);
            }
        }
        reading.database(states, &db);
    }
    drop(db);
    reading
}

/// Makes a checkpoint and reads it.
fn copied(reading: &mut Reading, fs: &MemFs, states: &[State], db: &Db) {
    const COPY: &str = "copy";
    match db.checkpoint(Path::new(COPY)) {
        Err(error) => reading.fail(error),
        Ok(_) => match Db::open(COPY, options(fs)) {
            Err(error) => reading.fail(error),
            Ok(copy) => reading.database(states, &copy),
        },
    }
}

/// Reads a database through a file system without writes.
pub(crate) fn read_only(fs: &MemFs, states: &[State], floor: usize) -> Reading {
    let mut reading = Reading::new(states, floor);
    match Db::open_read_only(PATH, Options { create_if_missing: false, ..options(fs) }) {
        Ok(db) => reading.database(states, &db),
        Err(error) => {
            reading.unopened = true;
            reading.fail(error);
        }
    }
    reading
}

/// Returns why this damage may not cause this error, or `None` if it may.
pub(crate) fn objection(error: &Error, file: &str, is_inside: bool) -> Option<&'static str> {
    if error.kind() != ErrorKind::Corruption {
        return Some("not Corruption");
    }
    let Some(path) = error.path() else { return Some("the error names no file") };
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if is_inside && file != "CURRENT" && file != "CLOSED" {
        if name != file {
            return Some("the error names another file");
        }
        if error.offset().is_none() {
            return Some("the error names no offset");
        }
    }
    None
}
