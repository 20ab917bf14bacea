//! What a visitor sees, and in which order.

use std::ops::ControlFlow;

use foldb_env::{Env, MemFs};

use super::{KeyVisitor, Place, Sought};
use crate::db::Db;
use crate::db::read::settings::ReadSettings;
use crate::key::{MAX_SEQNO, RecordHeader, SeqNo};
use crate::options::{KeyspaceOptions, Options};
use crate::value::Value;

/// Writes down what it sees, and ends the walk at the first base if it is told to.
#[derive(Default)]
struct Log {
    seen: String,
    stops_at_base: bool,
}

impl KeyVisitor for Log {
    fn enter(&mut self, place: Place, largest_seqno: SeqNo) -> bool {
        self.seen += match place {
            Place::Memtable { age: 0 } => "| memtable ",
            Place::Memtable { .. } => "| older memtable ",
            Place::Table { level: 0, .. } => "| table ",
            Place::Table { .. } => "| deep table ",
        };
        assert!(matches!(place, Place::Table { .. }) || largest_seqno == MAX_SEQNO);
        true
    }

    fn cover(&mut self, seqno: SeqNo) -> ControlFlow<()> {
        self.seen += &format!("covered to {seqno} ");
        ControlFlow::Continue(())
    }

    fn filtered(&mut self, admits: bool) {
        self.seen += if admits { "" } else { "filtered " };
    }

    fn record(&mut self, header: RecordHeader, value: impl FnOnce() -> Value) -> ControlFlow<()> {
        self.seen += &format!("{:?}.{}({}) ", header.kind, header.seqno, value().escape_ascii());
        match self.stops_at_base && header.kind.is_base() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

fn walk(db: &Db, key: &str, seqno: SeqNo, stops_at_base: bool) -> String {
    let keyspace = db.core().keyspaces.default();
    let mut log = Log { stops_at_base, ..Log::default() };
    let sought = Sought::new(key.as_bytes(), seqno);
    keyspace.walk_key(&keyspace.view.load(), &sought, ReadSettings::default(), &mut log).unwrap();
    log.seen.trim_end().to_owned()
}

/// The cover of a place comes before its records, and also from a table whose filter does not admit
/// the key.
#[test]
fn h10_a_walk_meets_covers_before_filters_and_newer_places_before_older_ones() {
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("stringappend:,"),
        disable_auto_compactions: true,
        env: Env::in_memory(MemFs::new()),
        ..Options::default()
    };
    let db = Db::open("db", options).unwrap();
    db.put("key", "old").unwrap();
    db.flush().unwrap();
    db.delete_range("k".."l").unwrap();
    db.put("kin", "x").unwrap();
    db.flush().unwrap();
    db.merge("key", "a").unwrap();
    let snapshot = db.snapshot();
    db.merge("key", "b").unwrap();
    db.delete_range("k".."kez").unwrap();
    db.put("key", "new").unwrap();

    let everything = "| memtable covered to 6 Put.7(new) Merge.5(b) Merge.4(a) \
                      | table covered to 2 filtered | table Put.0(old)";
    assert_eq!(walk(&db, "key", MAX_SEQNO, false), everything);
    assert_eq!(walk(&db, "key", MAX_SEQNO, true), "| memtable covered to 6 Put.7(new)");
    let at_snapshot = "| memtable Merge.4(a) | table covered to 2 filtered | table Put.0(old)";
    assert_eq!(walk(&db, "key", snapshot.sequence_number(), false), at_snapshot);
    assert_eq!(walk(&db, "kin", MAX_SEQNO, true), "| memtable | table Put.3(x)");
    assert_eq!(walk(&db, "a", MAX_SEQNO, true), "| memtable");
}
