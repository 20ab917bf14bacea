//! What the feed yields, and in which order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foldb::env::mem::{Fault as FileFault, Operation};
use foldb::env::{MemFs, SystemClock};
use foldb::feed::{Change, Position};
use foldb::internals::Knobs;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteBatch, WriteOptions};

use super::support::{files, keeping, line, open_keeping, since, told, unsynced_since};
use crate::support::{PATH, assert_error, number, only_appends, open};

const UNLOGGED: WriteOptions = WriteOptions { disable_wal: true, ..WriteOptions::DEFAULT };

#[test]
fn the_feed_yields_each_batch_whole_with_its_operators() {
    let db = open_keeping(&MemFs::new(), 1);
    let list = db.operator("stringappend:,").unwrap();
    db.put("a", "1").unwrap();
    let mut batch = WriteBatch::new();
    batch.delete("a").merge("n", number(2)).merge_with(&list, "l", "x").delete_range("b".."d");
    db.write(&batch).unwrap();
    db.sync().unwrap();
    let two = r"\x02\x00\x00\x00\x00\x00\x00\x00";
    assert_eq!(
        since(&db, &Position::BEGINNING),
        [
            "default:a=1".to_owned(),
            format!(
                "default:-a default:n+{two}(uint64add) default:l+x(stringappend:,) default:-[=b..d]"
            ),
        ]
    );
}

#[test]
fn each_position_continues_directly_after_its_update() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    for n in 0..30 {
        db.put(format!("k{n}"), "v").unwrap();
        if n % 7 == 3 {
            db.flush().unwrap();
        }
    }
    db.sync().unwrap();
    let updates: Vec<_> =
        db.updates_since(&Position::BEGINNING).unwrap().map(Result::unwrap).collect();
    let lines: Vec<String> = updates.iter().map(line).collect();
    assert_eq!(lines, (0..30).map(|n| format!("default:k{n}=v")).collect::<Vec<_>>());
    let positions: Vec<_> = updates.iter().map(|update| update.position).collect();
    assert!(positions.is_sorted_by(|a, b| a < b));
    for (at, position) in positions.iter().enumerate() {
        assert_eq!(position.sequence_number(), at as u64 + 1);
        assert_eq!(since(&db, position), lines[at + 1..], "after {position}");
    }
    assert_eq!(*positions.last().unwrap(), db.position().unwrap());
    // The same after a close and an open.
    db.close().unwrap();
    let db = open_keeping(&fs, 2);
    for (at, position) in positions.iter().enumerate() {
        assert_eq!(since(&db, position), lines[at + 1..], "after {position}, reopened");
    }
}

#[test]
fn the_feed_goes_on_after_its_end() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    let mut updates = db.updates_since(&Position::BEGINNING).unwrap();
    for round in 0..20 {
        assert!(updates.next().is_none());
        db.put("a", format!("{round}")).unwrap();
        assert!(updates.next().is_none(), "the write is not synced");
        match round % 3 {
            0 => db.sync().unwrap(),
            // The flush syncs the log.
            _ => db.flush().unwrap(),
        }
        assert_eq!(told(&mut updates), [format!("default:a={round}")]);
        assert_eq!(updates.position().sequence_number(), round + 1);
    }
    db.close().unwrap();
    assert_error(updates.next().unwrap(), ErrorKind::Closed, None);
}

#[test]
fn unsynced_batches_appear_only_if_asked_for() {
    let db = open_keeping(&MemFs::new(), 1);
    db.with(&WriteOptions { sync: true, ..WriteOptions::default() }).put("a", "1").unwrap();
    db.put("a", "2").unwrap();
    assert_eq!(since(&db, &Position::BEGINNING), ["default:a=1"]);
    let mut all = unsynced_since(&db, &Position::BEGINNING);
    assert_eq!(told(&mut all), ["default:a=1", "default:a=2"]);
    db.put("a", "3").unwrap();
    assert_eq!(told(&mut all), ["default:a=3"]);
}

#[test]
fn unlogged_writes_are_announced_between_their_neighbours() {
    let db = open_keeping(&MemFs::new(), 1);
    db.put("a", "1").unwrap();
    db.with(&UNLOGGED).put("b", "2").unwrap();
    db.with(&UNLOGGED).put("b", "3").unwrap();
    db.put("a", "4").unwrap();
    db.with(&UNLOGGED).put("b", "5").unwrap();
    db.sync().unwrap();
    let mut updates = db.updates_since(&Position::BEGINNING).unwrap();
    assert_eq!(told(&mut updates), ["default:a=1", "unlogged 2..=3", "default:a=4"]);
    let before_tail = updates.position();
    db.flush().unwrap();
    assert_eq!(told(&mut updates), ["unlogged 5..=5"]);
    assert_eq!(since(&db, &before_tail), ["unlogged 5..=5"]);
    let at_end = updates.position();
    db.put("a", "6").unwrap();
    db.sync().unwrap();
    assert_eq!(told(&mut updates), ["default:a=6"]);
    assert_eq!(since(&db, &at_end), ["default:a=6"]);
}

#[test]
fn a_load_of_sorted_tables_is_announced() {
    let db = open_keeping(&MemFs::new(), 1);
    db.put("a", "1").unwrap();
    let mut updates = db.updates_since(&Position::BEGINNING).unwrap();
    let mut load = db.sorted_load().unwrap();
    load.put("b", "2").unwrap();
    load.put("c", "2").unwrap();
    load.finish().unwrap();
    assert_eq!(told(&mut updates), ["default:a=1", "unlogged 2..=2"]);
    db.put("a", "3").unwrap();
    db.sync().unwrap();
    assert_eq!(told(&mut updates), ["default:a=3"]);
    let all = ["default:a=1", "unlogged 2..=2", "default:a=3"];
    assert_eq!(since(&db, &Position::BEGINNING), all);
}

/// A load that fails takes no sequence number, so the feed has no gap to announce.
#[test]
fn a_load_that_failed_leaves_no_gap() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.put("a", "1").unwrap();
    let mut load = db.sorted_load().unwrap();
    load.put("b", "2").unwrap();
    fs.inject(FileFault::on(Operation::Write).path("MANIFEST").nth(1));
    load.finish().unwrap_err();
    db.flush().unwrap();
    let db = open_keeping(&fs.kill(), 2);
    db.put("a", "2").unwrap();
    db.sync().unwrap();
    assert_eq!(since(&db, &Position::BEGINNING), ["default:a=1", "default:a=2"]);
}

#[test]
fn a_position_between_unlogged_writes_and_the_next_batch_continues() {
    let db = open_keeping(&MemFs::new(), 1);
    db.with(&UNLOGGED).put("b", "1").unwrap();
    db.put("a", "2").unwrap();
    db.sync().unwrap();
    let mut updates = db.updates_since(&Position::BEGINNING).unwrap();
    let unlogged = updates.next().unwrap().unwrap();
    assert_eq!(line(&unlogged), "unlogged 1..=1");
    assert_eq!(since(&db, &unlogged.position), ["default:a=2"]);
}

#[test]
fn keyspaces_come_and_go_in_their_place() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    let counters = KeyspaceOptions::with_operator("uint64add");
    let first = db.create_keyspace("x", counters).unwrap();
    first.put("k", "old").unwrap();
    db.drop_keyspace("x").unwrap();
    let second = db.create_keyspace("x", KeyspaceOptions::default()).unwrap();
    second.put("k", "new").unwrap();
    db.flush().unwrap();
    second.put("k", "newer").unwrap();
    db.sync().unwrap();
    let expected = [
        r#"dropped [] created ["x"]"#,
        "x:k=old",
        r#"dropped ["x"] created []"#,
        r#"dropped [] created ["x"]"#,
        "x:k=new",
        "x:k=newer",
    ];
    let updates: Vec<_> =
        db.updates_since(&Position::BEGINNING).unwrap().map(Result::unwrap).collect();
    assert_eq!(updates.iter().map(line).collect::<Vec<_>>(), expected);
    for (at, update) in updates.iter().enumerate() {
        assert_eq!(since(&db, &update.position), expected[at + 1..]);
    }
    let Change::Keyspaces { created, .. } = &updates[0].change else { panic!() };
    assert_eq!(created[0].merge_operator.as_deref(), Some("uint64add"));
    assert_eq!(created[0].comparator, "foldb.bytewise");
}

#[test]
fn separated_values_and_adopted_logs_are_whole() {
    let fs = MemFs::new();
    let options = Options {
        default: KeyspaceOptions { value_separation_min: Some(500), ..keeping(&fs, 1).default },
        knobs: Knobs { segment_size: 64 << 10, ..Knobs::default() },
        adopt_logs: foldb::LogAdoption::Always,
        ..keeping(&fs, 1)
    };
    let db = Db::open(PATH, options).unwrap();
    for round in 0..3u8 {
        for n in 0..30u8 {
            db.put([b'k', n], vec![round; 5000]).unwrap();
        }
        db.flush().unwrap();
    }
    if !only_appends() {
        assert!(db.stats().bytes_adopted > 0, "no log was adopted");
    }
    db.collect_garbage().unwrap();
    let mut values = BTreeMap::new();
    for update in db.updates_since(&Position::BEGINNING).unwrap() {
        let Change::Batch(batch) = update.unwrap().change else { panic!() };
        for operation in batch.iter() {
            let foldb::feed::UpdateOp::Put { key, value, .. } = operation else { panic!() };
            values.insert(key.to_vec(), value.to_vec());
        }
    }
    for n in 0..30u8 {
        assert_eq!(values[&vec![b'k', n]], vec![2; 5000]);
        assert_eq!(db.get([b'k', n]).unwrap().unwrap(), vec![2; 5000]);
    }
    assert_eq!(files(&fs, ".arc").len(), 3);
}

#[test]
fn a_batch_of_several_frames_is_one_update() {
    let db = open_keeping(&MemFs::new(), 1);
    let mut batch = WriteBatch::new();
    for n in 0..5 {
        batch.put(format!("k{n}"), vec![b'x'; 1 << 20]);
    }
    db.write(&batch).unwrap();
    db.put("a", "1").unwrap();
    db.sync().unwrap();
    let told = since(&db, &Position::BEGINNING);
    assert_eq!((told.len(), told[1].as_str()), (2, "default:a=1"));
    assert_eq!(told[0].matches("1048576 bytes").count(), 5);
}

#[test]
fn a_snapshot_and_its_position_are_one_moment() {
    let db = open_keeping(&MemFs::new(), 1);
    db.merge("n", number(1)).unwrap();
    db.with(&UNLOGGED).put("b", "2").unwrap();
    let (snapshot, position) = db.snapshot_and_position().unwrap();
    assert_eq!(snapshot.sequence_number(), position.sequence_number());
    db.put("a", "3").unwrap();
    db.sync().unwrap();
    assert_eq!(since(&db, &position), ["default:a=3"]);
}

#[test]
fn a_wait_ends_with_the_update_or_with_its_time() {
    let fs = MemFs::new();
    let mut options = keeping(&fs, 1);
    options.env.clock = Arc::new(SystemClock::default());
    let db = Db::open(PATH, options).unwrap();
    let mut updates = db.updates_since(&Position::BEGINNING).unwrap();
    assert!(!updates.wait(Duration::from_millis(5)).unwrap());
    let writer = std::thread::spawn({
        let db = db.clone();
        move || {
            std::thread::sleep(Duration::from_millis(20));
            db.put("a", "1").unwrap();
            db.sync().unwrap();
        }
    });
    assert!(updates.wait(Duration::from_secs(60)).unwrap());
    assert_eq!(updates.position().sequence_number(), 0);
    assert_eq!(told(&mut updates), ["default:a=1"]);
    writer.join().unwrap();
}

#[test]
fn a_database_that_keeps_no_logs_has_no_feed() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    assert_error(db.updates_since(&Position::BEGINNING), ErrorKind::InvalidArgument, None);
    assert_error(db.position(), ErrorKind::InvalidArgument, None);
}

/// A read-only handle, as another process would have it, follows a writer and its reopens.
#[test]
fn a_read_only_handle_follows_another_process() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    db.put("a", "2").unwrap();
    let shown = Db::open_read_only(PATH, super::support::keeping(&fs, 9)).unwrap();
    let all = foldb::feed::UpdatesOptions { include_unsynced: true };
    let durable = foldb::feed::UpdatesOptions::default();
    let start = shown.oldest_position().unwrap();
    let mut unsynced = shown.with(&all).updates_since(&start).unwrap();
    let mut synced = shown.with(&durable).updates_since(&start).unwrap();
    assert_eq!(told(&mut unsynced), ["default:a=1", "default:a=2"]);
    assert_eq!(told(&mut synced), ["default:a=1"]);
    db.create_keyspace("x", KeyspaceOptions::default()).unwrap().put("k", "3").unwrap();
    db.sync().unwrap();
    db.put("a", "4").unwrap();
    let created = r#"dropped [] created ["x"]"#;
    assert_eq!(told(&mut unsynced), [created, "x:k=3", "default:a=4"]);
    assert_eq!(told(&mut synced), ["default:a=2", created, "x:k=3"]);
    db.flush().unwrap();
    assert_eq!(told(&mut synced), ["default:a=4"]);
    db.put("a", "5").unwrap();
    let position = synced.position();
    db.close().unwrap();
    assert_eq!(told(&mut synced), ["default:a=5"], "a clean close syncs");
    let db = open_keeping(&fs, 2);
    db.put("a", "6").unwrap();
    db.flush().unwrap();
    assert_eq!(told(&mut synced), ["default:a=6"]);
    assert_eq!(told(&mut unsynced), ["default:a=5", "default:a=6"]);
    let again = shown.with(&durable).updates_since(&position).unwrap();
    assert_eq!(told(&mut { again }), ["default:a=5", "default:a=6"]);
    db.close().unwrap();
    let plain = open(&fs).unwrap();
    assert_error(synced.next().unwrap(), ErrorKind::PositionLost, None);
    drop(plain);
}

/// Several writers, flushes and readers at the same time. Each reader sees every write once.
#[test]
fn readers_beside_writers_see_every_write_once() {
    const WRITERS: u64 = 3;
    const EACH: u64 = 400;
    let fs = MemFs::new();
    let mut options = Options { write_buffer_size: 64 << 10, ..keeping(&fs, 1) };
    options.env.clock = Arc::new(SystemClock::default());
    options.env.threads = Arc::new(foldb::env::SystemThreads);
    let db = Db::open(PATH, options).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let db = &db;
            scope.spawn(move || {
                for n in 0..EACH {
                    let sync = n % 16 == 0 || n + 1 == EACH;
                    let options = WriteOptions { sync, ..WriteOptions::default() };
                    let value = vec![b'v'; 200];
                    db.with(&options).put(format!("{writer}-{n}"), value).unwrap();
                    if n % 100 == 99 {
                        db.flush().unwrap();
                    }
                }
            });
        }
        for include_unsynced in [false, true] {
            let db = &db;
            scope.spawn(move || {
                let options = foldb::feed::UpdatesOptions { include_unsynced };
                let mut updates = db.with(&options).updates_since(&Position::BEGINNING).unwrap();
                let mut seen = 0;
                while seen < WRITERS * EACH {
                    assert!(updates.wait(Duration::from_secs(60)).unwrap(), "after {seen}");
                    let update = updates.next().unwrap().unwrap();
                    assert!(matches!(update.change, Change::Batch(_)), "{update:?}");
                    seen += 1;
                    assert_eq!(update.position.sequence_number(), seen);
                    if seen % 97 == 0 {
                        let again = db.with(&options).updates_since(&update.position).unwrap();
                        updates = again;
                    }
                }
            });
        }
    });
}

/// A follower in another process copies what a read-only open shows, and gets every later write
/// once: after each write, flush, stop and open of the writer.
#[test]
fn a_follower_in_another_process_can_start_at_any_moment() {
    let mut fs = MemFs::new();
    let mut moments: Vec<(Position, usize)> = Vec::new();
    let mut written = Vec::new();
    let note = |fs: &MemFs, moments: &mut Vec<_>, written: &[String]| {
        let shown = Db::open_read_only(PATH, keeping(fs, 900)).unwrap();
        let (snapshot, position) = shown.snapshot_and_position().unwrap();
        let keys = snapshot.iter().unwrap().count();
        assert_eq!(keys, written.len());
        moments.push((position, keys));
    };
    for round in 0..4 {
        let db = open_keeping(&fs, round);
        note(&fs, &mut moments, &written);
        for n in 0..5 {
            let key = format!("{round}{n}");
            db.put(&key, "1").unwrap();
            written.push(format!("default:{key}=1"));
            note(&fs, &mut moments, &written);
            if n == 2 {
                db.flush().unwrap();
                note(&fs, &mut moments, &written);
            }
        }
        match round % 2 {
            0 => db.close().unwrap(),
            _ => fs = fs.kill(),
        }
        drop(db);
        note(&fs, &mut moments, &written);
    }
    let db = open_keeping(&fs, 10);
    for (position, keys) in moments {
        assert_eq!(since(&db, &position), written[keys..], "{position}");
    }
}

/// What only the writer's memory has is in no copy, so no position may pass it.
#[test]
fn a_position_beside_a_writer_passes_no_unlogged_write() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    let shown = || Db::open_read_only(PATH, keeping(&fs, 9)).unwrap();
    let position = || shown().snapshot_and_position().map(|(_, position)| position);
    assert_eq!(position().unwrap(), Position::BEGINNING);
    db.put("a", "1").unwrap();
    db.with(&unlogged).put("b", "1").unwrap();
    let before = position().unwrap();
    db.put("c", "1").unwrap();
    assert_error(position(), ErrorKind::Busy, None);
    db.flush().unwrap();
    let after = position().unwrap();
    db.put("d", "1").unwrap();
    db.sync().unwrap();
    assert_eq!(since(&db, &before), ["unlogged 2..=2", "default:c=1", "default:d=1"]);
    assert_eq!(since(&db, &after), ["default:d=1"]);
    let plain = MemFs::new();
    open(&plain).unwrap().close().unwrap();
    let shown = Db::open_read_only(PATH, crate::support::options(&plain)).unwrap();
    assert_error(shown.snapshot_and_position(), ErrorKind::InvalidArgument, None);
}
