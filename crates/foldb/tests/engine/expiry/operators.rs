//! Operators behave in a keyspace with expiry as they do elsewhere, and failed merges expire.

use std::sync::Arc;

use foldb::env::{Env, MemFs};
use foldb::expiry::Expiry;
use foldb::operators::{Full, Growth, MergeOperator, Partial};
use foldb::{Db, ErrorKind, Keyspace, KeyspaceOptions, Options, ReadOptions};

use crate::expiry::support::{clock, open, seconds, set, settle, table_bytes};
use crate::support::{PATH, options};

/// Answers what the newest operand says, and writes into `out` whatever it answers.
#[derive(Debug)]
struct Scribbles;

impl MergeOperator for Scribbles {
    fn name(&self) -> &'static str {
        "test.scribbles"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        out.extend_from_slice(b"scraps");
        match operands[operands.len() - 1] {
            b"existing" => Full::Existing,
            b"delete" => Full::Delete,
            b"fail" => Full::Fail,
            b"value" => {
                out.clear();
                out.extend_from_slice(base.unwrap_or(b"nothing"));
                Full::Value
            }
            _ => Full::Operand(operands.len() - 1),
        }
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        out.extend_from_slice(b"scraps");
        match operands[operands.len() - 1] {
            b"existing" | b"value" | b"fail" => Partial::Keep,
            b"delete" => Partial::Delete,
            newest => {
                out.clear();
                out.extend_from_slice(newest);
                Partial::Operand
            }
        }
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}

fn scribbled(own: &Keyspace, key: &str) -> Result<Option<Vec<u8>>, ErrorKind> {
    let value = own.get(key).map_err(|error| error.kind())?;
    Ok(value.map(foldb::Value::into_owned))
}

/// What an operator leaves in its output counts only if it answers with a value.
#[test]
fn an_operator_gives_the_same_values_with_and_without_expiry() {
    let (fs, clock) = (MemFs::new(), clock());
    let env = Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(fs.clone()) };
    let operators: Vec<Arc<dyn MergeOperator>> = vec![Arc::new(Scribbles)];
    let db = Db::open(PATH, Options { env, operators, ..options(&fs) }).unwrap();
    let create = |name: &str, expiry| {
        let merge_operator = Some("test.scribbles".to_owned());
        let options = KeyspaceOptions { merge_operator, expiry, ..KeyspaceOptions::default() };
        db.create_keyspace(name, options).unwrap()
    };
    let plain = create("plain", None);
    let stamped = [
        create("last", Some(Expiry::after_last_write(seconds(1000)))),
        create("first", Some(Expiry::after_first_write(seconds(1000)))),
        create("each", Some(Expiry::per_write())),
    ];
    let all = || stamped.iter().chain([&plain]);
    let answers = ["existing", "delete", "fail", "value", "one", "two"];
    for (at, newest) in answers.into_iter().enumerate() {
        for (at_older, older) in answers.into_iter().enumerate() {
            for has_base in [false, true] {
                let key = format!("{at} {at_older} {has_base}");
                for own in all() {
                    if has_base {
                        own.put(&key, "base").unwrap();
                    }
                    own.merge(&key, older).unwrap();
                    own.merge(&key, newest).unwrap();
                }
            }
        }
    }
    let check = |when: &str| {
        for at in 0..answers.len() {
            for at_older in 0..answers.len() {
                for has_base in [false, true] {
                    let key = format!("{at} {at_older} {has_base}");
                    let expected = scribbled(&plain, &key);
                    for own in &stamped {
                        assert_eq!(scribbled(own, &key), expected, "{key} {when} {}", own.name());
                    }
                }
            }
        }
    };
    check("in the memtable");
    db.flush().unwrap();
    check("in a table");
    for own in all() {
        own.compact(..).unwrap();
    }
    check("after a compaction");
}

/// A number beside a text: every fold of it fails.
fn with_a_failed_merge(db: &Db, expiry: Expiry) -> Keyspace {
    let options = KeyspaceOptions {
        merge_operator: Some("uint64add".to_owned()),
        expiry: Some(expiry),
        ..KeyspaceOptions::default()
    };
    let own = db.keyspace_or_create("numbers", options).unwrap();
    own.put("a", "text").unwrap();
    own.merge("a", 1u64.to_le_bytes()).unwrap();
    own
}

fn assert_gone(db: &Db, own: &Keyspace) {
    assert!(own.get("a").unwrap().is_none());
    assert_eq!(own.expires_at("a").unwrap(), None);
    assert!(own.multi_get(["a"]).unwrap().pop().unwrap().unwrap().is_none());
    assert_eq!(own.iter().unwrap().count(), 0);
    assert_eq!(own.iter().unwrap().rev().count(), 0);
    assert!(own.is_empty().unwrap());
    assert!(!own.contains_key("a").unwrap());
    assert!(own.get_operands("a").unwrap().newest_first().len() == 0);
    assert!(own.take_first(..).unwrap().is_none());
    db.transact(|transaction| {
        let inside = transaction.keyspace(own);
        assert!(inside.get("a")?.is_none());
        assert_eq!(inside.iter()?.count(), 0);
        inside.merge("a", 5u64.to_le_bytes())?;
        assert_eq!(inside.get("a")?.unwrap(), 5u64.to_le_bytes());
        assert_eq!(inside.iter()?.map(Result::unwrap).count(), 1);
        Err::<(), _>(foldb::Error::aborted("only read"))
    })
    .unwrap_err();
}

#[test]
fn a_failed_merge_expires_like_any_other_entry() {
    let rules = [Expiry::after_last_write(seconds(10)), Expiry::after_first_write(seconds(10))];
    for expiry in rules {
        for flushed in [false, true] {
            let (fs, clock) = (MemFs::new(), clock());
            let db = open(&fs, &clock);
            let own = with_a_failed_merge(&db, expiry.with_bucket(seconds(1)));
            if flushed {
                db.flush().unwrap();
            }
            set(&clock, 9);
            assert_eq!(own.get("a").unwrap_err().kind(), ErrorKind::MergeFailed);
            let snapshot = db.snapshot();
            set(&clock, 10);
            assert_gone(&db, &own);
            let before = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
            assert_eq!(own.with(&before).get("a").unwrap_err().kind(), ErrorKind::MergeFailed);
            drop(before);
            db.flush().unwrap();
            assert_gone(&db, &own);
            own.compact(..).unwrap();
            settle(&db);
            assert_gone(&db, &own);
            assert_eq!(table_bytes(&db), 0, "its space comes back");
            assert!(own.put_if_absent("a", 7u64.to_le_bytes()).unwrap());
            assert_eq!(own.get("a").unwrap().unwrap(), 7u64.to_le_bytes());
        }
    }
}

/// A merge that came after the end of a failed entry begins anew, under another operator too.
#[test]
fn a_merge_onto_an_expired_failure_begins_anew() {
    for flushed in [false, true] {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let own = with_a_failed_merge(&db, Expiry::after_last_write(seconds(10)));
        if flushed {
            db.flush().unwrap();
        }
        set(&clock, 10);
        let append = db.operator("stringappend:,").unwrap();
        own.merge_with(&append, "a", "x").unwrap();
        own.merge_with(&append, "a", "y").unwrap();
        for _ in 0..2 {
            assert_eq!(own.get("a").unwrap().unwrap(), "x,y");
            let pairs: Vec<_> = own.iter().unwrap().map(Result::unwrap).collect();
            assert_eq!(pairs.len(), 1);
            assert_eq!(own.get_operands("a").unwrap().base(), &foldb::operators::Base::Nothing);
            db.flush().unwrap();
        }
        own.compact(..).unwrap();
        assert_eq!(own.get("a").unwrap().unwrap(), "x,y");
    }
}

/// A stored operand ends with a stamp, which is no part of what its operator checks.
#[test]
fn verification_checks_operands_without_their_stamps() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let options = KeyspaceOptions {
        merge_operator: Some("uint64add".to_owned()),
        expiry: Some(Expiry::after_last_write(seconds(100))),
        ..KeyspaceOptions::default()
    };
    let own = db.create_keyspace("counts", options).unwrap();
    own.merge("in a table", 1u64.to_le_bytes()).unwrap();
    db.flush().unwrap();
    db.verify().unwrap();
    own.merge("in a log", 1u64.to_le_bytes()).unwrap();
    drop((own, db));
    let env = Env { clock, ..Env::in_memory(fs.clone()) };
    let report =
        foldb::repair::verify(PATH, Options { env, ..crate::support::options(&fs) }).unwrap();
    assert_eq!(report.faults.len(), 0, "{:?}", report.faults);
}
