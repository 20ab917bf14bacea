//! A damaged table costs the reads of its damaged keys, and nothing else.
//!
//! One flipped bit once stopped the compaction of its slice for ever. Level 0 grew to its stop
//! trigger, and then every write failed, even after all keys were overwritten.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use foldb::env::{FileSystem, MemFs};
use foldb::events::{Event, EventListener};
use foldb::{CompactionPreset, Db, ErrorKind, KeyspaceOptions, Options};

use crate::support::{PATH, assert_error, number};

const KEYS: u32 = 6000;

fn key(n: u32) -> String {
    format!("user{n:06}")
}

fn value(n: u32, round: u32) -> String {
    // Text that hardly compresses, so that a table has many blocks.
    let seed = (u64::from(n) << 32 | u64::from(round)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{round} {n} {:016x}{:016x}", seed, seed.rotate_left(17).wrapping_mul(31))
}

#[derive(Debug, Default)]
struct Damaged(Mutex<Vec<(String, PathBuf)>>);

impl EventListener for Damaged {
    fn on_event(&self, event: &Event) {
        match event {
            Event::TableDamaged { keyspace, file, .. } => {
                self.0.lock().unwrap().push((keyspace.to_string(), file.clone()));
            }
            Event::BackgroundError { error } => panic!("{error}"),
            _ => {}
        }
    }
}

/// Options of a small tree, whose level 0 soon stops writers.
fn options(fs: &MemFs, preset: CompactionPreset, listener: &Arc<Damaged>) -> Options {
    Options {
        write_buffer_size: 64 << 10,
        target_file_size: 64 << 10,
        level0_compaction_trigger: 4,
        level0_slowdown_trigger: 6,
        level0_stop_trigger: 8,
        max_bytes_for_level_base: 256 << 10,
        default: KeyspaceOptions {
            compaction: Some(preset),
            ..crate::support::options(fs).default
        },
        listeners: vec![Arc::clone(listener) as _],
        ..crate::support::options(fs)
    }
}

fn tables(fs: &MemFs) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(".tbl"));
    names.sort();
    names.into_iter().map(|name| Path::new(PATH).join(name)).collect()
}

fn flip(fs: &MemFs, file: &Path, at: impl FnOnce(usize) -> usize) {
    let mut bytes = fs.read(file).unwrap();
    let at = at(bytes.len());
    bytes[at] ^= 0x10;
    let file = fs.create(file).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync().unwrap();
}

/// What the keyspace must hold: for each key its value, or `None` if only a damaged block has it.
type Model = BTreeMap<u32, Option<String>>;

/// Returns the keys that cannot be read, and checks all others.
fn check(db: &Db, model: &Model, damaged: &[u32]) -> Vec<u32> {
    let mut unreadable = Vec::new();
    for (&n, expected) in model {
        match db.get(key(n)) {
            Ok(found) => {
                let found = found.map(|value| String::from_utf8(value.to_vec()).unwrap());
                assert_eq!(found.as_ref(), expected.as_ref(), "{}", key(n));
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption);
                assert!(damaged.is_empty() || damaged.contains(&n), "{}", key(n));
                unreadable.push(n);
            }
        }
    }
    unreadable
}

fn fill(db: &Db, round: u32, model: &mut Model) {
    for n in 0..KEYS {
        db.put(key(n), value(n, round)).unwrap();
        model.insert(n, Some(value(n, round)));
    }
    db.flush().unwrap();
}

/// Overwrites keys many times over, so that level 0 must be compacted often.
fn overwrite(db: &Db, model: &mut Model, keys: &[u32]) {
    let mut state = 7u64;
    for round in 100..130 {
        for _ in 0..600 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let n = keys[(state >> 33) as usize % keys.len()];
            db.put(key(n), value(n, round)).unwrap();
            model.insert(n, Some(value(n, round)));
        }
        db.flush().unwrap();
        for _ in 0..8 {
            db.step_background().unwrap();
        }
        let runs = db.stats().levels[0].runs;
        assert!(runs < 16, "level 0 has {runs} runs");
    }
}

fn all() -> Vec<u32> {
    (0..KEYS).collect()
}

fn writes_go_on(preset: CompactionPreset, damage: impl Fn(&MemFs)) {
    writes_go_on_with(1, preset, damage);
}

/// `compactions` is how many parts a job may have.
fn writes_go_on_with(compactions: usize, preset: CompactionPreset, damage: impl Fn(&MemFs)) {
    let (fs, listener) = (MemFs::new(), Arc::new(Damaged::default()));
    let options = |fs: &MemFs, preset, listener: &Arc<Damaged>| Options {
        max_background_compactions: compactions,
        ..options(fs, preset, listener)
    };
    let mut model = Model::new();
    let db = Db::open(PATH, options(&fs, preset, &listener)).unwrap();
    fill(&db, 0, &mut model);
    db.compact(..).unwrap();
    let beside = db.create_keyspace("beside", KeyspaceOptions::default()).unwrap();
    (0..KEYS).for_each(|n| beside.put(key(n), value(n, 1)).unwrap());
    db.flush().unwrap();
    drop((beside, db));
    damage(&fs);

    let db = Db::open(PATH, options(&fs, preset, &listener)).unwrap();
    let lost = check(&db, &model, &[]);
    assert!(!lost.is_empty() && lost.len() < KEYS as usize / 2, "{} keys", lost.len());
    let readable: Vec<u32> = (0..KEYS).filter(|n| !lost.contains(n)).collect();
    overwrite(&db, &mut model, &readable);
    assert_eq!(check(&db, &model, &lost), lost, "damaged keys stay unreadable");
    db.wait_for_background().unwrap();
    assert!(db.stats().damaged_parts > 0);
    {
        let told = listener.0.lock().unwrap();
        assert!(!told.is_empty() && told.len() as u64 == db.stats().damaged_parts, "{told:?}");
        let is_table = |file: &PathBuf| file.extension().is_some_and(|name| name == "tbl");
        assert!(told.iter().all(|(keyspace, file)| keyspace == "default" && is_table(file)));
    }

    // What lies over the damage is read, and a delete there hides no older value.
    let (first, rest) = lost.split_first().unwrap();
    db.delete(key(*first)).unwrap();
    model.insert(*first, None);
    for &n in rest.iter().step_by(2) {
        db.put(key(n), value(n, 500)).unwrap();
        model.insert(n, Some(value(n, 500)));
    }
    overwrite(&db, &mut model, &all());
    let error = assert_error(db.compact(..), ErrorKind::Corruption, None);
    assert_eq!(error.path().unwrap().extension().unwrap(), "tbl");
    let unreadable = check(&db, &model, &lost);
    assert!(unreadable.len() < lost.len());
    let runs = db.stats().runs_per_read();
    assert!(runs <= 4, "the rest is compacted: {runs} runs");

    // Another keyspace has no part in it.
    let beside = db.keyspace("beside").unwrap();
    beside.compact(..).unwrap();
    for n in 0..KEYS {
        assert_eq!(beside.get(key(n)).unwrap().as_deref(), Some(value(n, 1).as_bytes()));
    }
    drop((beside, db));
    let db = Db::open(PATH, options(&fs, preset, &listener)).unwrap();
    assert_eq!(check(&db, &model, &lost), unreadable);
    assert!(db.verify().is_err(), "a check of all files still tells");
    overwrite(&db, &mut model, &all());
    check(&db, &model, &lost);
}

const PRESETS: [CompactionPreset; 3] =
    [CompactionPreset::LazyLeveled, CompactionPreset::Leveled, CompactionPreset::Tiered];

#[test]
fn writes_go_on_beside_a_damaged_block() {
    for preset in PRESETS {
        writes_go_on(preset, |fs| {
            // The first tables are those of the default keyspace.
            let table = tables(fs).remove(1);
            flip(fs, &table, |len| len / 2);
        });
    }
}

#[test]
fn writes_go_on_beside_two_damaged_tables() {
    for preset in PRESETS {
        writes_go_on(preset, |fs| {
            let tables = tables(fs);
            flip(fs, &tables[0], |len| len / 8);
            flip(fs, &tables[0], |len| len / 2);
            flip(fs, &tables[2], |len| len / 3);
        });
    }
}

#[test]
fn writes_go_on_beside_a_table_that_does_not_open() {
    for preset in PRESETS {
        writes_go_on(preset, |fs| {
            let table = tables(fs).remove(1);
            flip(fs, &table, |len| len - 10);
        });
    }
}

#[test]
fn writes_go_on_beside_damage_that_parts_of_a_job_meet() {
    for preset in PRESETS {
        writes_go_on_with(3, preset, |fs| {
            let table = tables(fs).remove(1);
            flip(fs, &table, |len| len - 10);
        });
        writes_go_on_with(3, preset, |fs| {
            let tables = tables(fs);
            flip(fs, &tables[0], |len| len / 2);
            flip(fs, &tables[2], |len| len / 3);
        });
    }
}

/// Counters in level 0, with damage in the middle of three runs: no compaction may fold operands
/// as if the damaged run were not there, or drop a delete above it.
#[test]
fn operands_and_deletes_stay_above_damage_in_level_0() {
    for preset in PRESETS {
        let (fs, listener) = (MemFs::new(), Arc::new(Damaged::default()));
        let options = Options { write_buffer_size: 1 << 20, ..options(&fs, preset, &listener) };
        let db = Db::open(PATH, options.clone()).unwrap();
        let mut expected = BTreeMap::new();
        for round in 0..3 {
            for n in 0..KEYS {
                let operand = u64::from(n.wrapping_mul(2_654_435_761) ^ round) << 16;
                db.merge(key(n), number(operand)).unwrap();
                *expected.entry(n).or_insert(0u64) += operand;
            }
            db.flush().unwrap();
        }
        drop(db);
        flip(&fs, &tables(&fs)[1], |len| len / 2);
        let db = Db::open(PATH, options).unwrap();
        let counts = |db: &Db| -> Vec<Option<Option<u64>>> {
            let read = |n| match db.get(key(n)) {
                Ok(value) => Some(value.map(|it| u64::from_le_bytes(it[..].try_into().unwrap()))),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corruption);
                    None
                }
            };
            (0..KEYS).map(read).collect()
        };
        let first = counts(&db);
        let lost: Vec<u32> = (0..KEYS).filter(|&n| first[n as usize].is_none()).collect();
        assert!(!lost.is_empty() && lost.len() < KEYS as usize / 2, "{} keys", lost.len());
        let deleted = lost[0];
        db.delete(key(deleted)).unwrap();
        for _ in 0..20 {
            for n in 0..KEYS {
                if n != deleted {
                    db.merge(key(n), number(1)).unwrap();
                    *expected.get_mut(&n).unwrap() += 1;
                }
            }
            db.flush().unwrap();
            while db.step_background().unwrap() {}
        }
        assert_error(db.compact(..), ErrorKind::Corruption, None);
        for (n, found) in (0..KEYS).zip(counts(&db)) {
            match found {
                Some(found) if n == deleted => assert_eq!(found, None),
                Some(found) => assert_eq!(found, Some(expected[&n]), "{}", key(n)),
                None => assert!(lost.contains(&n) && n != deleted, "{}", key(n)),
            }
        }
        assert!(db.stats().runs_per_read() <= 6, "{:?}", db.stats().levels);
        assert_eq!(listener.0.lock().unwrap().len(), 1);
    }
}
