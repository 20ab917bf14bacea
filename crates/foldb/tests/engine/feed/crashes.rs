//! Power losses and kills at every call that changes the disk, while logs are archived: what the
//! feed yielded stays, and a follower continues at its position.

use foldb::env::MemFs;
use foldb::env::mem::Fault;
use foldb::feed::Position;
use foldb::{Db, ErrorKind, Options, Result, WriteOptions};

use super::support::{files, keeping, line, since, told};
use crate::support::PATH;

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
/// Number of crash outcomes to check.
const SEEDS: u64 = 4;
/// Keys of an open.
const KEYS: usize = 7;

/// What a follower and a writer know.
struct Told {
    /// What the feed yielded, and the position after it.
    seen: Vec<String>,
    position: Position,
    /// Synced writes, also as an update.
    synced: Vec<String>,
}

/// Opens twice, writes, flushes, and follows.
fn program(fs: &MemFs, retention: u64, known: &mut Told) -> Result<()> {
    for open in 0..2 {
        let options = Options { wal_retention_bytes: retention, ..keeping(fs, 10 + open) };
        let db = Db::open(PATH, options)?;
        let mut updates = db.updates_since(&known.position)?;
        for n in 0..KEYS {
            db.with(&SYNC).put(format!("{n}"), format!("{open}"))?;
            known.synced.push(format!("default:{n}={open}"));
            if n % 3 == 1 {
                db.flush()?;
            }
            while let Some(update) = updates.next() {
                known.seen.push(line(&update?));
                known.position = updates.position();
            }
        }
        match open {
            0 => db.close()?,
            _ => std::mem::forget(db),
        }
    }
    Ok(())
}

fn new() -> Told {
    Told { seen: Vec::new(), position: Position::BEGINNING, synced: Vec::new() }
}

/// Opens what a crash left, and returns all updates that the database still has.
fn check(left: &MemFs, retention: u64, known: &Told, moment: &str) {
    let options = Options { wal_retention_bytes: retention, ..keeping(left, 99) };
    let db = Db::open(PATH, options).unwrap_or_else(|error| panic!("{moment}: {error}"));
    let position = known.position;
    let rest = match db.updates_since(&position) {
        Ok(mut rest) => told(&mut rest),
        // The bound removed what the follower had not read.
        Err(error) if error.kind() == ErrorKind::PositionLost && retention < 1 << 40 => {
            let oldest = db.oldest_position().unwrap();
            assert!(oldest.sequence_number() > position.sequence_number(), "{moment}: {error}");
            return;
        }
        Err(error) => panic!("{moment}: {error}"),
    };
    let all = [&known.seen[..], &rest[..]].concat();
    assert!(all.len() >= known.synced.len(), "{moment}: {all:?}");
    assert_eq!(all[..known.synced.len()], known.synced, "{moment}");
    assert!(all.len() <= known.synced.len() + 1, "{moment}: {all:?}");
    if retention == 1 << 40 {
        assert_eq!(since(&db, &Position::BEGINNING), all, "{moment}: from the beginning");
    }
    // Every archive that is left belongs to the history.
    let archived = db.stats().archived_logs;
    assert_eq!(archived, files(left, ".arc").len() as u64, "{moment}");
}

fn crash_everywhere(retention: u64) {
    let whole = MemFs::new();
    let mut known = new();
    program(&whole, retention, &mut known).unwrap();
    assert_eq!(known.seen, known.synced);
    let calls = whole.counts().mutations();
    for point in 1..=calls {
        let fs = MemFs::new();
        fs.inject(Fault::on_mutation().nth(point).forever());
        let mut known = new();
        let _stopped = program(&fs, retention, &mut known);
        for seed in 0..SEEDS {
            let moment = format!("call {point} of {calls}, seed {seed}");
            check(&fs.crash_with(seed), retention, &known, &moment);
        }
        check(&fs.kill(), retention, &known, &format!("call {point} of {calls}, kill"));
    }
}

#[test]
fn archived_logs_survive_power_loss_at_every_call() {
    crash_everywhere(1 << 40);
}

#[test]
fn logs_beyond_the_bound_go_one_by_one_at_every_call() {
    crash_everywhere(400);
}

/// A tool that opens the database after the kill asks, and must not end the feed.
#[test]
fn a_kill_during_an_open_does_not_hide_the_feed() {
    for closes in [false, true] {
        let begun = MemFs::new();
        let db = Db::open(PATH, keeping(&begun, 1)).unwrap();
        db.with(&SYNC).put("a", "1").unwrap();
        if closes {
            db.close().unwrap();
        }
        let calls = |fs: &MemFs| drop(Db::open(PATH, keeping(fs, 2)));
        let whole = begun.kill();
        let before = whole.counts().mutations();
        calls(&whole);
        for point in 1..=whole.counts().mutations() - before {
            for torn in [0, 7, 60] {
                let fs = begun.kill();
                fs.inject(Fault::on_mutation().nth(point).torn_at(torn).forever());
                calls(&fs);
                let left = fs.kill();
                let has_feed = Db::has_feed(PATH, &keeping(&left, 3)).unwrap();
                assert!(has_feed, "closed {closes}, call {point}, {torn} bytes");
            }
        }
    }
}

/// An open copies the replayed log to an archived log and stops before its edit. A power loss then
/// takes the frames of the log and leaves the copy. The copy is no history of this database.
#[test]
fn the_copy_of_a_cut_open_does_not_bring_lost_writes_into_the_feed() {
    let begun = MemFs::new();
    let db = Db::open(PATH, keeping(&begun, 1)).unwrap();
    db.with(&SYNC).put("synced", "1").unwrap();
    db.flush().unwrap();
    let mut updates = db.updates_since(&Position::BEGINNING).unwrap();
    assert_eq!(told(&mut updates), ["default:synced=1"]);
    let position = updates.position();
    for key in ["a", "b", "c"] {
        db.put(key, "1").unwrap();
    }
    drop(updates);
    let open = |fs: &MemFs, seed| Db::open(PATH, keeping(fs, seed));
    let whole = begun.kill();
    let before = whole.counts().mutations();
    std::mem::forget(open(&whole, 2).unwrap());
    let mut took = 0;
    for point in 1..=whole.counts().mutations() - before {
        let cut = begun.kill();
        cut.inject(Fault::on_mutation().nth(point).forever());
        drop(open(&cut, 2));
        for seed in 0..16 {
            let db = open(&cut.crash_with(seed), 3).unwrap();
            let keys = ["a", "b", "c"].into_iter().filter(|key| db.get(key).unwrap().is_some());
            let kept: Vec<_> = keys.map(|key| format!("default:{key}=1")).collect();
            took += usize::from(kept.len() < 3);
            let fed = since(&db, &position);
            let fed: Vec<_> =
                fed.into_iter().filter(|line| !line.starts_with("unlogged")).collect();
            assert_eq!(fed, kept, "call {point}, seed {seed}");
            db.with(&SYNC).put("a", "2").unwrap();
            assert_eq!(since(&db, &position).last().unwrap(), "default:a=2");
        }
    }
    assert!(took > 0, "no power loss took a write");
}
