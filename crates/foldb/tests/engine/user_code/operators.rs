//! Tests operators over the life of a database: new versions, their removal, and the events about
//! them.

use std::sync::{Arc, Mutex};

use foldb::env::MemFs;
use foldb::env::mem::Fault;
use foldb::events::{DifferingFold, Event, EventListener};
use foldb::internals::Knobs;
use foldb::operators::{Full, MergeOperator, Partial, TextForm};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};

use crate::support::steps::run_background;
use crate::support::{PATH, assert_error, number, open, options};

/// Counts words: operands of version 1 are text, operands of version 2 a number. Values are
/// numbers.
#[derive(Debug)]
struct Words(u32);

impl MergeOperator for Words {
    fn name(&self) -> &str {
        "test.words"
    }

    fn version(&self) -> u32 {
        self.0
    }

    fn reads_version(&self, other: u32) -> bool {
        (self.0, other) == (2, 1)
    }

    fn upgrade(&self, _: u32, operand: &[u8], out: &mut Vec<u8>) -> bool {
        out.extend(words_in(operand).to_le_bytes());
        true
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
        let count = |operand: &&[u8]| match self.0 {
            1 => Some(words_in(operand)),
            _ => number(operand),
        };
        let base = base.map_or(Some(0), number);
        let Some(sum) = operands.iter().map(count).fold(base, |sum, one| Some(sum? + one?)) else {
            return Full::Fail;
        };
        out.extend(sum.to_le_bytes());
        Full::Value
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        match (self.0, self.full(key, None, operands, out)) {
            (2, Full::Value) => Partial::Operand,
            _ => Partial::Keep,
        }
    }
}

fn words_in(text: &[u8]) -> u64 {
    text.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).count() as u64
}

fn with_words(fs: &MemFs, version: u32) -> Options {
    Options { operators: vec![Arc::new(Words(version))], ..options(fs) }
}

/// Operands of the older version lie in a table, in a run above it and in the log. A keyspace has
/// the operator as its default. A program with the newer version goes on, and so does the next one.
#[test]
fn h27_a_newer_version_takes_over_operands_everywhere() {
    let fs = MemFs::new();
    let db = Db::open(PATH, with_words(&fs, 1)).unwrap();
    let texts = KeyspaceOptions::with_operator("test.words");
    let texts = db.create_keyspace("texts", texts).unwrap();
    texts.put("page", number(10)).unwrap();
    db.flush().unwrap();
    texts.merge("page", "one two").unwrap();
    db.flush().unwrap();
    texts.merge("page", "three").unwrap();
    drop((db, texts));

    for round in 0..3u64 {
        let db = Db::open(PATH, with_words(&fs, 2)).unwrap();
        let texts = db.keyspace("texts").unwrap();
        assert_eq!(texts.get("page").unwrap().unwrap(), number(13 + round));
        texts.merge("page", number(1)).unwrap();
        assert_eq!(texts.get("page").unwrap().unwrap(), number(14 + round));
        if round == 1 {
            texts.compact(..).unwrap();
        }
    }
    // The older program cannot read what the newer one wrote, and the open says so.
    let error = assert_error(Db::open(PATH, with_words(&fs, 1)), ErrorKind::UnknownOperator, None);
    assert!(error.to_string().contains("'test.words' version 2"), "{error}");
}

/// A database that holds no operands of an operator opens without it.
#[test]
fn finalize_lets_a_program_without_the_operators_take_over() {
    let fs = MemFs::new();
    let db = Db::open(PATH, with_words(&fs, 1)).unwrap();
    let words = db.operator("test.words").unwrap();
    db.put("b", number(1)).unwrap();
    db.flush().unwrap();
    for key in ["a", "b"] {
        db.merge_with(&words, key, "two words").unwrap();
    }
    let snapshot = db.snapshot();
    db.merge("counter", number(4)).unwrap();
    assert_error(db.finalize(), ErrorKind::InvalidArgument, None);
    drop(snapshot);
    let left = db.finalize().unwrap();
    assert_eq!((left.operands_left, &left.failed[..]), (0, &[][..]));
    drop(db);

    let plain = Options { operators: Vec::new(), ..options(&fs) };
    let db = Db::open(PATH, plain).unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), number(2));
    assert_eq!(db.get("b").unwrap().unwrap(), number(3));
    assert_eq!(db.get("counter").unwrap().unwrap(), number(4));
}

/// Operands that a snapshot kept apart in the last level are folded too, once the snapshot is gone.
#[test]
fn finalize_folds_what_a_snapshot_kept_apart() {
    let db = open(&MemFs::new()).unwrap();
    db.merge("k", number(1)).unwrap();
    let snapshot = db.snapshot();
    db.merge("k", number(1)).unwrap();
    db.compact(..).unwrap();
    assert!(!db.get_operands("k").unwrap().is_empty());
    drop(snapshot);
    assert_eq!(db.finalize().unwrap().operands_left, 0);
    assert!(db.get_operands("k").unwrap().is_empty());
    assert_eq!(db.get("k").unwrap().unwrap(), number(2));
}

#[test]
fn finalize_tells_which_keys_it_could_not_fold() {
    let db = open(&MemFs::new()).unwrap();
    let fussy = db.operator("test.fussy").unwrap();
    db.merge_with(&fussy, "good", "x").unwrap();
    db.merge_with(&fussy, "bad", "!").unwrap();
    let left = db.finalize().unwrap();
    assert_eq!(left.operands_left, 1);
    assert_eq!(left.failed.len(), 1);
    assert_eq!((&left.failed[0].key[..], &*left.failed[0].keyspace), (&b"bad"[..], "default"));
}

/// The default operator stays recorded while it is not registered. Merges are refused before the
/// log, and an open that registers it uses it again.
#[test]
fn a_default_operator_that_is_not_registered_is_not_forgotten() {
    let fs = MemFs::new();
    let words = KeyspaceOptions::with_operator("test.words");
    let first = Options { default: words, ..with_words(&fs, 1) };
    drop(Db::open(PATH, first).unwrap());
    let without =
        Options { default: KeyspaceOptions::default(), operators: Vec::new(), ..options(&fs) };
    for _ in 0..2 {
        let db = Db::open(PATH, without.clone()).unwrap();
        let error = assert_error(db.merge("k", "a b"), ErrorKind::UnknownOperator, None);
        assert!(error.to_string().contains("'test.words'"), "{error}");
        db.put("k", number(1)).unwrap();
    }
    let db = Db::open(PATH, Options { default: KeyspaceOptions::default(), ..with_words(&fs, 1) })
        .unwrap();
    db.merge("k", "a b").unwrap();
    assert_eq!(db.get("k").unwrap().unwrap(), number(3));
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl EventListener for Heard {
    fn on_event(&self, event: &Event) {
        self.0.lock().unwrap().push(match event {
            Event::Flush { keyspace, memtables, records_in, records_out, .. } => {
                format!("flush {keyspace} {memtables} {records_in}->{records_out}")
            }
            Event::Compaction { keyspace, output_level, bytes_written, .. } => {
                format!("compaction {keyspace} L{output_level} {}", bytes_written > &0)
            }
            Event::MergeFailed(failed) => {
                format!("failed {} {}", failed.key.escape_ascii(), failed.operator)
            }
            Event::FoldDiffers(differing) => {
                let DifferingFold { key, operator, case, .. } = differing;
                format!("differs {} {operator}: {case}", key.escape_ascii())
            }
            other => format!("{other:?}"),
        });
    }
}

#[test]
fn events_tell_of_flushes_compactions_and_failed_merges() {
    let heard = Arc::new(Heard::default());
    let listeners: Vec<Arc<dyn EventListener>> = vec![heard.clone()];
    let db = Db::open(PATH, Options { listeners, ..options(&MemFs::new()) }).unwrap();
    let take = || std::mem::take(&mut *heard.0.lock().unwrap());
    for _ in 0..3 {
        db.merge("counter", number(1)).unwrap();
    }
    db.merge_with(&db.operator("test.fussy").unwrap(), "bad", "!").unwrap();
    db.flush().unwrap();
    let flushed = take();
    assert!(flushed[0].starts_with("flush default 1 "), "{flushed:?}");
    assert_eq!(flushed[1..], ["failed bad test.fussy"]);
    db.get("bad").unwrap_err();
    assert_eq!(take(), ["failed bad test.fussy"]);
    db.put("counter", number(1)).unwrap();
    db.compact(..).unwrap();
    let compacted = take();
    assert!(
        compacted.iter().any(|event| event.starts_with("compaction default L")),
        "{compacted:?}"
    );
}

/// Adds numbers, but a partial fold adds up to at most 100.
#[derive(Debug)]
struct CappedInPartial;

impl MergeOperator for CappedInPartial {
    fn name(&self) -> &str {
        "test.capped"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let numbers = base.into_iter().chain(operands.iter().copied());
        let sum: u64 = numbers.map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).sum();
        out.extend(sum.to_le_bytes());
        Full::Value
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        self.full(key, None, operands, out);
        let sum = u64::from_le_bytes(out[..].try_into().unwrap()).min(100);
        out.copy_from_slice(&sum.to_le_bytes());
        Partial::Operand
    }

    fn text(&self) -> TextForm {
        TextForm::U64
    }
}

/// Nothing told of such an operator: the database answered one thing before a flush and another
/// thing after it.
#[test]
fn an_operator_whose_groupings_differ_is_reported_in_builds_with_debug_assertions() {
    let heard = Arc::new(Heard::default());
    let listeners: Vec<Arc<dyn EventListener>> = vec![heard.clone()];
    let operators: Vec<Arc<dyn MergeOperator>> = vec![Arc::new(CappedInPartial)];
    let db = Db::open(PATH, Options { listeners, operators, ..options(&MemFs::new()) }).unwrap();
    let capped = db.operator("test.capped").unwrap();
    db.merge_with(&capped, "k", number(70)).unwrap();
    db.merge_with(&capped, "k", number(80)).unwrap();
    for _ in 0..10_000 {
        assert_eq!(db.get("k").unwrap().unwrap(), number(150), "the answer stays");
    }
    let heard = heard.0.lock().unwrap();
    assert_eq!(!heard.is_empty(), cfg!(debug_assertions));
    assert!(heard.len() <= 10, "one fold in a thousand is looked at");
    for event in &*heard {
        assert_eq!(
            event,
            "differs k test.capped: test.capped, onto no base\n  \
             full('70', '80'): the database answers '150'\n  \
             full(partial('70', '80')): the database answers '100'"
        );
    }
}

/// An operator that folds only onto its base, with operands in many runs. Reads that fold all of
/// them lead to a compaction of these runs; other reads do not.
#[test]
fn reads_of_long_chains_lead_to_their_fold() {
    let fs = MemFs::new();
    let quiet = Options { disable_auto_compactions: false, ..options(&fs) };
    let knobs = Knobs { tier_fan_in: 20, ..Knobs::default() };
    let db = Db::open(PATH, Options { level0_compaction_trigger: 20, knobs, ..quiet }).unwrap();
    let sum = db.operator("float64add").unwrap();
    db.put("total", 0f64.to_le_bytes()).unwrap();
    db.compact(..).unwrap();
    for _ in 0..4 {
        (0..50).for_each(|_| db.merge_with(&sum, "total", 1f64.to_le_bytes()).unwrap());
        db.flush().unwrap();
    }
    run_background(&db, |_| ());
    assert_eq!(db.get_operands("other").unwrap().len(), 0);
    let before = db.stats().compaction_slices;
    run_background(&db, |_| ());
    assert_eq!(db.stats().compaction_slices, before);
    assert_eq!(db.get("total").unwrap().unwrap(), 200f64.to_le_bytes());
    run_background(&db, |_| ());
    assert!(db.get_operands("total").unwrap().is_empty());
    assert_eq!(db.get("total").unwrap().unwrap(), 200f64.to_le_bytes());
}

/// A wall that can fold now: its operator was missing when the bottom was written, and is
/// registered now.
#[test]
fn finalize_folds_walls_that_have_healed() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let fussy = db.operator("test.fussy").unwrap();
    db.put("k", "base").unwrap();
    db.compact(..).unwrap();
    db.merge_with(&fussy, "k", "x").unwrap();
    db.flush().unwrap();
    drop(db);
    let without = Options { operators: Vec::new(), ..options(&fs) };
    let without = Options { allow_unresolved_operators: true, ..without };
    let db = Db::open(PATH, without).unwrap();
    db.compact(..).unwrap();
    assert!(db.finalize().unwrap().operands_left > 0);
    drop(db);
    let db = open(&fs).unwrap();
    assert_eq!(db.finalize().unwrap().operands_left, 0);
    assert_eq!(db.get("k").unwrap().unwrap(), b"basex");
}

/// H7: sums of fractions depend on their order. So no flush or compaction folds them without their
/// base, and no answer changes without a write.
#[test]
fn h07_fractions_fold_onto_their_base_only() {
    let db = open(&MemFs::new()).unwrap();
    let sum = db.operator("float64add").unwrap();
    db.put("k", 1e16f64.to_le_bytes()).unwrap();
    db.flush().unwrap();
    for _ in 0..2 {
        db.merge_with(&sum, "k", 1f64.to_le_bytes()).unwrap();
    }
    let before = db.get("k").unwrap();
    assert_eq!(before.as_deref(), Some(&1e16f64.to_le_bytes()[..]), "one at a time");
    db.flush().unwrap();
    assert_eq!(db.get_operands("k").unwrap().len(), 2, "1 + 1 is not folded");
    assert_eq!(db.get("k").unwrap(), before);
    db.compact(..).unwrap();
    assert_eq!(db.get("k").unwrap(), before);
}

/// H7: patches that do not compose into one stay apart until they meet their document.
#[test]
fn h07_patches_compose_only_where_a_patch_can_say_so() {
    let db = open(&MemFs::new()).unwrap();
    let patch = db.operator("json_merge_patch").unwrap();
    db.put("k", r#"{"a":{"c":2}}"#).unwrap();
    db.flush().unwrap();
    db.merge_with(&patch, "k", r#"{"a":null}"#).unwrap();
    db.merge_with(&patch, "k", r#"{"a":{"b":1}}"#).unwrap();
    for _ in 0..2 {
        assert_eq!(db.get("k").unwrap().unwrap(), br#"{"a":{"b":1}}"#);
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    assert_eq!(db.get("k").unwrap().unwrap(), br#"{"a":{"b":1}}"#);
}

/// A database that once counted kept its operator for ever, and so did its later keyspaces.
#[test]
fn an_operator_that_is_unset_stays_unset() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let own = KeyspaceOptions::with_operator("stringappend:,");
    let tags = db.create_keyspace("tags", own).unwrap();
    db.merge("a", number(1)).unwrap();
    tags.merge("a", "red").unwrap();
    for keyspace in [db.default_keyspace(), &tags] {
        keyspace.unset_default_operator().unwrap();
        keyspace.unset_default_operator().unwrap();
        assert!(keyspace.default_operator().is_none());
        assert_error(keyspace.merge("a", number(1)), ErrorKind::InvalidArgument, None);
    }
    assert_error(db.merge("a", number(1)), ErrorKind::InvalidArgument, None);
    let mut batch = foldb::WriteBatch::new();
    batch.merge("a", number(1));
    assert_error(db.write(&batch), ErrorKind::InvalidArgument, None);
    // New keyspaces do not inherit it any more.
    let plain = db.create_keyspace("plain", KeyspaceOptions::default()).unwrap();
    assert!(plain.default_operator().is_none() && plain.options().merge_operator.is_none());
    drop((tags, plain, db));

    let again = Options { default: KeyspaceOptions::default(), ..options(&fs) };
    let db = Db::open(PATH, again.clone()).unwrap();
    for name in db.keyspaces() {
        assert!(db.keyspace(&name).unwrap().default_operator().is_none(), "{name}");
    }
    // Older operands are folded by the operators that they name.
    assert_eq!(db.get("a").unwrap().unwrap(), number(1));
    assert_eq!(db.keyspace("tags").unwrap().get("a").unwrap().unwrap(), b"red");
    drop(db);
    assert!(open(&fs).unwrap().default_keyspace().default_operator().is_some());
    // Options without an operator keep the one of last time.
    let db = Db::open(PATH, again).unwrap();
    db.merge("a", number(2)).unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), number(3));
}

/// Whatever call fails while an operator is unset, the operator is either set or unset, now and at
/// the next open.
#[test]
fn unsetting_an_operator_fails_as_a_whole() {
    for nth in 1.. {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.merge("a", number(1)).unwrap();
        fs.inject(Fault::on_mutation().nth(nth));
        let unset = db.default_keyspace().unset_default_operator();
        fs.clear_faults();
        let is_set = db.default_keyspace().default_operator().is_some();
        drop(db);
        let db = Db::open(PATH, Options { default: KeyspaceOptions::default(), ..options(&fs) })
            .unwrap();
        assert_eq!(db.get("a").unwrap().unwrap(), number(1));
        let is_set_again = db.default_keyspace().default_operator().is_some();
        match unset {
            Ok(()) => assert!(!is_set && !is_set_again, "call {nth}"),
            // After an error that may have come behind the change, writes are refused.
            Err(error) => assert!(is_set, "call {nth}: {error}"),
        }
        if nth > 20 {
            assert!(!is_set_again);
            return;
        }
    }
}

#[test]
fn an_operator_added_after_the_open_folds_what_waits_for_it() {
    let fs = MemFs::new();
    let db = Db::open(PATH, with_words(&fs, 1)).unwrap();
    let words = db.operator("test.words").unwrap();
    db.merge_with(&words, "text", "one two").unwrap();
    drop((db, words));

    let without = Options { allow_unresolved_operators: true, ..options(&fs) };
    let db = Db::open(PATH, without).unwrap();
    assert_error(db.get("text"), ErrorKind::MergeFailed, None);
    db.add_operator(Arc::new(Words(1))).unwrap();
    assert_eq!(db.get("text").unwrap().unwrap(), number(2));
    let counts = KeyspaceOptions::with_operator("test.words");
    let more = db.create_keyspace("more", counts).unwrap();
    more.merge("text", "three").unwrap();
    db.flush().unwrap();
    assert_eq!(more.get("text").unwrap().unwrap(), number(1));

    assert_error(db.add_operator(Arc::new(Words(1))), ErrorKind::InvalidArgument, None);
    db.add_operator(Arc::new(Words(3))).unwrap();
    db.close().unwrap();
    assert_error(db.add_operator(Arc::new(Words(4))), ErrorKind::Closed, None);
}
