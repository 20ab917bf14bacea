//! How long entries live, to the nanosecond: at least their lifetime, and at most one bucket
//! longer.

use std::time::{Duration, SystemTime};

use foldb::env::{Clock, ManualClock, MemFs};
use foldb::expiry::{Expires, Expiry};
use foldb::{Db, ErrorKind, Keyspace, KeyspaceOptions, WriteBatch, WriteOptions};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::expiry::support::{START, clock, lists, open, seconds, settle};

const NANO: Duration = Duration::from_nanos(1);

/// Lifetimes from one millisecond to nine days: whole seconds, and any nanoseconds.
fn lifetime() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (1u64..800_000).prop_map(Duration::from_secs),
        (1u64..5).prop_map(Duration::from_secs),
        (1_000_000u64..800_000_000_000_000).prop_map(Duration::from_nanos),
        (1_000_000u64..3_000_000_000).prop_map(Duration::from_nanos),
        (1u64..5000).prop_map(Duration::from_millis),
    ]
}

/// The calls that begin the life of an entry.
#[derive(Clone, Copy, Debug)]
enum Begin {
    Put,
    Merge,
    Batch,
    PutIfAbsent,
    Transaction,
}

const BEGINS: [Begin; 5] =
    [Begin::Put, Begin::Merge, Begin::Batch, Begin::PutIfAbsent, Begin::Transaction];

/// Writes `a`. A batch and a transaction are filled some time before their commit.
fn begin(
    how: Begin,
    (db, own, clock): (&Db, &Keyspace, &ManualClock),
    expires: Option<Expires>,
    pause: Duration,
) {
    let options = WriteOptions { expires, ..WriteOptions::default() };
    match how {
        Begin::Put => own.with(&options).put("a", "1").unwrap(),
        Begin::Merge => own.with(&options).merge("a", "1").unwrap(),
        Begin::Batch => {
            let mut batch = WriteBatch::new();
            batch.set_expires(expires).merge_in(own, "a", "1");
            clock.advance(pause);
            db.write(&batch).unwrap();
        }
        Begin::PutIfAbsent => {
            assert!(own.with(&options).put_if_absent("a", "1").unwrap());
        }
        Begin::Transaction => {
            let transaction = db.begin().unwrap();
            transaction.keyspace(own).put("a", "1").unwrap();
            clock.advance(pause);
            transaction.commit().unwrap();
        }
    }
}

/// Asserts that `a`, written just now, lives for its lifetime and then at most a bucket more.
fn assert_lives(own: &Keyspace, clock: &ManualClock, lifetime: Duration, bucket: Duration) {
    let written = clock.time_of_day();
    assert!(own.contains_key("a").unwrap(), "absent when its write has returned");
    let end = own.expires_at("a").unwrap().unwrap();
    let lives = end.duration_since(SystemTime::UNIX_EPOCH).unwrap() - written;
    assert!(lives >= lifetime && lives <= lifetime + bucket, "{lives:?}, not {lifetime:?}");
    clock.advance(lifetime - NANO);
    assert!(own.contains_key("a").unwrap(), "gone before {lifetime:?}");
    clock.advance(NANO + bucket);
    assert!(!own.contains_key("a").unwrap(), "still there after {lifetime:?} and {bucket:?}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn an_entry_lives_its_lifetime_and_at_most_a_bucket_longer(
        lifetime in lifetime(),
        own_lifetime in lifetime(),
        bucket in prop_oneof![3 => Just(1u64), 1 => 1u64..100],
        pauses in proptest::collection::vec(0u64..3_000_000_000, 40),
    ) {
        let (fs, clock) = (MemFs::new(), clock());
        let db = open(&fs, &clock);
        let bucket = seconds(bucket);
        let rules = [
            ("last", Expiry::after_last_write(lifetime)),
            ("first", Expiry::after_first_write(lifetime)),
            ("each", Expiry::per_write()),
        ];
        let mut pauses = pauses.into_iter().map(Duration::from_nanos).cycle();
        for (name, expiry) in rules {
            let own = lists(&db, name, expiry.with_bucket(bucket));
            let says = expiry == Expiry::per_write();
            for how in BEGINS {
                let pause = pauses.next().unwrap();
                clock.advance(pauses.next().unwrap());
                if !says {
                    begin(how, (&db, &own, &clock), None, pause);
                    assert_lives(&own, &clock, lifetime, bucket);
                }
                if !matches!(how, Begin::Transaction) {
                    clock.advance(pauses.next().unwrap());
                    let expires = Some(Expires::After(own_lifetime));
                    begin(how, (&db, &own, &clock), expires, pause);
                    assert_lives(&own, &clock, own_lifetime, bucket);
                    let at = clock.time_of_day() + own_lifetime;
                    let expires = Some(Expires::At(SystemTime::UNIX_EPOCH + at));
                    begin(how, (&db, &own, &clock), expires, Duration::ZERO);
                    assert_lives(&own, &clock, own_lifetime, bucket);
                }
            }
        }
    }
}

/// Merges onto an entry renew its lifetime or leave it, wherever its records lie.
#[test]
fn merges_renew_a_lifetime_or_leave_it_to_the_nanosecond() {
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    for round in 0..60 {
        let lifetime = lifetime().new_tree(&mut runner).unwrap().current();
        let (fs, clock) = (MemFs::new(), clock());
        clock.advance(Duration::from_nanos(round * 16_777_213));
        let db = open(&fs, &clock);
        let bucket = seconds(1);
        let renewed = lists(&db, "renewed", Expiry::after_last_write(lifetime));
        let first = Expiry::after_first_write(lifetime).with_bucket(bucket);
        let kept = lists(&db, "kept", first);
        for own in [&renewed, &kept] {
            own.put("a", "1").unwrap();
        }
        if round % 2 == 0 {
            db.flush().unwrap();
        }
        clock.advance(lifetime / 2);
        for own in [&renewed, &kept] {
            own.merge("a", "2").unwrap();
        }
        if round % 3 == 0 {
            db.flush().unwrap();
            settle(&db);
        }
        clock.advance(lifetime - lifetime / 2 - NANO);
        for own in [&renewed, &kept] {
            assert_eq!(own.get("a").unwrap().unwrap(), "1,2", "lifetime {lifetime:?}");
        }
        clock.advance(NANO + bucket);
        assert!(!kept.contains_key("a").unwrap());
        clock.advance((lifetime / 2).saturating_sub(bucket + NANO));
        assert!(lifetime / 2 < bucket + NANO || renewed.contains_key("a").unwrap());
        clock.advance(bucket + bucket);
        assert!(!renewed.contains_key("a").unwrap());
    }
}

/// A lifetime that no clock reaches is none.
#[test]
fn huge_lifetimes_never_end_and_past_ends_end_at_once() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let each = lists(&db, "each", Expiry::per_write());
    let since_1970 = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    // Windows counts to the year 30828.
    let far = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(i64::MAX as u64 / 2));
    let latest = far.unwrap_or(since_1970(900_000_000_000));
    for expires in [
        Expires::After(Duration::MAX),
        Expires::After(Duration::from_secs(u64::MAX)),
        Expires::After(Duration::from_secs(1 << 32)),
        Expires::After(Duration::from_secs(u32::MAX.into())),
        // The year 3000.
        Expires::At(since_1970(32_503_680_000)),
        Expires::At(latest),
        Expires::Never,
    ] {
        let options = WriteOptions { expires: Some(expires), ..WriteOptions::default() };
        each.with(&options).put("a", "1").unwrap();
        assert_eq!(each.expires_at("a").unwrap(), None, "{expires:?}");
        assert!(each.contains_key("a").unwrap(), "{expires:?}");
    }
    for past in [since_1970(0), since_1970(START), SystemTime::UNIX_EPOCH - seconds(1)] {
        let expires = Some(Expires::At(past));
        each.with(&WriteOptions { expires, ..WriteOptions::default() }).put("a", "1").unwrap();
        assert!(!each.contains_key("a").unwrap(), "{past:?}");
    }
    for huge in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_secs(u32::MAX.into())]
    {
        let rules = [Expiry::after_last_write(huge), Expiry::after_first_write(huge)];
        for (name, expiry) in ["last", "first"].into_iter().zip(rules) {
            let own = lists(&db, &format!("{name} {huge:?}"), expiry.with_bucket(seconds(1)));
            own.put("a", "1").unwrap();
            own.merge("a", "2").unwrap();
            assert_eq!(own.expires_at("a").unwrap(), None);
            db.flush().unwrap();
            own.compact(..).unwrap();
            assert_eq!(own.get("a").unwrap().unwrap(), "1,2");
            let spelt = own.options().expiry.unwrap().to_string();
            assert_eq!(spelt.parse::<Expiry>().unwrap().to_string(), spelt);
        }
    }
}

/// A bucket is whole seconds that the format can hold; a lifetime is more than nothing.
#[test]
fn buckets_and_lifetimes_that_cannot_be_kept_are_refused() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    let day = seconds(86_400);
    for (expiry, why) in [
        (Expiry::after_last_write(Duration::ZERO), "lifetime"),
        (Expiry::after_first_write(Duration::ZERO), "lifetime"),
        (Expiry::per_write().with_bucket(Duration::ZERO), "bucket"),
        (Expiry::per_write().with_bucket(Duration::from_millis(1500)), "bucket"),
        (Expiry::after_last_write(day).with_bucket(Duration::MAX), "bucket"),
        (Expiry::per_write().with_bucket(Duration::from_secs(1 << 32)), "bucket"),
    ] {
        let options = KeyspaceOptions { expiry: Some(expiry), ..KeyspaceOptions::default() };
        let error = db.create_keyspace("own", options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(why), "{error}");
        assert!(expiry.to_string().parse::<Expiry>().is_err());
    }
    // The usual bucket of any lifetime is one that can be kept.
    for lifetime in [Duration::from_millis(1), seconds(100), Duration::MAX] {
        let expiry = Expiry::after_first_write(lifetime);
        let name = format!("{lifetime:?}");
        let own = lists(&db, &name, expiry);
        assert_eq!(own.options().expiry.unwrap().to_string(), expiry.to_string());
    }
}

/// Lifetimes keep their nanoseconds over a reopen, and in the text of an expiry.
#[test]
fn the_lifetime_of_a_keyspace_keeps_its_fraction() {
    let (fs, clock) = (MemFs::new(), clock());
    let db = open(&fs, &clock);
    for (nanos, text) in [
        (1_000_000, "after-last-write:0.001"),
        (1_500_000_000, "after-last-write:1.5"),
        (86_400_000_000_001, "after-last-write:86400.000000001"),
        (3_000_000_000, "after-last-write:3"),
    ] {
        let expiry = Expiry::after_last_write(Duration::from_nanos(nanos));
        assert_eq!(expiry.to_string(), text);
        assert_eq!(text.parse::<Expiry>().unwrap(), expiry);
        lists(&db, text, expiry);
    }
    drop(db);
    let db = open(&fs, &clock);
    for name in db.keyspaces() {
        let expected = name.parse::<Expiry>().ok();
        assert_eq!(db.keyspace(&name).unwrap().options().expiry, expected);
    }
    for wrong in ["after-last-write:1.", "after-last-write:.5", "after-last-write:1.0000000001"] {
        assert!(wrong.parse::<Expiry>().is_err(), "{wrong}");
    }
}
