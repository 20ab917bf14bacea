//! Tests that use internals of keyspaces: replay of a log that several keyspaces share, and
//! manifests, logs and tables that contradict each other.

use std::sync::Arc;

use foldb_env::mem::Fault;
use foldb_env::{Env, MemFs};

use crate::db::state::keyspace::check_name;
use crate::db::trees::flush::new_level0_run;
use crate::error::Error;
use crate::key::{KeyspaceId, Kind, NO_OPERATOR, SeqNo};
use crate::operation::Operation;
use crate::table::LaterSyncs;
use crate::version::{Edit, KeyspaceEdit, TreeEdit};
use crate::wal::BatchHeader;
use crate::{Db, ErrorKind, Keyspace, KeyspaceOptions, Options, WriteBatch};

const PATH: &str = "db";

fn open(fs: &MemFs) -> crate::Result<Db> {
    Db::open(
        PATH,
        Options {
            create_if_missing: true,
            default: KeyspaceOptions::with_operator("uint64add"),
            env: Env::in_memory(fs.clone()),
            ..Options::default()
        },
    )
}

fn create(db: &Db, name: &str) -> Keyspace {
    db.create_keyspace(name, Default::default()).unwrap()
}

fn sum(keyspace: &Keyspace) -> u64 {
    let value = keyspace.get("sum").unwrap();
    value.map_or(0, |value| u64::from_le_bytes((*value).try_into().unwrap()))
}

/// Adds one in all three keyspaces with one batch.
fn add_one(db: &Db, x: &Keyspace, y: &Keyspace) {
    let one = 1u64.to_le_bytes();
    let mut batch = WriteBatch::new();
    batch.merge("sum", one).merge_in(x, "sum", one).merge_in(y, "sum", one);
    db.write(&batch).unwrap();
}

/// Flushes one keyspace's memtable. The memtables of the other keyspaces stay, and so does the log
/// with batches over all keyspaces.
fn flush_alone(db: &Db, keyspace: &Keyspace) {
    let (core, state) = (db.core(), keyspace.state());
    let view = state.view.load_full();
    let memtable = view.active.clone().unwrap();
    let (later, through) = (LaterSyncs::default(), core.published());
    let files = core
        .write_memtables(state, &[memtable], &view.version, through, Vec::new(), &later)
        .unwrap();
    core.sync_tables(&later).unwrap();
    let mut tree = core.lock_tree();
    let mut change = KeyspaceEdit::of_tree(state.id, new_level0_run(tree.next_run, files));
    change.flushed_through = Some(core.published());
    tree.next_run += 1;
    core.install(&mut tree, Edit::of_keyspace(change)).unwrap();
}

/// X is flushed, Y is not, and the log has batches over both. Replay skips X's half of each batch
/// and applies Y's. Nothing counts twice, even if the open is interrupted at any step.
#[test]
fn h05_replay_skips_the_half_of_a_batch_that_is_in_tables() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let (x, y) = (create(&db, "x"), create(&db, "y"));
    (0..5).for_each(|_| add_one(&db, &x, &y));
    flush_alone(&db, &x);
    (0..3).for_each(|_| add_one(&db, &x, &y));
    let killed = fs.kill();
    let sums = |db: &Db| {
        let (x, y) = (db.keyspace("x").unwrap(), db.keyspace("y").unwrap());
        [sum(db.default_keyspace()), sum(&x), sum(&y)]
    };
    // Opens that stop after each of their steps, then one that completes.
    for mutations in 1..200 {
        let interrupted = killed.kill();
        interrupted.inject(Fault::on_mutation().nth(mutations).forever());
        let opened = open(&interrupted);
        let again = interrupted.kill();
        let db = open(&again).unwrap();
        assert_eq!(sums(&db), [8, 8, 8], "stopped after {mutations}");
        drop(db);
        assert_eq!(sums(&open(&again.kill()).unwrap()), [8, 8, 8]);
        if opened.is_ok() {
            return;
        }
    }
    panic!("an open takes fewer steps than that");
}

/// Keyspaces that are sealed together are flushed through the same sequence number.
#[test]
fn h05_keyspaces_are_sealed_and_flushed_together() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let (x, y) = (create(&db, "x"), create(&db, "y"));
    x.put("a", "1").unwrap();
    y.put("a", "1").unwrap();
    db.flush().unwrap();
    y.put("a", "2").unwrap();
    db.flush().unwrap();
    let tree = db.core().lock_tree();
    let through = |id: KeyspaceId| tree.keyspaces[&id].flushed_through;
    assert_eq!((through(1), through(2)), (2, 3));
    let logs = db.core().logs.numbers().len();
    assert_eq!(logs, 1, "x is idle and needs no log");
}

/// An empty or flushed keyspace has no memtable.
#[test]
fn idle_keyspaces_have_no_memtable() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let x = create(&db, "x");
    let memtables = |own: &Keyspace| own.state().view.load().memtables().count();
    assert_eq!((memtables(&x), memtables(db.default_keyspace())), (0, 0));
    x.put("a", "1").unwrap();
    assert_eq!((memtables(&x), memtables(db.default_keyspace())), (1, 0));
    let bytes = db.stats().memtable_bytes;
    assert!(bytes < 40 << 10, "a memtable of one record takes {bytes} bytes");
    db.flush().unwrap();
    assert_eq!(memtables(&x), 0);
}

#[test]
fn names_have_1_to_255_bytes() {
    for name in ["a", "ä ö", "default", "with/slash", &"x".repeat(255)] {
        check_name(name).unwrap();
    }
    for name in ["", "\u{7f}", "a\tb", "\u{85}", &"ä".repeat(128)] {
        assert_eq!(check_name(name).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

/// A log that names a keyspace which was never created is damage: its writes must not vanish
/// silently.
#[test]
fn a_log_of_a_keyspace_never_created_is_damage() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let x = create(&db, "x");
    db.drop_keyspace("x").unwrap();
    drop(x);
    for (keyspace, expected) in [(1, None), (2, Some("expected a keyspace below 2, found 2"))] {
        {
            let mut writer = db.core().lock_writer().unwrap();
            let first_seqno = SeqNo::from(keyspace);
            let record = writer.log.begin();
            BatchHeader { default_operator: NO_OPERATOR, first_seqno, count: 1 }.encode(record);
            let (kind, operator) = (Kind::Put, NO_OPERATOR);
            Operation { kind, keyspace, operator, key: b"a", value: b"1", stamped: false }
                .encode(record);
            writer.log.append().unwrap();
        }
        let outcome = open(&fs.kill());
        match expected {
            None => assert_eq!(outcome.unwrap().iter().unwrap().count(), 0),
            Some(expected) => {
                let error = outcome.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corruption);
                assert!(error.to_string().contains(expected), "{error}");
                assert!(error.path().unwrap().extension().unwrap() == "log", "{error}");
            }
        }
    }
}

/// Returns the error of an open whose manifest has this edit after one that creates keyspace 1,
/// `x`.
fn after(edit: Edit) -> Error {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    create(&db, "x");
    let core = db.core();
    core.append_edit(&mut core.lock_tree(), &edit).unwrap();
    let error = open(&fs.kill()).unwrap_err();
    let name = error.path().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with("MANIFEST-"), "{error}");
    error
}

#[test]
fn a_manifest_that_contradicts_itself_is_damage() {
    let named = |id: KeyspaceId, name: &str| {
        let name = Some(name.to_owned());
        Edit::of_keyspace(KeyspaceEdit { id, name, ..KeyspaceEdit::default() })
    };
    let dropped = |id: KeyspaceId| Edit { dropped: vec![id], ..Edit::default() };
    let next = |edit: Edit| Edit { next_keyspace: Some(3), ..edit };
    let new_run = TreeEdit::NewRun { level: 40, run: 9, before: None };
    for (edit, expected) in [
        (named(1, "y"), "expected a new keyspace below 2, found 'y' as 1"),
        (named(2, "y"), "expected a new keyspace below 2, found 'y' as 2"),
        (next(named(2, "x")), "expected a name that no keyspace has, found 'x'"),
        (next(named(2, "default")), "expected a name that no keyspace has, found 'default'"),
        (next(named(2, "")), "expected a name that no keyspace has, found ''"),
        (named(0, "default"), "expected a new keyspace below 2, found 'default' as 0"),
        (dropped(0), "expected the drop of an existing keyspace, found 0"),
        (dropped(2), "expected the drop of an existing keyspace, found 2"),
        (
            Edit::of_keyspace(KeyspaceEdit { id: 2, ..KeyspaceEdit::default() }),
            "keyspace 2 is changed but is missing",
        ),
        (Edit::of_keyspace(KeyspaceEdit::of_tree(1, vec![new_run])), "there is no level 40"),
    ] {
        let error = after(edit);
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(error.to_string().contains(expected), "{error}, not {expected}");
    }
}

/// Every table names its keyspace.
#[test]
fn a_table_of_another_keyspace_is_noticed() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let (x, y) = (create(&db, "x"), create(&db, "y"));
    x.put("a", "1").unwrap();
    db.flush().unwrap();
    let file = {
        let tree = db.core().lock_tree();
        let table = tree.keyspaces[&1].version.tables().next().unwrap().clone();
        Arc::clone(&table.file)
    };
    // The open checks a table's keyspace. This reference is to a table that is not open yet.
    let facts = file.facts().clone();
    let file = Arc::new(crate::version::FileMeta::new(facts, db.core().segment_files.trash()));
    let error = y.state().tables.get_owned(&file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(
        error.to_string().contains("expected a table of keyspace 2, found one of 1"),
        "{error}"
    );
    x.state().tables.get_owned(&file).unwrap();
}
