//! Tests comparators of the caller: which keys they see, and which errors they may make.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foldb::custom::Comparator;
use foldb::env::{MemFs, SystemThreads};
use foldb::events::{Event, EventListener};
use foldb::garbage::GcOptions;
use foldb::internals::Knobs;
use foldb::{
    CompactionPreset, Compression, Db, Error, ErrorKind, Keyspace, KeyspaceOptions, LogAdoption,
    Options, WriteBatch,
};

use crate::support::quiet::catch;
use crate::support::{PATH, assert_error, number, options};

/// Keys end with 8 bytes of version. The order is by version, then by the bytes before it. The
/// comparator slices keys, as one for fixed layouts does, and notes each key that was never
/// written.
#[derive(Debug, Default)]
struct OnlyWritten {
    known: Mutex<HashSet<Vec<u8>>>,
    strangers: Mutex<HashSet<Vec<u8>>>,
}

impl OnlyWritten {
    /// Notes a key that the caller uses.
    fn know(&self, key: &[u8]) {
        self.known.lock().unwrap().insert(key.to_vec());
    }

    #[track_caller]
    fn assert_no_strangers(&self) {
        let strangers = self.strangers.lock().unwrap();
        let shown: Vec<_> = strangers.iter().map(|key| key.escape_ascii().to_string()).collect();
        assert!(shown.is_empty(), "the comparator saw keys that were never written: {shown:?}");
    }
}

impl Comparator for OnlyWritten {
    fn name(&self) -> &str {
        "test.only_written"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let known = self.known.lock().unwrap();
        for key in [a, b] {
            if !known.contains(key) {
                self.strangers.lock().unwrap().insert(key.to_vec());
            }
        }
        let split = |key: &[u8]| key.len().saturating_sub(8);
        a[split(a)..].cmp(&b[split(b)..]).then_with(|| a[..split(a)].cmp(&b[..split(b)]))
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// Returns a key of 40 bytes, or of one of many lengths.
fn key(n: u64, fixed: bool) -> Vec<u8> {
    let scattered = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let len = if fixed { 24 } else { (scattered % 60) as usize };
    let mut key = vec![b'k'; len];
    key.extend(scattered.to_be_bytes());
    key.extend((n % 97).to_be_bytes());
    key
}

/// Runs everything that the engine does with keys.
fn walk(preset: CompactionPreset, fixed: bool) {
    let fs = MemFs::new();
    let comparator = Arc::new(OnlyWritten::default());
    let own = || Options {
        default: KeyspaceOptions {
            comparator: Some(Arc::clone(&comparator) as _),
            compaction: Some(preset),
            value_separation_min: Some(200),
            ..options(&fs).default
        },
        target_file_size: 4 << 10,
        level0_compaction_trigger: 2,
        knobs: Knobs { segment_size: 8 << 10, ..Knobs::default() },
        adopt_logs: LogAdoption::Never,
        ..options(&fs)
    };
    let key = |n: u64| {
        let key = key(n, fixed);
        comparator.know(&key);
        key
    };
    let mut db = Db::open(PATH, own()).unwrap();
    let mut held = Vec::new();
    for round in 0..6u64 {
        for n in 0..400 {
            match (n + round) % 5 {
                0 => db.merge(key(n), number(round)).unwrap(),
                1 if round > 0 => db.delete(key(n)).unwrap(),
                2 => db.put(key(n), [round as u8; 300]).unwrap(),
                _ => db.put(key(n), number(round)).unwrap(),
            }
        }
        held.push(db.snapshot());
        let mut batch = WriteBatch::new();
        let (a, b) = (key(round * 3), key(round * 5 + 50));
        let (a, b) = if comparator.compare(&a, &b).is_lt() { (a, b) } else { (b, a) };
        batch.put(key(1000 + round), "x").delete_range(&a[..]..&b[..]).merge(key(1000), number(1));
        db.write(&batch).unwrap();
        db.delete_range(&b[..]..=&b[..]).unwrap();
        if round % 2 == 1 {
            db.delete_range(..&a[..]).unwrap();
        }
        db.flush().unwrap();
        while db.step_background().unwrap() {}
        comparator.assert_no_strangers();
        assert!(
            db.approximate_size(&a[..]..&b[..]).is_ok()
                && db.approximate_count(&a[..]..=&b[..]).is_ok()
        );
        assert!(db.approximate_size(..).unwrap() > 0);
        let mut iter = db.range(&a[..]..=&b[..]).unwrap();
        iter.seek_to_first().unwrap();
        while iter.advance().unwrap() {}
        iter.seek_to_last().unwrap();
        while iter.retreat().unwrap() {}
        drop(iter);
        let mut iter = db.iter().unwrap();
        for n in [3, 77, 2000] {
            iter.seek(key(n)).unwrap();
            iter.seek_for_prev(key(n)).unwrap();
        }
        db.multi_get((0..50).map(key)).unwrap();
        db.explain(key(round)).unwrap();
        comparator.assert_no_strangers();
        if round == 3 {
            held.clear();
            db.compact(&a[..]..&b[..]).unwrap();
            db.compact(&a[..]..=&b[..]).unwrap();
            drop((db, iter));
            db = Db::open(PATH, own()).unwrap();
        }
    }
    held.clear();
    db.compact(..).unwrap();
    db.collect_garbage().unwrap();
    db.finalize().unwrap();
    db.verify().unwrap();
    for n in 0..40 {
        // Tables that hold only range tombstones.
        db.delete_range(key(n)..=key(n)).unwrap();
    }
    db.flush().unwrap();
    db.put(key(1), "in the log").unwrap();
    db.checkpoint("copy").unwrap();
    let copy = Db::open("copy", own()).unwrap();
    assert!(copy.iter().unwrap().count() > 5);
    drop(copy);
    let shown = Db::open_read_only(PATH, own()).unwrap();
    assert!(shown.iter().unwrap().rev().count() > 5);
    drop((shown, db));
    comparator.assert_no_strangers();

    // A repair that finds nothing to do, one without a table, and one without a manifest.
    Db::repair(PATH, own()).unwrap();
    Db::open(PATH, own()).unwrap().verify().unwrap();
    let tables = || {
        let names = own().env.fs.list(PATH.as_ref()).unwrap();
        names.into_iter().filter(|name| name.ends_with(".tbl")).collect::<Vec<_>>()
    };
    let lost = tables().into_iter().next().expect("there are tables");
    own().env.fs.remove(&std::path::Path::new(PATH).join(lost)).unwrap();
    Db::repair(PATH, own()).unwrap();
    own().env.fs.remove(&std::path::Path::new(PATH).join("CURRENT")).unwrap();
    Db::repair(PATH, own()).unwrap();
    let db = Db::open(PATH, own()).unwrap();
    db.compact(..).unwrap();
    db.verify().unwrap();
    comparator.assert_no_strangers();
}

/// Samples of keys were once cut to 32 bytes in every order, and estimates compared them with keys.
/// A comparator for keys of 40 bytes panicked in the first compaction.
#[test]
fn a_comparator_sees_whole_keys_that_were_written_and_no_others() {
    for preset in
        [CompactionPreset::LazyLeveled, CompactionPreset::Leveled, CompactionPreset::Tiered]
    {
        walk(preset, true);
        walk(preset, false);
    }
}

/// Orders by the first 8 bytes, descending. It panics over shorter keys. It calls a key that begins
/// with `<` less than itself, and one that begins with `>` greater.
#[derive(Debug)]
struct EightAtLeast;

impl Comparator for EightAtLeast {
    fn name(&self) -> &str {
        "test.eight_at_least"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let order = b[..8].cmp(&a[..8]).then_with(|| a.cmp(b));
        match a[0] {
            b'<' if order.is_eq() => Ordering::Less,
            b'>' if order.is_eq() => Ordering::Greater,
            _ => order,
        }
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

#[track_caller]
fn refused<T>(result: Result<T, Error>, what: &str) {
    let error = assert_error(result, ErrorKind::InvalidArgument, None).to_string();
    assert!(error.contains("test.eight_at_least") && error.contains(what), "{error}");
}

/// A key that the comparator cannot compare was once logged and acknowledged. From then on every
/// flush, open and repair panicked. Now every call refuses such a key, in every keyspace.
#[test]
fn a_key_that_cannot_be_compared_is_refused_before_it_is_logged() {
    let fs = MemFs::new();
    let own = || Options {
        default: KeyspaceOptions {
            comparator: Some(Arc::new(EightAtLeast)),
            ..options(&fs).default
        },
        comparators: vec![Arc::new(EightAtLeast)],
        ..options(&fs)
    };
    let db = Db::open(PATH, own()).unwrap();
    let other = KeyspaceOptions { comparator: Some(Arc::new(EightAtLeast)), ..Default::default() };
    let other = db.create_keyspace("other", other).unwrap();
    db.merge("01234567", number(1)).unwrap();
    other.put("01234567", "good").unwrap();
    let before = db.stats().bytes_log;
    for keyspace in [db.default_keyspace(), &other] {
        for (key, what) in [
            ("short", "panicked"),
            ("<1234567", "less than itself"),
            (">1234567", "greater than itself"),
        ] {
            refused(keyspace.put(key, "x"), what);
            refused(keyspace.delete(key), what);
            refused(keyspace.merge(key, number(1)), what);
            refused(keyspace.delete_range(key..), what);
            refused(keyspace.delete_range("01234567"..key), what);
            refused(keyspace.get(key), what);
            refused(keyspace.multi_get(["01234567", key]), what);
            refused(keyspace.explain(key), what);
            refused(keyspace.range(..=key), what);
            refused(keyspace.approximate_size(key..), what);
            refused(keyspace.approximate_count(key..), what);
            refused(keyspace.compact(key..), what);
            let mut iter = keyspace.iter().unwrap();
            assert!(iter.seek_to_first().unwrap());
            refused(iter.seek(key), what);
            refused(iter.seek_for_prev(key), what);
            assert_eq!(iter.key(), b"01234567", "the iterator stays where it was");
            let fill: [&dyn Fn(&mut WriteBatch); 5] = [
                &|batch| _ = batch.put_in(keyspace, key, "x"),
                &|batch| _ = batch.delete_in(keyspace, key),
                &|batch| _ = batch.merge_in(keyspace, key, number(1)),
                &|batch| _ = batch.delete_range_in(keyspace, key..),
                &|batch| _ = batch.put("76543210", "good").put(key, "x"),
            ];
            for fill in fill {
                let mut batch = WriteBatch::new();
                fill(&mut batch);
                refused(db.write(&batch), what);
            }
        }
    }
    assert_eq!(db.stats().bytes_log, before, "nothing of these was logged");
    assert!(db.get("76543210").unwrap().is_none());
    db.flush().unwrap();
    drop((db, other));
    Db::repair(PATH, own()).unwrap();
    let db = Db::open(PATH, own()).unwrap();
    assert_eq!(db.get("01234567").unwrap().unwrap(), number(1));
    assert_eq!(db.keyspace("other").unwrap().get("01234567").unwrap().unwrap(), b"good");
}

/// What a comparator does wrong once it is armed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    /// Panics now and then on workers.
    PanicsInBackground,
    /// Panics now and then.
    Panics,
    /// Answers at random.
    Dice,
    /// Calls every key less than every other.
    AlwaysLess,
    /// Orders like rock, paper and scissors: three keys may form a circle.
    Cyclic,
    /// Descends, then ascends, then descends.
    Turns,
}

/// Descends until it is armed.
#[derive(Debug)]
struct Moody {
    mood: Mood,
    /// Whether keys that it calls equal may have different bytes: it then also places each write.
    spells: bool,
    armed: AtomicBool,
    calls: AtomicU64,
}

impl Moody {
    fn new(mood: Mood) -> Arc<Moody> {
        Moody::that_spells(mood, false)
    }

    fn that_spells(mood: Mood, spells: bool) -> Arc<Moody> {
        Arc::new(Moody { mood, spells, armed: AtomicBool::new(false), calls: AtomicU64::new(0) })
    }
}

impl Comparator for Moody {
    fn name(&self) -> &str {
        "test.moody"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let right = b.cmp(a);
        if right.is_eq() || !self.armed.load(Relaxed) {
            return right;
        }
        let n = self.calls.fetch_add(1, Relaxed);
        let scattered = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let number =
            |key: &[u8]| key.iter().fold(7u64, |sum, byte| scattered(sum ^ u64::from(*byte)));
        let is_less = match self.mood {
            Mood::PanicsInBackground => {
                let worker =
                    std::thread::current().name().is_some_and(|it| it.starts_with("foldb-"));
                assert!(!worker || n % 50 != 3, "the comparator lost its mind");
                return right;
            }
            Mood::Panics => {
                assert_ne!(n % 500, 3, "the comparator lost its mind");
                return right;
            }
            Mood::Dice => scattered(n) % 2 == 0,
            Mood::AlwaysLess => true,
            Mood::Cyclic => number(a).wrapping_sub(number(b)) as u32 >> 31 == 0,
            Mood::Turns => return if n % 1000 < 500 { right } else { right.reverse() },
        };
        if is_less { Ordering::Less } else { Ordering::Greater }
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        !self.spells
    }
}

/// Notes the reported failures of background work.
#[derive(Debug, Default)]
struct Errors(Mutex<Vec<String>>);

impl EventListener for Errors {
    fn on_event(&self, event: &Event) {
        if let Event::BackgroundError { error } = event {
            self.0.lock().unwrap().push(error.to_string());
        }
    }
}

/// Returns whether the outcome is Ok or an error that names the comparator as the cause.
fn is_forgiven<T>(outcome: Result<T, Error>) -> bool {
    match outcome {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::ComparatorFailed, "{error}");
            true
        }
    }
}

/// Writes and reads beside a keyspace whose comparator misbehaves. Returns whether the engine
/// noticed.
fn live_beside(mood: Mood, threads: bool, spells: bool) -> bool {
    let fs = MemFs::new();
    let comparator = Moody::that_spells(mood, spells);
    let errors = Arc::new(Errors::default());
    let own = |comparator: &Arc<Moody>| {
        let mut own = Options {
            comparators: vec![Arc::clone(comparator) as _],
            write_buffer_size: 32 << 10,
            target_file_size: 16 << 10,
            level0_compaction_trigger: 2,
            listeners: vec![Arc::clone(&errors) as _],
            ..options(&fs)
        };
        if threads {
            own.env.threads = Arc::new(SystemThreads);
        }
        own
    };
    let db = Db::open(PATH, own(&comparator)).unwrap();
    let moody = KeyspaceOptions { comparator: Some(comparator.clone()), ..Default::default() };
    let bad = db.create_keyspace("bad", moody).unwrap();
    let key = |n: u64| format!("{:05}", n.wrapping_mul(7919) % 1000);
    let (mut noticed, mut acknowledged) = (false, vec![0u64; 1000]);
    for n in 0..6000u64 {
        comparator.armed.store(n > 500, Relaxed);
        db.merge(key(n), number(1)).unwrap();
        db.put(format!("filler {n}"), [7; 50]).unwrap();
        if is_forgiven(bad.merge(key(n), number(1))) {
            noticed = true;
        } else {
            acknowledged[n.wrapping_mul(7919) as usize % 1000] += 1;
        }
        if n % 500 == 499 {
            noticed |= is_forgiven(db.flush());
            // Reads of the bad keyspace may answer anything, but they end.
            let steps = catch(|| {
                let mut iter = bad.iter()?;
                iter.seek(key(n))?;
                bad.get(key(n))?;
                Ok::<_, Error>(iter.take(1_000_000).count())
            });
            assert_ne!(steps.ok().and_then(Result::ok), Some(1_000_000), "an endless iterator");
            db.default_keyspace().compact(..).unwrap();
            noticed |= is_forgiven(bad.compact(..));
        }
    }
    noticed |= is_forgiven(db.flush());
    noticed |= is_forgiven(db.wait_for_background());
    let counts = |db: &Db| {
        for n in 0..1000u64 {
            assert_eq!(db.get(key(n)).unwrap().unwrap(), number(6), "{mood:?} {}", key(n));
        }
        assert_eq!(db.iter().unwrap().count(), 7000);
    };
    counts(&db);
    let told = errors.0.lock().unwrap().clone();
    assert_eq!(!told.is_empty(), noticed, "{mood:?}: {told:?}");
    for told in told {
        assert!(told.contains("keyspace 'bad'") && told.contains("'test.moody'"), "{told}");
    }
    drop((bad, db));
    // With a proper order, the logged writes are all there, each once.
    if noticed && matches!(mood, Mood::PanicsInBackground | Mood::Panics) {
        let db = Db::open(PATH, own(&Moody::that_spells(mood, spells))).unwrap();
        counts(&db);
        let bad = db.keyspace("bad").unwrap();
        for (n, expected) in acknowledged.iter().enumerate() {
            let count = bad.get(format!("{n:05}")).unwrap();
            let count = count.map_or(0, |count| u64::from_le_bytes(count[..].try_into().unwrap()));
            assert_eq!(count, *expected, "{mood:?} {n}");
        }
        db.flush().unwrap();
        bad.compact(..).unwrap();
        db.verify().unwrap();
    }
    noticed
}

/// A comparator that panicked on a worker once stopped writes to all keyspaces. One without a total
/// order once had tables written in no order at all.
#[test]
fn a_comparator_gone_wrong_harms_its_own_keyspace_only() {
    for mood in [
        Mood::PanicsInBackground,
        Mood::Panics,
        Mood::Dice,
        Mood::AlwaysLess,
        Mood::Cyclic,
        Mood::Turns,
    ] {
        for (threads, spells) in [(false, false), (true, false), (false, true), (true, true)] {
            let case = format!("{mood:?} {threads} {spells}");
            let (say, ended) = channel();
            std::thread::spawn(move || say.send(catch(|| live_beside(mood, threads, spells))));
            let noticed = ended.recv_timeout(Duration::from_secs(120));
            let noticed = noticed.expect("it ends");
            let noticed = noticed.unwrap_or_else(|why| panic!("{case}: {why}"));
            let must_be = threads || mood != Mood::PanicsInBackground;
            assert!(noticed || !must_be, "{case} went unnoticed");
        }
    }
}

/// The order of bytes, which panics once a number of calls is used up.
#[derive(Debug)]
struct PanicsAfter(AtomicU64);

impl Comparator for PanicsAfter {
    fn name(&self) -> &str {
        "test.panics_after"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let left = self.0.fetch_sub(1, Relaxed);
        assert!(left > 0, "the calls are used up");
        a.cmp(b)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// A panic while the event of a slice was filled once ended the thread of the compaction.
#[test]
fn a_comparator_may_panic_at_every_call_of_a_compaction() {
    let compacted = |calls: u64| {
        let comparator = Arc::new(PanicsAfter(u64::MAX.into()));
        let own = Options { comparators: vec![comparator.clone()], ..options(&MemFs::new()) };
        let db = Db::open(PATH, own).unwrap();
        let settings =
            KeyspaceOptions { comparator: Some(comparator.clone()), ..KeyspaceOptions::default() };
        let keyspace = db.create_keyspace("bad", settings).unwrap();
        for value in ["1", "2"] {
            ["a", "b", "c"].iter().for_each(|key| keyspace.put(key, value).unwrap());
            db.flush().unwrap();
        }
        comparator.0.store(calls, Relaxed);
        let outcome = catch(|| keyspace.compact(..)).expect("no panic leaves the engine");
        comparator.0.store(u64::MAX, Relaxed);
        !is_forgiven(outcome)
    };
    let calls = (0..10_000).find(|&calls| compacted(calls)).expect("it ends");
    assert!(calls > 10, "{calls} calls");
}

/// Returns a database without workers whose keyspace `moody` failed in a flush, with that keyspace.
fn with_a_failed_keyspace(before: impl Fn(&Db, &Keyspace)) -> (Db, Keyspace) {
    let fs = MemFs::new();
    let moody = Moody::new(Mood::Panics);
    let own = Options {
        default: KeyspaceOptions { value_separation_min: Some(100), ..options(&fs).default },
        max_dead_fraction: 0.1,
        level0_compaction_trigger: 100,
        level0_slowdown_trigger: 100,
        level0_stop_trigger: 100,
        ..options(&fs)
    };
    let db = Db::open(PATH, own).unwrap();
    let comparator = Some(Arc::clone(&moody) as _);
    let settings = KeyspaceOptions { comparator, ..KeyspaceOptions::default() };
    let keyspace = db.create_keyspace("moody", settings).unwrap();
    before(&db, &keyspace);
    for n in 0..50u64 {
        keyspace.put(n.to_be_bytes(), "short").unwrap();
    }
    moody.armed.store(true, Relaxed);
    let failed = catch(|| db.flush()).unwrap();
    assert_error(failed, ErrorKind::ComparatorFailed, None);
    (db, keyspace)
}

/// A caller that waited for the garbage collection of such a keyspace once waited for ever: no
/// worker collects it.
#[test]
fn no_caller_waits_for_the_garbage_of_a_keyspace_whose_comparator_failed() {
    let (db, _) = with_a_failed_keyspace(|db, keyspace| {
        for generation in 0..2u8 {
            for n in 0..50u64 {
                keyspace.put(n.to_be_bytes(), [generation; 1000]).unwrap();
            }
            db.flush().unwrap();
        }
        // More bytes are now dead than allowed: a garbage collection is due.
        keyspace.compact(..).unwrap();
        assert!(db.stats().segments.dead_bytes > 40_000, "{:?}", db.stats().segments);
    });
    assert_error(db.wait_for_background(), ErrorKind::ComparatorFailed, None);
}

/// A collection on demand first compacts the trees that hide dead values. One that refuses each
/// compaction, because its comparator failed, once ended the call for all keyspaces.
#[test]
fn a_keyspace_whose_comparator_failed_stops_no_collection_of_another() {
    let value = |generation: u8| [generation; 1000];
    let (db, keyspace) = with_a_failed_keyspace(|db, keyspace| {
        for generation in 0..3 {
            for n in 0..50u64 {
                db.put(n.to_be_bytes(), value(generation)).unwrap();
                keyspace.put(n.to_be_bytes(), value(generation)).unwrap();
            }
            db.flush().unwrap();
        }
    });
    assert_error(keyspace.compact(..), ErrorKind::ComparatorFailed, None);
    let before = db.stats().segments.bytes;
    let options = GcOptions { max_dead_fraction: 0.1, ..GcOptions::default() };
    let report = db.with(&options).collect_garbage().unwrap();
    assert!(report.bytes_after <= before - 90_000, "{report:?}");
    for n in 0..50u64 {
        assert_eq!(db.get(n.to_be_bytes()).unwrap().unwrap(), value(2));
    }
}

/// A batch filled before the failure was once written at each try, and never flushed.
#[test]
fn a_keyspace_whose_comparator_failed_takes_no_batch_that_was_filled_before() {
    let batch = std::cell::RefCell::new(WriteBatch::new());
    let (db, keyspace) = with_a_failed_keyspace(|_, keyspace| {
        batch.borrow_mut().put("beside", "it");
        batch.borrow_mut().put_in(keyspace, 7u64.to_be_bytes(), "value");
    });
    assert_error(db.write(&batch.borrow()), ErrorKind::ComparatorFailed, None);
    assert!(db.get("beside").unwrap().is_none(), "half of the batch was applied");
    drop(keyspace);
    db.put("beside", "others go on").unwrap();
}

/// A slice of a compaction begins with the table of the output run around its first key, and may
/// end before that key. The engine once blamed a sound comparator for it, and its keyspace took no
/// writes.
#[test]
fn a_slice_that_ends_before_its_inputs_blames_no_comparator() {
    let fs = MemFs::new();
    let own = |target_file_size| Options {
        default: KeyspaceOptions {
            comparator: Some(Moody::new(Mood::Dice) as _),
            compression: Some(Compression::None),
            ..options(&fs).default
        },
        target_file_size,
        ..options(&fs)
    };
    let db = Db::open(PATH, own(64 << 20)).unwrap();
    for n in 0..2000u64 {
        db.put(n.to_be_bytes(), [7; 1000]).unwrap();
    }
    db.compact(..).unwrap();
    db.close().unwrap();
    let db = Db::open(PATH, own(64 << 10)).unwrap();
    // The last key in this order: a table of two megabytes lies around it.
    db.put(0u64.to_be_bytes(), "newer").unwrap();
    db.compact(..).unwrap();
    assert_eq!(db.get(0u64.to_be_bytes()).unwrap().unwrap(), b"newer");
    assert_eq!(db.iter().unwrap().count(), 2000);
}
