//! The traps that users of merge operators met in other engines, one test each, in the users'
//! words. Some engines fold only when they read, or fold on the write path. Others forget their
//! operators, or stop at the first bad operand. Each test fails on one of them.

use foldb::env::MemFs;
use foldb::env::mem::Operation;
use foldb::operators::{builtins, histogram, list, set, stats, top};
use foldb::stats::ReadReport;
use foldb::{Db, ErrorKind, Options, ReadOptions, WriteBatch};

use crate::support::steps::run_background;
use crate::support::{PATH, assert_error, number, open, options, reopen};

fn operands_seen(db: &Db, key: &str) -> u64 {
    let report = ReadReport::default();
    let options = ReadOptions { report: Some(report.clone()), ..ReadOptions::default() };
    db.with(&options).get(key).unwrap();
    report.operands_seen()
}

/// "50 000 small appends: writing takes 50 ms, one Get 20 s."
#[test]
fn ask_01_reads_do_not_slow_down_as_operands_pile_up() {
    let db = open(&MemFs::new()).unwrap();
    let append = db.operator("append").unwrap();
    for n in 0..50_000u64 {
        db.merge("counter", number(1)).unwrap();
        db.merge_with(&append, "list", [n as u8]).unwrap();
    }
    assert!(operands_seen(&db, "counter") <= 64);
    assert_eq!(db.get("counter").unwrap().unwrap(), number(50_000));
    assert_eq!(db.get("list").unwrap().unwrap().len(), 50_000);
    db.flush().unwrap();
    for key in ["counter", "list"] {
        assert!(operands_seen(&db, key) <= 1, "a flush folds the operands of one memtable");
    }
}

/// "Could it fold in the memtable only?" A merge reads no file, whatever lies below.
#[test]
fn ask_02_a_merge_never_reads_a_file() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for _ in 0..3 {
        (0..100).for_each(|n: u64| db.merge(format!("key{n}"), number(1)).unwrap());
        db.flush().unwrap();
    }
    let reads = fs.counts().of(Operation::Read);
    for n in 0..10_000u64 {
        db.merge(format!("key{}", n % 100), number(1)).unwrap();
    }
    assert_eq!(fs.counts().of(Operation::Read), reads);
    assert_eq!(db.get("key7").unwrap().unwrap(), number(103));
}

/// "Keys written only by merge never resolve, and operands that remove grow without end."
#[test]
fn ask_03_keys_written_only_by_merge_resolve() {
    let db = open(&MemFs::new()).unwrap();
    let tags = db.operator("set").unwrap();
    for round in 0..10 {
        for n in 0..100 {
            let member = format!("member{n}");
            let operand = if round % 2 == 0 { set::add(&member) } else { set::remove(&member) };
            db.merge_with(&tags, "tags", operand).unwrap();
        }
        db.merge("hits", number(1)).unwrap();
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    assert_eq!(db.get("tags").unwrap(), None);
    assert_eq!(db.get_operands("tags").unwrap().len(), 0, "no operand is left");
    let hits = db.get_operands("hits").unwrap();
    assert!(hits.is_empty(), "folded onto nothing: {hits:?}");
    assert_eq!(db.get("hits").unwrap().unwrap(), number(10));
}

/// "The operator cannot say that the key is gone." It can, and the next read sees it.
#[test]
fn ask_04_an_operator_deletes_its_key_at_once() {
    let db = open(&MemFs::new()).unwrap();
    let references = db.operator("test.references").unwrap();
    db.merge_with(&references, "object", number(2)).unwrap();
    db.merge_with(&references, "object", number(2u64.wrapping_neg())).unwrap();
    assert_eq!(db.get("object").unwrap(), None);
    assert_eq!(db.iter().unwrap().count(), 0);
    db.flush().unwrap();
    assert_eq!(db.get("object").unwrap(), None);
    db.merge_with(&references, "object", number(1)).unwrap();
    assert_eq!(db.get("object").unwrap().unwrap(), number(1));
}

/// "Opening without the operator aborts the process", or lies, or fails a week later.
#[test]
fn ask_05_opening_without_the_operator_says_so_or_goes_on() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let fussy = db.operator("test.fussy").unwrap();
    db.put("plain", "value").unwrap();
    db.merge_with(&fussy, "merged", "a").unwrap();
    db.flush().unwrap();
    db.merge_with(&fussy, "merged", "b").unwrap();
    drop(db);

    let without = Options { operators: Vec::new(), ..options(&fs) };
    let error = Db::open(PATH, without.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownOperator);
    assert!(error.to_string().contains("'test.fussy' version 0"), "{error}");

    let db = Db::open(PATH, Options { allow_unresolved_operators: true, ..without }).unwrap();
    assert_eq!(db.get("plain").unwrap().unwrap(), b"value");
    db.merge("counter", number(1)).unwrap();
    assert_error(db.get("merged"), ErrorKind::MergeFailed, None);
    let raw = db.get_operands("merged").unwrap();
    let operators: Vec<_> = raw.oldest_first().map(|operand| operand.operator()).collect();
    assert_eq!(operators, ["test.fussy"], "the flushed operand became the base");
    assert_error(db.operator("test.fussy"), ErrorKind::UnknownOperator, None);
    db.compact(..).unwrap();
    drop(db);

    let db = reopen(&fs).unwrap();
    assert_eq!(db.get("merged").unwrap().unwrap(), b"ab");
    assert_eq!(db.get("counter").unwrap().unwrap(), number(1));
}

/// "One bad operand in a compaction set the database read-only for good."
#[test]
fn ask_06_a_poisoned_operand_harms_its_key_only() {
    let db = open(&MemFs::new()).unwrap();
    let fussy = db.operator("test.fussy").unwrap();
    for (key, operand) in [("good", "x"), ("refused", "!"), ("panics", "?")] {
        db.merge_with(&fussy, key, "a").unwrap();
        db.merge_with(&fussy, key, operand).unwrap();
    }
    db.compact(..).unwrap();
    db.merge_with(&fussy, "good", "y").unwrap();
    assert_eq!(db.get("good").unwrap().unwrap(), b"axy");
    for key in ["refused", "panics"] {
        let error = db.get(key).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MergeFailed);
        assert_eq!(error.failed_merge(), Some((key.as_bytes(), "test.fussy")));
    }
    let failed: Vec<_> = db.list_failed_merges().unwrap().collect::<Result<_, _>>().unwrap();
    let failed: Vec<_> =
        failed.iter().map(|failed| (&failed.key[..], &failed.operator[..])).collect();
    assert_eq!(failed, [(&b"panics"[..], "test.fussy"), (b"refused", "test.fussy")]);
    db.put("refused", "healed").unwrap();
    assert_eq!(db.list_failed_merges().unwrap().count(), 1);
}

/// "Let me pick operators from my own language": every operator has a name.
#[test]
fn ask_07_every_builtin_operator_is_chosen_by_name() {
    let db = open(&MemFs::new()).unwrap();
    for info in builtins() {
        let operator = db.operator(info.name).unwrap();
        let operand = operator.text().parse(info.example.as_bytes()).unwrap();
        db.merge_with(&operator, info.name, operand).unwrap();
        db.get(info.name).unwrap();
    }
}

/// "The delimiter made put and merge different, so we must read before each write."
#[test]
fn ask_08_a_put_of_one_element_is_a_merge_onto_nothing() {
    let db = open(&MemFs::new()).unwrap();
    let elements: [(&str, &[u8]); 8] = [
        ("append", b"x"),
        ("stringappend:,", b"x"),
        ("list", &list::operand(["x"])),
        ("listlast:2", &list::operand(["x"])),
        ("set", &set::add("x")),
        ("stats", &stats::operand([7])),
        ("top:2", &top::operand([(7, "x")])),
        ("histogram:1", &histogram::operand([0.25])),
    ];
    for (spec, element) in elements {
        let operator = db.operator(spec).unwrap();
        db.put("put first", element).unwrap();
        db.delete("merged first").unwrap();
        db.merge_with(&operator, "merged first", element).unwrap();
        for key in ["put first", "merged first"] {
            db.merge_with(&operator, key, element).unwrap();
        }
        assert_eq!(db.get("put first").unwrap(), db.get("merged first").unwrap(), "{spec}");
    }
}

/// "A merge in a batch reads back wrongly": after puts, deletes and merges of one batch.
#[test]
fn ask_09_merges_of_a_batch_see_what_stands_before_them_in_it() {
    let db = open(&MemFs::new()).unwrap();
    db.put("a", number(100)).unwrap();
    let mut batch = WriteBatch::new();
    batch.merge("a", number(1)).put("a", number(5)).merge("a", number(1));
    batch.merge("b", number(1)).delete("b").merge("b", number(2)).merge("b", number(3));
    db.write(&batch).unwrap();
    for _ in 0..2 {
        assert_eq!(db.get("a").unwrap().unwrap(), number(6));
        assert_eq!(db.get("b").unwrap().unwrap(), number(5));
        db.flush().unwrap();
    }
}

/// "put, range delete, merge, flush brings the old value back."
#[test]
fn ask_10_a_range_delete_ends_a_chain_for_good() {
    let fs = MemFs::new();
    let mut db = open(&fs).unwrap();
    db.put("k", number(100)).unwrap();
    db.flush().unwrap();
    db.delete_range("a".."z").unwrap();
    db.merge("k", number(1)).unwrap();
    for step in 0..4 {
        assert_eq!(db.get("k").unwrap().unwrap(), number(1), "step {step}");
        match step {
            0 => db.flush().unwrap(),
            1 => db.compact(..).unwrap(),
            _ => {
                drop(db);
                db = reopen(&fs).unwrap();
            }
        }
    }
}

/// "The snapshot lost the key after a compaction", and "a released snapshot leaves chains that are
/// never folded again".
#[test]
fn ask_11_snapshots_stay_exact_and_folding_catches_up_after_them() {
    let db = open(&MemFs::new()).unwrap();
    let mut snapshots = Vec::new();
    for n in 0..10 {
        db.merge("k", number(1)).unwrap();
        snapshots.push((n + 1, db.snapshot()));
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    for (expected, snapshot) in &snapshots {
        let then = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
        assert_eq!(db.with(&then).get("k").unwrap().unwrap(), number(*expected));
    }
    assert!(db.get_operands("k").unwrap().len() > 1, "each snapshot keeps its operand apart");
    snapshots.clear();
    run_background(&db, |_| ());
    assert!(
        db.get_operands("k").unwrap().is_empty(),
        "the operands fold without a manual compaction"
    );
    assert_eq!(db.get("k").unwrap().unwrap(), number(10));
}

/// Values that a snapshot kept are rewritten when it is gone, not moved from run to run for ever.
#[test]
fn ask_11_puts_under_a_released_snapshot_go_too() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { target_file_size: 1024, ..options(&fs) }).unwrap();
    (0..100).for_each(|n: u64| db.put(format!("key{n:03}"), number(n)).unwrap());
    let snapshot = db.snapshot();
    (0..100).for_each(|n: u64| db.put(format!("key{n:03}"), number(n + 1)).unwrap());
    db.compact(..).unwrap();
    let kept = db.stats().levels.iter().map(|level| level.bytes).sum::<u64>();
    drop(snapshot);
    let steps = run_background(&db, |_| ());
    assert!((1..200).contains(&steps), "{steps} steps");
    let left = db.stats().levels.iter().map(|level| level.bytes).sum::<u64>();
    assert!(left < kept * 3 / 4, "{left} of {kept} bytes are left");
}
