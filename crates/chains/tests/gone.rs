//! Checks that cursors that jump over runs of deleted keys show the same as cursors that walk.
#![cfg(not(loom))]

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use foldb_chains::{ArenaPool, Chains, Cover, Cursor, DELETED, KeyOrder, Way, Writer};
use xxhash_rust::xxh3::xxh3_64;

const PUT: u8 = 1;

fn create(keys: usize) -> (Writer, Arc<Chains>) {
    Chains::create(&ArenaPool::new(0), keys * 128, KeyOrder::Bytewise)
}

fn write(writer: &mut Writer, key: u64, seqno: u64, kind: u8) {
    let key = key.to_be_bytes();
    writer.insert(xxh3_64(&key), &key, seqno, kind, 0, b"v").unwrap();
}

fn key_of(cursor: &Cursor) -> u64 {
    u64::from_be_bytes(cursor.key().try_into().unwrap())
}

/// Steps to the first key that is there for a reader at `seqno`, without range deletes.
fn first_there(chains: &Arc<Chains>, seqno: u64) -> (Option<u64>, usize) {
    let mut cursor = chains.cursor(seqno);
    cursor.seek_to_first();
    let mut steps = 0;
    while cursor.valid() {
        steps += 1;
        if cursor.kind() != DELETED {
            return (Some(key_of(&cursor)), steps);
        }
        if !cursor.pass_gone(Way::Forward, seqno, None, None) {
            cursor.next_key();
        }
    }
    (None, steps)
}

/// A queue: put at one end, delete at the other. A regression test: each pop walked over all keys
/// that were popped before.
#[test]
fn a_queue_runs_at_a_constant_rate() {
    let (keys, room) = if cfg!(miri) { (100, 30) } else { (20_000u64, 300) };
    let (mut writer, chains) = create(2 * keys as usize);
    let mut seqno = 0;
    let mut next = || {
        seqno += 1;
        seqno
    };
    (0..keys / 2).for_each(|key| write(&mut writer, key, next(), PUT));
    let mut all_steps = 0;
    for popped in 0..keys / 2 {
        write(&mut writer, keys / 2 + popped, next(), PUT);
        let now = next();
        let (first, steps) = first_there(&chains, now);
        assert_eq!(first, Some(popped));
        write(&mut writer, popped, now, DELETED);
        all_steps += steps;
    }
    assert!(all_steps as u64 <= room * keys / 2, "{all_steps} steps for {} pops", keys / 2);
}

/// A regression test: the first walk over the keys of one range delete looked at each of them. So
/// did a walk after other keys had been inserted.
#[test]
fn a_walk_jumps_over_a_deleted_range_that_no_walk_met_before() {
    let keys = if cfg!(miri) { 60 } else { 5_000u64 };
    for later in [0, 1, 3] {
        let (mut writer, chains) = create(2 * keys as usize);
        (0..keys).for_each(|key| write(&mut writer, 10 * key, key + 1, PUT));
        let deleted = keys + 1;
        writer.note_range_delete(deleted);
        // New keys, and an old one again, between those that are gone.
        let mut there = Vec::new();
        for n in 0..later {
            let key = 10 * (keys / 4) * (n + 1) + n % 2;
            write(&mut writer, key, deleted + n + 1, PUT);
            there.push(key);
        }
        let now = deleted + later;
        let cover = Cover { seqno: deleted, from: Bound::Unbounded, to: Bound::Unbounded };
        for way in [Way::Forward, Way::Backward] {
            let mut cursor = chains.cursor(now);
            match way {
                Way::Forward => cursor.seek_to_first(),
                Way::Backward => cursor.seek_to_last(),
            }
            let (mut found, mut steps) = (Vec::new(), 0);
            while cursor.valid() {
                steps += 1;
                if !cursor.pass_gone(way, now, Some(cover), None) {
                    found.push(key_of(&cursor));
                    match way {
                        Way::Forward => cursor.next_key(),
                        Way::Backward => cursor.prev_key(),
                    }
                }
            }
            if way == Way::Backward {
                found.reverse();
            }
            assert_eq!(found, there, "{way:?}");
            assert!(steps <= 3 * (later + 1), "{steps} steps over {later} keys, {way:?}");
        }
    }
}

/// The written keys as a map.
#[derive(Default)]
struct Model {
    keys: BTreeMap<u64, Vec<(u64, u8)>>,
    ranges: Vec<(u64, u64, u64)>,
}

impl Model {
    fn cover(&self, key: u64, seqno: u64) -> u64 {
        let around =
            |range: &&(u64, u64, u64)| (range.0..range.1).contains(&key) && range.2 <= seqno;
        self.ranges.iter().filter(around).map(|range| range.2).max().unwrap_or(0)
    }

    /// Between which ends all keys have this key's cover; `None` if it has none.
    fn ends(&self, key: u64, seqno: u64) -> Option<[Bound<[u8; 8]>; 2]> {
        if self.cover(key, seqno) == 0 {
            return None;
        }
        let seen = self.ranges.iter().filter(|range| range.2 <= seqno);
        let ends = seen.flat_map(|range| [range.0, range.1]);
        let from = ends.clone().filter(|end| *end <= key).max().unwrap();
        let to = ends.filter(|end| *end > key).min().unwrap();
        // An end of either kind, wherever that is the same.
        let from = match from {
            0 => Bound::Unbounded,
            from if from % 2 == 0 => Bound::Excluded((from - 1).to_be_bytes()),
            from => Bound::Included(from.to_be_bytes()),
        };
        let to = match to % 2 {
            0 => Bound::Included((to - 1).to_be_bytes()),
            _ => Bound::Excluded(to.to_be_bytes()),
        };
        Some([from, to])
    }

    fn is_there(&self, key: u64, seqno: u64) -> bool {
        let newest = self.keys[&key].iter().rev().find(|version| version.0 <= seqno);
        newest.is_some_and(|version| version.1 != DELETED && version.0 > self.cover(key, seqno))
    }

    fn there(&self, seqno: u64) -> Vec<u64> {
        self.keys.keys().copied().filter(|key| self.is_there(*key, seqno)).collect()
    }
}

/// The keys that are there, found by a walk that jumps, and may not jump over every `limits`th key.
fn walk(chains: &Arc<Chains>, model: &Model, seqno: u64, way: Way, limits: u64) -> Vec<u64> {
    let mut cursor = chains.cursor(seqno);
    match way {
        Way::Forward => cursor.seek_to_first(),
        Way::Backward => cursor.seek_to_last(),
    }
    let mut there = Vec::new();
    while cursor.valid() {
        let key = key_of(&cursor);
        if model.is_there(key, seqno) {
            there.push(key);
        } else {
            let limit = match way {
                Way::Forward => (key / limits + 1) * limits,
                Way::Backward => (key.max(1) - 1) / limits * limits,
            };
            let bytes = (limit != key).then(|| limit.to_be_bytes());
            let limit_of = bytes.as_ref().map(|bytes| &bytes[..]);
            let ends = model.ends(key, seqno);
            let cover = ends.as_ref().map(|[from, to]| Cover {
                seqno: model.cover(key, seqno),
                from: from.as_ref().map(|key| &key[..]),
                to: to.as_ref().map(|key| &key[..]),
            });
            if cursor.pass_gone(way, seqno, cover, limit_of) {
                let visible = |key: &u64| model.keys[key][0].0 <= seqno;
                let mut keys = model.keys.keys().copied().filter(visible);
                let at_limit = match (way, bytes) {
                    (_, None) => None,
                    (Way::Forward, _) => keys.find(|key| *key >= limit),
                    (Way::Backward, _) => keys.rfind(|key| *key <= limit),
                };
                if let Some(at_limit) = at_limit {
                    assert!(cursor.valid(), "jumped over the limit {limit} from {key}");
                    let (to, forward) = (key_of(&cursor), way == Way::Forward);
                    assert!(if forward { to <= at_limit } else { to >= at_limit }, "{key} to {to}");
                }
                continue;
            }
        }
        match way {
            Way::Forward => cursor.next_key(),
            Way::Backward => cursor.prev_key(),
        }
    }
    if way == Way::Backward {
        there.reverse();
    }
    there
}

#[test]
fn jumps_and_walks_show_the_same_keys() {
    let (rounds, keys, length) = if cfg!(miri) { (2, 40, 15) } else { (12, 400u64, 120) };
    for round in 0..rounds {
        let mut state = 0x9E37_79B9_7F4A_7C15u64 ^ (round << 32);
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let (mut writer, chains) = create(60 * keys as usize);
        let mut model = Model::default();
        let mut seqno = 0;
        for _ in 0..length {
            let (from, len) = (random(keys), random(keys / 4) + 1);
            match random(8) {
                0..4 => {
                    // Many keys, put or deleted one by one.
                    let kind = if random(3) == 0 { PUT } else { DELETED };
                    for key in from..(from + len).min(keys) {
                        seqno += 1;
                        write(&mut writer, key, seqno, kind);
                        model.keys.entry(key).or_default().push((seqno, kind));
                    }
                }
                4 => {
                    seqno += 1;
                    writer.note_range_delete(seqno);
                    model.ranges.push((from, from + len, seqno));
                }
                5 => {
                    seqno += 1;
                    write(&mut writer, from, seqno, PUT);
                    model.keys.entry(from).or_default().push((seqno, PUT));
                }
                6 => chains.order_all(),
                _ => {}
            }
            let at = seqno - if random(3) == 0 { random(seqno + 1) } else { 0 };
            let limits = [keys, 7, 50][random(3) as usize];
            for way in [Way::Forward, Way::Backward] {
                assert_eq!(
                    walk(&chains, &model, at, way, limits),
                    model.there(at),
                    "{way:?} at {at}"
                );
            }
        }
    }
}
