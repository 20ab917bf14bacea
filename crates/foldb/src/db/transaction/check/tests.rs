//! The work of the check, in comparisons of keys.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use foldb_env::{Env, MemFs};

use super::*;
use crate::db::handle::database::Db;
use crate::db::state::recent_writes::EdgeRange;
use crate::db::transaction::claims::{Claims, Forbids};
use crate::encoding::key_hash;
use crate::key::{Kind, NO_OPERATOR};
use crate::operation::Operation;
use crate::options::{KeyspaceOptions, Options};
use crate::range_tombstone::Edge;
use crate::testing::orders::Counting;

const RANGES: u32 = 2000;
const KEYS: u32 = 2000;
const WRITES: u32 = 10_000;
const DELETED_RANGES: u32 = 200;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn range(start: u32) -> EdgeRange {
    let (start, end) = (key(start), key(start + 1));
    EdgeRange { start: Edge::Before(start[..].into()), end: Edge::Before(end[..].into()) }
}

/// Claims and notes that never meet: claims lie at even numbers, notes at odd ones.
#[test]
fn the_check_takes_comparisons_for_claims_and_notes_and_not_for_their_product() {
    let options = Options {
        create_if_missing: true,
        env: Env::in_memory(MemFs::new()),
        ..Options::default()
    };
    let db = Db::open("db", options).unwrap();
    let counting = Arc::new(Counting::default());
    let options =
        KeyspaceOptions { comparator: Some(Arc::clone(&counting) as _), ..Default::default() };
    let keyspace = db.create_keyspace("counting", options).unwrap();
    let id = keyspace.state().id;
    let mut rng = fastrand::Rng::with_seed(3);
    let mut claims = Claims::new(64 << 20);
    let mut numbers: Vec<u32> = (0..RANGES + KEYS).map(|number| 2 * number).collect();
    rng.shuffle(&mut numbers);
    let (ranges, keys) = numbers.split_at(RANGES as usize);
    ranges.iter().for_each(|&number| claims.add_range(&keyspace, range(number)));
    for &number in keys {
        let hash = key_hash(&key(number));
        claims.add_key(&keyspace, &key(number), hash, Forbids::Any);
    }
    let mut recent = RecentWrites::new();
    recent.start(0);
    let odd = |rng: &mut fastrand::Rng| 2 * rng.u32(..RANGES + KEYS) + 1;
    for seqno in 1..=u64::from(WRITES) {
        let key = &key(odd(&mut rng))[..];
        let put = Operation {
            kind: Kind::Put,
            keyspace: id,
            operator: NO_OPERATOR,
            key,
            value: b"",
            stamped: false,
        };
        recent.note(&put, seqno);
    }
    for seqno in 1..=u64::from(DELETED_RANGES) {
        recent.note_range(id, range(odd(&mut rng)), u64::from(WRITES) + seqno);
    }
    counting.0.store(0, Relaxed);
    let mut check = Check::new(claims.settle(), 0);
    let (mut before_the_lock, mut under_the_lock) = (counting.0.swap(0, Relaxed), 0);
    let mut longest_hold = 0;
    loop {
        let verdict = check.catch_up(&recent);
        let held = counting.0.swap(0, Relaxed);
        (under_the_lock, longest_hold) = (under_the_lock + held, held.max(longest_hold));
        if verdict == Verdict::Hold {
            break;
        }
        assert_eq!(verdict, Verdict::Behind);
        assert!(check.prepare());
        before_the_lock += counting.0.swap(0, Relaxed);
    }
    println!("{before_the_lock} comparisons without the lock, {under_the_lock} under it");
    let logarithm = u64::from((RANGES + KEYS).ilog2() + 1);
    let sorted = u64::from(RANGES + KEYS + DELETED_RANGES);
    assert!(before_the_lock <= sorted * (logarithm + 2), "{before_the_lock}");
    let searches = u64::from(WRITES + DELETED_RANGES);
    assert!(under_the_lock <= searches * (logarithm + 2), "{under_the_lock}");
    let at_once = NOTES_AT_ONCE as u64 * (logarithm + 2);
    assert!(longest_hold <= at_once, "other writers wait for {longest_hold} comparisons");
    // The check still finds the one note that breaks a claim, and the one delete.
    let mut ask = |recent: &RecentWrites, since: SeqNo| {
        (check.through, check.ranges_through) = (since, since);
        loop {
            match check.catch_up(recent) {
                Verdict::Behind if check.prepare() => {}
                Verdict::Behind => return Verdict::Broken,
                verdict => return verdict,
            }
        }
    };
    let mut at = 20_000;
    for kind in [Kind::Put, Kind::Merge] {
        for number in [ranges[0], keys[0]] {
            at += 1;
            let (operator, key) = (NO_OPERATOR, &key(number)[..]);
            let broken =
                Operation { kind, keyspace: id, operator, key, value: b"", stamped: false };
            recent.note(&broken, at);
            assert_eq!(ask(&recent, at - 1), Verdict::Broken, "{number}");
            assert_eq!(ask(&recent, at), Verdict::Hold);
        }
    }
    recent.note_range(id, range(keys[0]), 30_001);
    assert_eq!(ask(&recent, 30_000), Verdict::Broken);
    assert_eq!(ask(&recent, 30_001), Verdict::Hold);
}
