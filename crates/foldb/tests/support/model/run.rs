//! Plays a program against a database in memory and the model, side by side.
//!
//! After a kill the database must hold everything. After a crash it must hold the state after some
//! prefix of the writes, no shorter than what was known to be durable: that prefix is looked for,
//! and the model goes on from there.

use std::ops::Bound;

use foldb::env::{Env, MemFs};
use foldb::{
    Base, Db, ErrorKind, Iter, Options, ReadOptions, Snapshot, Stats, Value, WriteBatch,
    WriteOptions,
};

use super::program::{self, Draft, Key, Move, Operator, Program, Range, Settings, Step};
use super::{Cell, Seen, State, Write};
use crate::support::{PATH, operators, steps};

/// Whether a key lies in a range.
type KeyTest = Box<dyn Fn(&[u8]) -> bool>;

/// Where checkpoints are made.
const COPY: &str = "copy";

/// Handles of one kind held at once.
const MAX_HELD: usize = 4;

/// Plays a program to its end, and answers what the engine did at it.
///
/// # Panics
/// When database and model differ.
pub fn play(program: &Program) -> Stats {
    let mut player = Player::open(program.settings);
    for step in &program.steps {
        player.step(step);
    }
    player.check_all();
    player.restart(MemFs::kill, Stop::Kill);
    steps::run_background(&player.db, |_| {});
    player.check_all();
    player.db.stats()
}

struct Player {
    fs: MemFs,
    settings: Settings,
    db: Db,
    snapshots: Vec<(Snapshot, State)>,
    iterators: Vec<HeldIterator>,
    current: State,
    /// What a crash must leave at least, and the writes since.
    durable: State,
    pending: Vec<Vec<Write>>,
}

/// An iterator and where it must stand.
struct HeldIterator {
    iter: Iter,
    entries: Vec<(Vec<u8>, Seen)>,
    position: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Fresh,
    At(usize),
    Exhausted,
}

/// What happened to a database that was not closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Its process ended: everything is there.
    Kill,
    /// The power went: a prefix is there.
    Crash,
}

impl Player {
    fn open(settings: Settings) -> Player {
        let fs = MemFs::new();
        let db = open(&fs, settings);
        Player {
            fs,
            settings,
            db,
            snapshots: Vec::new(),
            iterators: Vec::new(),
            current: State::default(),
            durable: State::default(),
            pending: Vec::new(),
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Write { write, sync } => self.write(*write, *sync),
            Step::Batch { writes, sync } => self.batch(writes, *sync),
            Step::Get(key) => {
                let key = key.bytes();
                assert_get(&key, self.db.get(&key), &self.current);
            }
            Step::MultiGet { keys, snapshot } => self.multi_get(keys, *snapshot),
            Step::GetOperands(key) => self.get_operands(&key.bytes()),
            Step::Snapshot if self.snapshots.len() < MAX_HELD => {
                self.snapshots.push((self.db.snapshot(), self.current.clone()));
            }
            Step::Snapshot => {}
            Step::ReadSnapshot(index) => {
                if let Some((snapshot, state)) = pick(&mut self.snapshots, *index) {
                    check_snapshot(snapshot, state);
                }
            }
            Step::DropSnapshot(index) => remove(&mut self.snapshots, *index),
            Step::OpenIterator { range, snapshot } => self.open_iterator(range, *snapshot),
            Step::MoveIterator(index, moves) => {
                if let Some(held) = pick(&mut self.iterators, *index) {
                    moves.iter().for_each(|a_move| held.make(*a_move));
                }
            }
            Step::DropIterator(index) => remove(&mut self.iterators, *index),
            Step::Flush => {
                self.db.flush().expect("flush");
                self.now_durable();
                self.check_all();
            }
            Step::Compact(lower, upper) => self.compact(*lower, *upper),
            Step::Background => {
                self.db.step_background().expect("a background step");
                self.check_all();
            }
            Step::AllBackground => {
                steps::run_background(&self.db, |_| {});
                self.check_all();
            }
            Step::Sync => {
                self.db.sync().expect("sync");
                self.now_durable();
            }
            Step::CheckAll => self.check_all(),
            Step::Look => check_shown(&self.look(), &self.current),
            Step::Checkpoint(settings) => self.checkpoint(settings.unwrap_or(self.settings)),
            Step::Reopen(settings) => {
                self.drop_handles();
                self.db.close().expect("close");
                self.db.close().expect("close again");
                self.reopen(self.fs.clone(), *settings);
                self.now_durable();
                self.check_all();
            }
            Step::Kill => self.restart(MemFs::kill, Stop::Kill),
            Step::Crash => self.restart(MemFs::crash, Stop::Crash),
            Step::CrashPartly(seed) => self.restart(|fs| fs.crash_with(*seed), Stop::Crash),
        }
    }

    fn look(&self) -> Db {
        let before = self.fs.counts().mutations();
        let options = options(&self.fs, self.settings);
        let shown = Db::open_read_only(PATH, options).expect("a read-only open");
        assert_eq!(self.fs.counts().mutations(), before, "a look changes nothing");
        shown
    }

    fn checkpoint(&self, settings: Settings) {
        self.db.checkpoint(COPY).expect("a checkpoint");
        let options = Options { create_if_missing: false, ..options(&self.fs, settings) };
        let copy = Db::open(COPY, options.clone()).expect("the checkpoint opens");
        check_shown(&copy, &self.current);
        // What is done to it is not done to the database.
        for key in Key::all().step_by(3) {
            copy.put(key, "of the copy").expect("a write to the copy");
        }
        copy.compact::<&str>(..).expect("a compaction of the copy");
        self.check_all();
        drop(copy);
        Db::destroy(COPY, &options).expect("the checkpoint goes");
        self.check_all();
    }

    fn multi_get(&mut self, keys: &[Key], snapshot: Option<u8>) {
        let held = snapshot.and_then(|index| pick(&mut self.snapshots, index));
        let (snapshot, state) = match held {
            Some((snapshot, state)) => (Some(snapshot.clone()), &*state),
            None => (None, &self.current),
        };
        let options = ReadOptions { snapshot, ..ReadOptions::default() };
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.bytes()).collect();
        let read = self.db.multi_get_opt(&keys, &options).expect("a multi-get");
        assert_eq!(read.len(), keys.len());
        keys.iter().zip(read).for_each(|(key, read)| assert_get(key, read, state));
    }

    /// Base and operands, put together by the model, are what the key holds.
    fn get_operands(&self, key: &[u8]) {
        let read = self.db.get_operands(key).expect("operands");
        let mut state = State::default();
        if let Base::Put(value) = read.base() {
            state.apply(&Write::Put(key.to_vec(), value.to_vec()));
        }
        for operand in read.oldest_first() {
            let operator = Operator::of_spec(operand.operator());
            state.apply(&Write::Merge(operator, key.to_vec(), operand.value().to_vec()));
        }
        let seen = |state: &State| state.0.get(key).map(Cell::seen);
        assert_eq!(seen(&state), seen(&self.current), "operands of '{}'", key.escape_ascii());
    }

    fn write(&mut self, draft: Draft, sync: bool) {
        let options = WriteOptions { sync, ..WriteOptions::default() };
        let write = self.spell_out(draft);
        let outcome = match &write {
            Write::Put(key, value) => self.db.put_opt(key, value, &options),
            Write::Delete(key) => self.db.delete_opt(key, &options),
            Write::Merge(_, key, operand) if has_default_operator(draft) => {
                self.db.merge_opt(key, operand, &options)
            }
            Write::Merge(operator, key, operand) => {
                let operator = self.db.operator(operator.spec()).expect("the operator");
                self.db.merge_with_opt(&operator, key, operand, &options)
            }
        };
        outcome.expect("a write");
        self.committed(vec![write], sync);
    }

    fn batch(&mut self, drafts: &[Draft], sync: bool) {
        let writes: Vec<Write> = drafts.iter().map(|&draft| self.spell_out(draft)).collect();
        let mut batch = WriteBatch::new();
        for (draft, write) in drafts.iter().zip(&writes) {
            match write {
                Write::Put(key, value) => batch.put(key, value),
                Write::Delete(key) => batch.delete(key),
                Write::Merge(_, key, operand) if has_default_operator(*draft) => {
                    batch.merge(key, operand)
                }
                Write::Merge(operator, key, operand) => {
                    let operator = self.db.operator(operator.spec()).expect("the operator");
                    batch.merge_with(&operator, key, operand)
                }
            };
        }
        assert_eq!(batch.len(), drafts.len());
        let options = WriteOptions { sync, ..WriteOptions::default() };
        self.db.write_opt(&batch, &options).expect("a batch");
        let synced = sync && !writes.is_empty();
        self.committed(writes, synced);
    }

    fn spell_out(&self, draft: Draft) -> Write {
        match draft {
            Draft::Put(key, text) => Write::Put(key.bytes(), text.bytes()),
            Draft::PutNumber(key, text) => Write::Put(key.bytes(), text.number()),
            Draft::Delete(key) => Write::Delete(key.bytes()),
            Draft::Merge(operator, key, text) => {
                let operator = operator.unwrap_or(self.settings.default_operator);
                let operand = if operator.is_number() { text.number() } else { text.bytes() };
                Write::Merge(operator, key.bytes(), operand)
            }
        }
    }

    fn committed(&mut self, writes: Vec<Write>, synced: bool) {
        writes.iter().for_each(|write| self.current.apply(write));
        self.pending.push(writes);
        if synced {
            self.now_durable();
        }
    }

    fn now_durable(&mut self) {
        self.durable = self.current.clone();
        self.pending.clear();
    }

    fn compact(&mut self, lower: Bound<Key>, upper: Bound<Key>) {
        let range = (lower.map(Key::bytes), upper.map(Key::bytes));
        self.db.compact::<Vec<u8>>(range).expect("compact");
        self.now_durable();
        self.check_all();
    }

    fn open_iterator(&mut self, range: &Range, snapshot: Option<u8>) {
        if self.iterators.len() == MAX_HELD {
            self.iterators.remove(0);
        }
        let held = snapshot.and_then(|index| pick(&mut self.snapshots, index));
        let (snapshot, state) = match held {
            Some((snapshot, state)) => (Some(snapshot.clone()), state.clone()),
            None => (None, self.current.clone()),
        };
        let options = ReadOptions { snapshot, fill_cache: true };
        let (iter, inside): (_, KeyTest) = match range {
            Range::Prefix(key, len) if options.snapshot.is_none() => {
                let key = key.bytes();
                let prefix = key[..key.len().min(*len)].to_vec();
                (self.db.prefix(&prefix), Box::new(move |key| key.starts_with(&prefix)))
            }
            Range::All | Range::Prefix(..) => {
                (self.db.range_opt::<Vec<u8>>(.., &options), Box::new(|_| true))
            }
            Range::Between(lower, upper) => {
                let bounds = (lower.map(Key::bytes), upper.map(Key::bytes));
                let iter = self.db.range_opt::<Vec<u8>>(bounds.clone(), &options);
                (iter, Box::new(move |key| is_between(key, &bounds)))
            }
        };
        let mut entries = state.seen();
        entries.retain(|(key, _)| inside(key));
        let iter = iter.expect("an iterator");
        self.iterators.push(HeldIterator { iter, entries, position: Position::Fresh });
    }

    fn drop_handles(&mut self) {
        self.snapshots.clear();
        self.iterators.clear();
    }

    /// Stops without a close; what `survive` leaves of the files is opened.
    fn restart(&mut self, survive: impl FnOnce(&MemFs) -> MemFs, stop: Stop) {
        let fs = survive(&self.fs);
        self.drop_handles();
        self.reopen(fs, None);
        if stop == Stop::Crash {
            self.find_prefix();
        }
        self.now_durable();
        self.check_all();
    }

    fn reopen(&mut self, fs: MemFs, settings: Option<Settings>) {
        self.settings = settings.unwrap_or(self.settings);
        self.db = open(&fs, self.settings);
        self.fs = fs;
    }

    /// Sets the model back to the prefix of the writes that the crash left.
    fn find_prefix(&mut self) {
        let found = scan(self.db.iter().expect("an iterator"));
        let mut state = self.durable.clone();
        let mut survivor = (state.seen() == found).then(|| state.clone());
        for writes in &self.pending {
            writes.iter().for_each(|write| state.apply(write));
            if state.seen() == found {
                survivor = Some(state.clone());
            }
        }
        self.current = survivor.unwrap_or_else(|| {
            panic!(
                "after the crash the database holds no prefix of the writes\n   durable: {:?}\n\
                 unsynced: {:?}\n     found: {found:?}",
                self.durable, self.pending
            )
        });
        // Prefixes that look the same may differ in what is hidden behind a failed merge.
        let failed = |cell: &Cell| matches!(cell, Cell::Failed(_));
        let keys = self.current.0.iter().filter(|(_, cell)| failed(cell));
        let keys: Vec<Vec<u8>> = keys.map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.db.delete_opt(&key, &WriteOptions { sync: true, ..Default::default() }).unwrap();
            self.current.apply(&Write::Delete(key));
        }
    }

    /// Compares everything: by gets, forwards and backwards.
    fn check_all(&self) {
        for key in Key::all() {
            assert_get(&key, self.db.get(&key), &self.current);
        }
        let expected = self.current.seen();
        assert_entries("forwards", scan(self.db.iter().expect("an iterator")), &expected);
        let backwards = scan_backwards(self.db.iter().expect("an iterator"));
        assert_entries("backwards", backwards, &expected);
        for n in (0..program::KEYS).step_by(5) {
            let key = Key(n).bytes();
            self.check_count((Bound::Unbounded, Bound::Excluded(key.clone())));
            self.check_count((Bound::Excluded(key), Bound::Unbounded));
        }
        self.check_count((Bound::Unbounded, Bound::Unbounded));
    }

    /// The true count lies within the bound of the approximate one.
    fn check_count(&self, range: (Bound<Vec<u8>>, Bound<Vec<u8>>)) {
        let keys = self.current.0.keys().filter(|key| is_between(key, &range)).count() as u64;
        let count = self.db.approximate_count::<Vec<u8>>(range.clone()).expect("a count");
        assert!(
            count.at_least <= keys && keys <= count.at_most,
            "{keys} keys, but {count:?} of {range:?}"
        );
        assert!(count.at_least <= count.estimate && count.estimate <= count.at_most, "{count:?}");
    }
}

impl HeldIterator {
    fn make(&mut self, a_move: Move) {
        let entries = &self.entries;
        let at = |index: Option<usize>| match index {
            Some(index) if index < entries.len() => Position::At(index),
            _ => Position::Exhausted,
        };
        let first_from = |key: Key| entries.partition_point(|(other, _)| *other < key.bytes());
        let first_behind = |key: Key| entries.partition_point(|(other, _)| *other <= key.bytes());
        let last = entries.len().checked_sub(1);
        let expected = match (a_move, self.position) {
            (Move::First, _) | (Move::Advance, Position::Fresh) => at(Some(0)),
            (Move::Last, _) | (Move::Retreat, Position::Fresh) => at(last),
            (Move::Seek(key), _) => at(Some(first_from(key))),
            (Move::SeekForPrev(key), _) => at(first_behind(key).checked_sub(1)),
            (Move::Advance, Position::At(index)) => at(Some(index + 1)),
            (Move::Retreat, Position::At(index)) => at(index.checked_sub(1)),
            (Move::Advance | Move::Retreat, Position::Exhausted) => Position::Exhausted,
        };
        let moved = match a_move {
            Move::First => self.iter.seek_to_first(),
            Move::Last => self.iter.seek_to_last(),
            Move::Seek(key) => self.iter.seek(key.bytes()),
            Move::SeekForPrev(key) => self.iter.seek_for_prev(key.bytes()),
            Move::Advance => self.iter.advance(),
            Move::Retreat => self.iter.retreat(),
        };
        let moved = moved.expect("a move");
        assert_eq!(moved, self.iter.valid(), "{a_move:?} says where it stands");
        let stands = moved.then(|| {
            let value = self.iter.value().map(|value| Some(value.clone()));
            (self.iter.key().to_vec(), seen(value).expect("an entry has a value"))
        });
        let wanted = match expected {
            Position::At(index) => Some(entries[index].clone()),
            Position::Fresh | Position::Exhausted => None,
        };
        assert_eq!(stands, wanted, "{a_move:?} from {:?}", self.position);
        self.position = expected;
    }
}

fn open(fs: &MemFs, settings: Settings) -> Db {
    Db::open(PATH, options(fs, settings)).expect("open")
}

fn options(fs: &MemFs, settings: Settings) -> Options {
    Options {
        create_if_missing: true,
        env: Env::in_memory(fs.clone()),
        merge_operator: Some(settings.default_operator.spec().to_owned()),
        operators: operators::all(),
        compaction: settings.preset,
        compression: settings.compression,
        write_buffer_size: settings.write_buffer,
        target_file_size: settings.target_file,
        block_size: settings.block,
        block_cache_size: settings.cache,
        bloom_bits: settings.bloom_bits,
        max_open_files: settings.open_files,
        wal_limit: settings.wal_limit,
        level0_compaction_trigger: settings.level0_trigger,
        level0_slowdown_trigger: settings.level0_trigger + 4,
        level0_stop_trigger: settings.level0_trigger + 8,
        max_bytes_for_level_base: settings.level_base,
        max_bytes_for_level_multiplier: 2.0,
        num_levels: settings.levels,
        tier_fan_in: settings.fan_in,
        ..Options::default()
    }
}

fn has_default_operator(draft: Draft) -> bool {
    matches!(draft, Draft::Merge(None, ..))
}

fn pick<T>(held: &mut [T], index: u8) -> Option<&mut T> {
    let len = held.len().max(1);
    held.get_mut(usize::from(index) % len)
}

fn remove<T>(held: &mut Vec<T>, index: u8) {
    if !held.is_empty() {
        held.remove(usize::from(index) % held.len());
    }
}

fn is_between(key: &[u8], (lower, upper): &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> bool {
    let above = match lower {
        Bound::Unbounded => true,
        Bound::Included(lower) => key >= &lower[..],
        Bound::Excluded(lower) => key > &lower[..],
    };
    let below = match upper {
        Bound::Unbounded => true,
        Bound::Included(upper) => key <= &upper[..],
        Bound::Excluded(upper) => key < &upper[..],
    };
    above && below
}

/// What a read saw.
///
/// # Panics
/// When it failed otherwise than by its merge.
fn seen(read: foldb::Result<Option<Value>>) -> Option<Seen> {
    match read {
        Ok(value) => value.map(|value| Seen::Value(value.to_vec())),
        Err(error) if error.kind() == ErrorKind::MergeFailed => Some(Seen::Failed),
        Err(error) => panic!("a read failed: {error}"),
    }
}

/// All entries, by moving and looking: an entry whose merge failed has a key too.
fn scan(iter: Iter) -> Vec<(Vec<u8>, Seen)> {
    collect(iter, Iter::advance)
}

fn scan_backwards(iter: Iter) -> Vec<(Vec<u8>, Seen)> {
    let mut entries = collect(iter, Iter::retreat);
    entries.reverse();
    entries
}

fn collect(mut iter: Iter, step: fn(&mut Iter) -> foldb::Result<bool>) -> Vec<(Vec<u8>, Seen)> {
    let mut entries = Vec::new();
    while step(&mut iter).expect("a move") {
        let value = iter.value().map(|value| Some(value.clone()));
        entries.push((iter.key().to_vec(), seen(value).expect("an entry has a value")));
    }
    entries
}

fn assert_get(key: &[u8], read: foldb::Result<Option<Value>>, state: &State) {
    let expected = state.0.get(key).map(Cell::seen);
    assert_eq!(seen(read), expected, "get of key '{}'", key.escape_ascii());
}

/// Compares a database that is not the one the program is played on.
fn check_shown(db: &Db, state: &State) {
    for key in Key::all() {
        assert_get(&key, db.get(&key), state);
    }
    let iter = || db.iter().expect("an iterator");
    assert_entries("forwards, elsewhere", scan(iter()), &state.seen());
    assert_entries("backwards, elsewhere", scan_backwards(iter()), &state.seen());
}

fn check_snapshot(snapshot: &Snapshot, state: &State) {
    for key in Key::all() {
        assert_get(&key, snapshot.get(&key), state);
    }
    let found = scan(snapshot.iter().expect("an iterator"));
    assert_entries("through a snapshot", found, &state.seen());
}

fn assert_entries(how: &str, found: Vec<(Vec<u8>, Seen)>, expected: &[(Vec<u8>, Seen)]) {
    assert_eq!(found, expected, "a scan {how}");
}
