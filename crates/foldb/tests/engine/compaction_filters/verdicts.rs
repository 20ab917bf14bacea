//! What a filter is shown, and what its verdicts do.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use foldb::custom::{Comparator, Verdict};
use foldb::env::MemFs;
use foldb::expiry::Expiry;
use foldb::feed::Position;
use foldb::{Compression, Db, KeyspaceOptions, Options};

use super::support::{Noting, Part, by_value, filtered, open, owned};
use crate::support::{PATH, number, reopen, text};

#[test]
fn a_compaction_keeps_removes_and_changes_what_the_filter_says() {
    let (fs, filter) = (MemFs::new(), Noting::by(by_value));
    let db = Db::open(PATH, filtered(&fs, &filter)).unwrap();
    for (key, value) in [("a", "keep"), ("b", "remove"), ("c", "change"), ("d", "keep")] {
        db.put(key, value).unwrap();
    }
    db.delete("d").unwrap();
    db.flush().unwrap();
    assert_eq!(filter.take_shown(), [], "a flush shows nothing");
    assert_eq!(text(&db, "b").as_deref(), Some("remove"));
    assert_eq!(filter.take_shown(), [], "a read shows nothing");
    let before = db.snapshot().sequence_number();
    db.compact(..).unwrap();
    assert_eq!(filter.take_shown(), owned([("a", "keep"), ("b", "remove"), ("c", "change")]));
    let part = Part { keyspace: "default".to_owned(), level: 6, is_full: true, is_manual: true };
    assert_eq!(filter.take_parts(), [part]);
    assert_eq!(db.snapshot().sequence_number(), before, "a verdict is no write");
    let check = |db: &Db| {
        assert_eq!(text(db, "a").as_deref(), Some("keep"));
        assert_eq!(text(db, "b"), None);
        assert_eq!(text(db, "c").as_deref(), Some("changed"));
        assert_eq!(db.iter().unwrap().map(Result::unwrap).count(), 2);
        db.verify().unwrap();
    };
    check(&db);
    drop(db);
    check(&reopen(&fs).unwrap());
}

#[test]
fn merges_are_shown_folded_and_once() {
    let filter = Noting::by(|_, value| match value {
        [20, ..] => Verdict::Change(number(100).to_vec()),
        _ => Verdict::Remove,
    });
    let db = open(&filter);
    for _ in 0..4 {
        for _ in 0..5 {
            db.merge("a", number(1)).unwrap();
        }
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    assert_eq!(filter.take_keys(), ["a"]);
    assert_eq!(db.get("a").unwrap().unwrap(), number(100));
    db.merge("a", number(1)).unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), number(101));
    db.compact(..).unwrap();
    assert_eq!(db.get("a").unwrap(), None);
}

#[test]
fn the_change_feed_does_not_tell_a_verdict() {
    let filter = Noting::by(by_value);
    let keeping = Options { wal_retention_bytes: 1 << 20, ..filtered(&MemFs::new(), &filter) };
    let db = Db::open(PATH, keeping).unwrap();
    db.put("a", "remove").unwrap();
    db.compact(..).unwrap();
    db.sync().unwrap();
    assert_eq!(text(&db, "a"), None);
    let updates = db.updates_since(&Position::BEGINNING).unwrap();
    assert_eq!(updates.map(Result::unwrap).count(), 1, "the put alone");
}

#[test]
fn a_kept_value_in_a_segment_is_not_rewritten_and_a_removed_one_is_dead() {
    let filter = Noting::by(by_value);
    let mut separating = filtered(&MemFs::new(), &filter);
    separating.default.value_separation_min = Some(100);
    separating.default.compression = Some(Compression::None);
    let db = Db::open(PATH, separating).unwrap();
    let long = |what: &str| format!("{what}{}", ".".repeat(1000));
    for (key, what) in [("a", "keep"), ("b", "remove"), ("c", "change")] {
        db.put(key, long(what)).unwrap();
    }
    db.flush().unwrap();
    let before = db.stats();
    assert!(before.segments.live_bytes > 3000, "{:?}", before.segments);
    db.compact(..).unwrap();
    let after = db.stats();
    let shown = owned([("a", &long("keep")), ("b", &long("remove")), ("c", &long("change"))]);
    assert_eq!(filter.take_shown(), shown);
    assert_eq!(after.bytes_segments, before.bytes_segments, "no value is written again");
    let died = before.segments.live_bytes - after.segments.live_bytes;
    assert!((2000..2200).contains(&died), "{died}");
    assert_eq!(text(&db, "a"), Some(long("keep")));
    assert_eq!(text(&db, "b"), None);
    assert_eq!(text(&db, "c").as_deref(), Some("changed"));
    db.verify().unwrap();
}

#[test]
fn a_changed_value_that_is_long_goes_to_a_segment() {
    let filter = Noting::by(|_, value| Verdict::Change(value.repeat(2)));
    let mut separating = filtered(&MemFs::new(), &filter);
    separating.default.value_separation_min = Some(100);
    let db = Db::open(PATH, separating).unwrap();
    db.put("a", "x".repeat(80)).unwrap();
    db.put("b", "y".repeat(150)).unwrap();
    db.compact(..).unwrap();
    let segments = db.stats().segments;
    assert!(segments.live_bytes >= 160 + 300, "{segments:?}");
    assert_eq!(text(&db, "a"), Some("x".repeat(160)));
    assert_eq!(text(&db, "b"), Some("y".repeat(300)));
    db.verify().unwrap();
}

#[test]
fn values_that_expire_are_shown_without_their_end_and_keep_it() {
    let filter = Noting::by(by_value);
    let db = open(&filter);
    let hour = Expiry::after_last_write(Duration::from_secs(3600));
    let expiring =
        KeyspaceOptions { expiry: Some(hour), ..KeyspaceOptions::with_operator("stringappend:,") };
    let sessions = db.create_keyspace("sessions", expiring).unwrap();
    sessions.set_compaction_filter(Some(Arc::clone(&filter) as _));
    sessions.put("a", "change").unwrap();
    sessions.merge("b", "keep").unwrap();
    sessions.merge("b", "2").unwrap();
    sessions.put("c", "remove").unwrap();
    let end = sessions.expires_at("a").unwrap();
    assert!(end.is_some());
    sessions.compact(..).unwrap();
    assert_eq!(filter.take_shown(), owned([("a", "change"), ("b", "keep,2"), ("c", "remove")]));
    assert_eq!(text(&sessions, "a").as_deref(), Some("changed"));
    assert_eq!(sessions.expires_at("a").unwrap(), end);
    assert_eq!(text(&sessions, "b").as_deref(), Some("keep,2"));
    assert_eq!(text(&sessions, "c"), None);
}

/// Letters of either case are equal.
#[derive(Debug)]
struct WithoutCase;

impl Comparator for WithoutCase {
    fn name(&self) -> &str {
        "test.without_case"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        false
    }
}

#[test]
fn a_key_of_several_spellings_is_shown_once_as_it_was_last_written() {
    let filter = Noting::by(by_value);
    let mut spelled = filtered(&MemFs::new(), &filter);
    spelled.default.comparator = Some(Arc::new(WithoutCase));
    let db = Db::open(PATH, spelled).unwrap();
    for (key, value) in [("key", "keep"), ("KEY", "remove"), ("other", "remove"), ("Other", "keep")]
    {
        db.put(key, value).unwrap();
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    assert_eq!(filter.take_shown(), owned([("KEY", "remove"), ("Other", "keep")]));
    assert_eq!(text(&db, "key"), None);
    assert_eq!(text(&db, "other").as_deref(), Some("keep"));
}
