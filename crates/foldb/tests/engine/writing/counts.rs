//! Counts of writes after a kill and after a close.

use foldb::env::MemFs;
use foldb::{Db, Options};

use super::durability::key;
use crate::support::{PATH, count, number, options, reopen};

/// After a kill, statistics once said that nothing was ever written.
#[test]
fn counts_of_writes_survive_a_kill() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    let counts = |db: &Db| {
        let stats = db.stats();
        (stats.puts, stats.merges, stats.deletes, stats.range_deletes, stats.bytes_user)
    };
    for flushed in [false, true] {
        for n in 0..200 {
            db.put(key(n), "value").unwrap();
            db.merge("count", number(1)).unwrap();
            db.delete(key(n + 1)).unwrap();
            db.delete_range(key(n)..key(n + 1)).unwrap();
        }
        let killed = fs.kill();
        let reopened = reopen(&killed).unwrap();
        assert_eq!(counts(&reopened), counts(&db), "{flushed}");
        drop(reopened);
        assert_eq!(counts(&reopen(&killed).unwrap()), counts(&db), "once more: {flushed}");
        db.flush().unwrap();
    }
    assert_eq!(count(&db, "count"), 400);
}

#[test]
fn stats_survive_a_clean_close() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
    for n in 0..300 {
        db.put(key(n), "value").unwrap();
        db.merge("count", number(1)).unwrap();
        db.delete(key(n + 1)).unwrap();
    }
    db.compact(..).unwrap();
    db.put("in the log", "1").unwrap();
    let before = db.stats();
    assert_eq!((before.puts, before.merges, before.deletes), (301, 300, 300));
    assert!(before.flushes > 1 && before.bytes_flush > 0 && before.bytes_log > 0);
    assert!(before.write_amplification() > 1.0);
    db.close().unwrap();
    drop(db);
    let db = reopen(&fs).unwrap();
    let after = db.stats();
    assert_eq!((after.puts, after.merges, after.deletes), (301, 300, 300));
    assert_eq!(after.bytes_user, before.bytes_user);
    assert_eq!(after.compactions, before.compactions);
    assert_eq!(after.compaction_records_in, before.compaction_records_in);
    assert!(after.flushes >= before.flushes && after.bytes_flush >= before.bytes_flush);
    assert!(after.bytes_log >= before.bytes_log);
    assert!(after.levels.iter().any(|level| level.bytes_written > 0));
    db.put("one", "more").unwrap();
    assert_eq!(db.stats().puts, 302);
}
