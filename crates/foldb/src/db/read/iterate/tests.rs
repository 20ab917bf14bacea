//! Random histories with long stretches of deleted keys: every iterator shows its own moment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fastrand::Rng;
use foldb_env::{Env, ManualClock, MemFs};

use crate::db::handle::database::Db;
use crate::db::handle::read_options::ReadOptions;
use crate::db::handle::snapshot::Snapshot;
use crate::iterator::Iter;
use crate::options::{KeyspaceOptions, Options, WriteOptions};
use crate::settings::{Expires, Expiry};

const KEYS: u8 = 60;

type Model = BTreeMap<u8, String>;

fn shown(iter: &Iter) -> Option<(u8, String)> {
    let text = || String::from_utf8(iter.value().unwrap().to_vec()).unwrap();
    iter.valid().then(|| (iter.key()[0], text()))
}

fn entry((key, text): (&u8, &String)) -> (u8, String) {
    (*key, text.clone())
}

/// Moves an iterator at random, and compares each place with the model.
fn walk(iter: &mut Iter, model: &Model, rng: &mut Rng) {
    let mut place: Option<u8> = None;
    for _ in 0..rng.u8(1..6) {
        let key = rng.u8(..KEYS);
        let expected = match rng.u8(..6) {
            0 => {
                iter.seek_to_first().unwrap();
                model.first_key_value()
            }
            1 => {
                iter.seek_to_last().unwrap();
                model.last_key_value()
            }
            2 => {
                iter.seek([key]).unwrap();
                model.range(key..).next()
            }
            3 => {
                iter.seek_for_prev([key]).unwrap();
                model.range(..=key).next_back()
            }
            4 if place.is_some() => {
                iter.advance().unwrap();
                model.range(place.unwrap() + 1..).next()
            }
            5 if place.is_some() => {
                iter.retreat().unwrap();
                model.range(..place.unwrap()).next_back()
            }
            _ => continue,
        };
        assert_eq!(shown(iter), expected.map(entry));
        place = expected.map(|(key, _)| *key);
    }
}

#[test]
fn iterators_pass_deleted_keys_and_no_others() {
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let options = Options {
            create_if_missing: true,
            default: KeyspaceOptions::with_operator("stringappend:,"),
            env: Env::in_memory(MemFs::new()),
            ..Options::default()
        };
        let db = Db::open("db", options).unwrap();
        let mut model = Model::new();
        let mut snapshots: Vec<(Snapshot, Model)> = Vec::new();
        let mut held: Vec<(Iter, Model)> = Vec::new();
        for step in 0..400 {
            let (key, text) = (rng.u8(..KEYS), format!("{step}"));
            match rng.u8(..26) {
                0..=3 => {
                    db.put([key], &text).unwrap();
                    model.insert(key, text);
                }
                4..=5 => {
                    db.merge([key], &text).unwrap();
                    let merged = model.remove(&key).map_or(text.clone(), |old| old + "," + &text);
                    model.insert(key, merged);
                }
                // Many neighbours, one by one.
                6..=8 => {
                    for key in key..KEYS.min(key + 20) {
                        db.delete([key]).unwrap();
                        model.remove(&key);
                    }
                }
                9 => {
                    for key in key..KEYS.min(key + 20) {
                        db.put([key], &text).unwrap();
                        model.insert(key, text.clone());
                    }
                }
                10 => {
                    let end = KEYS.min(key + 9);
                    db.delete_range([key]..[end]).unwrap();
                    model.retain(|own, _| !(key..end).contains(own));
                }
                11 => db.flush().unwrap(),
                12 if step % 5 == 0 => db.compact(..).unwrap(),
                13 => {
                    let mut load = db.default_keyspace().sorted_load().unwrap();
                    for key in key..KEYS.min(key + 3) {
                        load.put([key], &text).unwrap();
                        model.insert(key, text.clone());
                    }
                    load.finish().unwrap();
                }
                14 => snapshots.push((db.snapshot(), model.clone())),
                15 if !snapshots.is_empty() => {
                    snapshots.swap_remove(rng.usize(..snapshots.len()));
                }
                16 if !snapshots.is_empty() => {
                    let (snapshot, old) = &snapshots[rng.usize(..snapshots.len())];
                    let options =
                        ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
                    walk(&mut db.with(&options).range(..).unwrap(), old, &mut rng);
                }
                17 => held.push((db.iter().unwrap(), model.clone())),
                18 if !held.is_empty() => {
                    let (mut iter, old) = held.swap_remove(rng.usize(..held.len()));
                    walk(&mut iter, &old, &mut rng);
                }
                _ => walk(&mut db.iter().unwrap(), &model, &mut rng),
            }
        }
        for (key, text) in &model {
            assert_eq!(db.get([*key]).unwrap().unwrap(), text.as_bytes(), "seed {seed}");
        }
    }
}

/// An entry that has expired is absent for good, but a snapshot of an earlier moment still has it.
#[test]
fn iterators_pass_no_entries_that_only_their_moment_has() {
    const FIRST: u64 = 1_800_000_000;
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let clock = Arc::new(ManualClock::default());
        let env = Env { clock: clock.clone(), ..Env::in_memory(MemFs::new()) };
        let options = Options { create_if_missing: true, env, ..Options::default() };
        let db = Db::open("db", options).unwrap();
        let options =
            KeyspaceOptions { expiry: Some(Expiry::per_write()), ..KeyspaceOptions::default() };
        let mut now = FIRST;
        clock.set_time_of_day(now);
        let own = db.create_keyspace("own", options).unwrap();
        let mut ends: BTreeMap<u8, (String, u64)> = BTreeMap::new();
        let alive = |ends: &BTreeMap<u8, (String, u64)>, now: u64| -> Model {
            let alive = ends.iter().filter(|(_, (_, end))| *end > now);
            alive.map(|(key, (text, _))| (*key, text.clone())).collect()
        };
        let mut snapshots: Vec<(Snapshot, Model)> = Vec::new();
        let mut held: Vec<(Iter, Model)> = Vec::new();
        for step in 0..300 {
            let (key, text) = (rng.u8(..KEYS), format!("{step}"));
            match rng.u8(..15) {
                0..=3 => {
                    let end = now + rng.u64(1..5);
                    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(end);
                    let options =
                        WriteOptions { expires: Some(Expires::At(at)), ..WriteOptions::default() };
                    for key in key..KEYS.min(key + 15) {
                        own.with(&options).put([key], &text).unwrap();
                        ends.insert(key, (text.clone(), end));
                    }
                }
                4..=5 => {
                    for key in key..KEYS.min(key + 15) {
                        own.delete([key]).unwrap();
                        ends.remove(&key);
                    }
                }
                6 => db.flush().unwrap(),
                7 => {
                    now += 1;
                    clock.set_time_of_day(now);
                }
                8 => snapshots.push((db.snapshot(), alive(&ends, now))),
                9 if !snapshots.is_empty() => {
                    let (snapshot, old) = &snapshots[rng.usize(..snapshots.len())];
                    let options =
                        ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
                    walk(&mut own.with(&options).range(..).unwrap(), old, &mut rng);
                }
                10 => own.compact(..).unwrap(),
                11 => held.push((own.iter().unwrap(), alive(&ends, now))),
                12 if !held.is_empty() => {
                    let (mut iter, old) = held.swap_remove(rng.usize(..held.len()));
                    walk(&mut iter, &old, &mut rng);
                }
                _ => walk(&mut own.iter().unwrap(), &alive(&ends, now), &mut rng),
            }
        }
    }
}

/// A compaction drops entries between deleted ones because they have expired, and then a walk notes
/// the stretch. An iterator from before the drop still shows them.
#[test]
fn an_iterator_from_before_a_drop_shows_what_was_dropped() {
    const START: u64 = 1_800_000_000;
    let clock = Arc::new(ManualClock::default());
    clock.set_time_of_day(START);
    let env = Env { clock: clock.clone(), ..Env::in_memory(MemFs::new()) };
    let options = Options { create_if_missing: true, env, ..Options::default() };
    let db = Db::open("db", options).unwrap();
    let expiry = Some(Expiry::per_write());
    let own = db.create_keyspace("own", KeyspaceOptions { expiry, ..Default::default() }).unwrap();
    let soon = SystemTime::UNIX_EPOCH + Duration::from_secs(START + 10);
    let expires = Some(Expires::At(soon));
    let soon = WriteOptions { expires, ..WriteOptions::default() };
    for key in 0..100 {
        let options = if (20..90).contains(&key) { &soon } else { &WriteOptions::default() };
        own.with(options).put([key], "").unwrap();
    }
    own.compact(..).unwrap();
    for key in 0..20 {
        own.delete([key]).unwrap();
    }
    let before = own.iter().unwrap();
    clock.set_time_of_day(START + 20);
    let table_bytes = || {
        let stats = db.stats();
        let levels = stats.keyspaces.iter().flat_map(|own| &own.levels);
        levels.map(|level| level.bytes).sum::<u64>()
    };
    let with_expired = table_bytes();
    while table_bytes() == with_expired {
        assert!(db.step_background().unwrap(), "the compaction drops what has expired");
    }
    assert_eq!(own.iter().unwrap().count(), 10);
    assert_eq!(before.count(), 80);
}
