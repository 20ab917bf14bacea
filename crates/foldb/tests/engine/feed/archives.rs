//! Which logs are kept, for how long, and which calls know them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foldb::env::mem::{Fault as FileFault, Operation};
use foldb::env::{FileSystem, ManualClock, MemFs};
use foldb::feed::Position;
use foldb::{Db, ErrorKind, Options};

use super::support::{files, keeping, line, open_keeping, since, told};
use super::verification::{open_and_hear, three_archives};
use crate::support::{PATH, assert_error, open, options, skipped_where_files_only_grow, text};

/// Writes and flushes `logs` logs of about 1 KiB each.
pub(super) fn write_logs(db: &Db, logs: usize) {
    for n in 0..logs {
        db.put(format!("k{n}"), vec![b'x'; 1000]).unwrap();
        db.flush().unwrap();
    }
}

#[test]
fn logs_are_removed_where_no_retention_is_set() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    write_logs(&db, 3);
    assert_eq!((files(&fs, ".log").len(), files(&fs, ".arc").len()), (1, 0));
    assert_eq!(db.stats().archived_logs, 0);
}

#[test]
fn archived_logs_stay_within_their_bytes() {
    let fs = MemFs::new();
    let options = Options { wal_retention_bytes: 5100, ..keeping(&fs, 1) };
    let db = Db::open(PATH, options).unwrap();
    write_logs(&db, 12);
    let kept = files(&fs, ".arc");
    assert_eq!(kept.len(), 4, "{kept:?}");
    let stats = db.stats();
    assert_eq!(stats.archived_logs, 4);
    let bytes = kept.iter().map(|name| fs.len(&Path::new(PATH).join(name)).unwrap());
    assert_eq!(stats.archived_log_bytes, bytes.sum::<u64>());
    assert!(stats.archived_log_bytes <= 5100);
    let oldest = db.oldest_position().unwrap();
    assert_eq!(oldest.sequence_number(), 8);
    assert_eq!(since(&db, &oldest).len(), 4);
    assert_error(db.updates_since(&Position::BEGINNING), ErrorKind::PositionLost, None);
}

#[test]
fn archived_logs_are_removed_after_their_time() {
    let fs = MemFs::new();
    let clock = std::sync::Arc::new(ManualClock::default());
    let mut options =
        Options { wal_retention_bytes: 0, wal_retention_seconds: 60, ..keeping(&fs, 1) };
    options.env.clock = clock.clone();
    let db = Db::open(PATH, options).unwrap();
    write_logs(&db, 3);
    clock.advance(Duration::from_secs(59));
    write_logs(&db, 1);
    assert_eq!(files(&fs, ".arc").len(), 4);
    clock.advance(Duration::from_secs(2));
    write_logs(&db, 1);
    assert_eq!(files(&fs, ".arc").len(), 2);
}

/// The age of an archived log is that of its file, so an open does not start it again.
#[test]
fn an_open_removes_logs_that_expired_while_the_database_was_closed() {
    if skipped_where_files_only_grow("a file has no age") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let open = || {
        let options =
            Options { create_if_missing: true, wal_retention_seconds: 3600, ..Options::default() };
        Db::open(&path, options).unwrap()
    };
    let archives = || {
        let names = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<_> =
            names.filter(|name| name.extension().is_some_and(|it| it == "arc")).collect();
        names.sort();
        names
    };
    let db = open();
    write_logs(&db, 3);
    db.close().unwrap();
    let before = archives();
    assert_eq!(before.len(), 3);
    for (file, hours) in before.iter().zip([3, 2, 0]) {
        let changed = std::time::SystemTime::now() - Duration::from_secs(3600 * hours);
        let file = std::fs::File::options().write(true).open(file).unwrap();
        file.set_modified(changed).unwrap();
    }
    let db = open();
    assert_eq!(db.stats().archived_logs, archives().len() as u64);
    let left = archives();
    assert!(!left.contains(&before[0]) && !left.contains(&before[1]), "{left:?}");
    assert!(left.contains(&before[2]), "{left:?}");
}

/// No write, flush or open comes, and the log expires.
#[test]
fn an_idle_database_removes_expired_logs() {
    let fs = MemFs::new();
    let clock = Arc::new(ManualClock::default());
    let mut options =
        Options { wal_retention_bytes: 0, wal_retention_seconds: 60, ..keeping(&fs, 1) };
    options.env.clock = clock.clone();
    options.env.threads = Arc::new(foldb::env::SystemThreads);
    let db = Db::open(PATH, options).unwrap();
    write_logs(&db, 3);
    assert_eq!(files(&fs, ".arc").len(), 3);
    clock.advance(Duration::from_secs(61));
    for _ in 0..600 {
        if files(&fs, ".arc").is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the logs are still there: {:?}", files(&fs, ".arc"));
}

#[test]
fn a_closed_database_tells_whether_it_keeps_logs() {
    let fs = MemFs::new();
    let has_feed = || Db::has_feed(PATH, &options(&fs)).unwrap();
    open(&fs).unwrap().close().unwrap();
    assert!(!has_feed());
    // The log without a write, an archived log, both.
    for flushes in [0, 1] {
        let db = open_keeping(&fs, 2 + flushes);
        write_logs(&db, flushes as usize);
        db.close().unwrap();
        assert!(has_feed());
    }
    open(&fs).unwrap().close().unwrap();
    assert!(!has_feed());
    assert_error(Db::has_feed("missing", &options(&fs)), ErrorKind::Io, None);
}

#[test]
fn a_reader_whose_log_was_removed_is_told() {
    let fs = MemFs::new();
    let options = Options { wal_retention_bytes: 3000, ..keeping(&fs, 1) };
    let db = Db::open(PATH, options).unwrap();
    write_logs(&db, 2);
    let mut slow = db.updates_since(&Position::BEGINNING).unwrap();
    let first = slow.next().unwrap().unwrap();
    let mut at_end = db.updates_since(&Position::BEGINNING).unwrap();
    assert_eq!(told(&mut at_end).len(), 2);
    write_logs(&db, 6);
    assert_error(slow.next().unwrap(), ErrorKind::PositionLost, None);
    assert_error(slow.next().unwrap(), ErrorKind::PositionLost, None);
    assert_error(db.updates_since(&first.position), ErrorKind::PositionLost, None);
    assert_error(at_end.next().unwrap(), ErrorKind::PositionLost, None);
}

/// The reader has the file of its log open, and needs the chain only after it.
#[test]
fn a_reader_finishes_its_log_after_the_log_was_removed() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { wal_retention_bytes: 10, ..keeping(&fs, 1) }).unwrap();
    for n in 0..3 {
        db.put("k", format!("{n}")).unwrap();
    }
    db.sync().unwrap();
    let mut updates = db.updates_since(&Position::BEGINNING).unwrap();
    assert_eq!(line(&updates.next().unwrap().unwrap()), "default:k=0");
    db.flush().unwrap();
    assert!(files(&fs, ".arc").is_empty());
    assert_eq!(told(&mut updates), ["default:k=1", "default:k=2"]);
}

/// A follower that has read everything loses nothing when the log of its position is removed.
#[test]
fn a_reader_at_the_end_of_a_removed_log_continues() {
    let fs = MemFs::new();
    let options = Options { wal_retention_bytes: 10, ..keeping(&fs, 1) };
    let db = Db::open(PATH, options).unwrap();
    let mut updates = db.updates_since(&Position::BEGINNING).unwrap();
    let mut position = Position::BEGINNING;
    for n in 0..5 {
        db.put("k", format!("{n}")).unwrap();
        db.sync().unwrap();
        assert_eq!(told(&mut updates), [format!("default:k={n}")]);
        assert_eq!(since(&db, &position), [format!("default:k={n}")]);
        position = updates.position();
        db.flush().unwrap();
        assert!(files(&fs, ".arc").is_empty());
    }
}

#[test]
fn an_open_without_retention_removes_archived_logs_and_ends_the_history() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    write_logs(&db, 3);
    let position = db.position().unwrap();
    db.close().unwrap();
    let plain = open(&fs).unwrap();
    assert!(files(&fs, ".arc").is_empty());
    plain.put("k", "unseen").unwrap();
    plain.close().unwrap();
    let db = open_keeping(&fs, 2);
    assert_error(db.updates_since(&position), ErrorKind::PositionLost, None);
    assert_error(db.updates_since(&Position::BEGINNING), ErrorKind::PositionLost, None);
    db.put("k", "seen").unwrap();
    db.sync().unwrap();
    assert_eq!(since(&db, &db.oldest_position().unwrap()), ["default:k=seen"]);
}

/// A crash between the flush and the rename: the next open archives the log.
#[test]
fn a_log_that_could_not_be_renamed_is_still_read() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    fs.inject(FileFault::on(Operation::Rename).path(".log").forever());
    write_logs(&db, 2);
    assert!(files(&fs, ".arc").is_empty());
    let lines = since(&db, &Position::BEGINNING);
    assert_eq!(lines.len(), 2);
    let db = open_keeping(&fs.kill(), 2);
    assert_eq!(since(&db, &Position::BEGINNING), lines);
}

#[test]
fn archived_logs_hold_what_a_follower_of_several_opens_needs() {
    let mut fs = MemFs::new();
    let mut expected = Vec::new();
    let mut position = Position::BEGINNING;
    for round in 0..8u64 {
        let db = open_keeping(&fs, round);
        for n in 0..3 {
            db.put(format!("k{n}"), format!("{round}")).unwrap();
            expected.push(format!("default:k{n}={round}"));
            if n == 1 && round % 2 == 0 {
                db.flush().unwrap();
            }
        }
        db.sync().unwrap();
        let found: Vec<_> = db.updates_since(&position).unwrap().map(Result::unwrap).collect();
        assert_eq!(found.iter().map(line).collect::<Vec<_>>(), expected[3 * round as usize..]);
        position = found.last().unwrap().position;
        assert_eq!(since(&db, &Position::BEGINNING), expected);
        fs = match round % 3 {
            0 => {
                db.close().unwrap();
                fs
            }
            1 => fs.kill(),
            _ => fs.crash(),
        };
    }
}

#[test]
fn checkpoints_repairs_and_destruction_know_archived_logs() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    write_logs(&db, 3);
    db.put("last", "1").unwrap();
    let position = db.position().unwrap();
    db.checkpoint("copy").unwrap();
    let names = fs.list(Path::new("copy")).unwrap();
    assert!(!names.iter().any(|name| name.ends_with(".arc")), "{names:?}");
    db.close().unwrap();
    // The copy shares the history up to the checkpoint.
    let copy = Db::open("copy", keeping(&fs, 7)).unwrap();
    assert!(since(&copy, &position).is_empty());
    copy.put("copy", "1").unwrap();
    let of_copy = copy.position().unwrap();
    copy.sync().unwrap();
    assert_eq!(since(&copy, &position), ["default:copy=1"]);
    copy.close().unwrap();

    let report = foldb::repair::verify(PATH, options(&fs)).unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    assert!(report.leftovers.is_empty(), "{:?}", report.leftovers);
    let archived =
        report.files.iter().filter(|it| it.file.extension().unwrap_or_default() == "arc");
    assert_eq!(archived.count(), 3);

    let read_only = Db::open_read_only(PATH, options(&fs)).unwrap();
    assert_eq!(text(&read_only, "last").as_deref(), Some("1"));
    drop(read_only);

    let db = open_keeping(&fs, 3);
    db.put("other", "1").unwrap();
    db.sync().unwrap();
    assert_eq!(since(&db, &position), ["default:other=1"]);
    assert_error(db.updates_since(&of_copy), ErrorKind::PositionLost, None);
    db.close().unwrap();

    Db::repair(PATH, keeping(&fs, 4)).unwrap();
    assert!(files(&fs, ".arc").is_empty());
    let db = open_keeping(&fs, 5);
    assert_eq!(text(&db, "k0").map(|value| value.len()), Some(1000));
    assert_error(db.updates_since(&position), ErrorKind::PositionLost, None);
    write_logs(&db, 1);
    db.close().unwrap();
    Db::destroy(PATH, &options(&fs)).unwrap();
    assert!(!fs.exists(Path::new(PATH)));
}

/// Without a manifest, a repair must not replay archived logs: their writes are in tables.
#[test]
fn a_repair_without_a_manifest_counts_no_operand_twice() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    for _ in 0..3 {
        db.merge("n", crate::support::number(1)).unwrap();
        db.flush().unwrap();
    }
    let x = db.create_keyspace("x", Default::default()).unwrap();
    x.put("k", "1").unwrap();
    db.flush().unwrap();
    x.delete("k").unwrap();
    db.flush().unwrap();
    db.compact(..).unwrap();
    db.close().unwrap();
    for name in files(&fs, "") {
        if name.starts_with("MANIFEST") || name == "CURRENT" {
            fs.remove(&Path::new(PATH).join(name)).unwrap();
        }
    }
    Db::repair(PATH, options(&fs)).unwrap();
    let db = open(&fs).unwrap();
    assert_eq!(crate::support::count(&db, "n"), 3);
    assert_eq!(db.keyspaces(), ["default"]);
}

/// The database needs no archived log. Followers at positions in it copy the database anew.
#[test]
fn an_archive_that_cannot_be_read_does_not_stop_an_open() {
    let (fs, archives) = three_archives();
    for (index, name) in archives.iter().enumerate() {
        let fs = fs.kill();
        fs.inject(FileFault::on(Operation::Read).path(name).forever());
        let (db, why) = open_and_hear(&fs, 2);
        let why = why.expect("an event says why the feed is shorter");
        assert!(why.kind() == ErrorKind::Io && why.to_string().contains(name), "{why}");
        assert_eq!(db.get("k0").unwrap().unwrap().len(), 1000);
        assert_error(db.updates_since(&Position::BEGINNING), ErrorKind::PositionLost, None);
        let oldest = db.oldest_position().unwrap();
        assert!(oldest.sequence_number() > index as u64, "{oldest}");
        assert!(since(&db, &oldest).len() <= archives.len() - index);
    }
}

/// A reader is told how to turn the feed on, and not to copy the database.
#[test]
fn a_reader_of_a_database_without_feed_is_told_so() {
    let fs = MemFs::new();
    open(&fs).unwrap().close().unwrap();
    let reader = Db::open_read_only(PATH, options(&fs)).unwrap();
    let error = assert_error(reader.oldest_position(), ErrorKind::InvalidArgument, None);
    assert!(error.to_string().contains("keeps no logs"), "{error}");
}

/// The archived logs hold the only copy of what a lost table held. A repair that loses something
/// keeps them under another name, and a repair that loses nothing does not.
#[test]
fn a_repair_that_loses_writes_keeps_the_archived_logs() {
    for loses in [true, false] {
        let fs = MemFs::new();
        let db = open_keeping(&fs, 1);
        write_logs(&db, 3);
        db.close().unwrap();
        drop(db);
        let archives = files(&fs, ".arc");
        assert_eq!(archives.len(), 3);
        let bytes = |name: &str| fs.read(&Path::new(PATH).join(name)).unwrap();
        let before: Vec<_> = archives.iter().map(|name| bytes(name)).collect();
        if loses {
            fs.remove(&Path::new(PATH).join(&files(&fs, ".tbl")[0])).unwrap();
        }
        let report = Db::repair(PATH, options(&fs)).unwrap();
        assert_eq!(report.lost_nothing(), !loses);
        let kept = files(&fs, ".arc.kept");
        assert_eq!(kept.len(), if loses { 3 } else { 0 }, "{kept:?}");
        for (name, before) in kept.iter().zip(&before) {
            assert!(bytes(name) == *before, "{name}");
        }
        Db::open(PATH, options(&fs)).unwrap().close().unwrap();
        assert_eq!(files(&fs, ".arc.kept"), kept, "an open leaves them");
    }
}
