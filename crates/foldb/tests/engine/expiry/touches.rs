//! Touches and changed lifetimes: entries get new ends and keep their values.

use foldb::env::{Env, MemFs};
use foldb::expiry::{Expires, Expiry};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, TransactionOptions, WriteOptions};

use crate::expiry::support::{START, clock, lists, open, read, seconds, set, settle};
use crate::support::{PATH, error_of, options};

/// Returns the second of the tests at which a key expires.
fn end(keyspace: &foldb::Keyspace, key: &str) -> Option<u64> {
    let end = keyspace.expires_at(key).unwrap()?;
    Some(end.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() - START)
}

#[test]
fn a_touch_renews_the_end_and_revives_nothing() {
    for expiry in [Expiry::after_last_write(seconds(10)), Expiry::after_first_write(seconds(10))] {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let own = lists(&db, "sessions", expiry);
        own.put("a", "1").unwrap();
        own.merge("a", "2").unwrap();
        assert!(!own.touch("b").unwrap());
        assert_eq!(read(&own, "b"), None);
        set(&clock, 9);
        assert!(own.touch("a").unwrap());
        assert_eq!((end(&own, "a"), read(&own, "a")), (Some(19), Some("1,2".to_owned())));
        set(&clock, 19);
        assert!(!own.touch("a").unwrap(), "it expired at this second");
        assert_eq!(read(&own, "a"), None);
        db.flush().unwrap();
        settle(&db);
        assert_eq!(read(&own, "a"), None);
    }
}

#[test]
fn an_end_can_be_set_and_taken_away() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "tokens", Expiry::per_write());
    own.put("a", "1").unwrap();
    assert!(own.expire("a", Expires::After(seconds(5))).unwrap());
    assert_eq!(end(&own, "a"), Some(5));
    assert!(own.persist("a").unwrap());
    assert_eq!(end(&own, "a"), None);
    own.merge("a", "2").unwrap();
    set(&clock, 100);
    assert_eq!(read(&own, "a").unwrap(), "1,2");
    let hour = WriteOptions { expires: Some(Expires::After(seconds(3600))), ..Default::default() };
    assert!(own.with(&hour).touch("a").unwrap());
    assert_eq!(end(&own, "a"), Some(3700));
    assert!(own.expire("a", Expires::At(std::time::UNIX_EPOCH)).unwrap(), "it ends at once");
    assert_eq!(read(&own, "a"), None);
    assert!(!own.expire("a", Expires::Never).unwrap());
}

fn assert_refused(result: foldb::Result<bool>, advice: &str) {
    let error = error_of(result);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains(advice), "{error}");
}

#[test]
fn a_touch_says_what_is_missing() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "tokens", Expiry::per_write());
    own.put("a", "1").unwrap();
    assert_refused(own.touch("a"), "call expire, or persist");
    let plain = db.create_keyspace("plain", KeyspaceOptions::default()).unwrap();
    plain.put("a", "1").unwrap();
    assert_refused(plain.touch("a"), "KeyspaceOptions::expiry");
    assert_refused(plain.persist("a"), "KeyspaceOptions::expiry");
}

#[test]
fn a_transaction_touches_what_it_sees() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "sessions", Expiry::after_last_write(seconds(10)));
    own.put("a", "1").unwrap();
    set(&clock, 5);
    db.transact(|transaction| {
        let inside = transaction.keyspace(&own);
        inside.merge("a", "2")?;
        assert!(inside.touch("a")? && !inside.touch("b")?);
        inside.put("c", "3")?;
        assert!(inside.expire("c", Expires::After(seconds(60)))?);
        inside.put("d", "4")
    })
    .unwrap();
    let ends = ["a", "b", "c", "d"].map(|key| end(&own, key));
    assert_eq!(ends, [Some(15), None, Some(65), Some(15)]);
    assert_eq!(read(&own, "a").unwrap(), "1,2");

    let transaction = db.with(&TransactionOptions::default()).begin().unwrap();
    assert!(transaction.keyspace(&own).touch("a").unwrap());
    own.put("a", "other").unwrap();
    assert_eq!(transaction.commit().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(read(&own, "a").unwrap(), "other");
}

#[test]
fn a_merge_that_comes_between_survives_a_touch() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "sessions", Expiry::after_last_write(seconds(1000)));
    own.put("a", "0").unwrap();
    std::thread::scope(|scope| {
        let merges = scope.spawn(|| (0..500).try_for_each(|_| own.merge("a", "1")));
        while !merges.is_finished() {
            assert!(own.touch("a").unwrap());
        }
        merges.join().unwrap().unwrap();
    });
    assert_eq!(read(&own, "a").unwrap().len(), 1 + 500 * 2);
}

#[test]
fn a_lifetime_changes_for_the_writes_that_follow() {
    for expiry in [Expiry::after_last_write(seconds(10)), Expiry::after_first_write(seconds(10))] {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let own = lists(&db, "sessions", expiry);
        for key in ["a", "b", "c"] {
            own.put(key, "1").unwrap();
        }
        own.set_lifetime(seconds(100)).unwrap();
        own.put("b", "2").unwrap();
        assert!(own.touch("c").unwrap());
        let ends = ["a", "b", "c"].map(|key| end(&own, key));
        assert_eq!(ends, [Some(10), Some(100), Some(100)]);
        drop((own, db));

        let db = open(&fs, &clock);
        let own = db.keyspace("sessions").unwrap();
        own.put("d", "3").unwrap();
        assert_eq!(end(&own, "d"), Some(100), "the new lifetime is stored");
        let ends = ["a", "b", "c"].map(|key| end(&own, key));
        assert_eq!(ends, [Some(10), Some(100), Some(100)]);
        let options = own.options();
        assert_ne!(options.expiry, Some(expiry));
        own.set_lifetime(seconds(10)).unwrap();
        assert_eq!(own.options().expiry, Some(expiry), "rule and bucket stay");
        set(&clock, 10);
        db.flush().unwrap();
        settle(&db);
        assert_eq!(read(&own, "a"), None);
        assert_eq!(read(&own, "c").unwrap(), "1");
    }
}

#[test]
fn a_lifetime_that_cannot_change_says_why() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let refused = |keyspace: &foldb::Keyspace, lifetime: u64, why: &str| {
        assert_refused(keyspace.set_lifetime(seconds(lifetime)).map(|()| true), why);
    };
    refused(&lists(&db, "tokens", Expiry::per_write()), 10, "each write says");
    let plain = db.create_keyspace("plain", KeyspaceOptions::default()).unwrap();
    refused(&plain, 10, "do not expire");
    let own = lists(&db, "sessions", Expiry::after_last_write(seconds(10)));
    refused(&own, 0, "lifetime of an expiry is zero");
    own.put("a", "1").unwrap();
    assert_eq!(end(&own, "a"), Some(10));
    db.drop_keyspace("sessions").unwrap();
    let error = error_of(own.set_lifetime(seconds(20)));
    assert_eq!(error.kind(), ErrorKind::KeyspaceDropped, "{error}");
}

#[test]
fn a_copy_has_the_changed_lifetime() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let own = lists(&db, "sessions", Expiry::after_last_write(seconds(10)));
    own.put("a", "1").unwrap();
    own.set_lifetime(seconds(100)).unwrap();
    let mut dump = Vec::new();
    db.dump(&mut dump).unwrap();
    let to = MemFs::new();
    let mut of_copy = options(&to);
    of_copy.env.clock = clock.clone();
    Db::restore(&dump[..], PATH, of_copy).unwrap();
    db.checkpoint("/checkpoint").unwrap();
    let env = Env { clock: clock.clone(), ..Env::in_memory(fs.clone()) };
    let checkpoint = Db::open("/checkpoint", Options { env, ..options(&fs) }).unwrap();
    for (copy, what) in [(open(&to, &clock), "dump"), (checkpoint, "checkpoint")] {
        let own = copy.keyspace("sessions").unwrap();
        let hundred = Some(Expiry::after_last_write(seconds(100)));
        assert_eq!(own.options().expiry, hundred, "{what}");
        own.put("b", "1").unwrap();
        assert_eq!((end(&own, "a"), end(&own, "b")), (Some(10), Some(100)), "{what}");
    }
}
