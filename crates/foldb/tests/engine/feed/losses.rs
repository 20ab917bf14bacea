//! Histories that end: power losses, restored copies, cut logs. A follower is told, and never
//! misses a write silently.

use std::path::Path;

use foldb::env::mem::{Fault as FileFault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::feed::Position;
use foldb::repair::{LogCut, RepairOptions};
use foldb::{Db, ErrorKind, Options, WriteOptions};

use super::support::{files, keeping, open_keeping, since, told, unsynced_since};
use crate::support::{PATH, assert_error, skipped_where_files_only_grow};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
/// Why a test does not run over files that only grow.
const OTHER_MOMENTS: &str = "the adapter writes the log at other moments";

/// A power loss takes back unsynced writes, and their numbers come again for others.
#[test]
fn a_position_that_a_power_loss_took_back_is_lost() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.with(&SYNC).put("a", "1").unwrap();
    let synced = db.position().unwrap();
    db.put("a", "2").unwrap();
    db.put("a", "3").unwrap();
    let mut all = unsynced_since(&db, &Position::BEGINNING);
    assert_eq!(told(&mut all).len(), 3);
    let unsynced = all.position();

    let db = open_keeping(&fs.crash(), 2);
    assert_eq!(db.position().unwrap().sequence_number(), 1, "the writes are lost");
    assert_error(db.updates_since(&unsynced), ErrorKind::PositionLost, None);
    db.with(&SYNC).put("b", "2").unwrap();
    db.with(&SYNC).put("b", "3").unwrap();
    assert_error(db.updates_since(&unsynced), ErrorKind::PositionLost, None);
    assert_eq!(since(&db, &synced), ["default:b=2", "default:b=3"]);
}

/// The lost writes were the first of a log whose number the next open gives again.
#[test]
fn a_log_that_a_power_loss_took_back_is_another_one_than_its_successor() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    let mut all = db.updates_since(&Position::BEGINNING).unwrap();
    assert_eq!(told(&mut all), ["default:a=1"]);
    let durable = all.position();
    db.put("a", "2").unwrap();
    let unsynced = db.position().unwrap();
    for seed in 0..20 {
        let db = open_keeping(&fs.crash_with(seed), 100 + seed);
        let kept = db.position().unwrap().sequence_number();
        let lost = db.updates_since(&unsynced);
        let next: &[&str] = if kept == 2 {
            assert!(lost.is_ok());
            &["default:a=2"]
        } else {
            assert_error(lost, ErrorKind::PositionLost, None);
            db.with(&SYNC).put("b", "2").unwrap();
            db.with(&SYNC).put("b", "3").unwrap();
            assert_error(db.updates_since(&unsynced), ErrorKind::PositionLost, None);
            &["default:b=2", "default:b=3"]
        };
        assert_eq!(since(&db, &durable), next, "seed {seed}");
    }
}

/// What the feed yielded as durable survives every power loss, and its position continues.
#[test]
fn durable_updates_survive_power_losses() {
    for seed in 0..60 {
        let mut fs = MemFs::new();
        let (mut seen, mut position) = (Vec::new(), Position::BEGINNING);
        for round in 0..4u64 {
            let db = open_keeping(&fs, 1000 * seed + round);
            let mut updates = db.updates_since(&position).unwrap();
            for n in 0..12u64 {
                db.put(format!("k{n}"), format!("{round}")).unwrap();
                match (seed + 3 * n + 5 * round) % 8 {
                    0 => db.sync().unwrap(),
                    1 => db.flush().unwrap(),
                    _ => {}
                }
                if n % 4 == seed % 4 {
                    seen.extend(told(&mut updates));
                    position = updates.position();
                }
            }
            assert_eq!(since(&db, &Position::BEGINNING)[..seen.len()], seen);
            fs = match seed % 3 {
                0 => fs.kill(),
                _ => fs.crash_with(seed + round),
            };
            drop(updates);
            let db = open_keeping(&fs, 1000 * seed + 500 + round);
            let all = since(&db, &Position::BEGINNING);
            assert_eq!(all[..seen.len()], seen, "seed {seed}, round {round}");
            assert_eq!(since(&db, &position), all[seen.len()..], "seed {seed}, round {round}");
            fs = fs.kill();
        }
    }
}

/// A copy of the directory is put back after the database wrote more.
#[test]
fn positions_after_a_restored_copy_are_lost() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    db.put("a", "2").unwrap();
    let shared = db.position().unwrap();
    db.close().unwrap();
    let backup = fs.kill();

    let db = open_keeping(&fs, 2);
    for n in 3..6 {
        db.with(&SYNC).put("a", format!("{n}")).unwrap();
        db.flush().unwrap();
    }
    let later = db.position().unwrap();
    db.close().unwrap();

    // Files that the backup does not have stay in the directory.
    for name in files(&fs, ".arc") {
        let path = Path::new(PATH).join(name);
        if !backup.exists(&path) {
            let bytes = fs.read(&path).unwrap();
            backup.create(&path).unwrap().write_at(&bytes, 0).unwrap();
        }
    }
    let db = open_keeping(&backup, 3);
    assert_error(db.updates_since(&later), ErrorKind::PositionLost, None);
    for n in 3..9 {
        db.with(&SYNC).put("b", format!("{n}")).unwrap();
    }
    assert_error(db.updates_since(&later), ErrorKind::PositionLost, None);
    assert_eq!(since(&db, &shared).len(), 6);
    assert_eq!(since(&db, &Position::BEGINNING)[1..3], ["default:a=2", "default:b=3"]);
}

#[test]
fn positions_of_a_repaired_database_are_lost() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.with(&SYNC).put("a", "1").unwrap();
    let first = db.position().unwrap();
    db.with(&SYNC).put("a", "2").unwrap();
    let second = db.position().unwrap();
    drop(db);
    let fs = fs.kill();
    let log = files(&fs, ".log").pop().unwrap();
    let file = Path::new(PATH).join(log);
    let end = fs.len(&file).unwrap();
    let how = RepairOptions {
        cut_log: Some(LogCut { file, offset: end.min(300) }),
        ..keeping(&fs, 2).into()
    };
    Db::repair(PATH, how).unwrap();
    let db = open_keeping(&fs, 3);
    for position in [first, second, Position::BEGINNING] {
        assert_error(db.updates_since(&position), ErrorKind::PositionLost, None);
    }
}

#[test]
fn positions_of_another_database_are_lost() {
    let fs = MemFs::new();
    let other = MemFs::new();
    let db = open_keeping(&fs, 1);
    let stranger = open_keeping(&other, 2);
    for db in [&db, &stranger] {
        db.with(&SYNC).put("a", "1").unwrap();
    }
    let position = stranger.position().unwrap();
    assert_error(db.updates_since(&position), ErrorKind::PositionLost, None);
}

/// A damaged archived log is an error with its file, not a gap.
#[test]
fn a_damaged_archived_log_is_noticed() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.put("a", "1").unwrap();
    db.put("a", "2").unwrap();
    db.flush().unwrap();
    db.with(&SYNC).put("a", "3").unwrap();
    let archive = files(&fs, ".arc").pop().unwrap();
    let path = Path::new(PATH).join(&archive);
    let mut bytes = fs.read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs.create(&path).unwrap().write_at(&bytes, 0).unwrap();
    let mut updates = db.updates_since(&Position::BEGINNING).unwrap();
    assert!(updates.next().unwrap().is_ok());
    assert_error(updates.next().unwrap(), ErrorKind::Corruption, Some(&archive));
}

/// An open that fails begins a log and removes it, and the next open gives its number again. A
/// follower in another process that looks in between does not take the two logs for one.
#[test]
fn a_failed_open_loses_no_position_of_a_read_only_follower() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.with(&SYNC).put("a", "1").unwrap();
    let fs = fs.kill();
    let shown = Db::open_read_only(PATH, keeping(&fs, 9)).unwrap();
    let all = foldb::feed::UpdatesOptions { include_unsynced: true };
    let mut updates = shown.with(&all).updates_since(&Position::BEGINNING).unwrap();
    assert_eq!(told(&mut updates), ["default:a=1"]);

    let before = files(&fs, ".log");
    fs.inject(FileFault::on(Operation::Write).path(".tbl").forever());
    // The files of the failed open stay until the follower has looked.
    fs.inject(FileFault::on(Operation::Remove).path(".log").forever());
    fs.inject(FileFault::on(Operation::Remove).path(".arc").forever());
    assert_error(Db::open(PATH, keeping(&fs, 2)), ErrorKind::Io, None);
    fs.clear_faults();
    let begun: Vec<_> =
        files(&fs, ".log").into_iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(begun.len(), 1);
    assert!(told(&mut updates).is_empty());
    let stored = updates.position();
    for name in begun.into_iter().chain(files(&fs, ".arc")) {
        fs.remove(&Path::new(PATH).join(name)).unwrap();
    }
    assert!(told(&mut updates).is_empty());

    let db = open_keeping(&fs, 3);
    db.with(&SYNC).put("a", "2").unwrap();
    assert_eq!(told(&mut updates), ["default:a=2"]);
    db.flush().unwrap();
    db.with(&SYNC).put("a", "3").unwrap();
    assert_eq!(told(&mut updates), ["default:a=3"]);
    let mut again = shown.with(&all).updates_since(&stored).unwrap();
    assert_eq!(told(&mut again), ["default:a=2", "default:a=3"]);
}

/// A power loss takes the log's record of a creation, while the manifest keeps the keyspace. The
/// follower's own log is removed before it looks again.
#[test]
fn keyspaces_whose_records_a_power_loss_took_are_announced() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.create_keyspace("old", foldb::KeyspaceOptions::default()).unwrap();
    db.with(&SYNC).put("a", "1").unwrap();
    let mut updates = db.updates_since(&Position::BEGINNING).unwrap();
    assert_eq!(told(&mut updates), [r#"dropped [] created ["old"]"#, "default:a=1"]);
    let position = updates.position();
    db.drop_keyspace("old").unwrap();
    db.create_keyspace("new", foldb::KeyspaceOptions::default()).unwrap();
    let fs = fs.crash();

    // The first open loses its own records to a power loss as well.
    let _lost = open_keeping(&fs, 2);
    let fs = fs.crash();
    let least = Options { wal_retention_bytes: 1, ..keeping(&fs, 3) };
    let db = Db::open(PATH, least).unwrap();
    assert!(files(&fs, ".arc").is_empty());
    db.with(&SYNC).put("a", "2").unwrap();
    let expected = [r#"dropped ["old"] created []"#, r#"dropped [] created ["new"]"#];
    let found = since(&db, &position);
    assert_eq!(found[..2], expected);
    assert_eq!(found[2..], ["default:a=2"]);
}

/// The records of a creation and of a drop fail on a full disk. They come before the next write,
/// and once: after the next open the keyspace is neither dropped nor created again.
#[test]
fn the_record_of_a_creation_comes_before_the_next_write() {
    if skipped_where_files_only_grow(OTHER_MOMENTS) {
        return;
    }
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    let beside = Db::open_read_only(PATH, keeping(&fs, 9)).unwrap();
    let all = foldb::feed::UpdatesOptions { include_unsynced: true };
    let mut follower = beside.with(&all).updates_since(&Position::BEGINNING).unwrap();
    fs.inject(FileFault::on(Operation::Write).path(".log").nth(1));
    let x = db.create_keyspace("x", foldb::KeyspaceOptions::default()).unwrap();
    x.with(&SYNC).put("k", "1").unwrap();
    fs.inject(FileFault::on(Operation::Write).path(".log").nth(1));
    db.drop_keyspace("x").unwrap();
    db.with(&SYNC).put("a", "1").unwrap();
    let created = r#"dropped [] created ["x"]"#;
    let expected = [created, "x:k=1", r#"dropped ["x"] created []"#, "default:a=1"];
    assert_eq!(since(&db, &Position::BEGINNING), expected);
    assert_eq!(told(&mut follower), expected, "beside");
    drop((x, db));
    let db = open_keeping(&fs.kill(), 2);
    db.with(&SYNC).put("a", "2").unwrap();
    let all = [&expected[..], &["default:a=2"]].concat();
    assert_eq!(since(&db, &Position::BEGINNING), all);
}

/// While the disk stays full, no write comes before the record. A keyspace that is dropped
/// meanwhile needs none.
#[test]
fn no_write_comes_before_the_record_of_a_creation() {
    if skipped_where_files_only_grow(OTHER_MOMENTS) {
        return;
    }
    for seals in [false, true] {
        let fs = MemFs::new();
        let db = open_keeping(&fs, 1);
        db.with(&SYNC).put("a", "1").unwrap();
        let full = || FileFault::on(Operation::Write).path(".log").forever();
        fs.inject(full());
        let x = db.create_keyspace("x", foldb::KeyspaceOptions::default()).unwrap();
        db.create_keyspace("y", foldb::KeyspaceOptions::default()).unwrap();
        assert_error(x.put("k", "1"), ErrorKind::Io, None);
        assert_error(db.put("a", "2"), ErrorKind::Io, None);
        db.drop_keyspace("y").unwrap();
        fs.clear_faults();
        if seals {
            db.flush().unwrap();
        }
        x.with(&SYNC).put("k", "2").unwrap();
        let found = since(&db, &Position::BEGINNING);
        assert_eq!(found, ["default:a=1", r#"dropped [] created ["x"]"#, "x:k=2"]);
    }
}

/// The database closes before a write comes. The next open announces the keyspace.
#[test]
fn an_open_announces_a_keyspace_whose_record_is_missing() {
    if skipped_where_files_only_grow(OTHER_MOMENTS) {
        return;
    }
    for closes in [false, true] {
        let fs = MemFs::new();
        let db = open_keeping(&fs, 1);
        db.with(&SYNC).put("a", "1").unwrap();
        fs.inject(FileFault::on(Operation::Write).path(".log").nth(1));
        db.create_keyspace("x", foldb::KeyspaceOptions::default()).unwrap();
        if closes {
            db.close().unwrap();
        }
        drop(db);
        let db = open_keeping(&fs.kill(), 2);
        db.sync().unwrap();
        let found = since(&db, &Position::BEGINNING);
        assert_eq!(found, ["default:a=1", r#"dropped [] created ["x"]"#]);
    }
}

/// The log is sealed before its records of a creation and of a drop could be appended, and its file
/// is removed. The next log listed the keyspaces as if the follower knew of them.
#[test]
fn a_log_that_ends_without_its_records_leaves_them_to_the_next_one() {
    if skipped_where_files_only_grow(OTHER_MOMENTS) {
        return;
    }
    for flushes in 1..3 {
        let fs = MemFs::new();
        let db = Db::open(PATH, Options { wal_retention_bytes: 1, ..keeping(&fs, 1) }).unwrap();
        let fails = || fs.inject(FileFault::on(Operation::Write).path(".log").nth(1));
        db.create_keyspace("old", foldb::KeyspaceOptions::default()).unwrap();
        db.with(&SYNC).put("a", "1").unwrap();
        let position = db.position().unwrap();
        fails();
        let x = db.create_keyspace("x", foldb::KeyspaceOptions::default()).unwrap();
        fails();
        db.drop_keyspace("old").unwrap();
        for _ in 0..flushes {
            db.flush().unwrap();
        }
        assert!(files(&fs, ".arc").is_empty());
        x.with(&SYNC).put("k", "1").unwrap();
        let found = since(&db, &position);
        let expected = [r#"dropped ["old"] created []"#, r#"dropped [] created ["x"]"#, "x:k=1"];
        assert_eq!(found, expected, "{flushes} flushes");
        drop((x, db));
        let db = open_keeping(&fs.kill(), 2);
        db.with(&SYNC).put("a", "2").unwrap();
        let found = since(&db, &position);
        assert_eq!(found, [&expected[..], &["default:a=2"]].concat(), "{flushes} flushes");
    }
}

/// A power loss takes the record of a creation with its whole log. The log before it was removed or
/// cannot be read, so nothing tells what followers at its end know. Such a follower once missed the
/// keyspace.
#[test]
fn a_follower_that_may_not_know_of_a_keyspace_has_lost_its_position() {
    for (is_damaged, creates) in [(false, false), (false, true), (true, true)] {
        let fs = MemFs::new();
        let kept = if is_damaged { 1 << 40 } else { 1 };
        let keeping = |seed| Options { wal_retention_bytes: kept, ..keeping(&fs, seed) };
        let db = Db::open(PATH, keeping(1)).unwrap();
        db.with(&SYNC).put("a", "1").unwrap();
        db.with(&SYNC).put("a", "2").unwrap();
        let position = db.position().unwrap();
        db.flush().unwrap();
        if creates {
            db.create_keyspace("x", foldb::KeyspaceOptions::default()).unwrap();
        }
        fs.sync_dir(Path::new(PATH)).unwrap();
        let fs = fs.crash();
        let archives = files(&fs, ".arc");
        assert_eq!(archives.len(), usize::from(is_damaged));
        for archive in archives {
            let path = Path::new(PATH).join(archive);
            let mut bytes = fs.read(&path).unwrap();
            let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
            bytes[last] ^= 1;
            fs.create(&path).unwrap().write_at(&bytes, 0).unwrap();
        }
        let keeping =
            |seed| Options { wal_retention_bytes: kept, ..super::support::keeping(&fs, seed) };
        let db = Db::open(PATH, keeping(2)).unwrap();
        db.with(&SYNC).put("a", "3").unwrap();
        match creates {
            true => drop(assert_error(db.updates_since(&position), ErrorKind::PositionLost, None)),
            // Nothing was ever announced.
            false => assert_eq!(since(&db, &position), ["default:a=3"]),
        }
        let oldest = db.oldest_position().unwrap();
        assert_eq!(since(&db, &oldest), ["default:a=3"]);
    }
}
