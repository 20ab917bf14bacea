//! The work of the check, in comparisons of keys.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use foldb_env::{Env, MemFs};

use super::*;
use crate::db::handle::database::Db;
use crate::db::state::recent_writes::EdgeRange;
use crate::db::transaction::claims::Claims;
use crate::encoding::key_hash;
use crate::key::{Comparator, Kind, NO_OPERATOR};
use crate::operation::Operation;
use crate::options::{KeyspaceOptions, Options};
use crate::range_tombstone::Edge;

/// The order of the bytes, which counts its comparisons.
#[derive(Debug, Default)]
struct Counting(AtomicU64);

impl Comparator for Counting {
    fn name(&self) -> &str {
        "test.counting"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.fetch_add(1, Relaxed);
        a.cmp(b)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

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
    recent.turn_on(0);
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
    let settled = claims.settle();
    let before_the_lock = counting.0.swap(0, Relaxed);
    let verdict = settled.check_noted(&recent, 0);
    let under_the_lock = counting.0.load(Relaxed);
    println!("{before_the_lock} comparisons before the lock, {under_the_lock} under it");
    // A note may share the slot of a key.
    assert_ne!(verdict, Verdict::Broken);
    let logarithm = u64::from((RANGES + KEYS).ilog2() + 1);
    assert!(before_the_lock <= u64::from(RANGES) * (logarithm + 2), "{before_the_lock}");
    let searches = u64::from(KEYS + WRITES + 2 * DELETED_RANGES);
    assert!(under_the_lock <= searches * (logarithm + 2), "{under_the_lock}");
    // The check still finds the one note that breaks a claim, and the one delete.
    for (kind, value) in [(Kind::Put, &b""[..]), (Kind::Merge, b"")] {
        let key = &key(ranges[0])[..];
        let broken =
            Operation { kind, keyspace: id, operator: NO_OPERATOR, key, value, stamped: false };
        recent.note(&broken, 20_000);
        assert_eq!(settled.check_noted(&recent, 19_999), Verdict::Broken);
    }
    recent.note_range(id, range(keys[0]), 20_001);
    assert_eq!(settled.check_noted(&recent, 20_000), Verdict::Broken);
    assert_eq!(settled.check_noted(&recent, 20_001), Verdict::Hold);
}
