//! Entries that expire, in copies: dumps, feeds, checkpoints, repairs and sorted loads.

use std::path::Path;

use foldb::env::{FileSystem, MemFs};
use foldb::expiry::{Expires, Expiry};
use foldb::feed::{Change, Position, UpdateOp};
use foldb::{Db, KeyspaceOptions, Options, WriteBatch, WriteOptions};

use crate::expiry::support::{clock, lists, open, read, seconds, set};
use crate::support::{PATH, options};

/// Writes that need their base at 19: the merge at 9 came in time.
fn write(db: &Db, clock: &foldb::env::ManualClock) {
    let own = lists(db, "lists", Expiry::after_last_write(seconds(10)));
    own.put("a", "0").unwrap();
    own.put("b", "0").unwrap();
    set(clock, 9);
    own.merge("a", "9").unwrap();
    let options = WriteOptions { expires: Some(Expires::Never), ..WriteOptions::default() };
    own.with(&options).put("c", "9").unwrap();
}

/// Checks at 18 and 19 what [`write`] wrote.
fn check(db: &Db, clock: &foldb::env::ManualClock, what: &str) {
    let name = db.keyspaces().into_iter().find(|name| name != "default").unwrap();
    let own = db.keyspace(&name).unwrap();
    for (second, a) in [(18, Some("0,9")), (19, None)] {
        set(clock, second);
        assert_eq!(read(&own, "a").as_deref(), a, "{what} at {second}");
        assert_eq!(read(&own, "b"), None, "{what}");
        assert_eq!(read(&own, "c").as_deref(), Some("9"), "{what}");
    }
}

#[test]
fn a_restored_dump_keeps_the_ends_of_entries() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    write(&db, &clock);
    let mut dump = Vec::new();
    db.dump(&mut dump).unwrap();
    for second in [10, 18] {
        set(&clock, second);
        let to = MemFs::new();
        let mut options = options(&to);
        options.env.clock = clock.clone();
        Db::restore(&dump[..], PATH, options).unwrap();
        let copy = open(&to, &clock);
        assert_eq!(copy.keyspace("lists").unwrap().options().expiry, {
            Some(Expiry::after_last_write(seconds(10)))
        });
        check(&copy, &clock, "a dump");
        set(&clock, 10);
    }
}

/// The simulation found it: the dump had expired entries as they were stored. The new database had
/// the time of the machine's clock, which was behind.
#[test]
fn a_dump_has_no_entry_that_has_expired() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    own.put("gone", "0").unwrap();
    set(&clock, 5);
    own.put("there", "5").unwrap();
    set(&clock, 12);
    assert_eq!(read(&own, "gone"), None);
    set(&clock, 0);
    let mut dump = Vec::new();
    assert_eq!(db.dump(&mut dump).unwrap().keys, 1);
    let to = MemFs::new();
    let mut options = options(&to);
    options.env.clock = clock.clone();
    Db::restore(&dump[..], PATH, options).unwrap();
    let copy = open(&to, &clock).keyspace("lists").unwrap();
    assert_eq!(read(&copy, "gone"), None);
    assert_eq!(read(&copy, "there").as_deref(), Some("5"));
}

#[test]
fn a_copy_that_follows_the_feed_has_the_same_ends() {
    let (fs, clock) = (MemFs::new(), clock());
    let mut kept = Options { wal_retention_bytes: 1 << 20, ..options(&fs) };
    kept.env.clock = clock.clone();
    let db = Db::open(PATH, kept).unwrap();
    write(&db, &clock);
    db.sync().unwrap();
    let (to, mut seen) = (MemFs::new(), Vec::new());
    let copy = open(&to, &clock);
    for update in db.updates_since(&Position::BEGINNING).unwrap() {
        match update.unwrap().change {
            Change::Keyspaces { created, .. } => {
                for own in created.into_iter().filter(|own| own.name != "default") {
                    let (expiry, merge_operator) = (own.expiry, own.merge_operator);
                    assert_eq!(expiry, Some(Expiry::after_last_write(seconds(10))));
                    let options =
                        KeyspaceOptions { expiry, merge_operator, ..KeyspaceOptions::default() };
                    copy.create_keyspace(&own.name, options).unwrap();
                }
            }
            Change::Batch(changes) => {
                seen.extend(changes.iter().map(|operation| match operation {
                    UpdateOp::Put { value, expires, .. } => (value.to_vec(), expires.is_some()),
                    UpdateOp::Merge { operand, operator, expires, .. } => {
                        assert_eq!(operator, "stringappend:,");
                        (operand.to_vec(), expires.is_some())
                    }
                    other => panic!("{other:?}"),
                }));
                let mut batch = WriteBatch::new();
                changes.add_to(&mut batch, &copy).unwrap();
                copy.write(&batch).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    let expected = [("0", true), ("0", true), ("9", true), ("9", false)];
    assert_eq!(seen, expected.map(|(value, expires)| (value.as_bytes().to_vec(), expires)));
    check(&copy, &clock, "a feed");
}

#[test]
fn a_checkpoint_and_a_repair_keep_the_ends_of_entries() {
    for flushed in [false, true] {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        write(&db, &clock);
        if flushed {
            db.flush().unwrap();
        }
        db.sync().unwrap();
        drop(db);
        for name in fs.list(Path::new(PATH)).unwrap() {
            if name.starts_with("MANIFEST") {
                fs.remove(&Path::new(PATH).join(name)).unwrap();
            }
        }
        let mut options = options(&fs);
        options.env.clock = clock.clone();
        Db::repair(PATH, options).unwrap();
        let db = open(&fs, &clock);
        check(&db, &clock, if flushed { "a repair of tables" } else { "a repair of logs" });
    }
}

#[test]
fn a_loaded_entry_expires() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    let mut load = own.sorted_load().unwrap();
    load.put("a", "0").unwrap();
    set(&clock, 5);
    load.put("b", "5").unwrap();
    load.finish().unwrap();
    own.merge("a", "5").unwrap();
    set(&clock, 14);
    assert_eq!(read(&own, "a").as_deref(), Some("0,5"));
    assert_eq!(read(&own, "b").as_deref(), Some("5"));
    set(&clock, 15);
    assert_eq!((read(&own, "a"), read(&own, "b")), (None, None));
    own.compact(..).unwrap();
    assert_eq!(crate::expiry::support::table_bytes(&db), 0);
}

/// The manifest that a repair writes has the database's time.
#[test]
fn nothing_expired_comes_back_after_a_repair_with_the_clock_set_back() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    own.put("a", "1").unwrap();
    db.flush().unwrap();
    set(&clock, 10);
    assert_eq!(read(&own, "a"), None);
    drop(own);
    db.close().unwrap();
    drop(db);
    set(&clock, 5);
    let mut options = options(&fs);
    options.env.clock = clock.clone();
    Db::repair(PATH, options).unwrap();
    let db = open(&fs, &clock);
    let own = db.keyspace("lists").unwrap();
    assert_eq!(read(&own, "a"), None);
    own.put("b", "2").unwrap();
    set(&clock, 19);
    assert_eq!(read(&own, "b").as_deref(), Some("2"), "written at 10");
}
