//! Comparing a database with the models of its threads.

use foldb::{Iter, Keyspace, ReadOptions, Value};

use crate::features::Features;
use crate::model::{Map, Model};
use crate::worker::Stage;
use crate::write::TALLIES;

/// What is wrong, in a sentence.
pub type Wrong = String;

/// Turns an engine's error into a sentence that says what was being done.
pub fn told(what: &str) -> impl Fn(foldb::Error) -> Wrong {
    let what = what.to_owned();
    move |error| format!("{what}: {error}")
}

/// What a check of a whole database found of one thread.
pub struct Found {
    pub model: Model,
    /// Writes that are there.
    pub writes: u64,
}

/// Compares all keys with the threads' first `acknowledged` writes. Of each thread the next write
/// may be there too: the kill interrupted it.
pub fn whole(stage: &Stage, acknowledged: &[u64]) -> Result<Vec<Found>, Wrong> {
    let features = &stage.features;
    let mut actual = vec![Model::new(features).keyspaces; usize::from(features.threads)];
    for (at, keyspace) in stage.keyspaces.iter().enumerate() {
        for (key, value) in both_directions(keyspace)? {
            let thread = features.owner(&key).filter(|&thread| thread < features.threads);
            let thread = thread.ok_or_else(|| format!("no thread wrote the key {key:?}"))?;
            actual[usize::from(thread)][at].insert(key, value);
        }
    }
    let mut found = Vec::new();
    for ((thread, actual), &writes) in (0..).zip(&actual).zip(acknowledged) {
        found.push(one_thread(features, thread, actual, writes)?);
    }
    point_reads(stage, &actual)?;
    tallies(stage, &found)?;
    Ok(found)
}

fn one_thread(
    features: &Features,
    thread: u8,
    actual: &[Map],
    writes: u64,
) -> Result<Found, Wrong> {
    let without = Model::after(features, thread, writes);
    let mut with = without.clone();
    with.apply(&features.write(thread, writes));
    // Where the next write changes nothing that shows, it may as well be done again.
    if without.keyspaces == actual {
        return Ok(Found { model: without, writes });
    }
    if with.keyspaces == actual {
        return Ok(Found { model: with, writes: writes + 1 });
    }
    let difference = (0..).zip(without.keyspaces.iter().zip(actual));
    let difference = difference.filter_map(|(at, (expected, actual))| {
        Some(format!("keyspace {at}, {}", difference_of(expected, actual)?))
    });
    let differences: Vec<_> = difference.collect();
    Err(format!(
        "thread {thread} after {writes} acknowledged writes: {}; the next write is {:?}",
        differences.join("; "),
        features.write(thread, writes),
    ))
}

/// The first key at which two maps differ.
pub fn difference_of(expected: &Map, actual: &Map) -> Option<String> {
    let keys = expected.keys().chain(actual.keys());
    let key = keys.filter(|&key| expected.get(key) != actual.get(key)).min()?;
    let shown = |map: &Map| {
        map.get(key).map_or("nothing".to_owned(), |value| {
            format!("{} bytes {:?}", value.len(), &value[..value.len().min(40)])
        })
    };
    Some(format!("key {key:?}: expected {}, found {}", shown(expected), shown(actual)))
}

/// All entries of a keyspace, forwards; an error where backwards gives others.
fn both_directions(keyspace: &Keyspace) -> Result<Map, Wrong> {
    let scan = || keyspace.iter().map_err(told("cannot scan"));
    let collect = |entry: foldb::Result<(Vec<u8>, Value)>| {
        entry.map(|(key, value)| (key, value.to_vec())).map_err(told("a scan failed"))
    };
    let forwards = scan()?.map(collect).collect::<Result<Vec<_>, _>>()?;
    let mut backwards = scan()?.reversed().map(collect).collect::<Result<Vec<_>, _>>()?;
    backwards.reverse();
    if forwards != backwards {
        return Err(format!("keyspace {}: forwards and backwards differ", keyspace.name()));
    }
    if !forwards.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(format!("keyspace {}: a scan is out of order", keyspace.name()));
    }
    Ok(forwards.into_iter().collect())
}

/// Reads some keys one by one, and keys that are not there.
fn point_reads(stage: &Stage, actual: &[Vec<Map>]) -> Result<(), Wrong> {
    for maps in actual {
        for (keyspace, map) in stage.keyspaces.iter().zip(maps) {
            for (key, value) in map.iter().step_by(5) {
                expect_get(keyspace, key, Some(value), &ReadOptions::default())?;
                let absent = [key, &b"~"[..]].concat();
                let value = map.get(&absent);
                expect_get(keyspace, &absent, value, &ReadOptions::default())?;
            }
        }
    }
    Ok(())
}

pub fn expect_get(
    keyspace: &Keyspace,
    key: &[u8],
    expected: Option<&Vec<u8>>,
    options: &ReadOptions,
) -> Result<(), Wrong> {
    let value = keyspace.get_opt(key, options).map_err(told("a read failed"))?;
    let value = value.map(|value| value.to_vec());
    if value.as_ref() == expected {
        return Ok(());
    }
    let one = |value: Option<&Vec<u8>>| value.map(|value| (key.to_vec(), value.clone()));
    let map = |value| one(value).into_iter().collect::<Map>();
    let difference = difference_of(&map(expected), &map(value.as_ref()));
    Err(format!("get in {}: {}", keyspace.name(), difference.unwrap_or_default()))
}

/// The sum over all threads, for their merges met in the same keys.
fn tallies(stage: &Stage, found: &[Found]) -> Result<(), Wrong> {
    for slot in 0..TALLIES {
        let expected: u64 = found.iter().map(|one| one.model.tallies[usize::from(slot)]).sum();
        let expected = (expected > 0).then(|| expected.to_le_bytes().to_vec());
        expect_get(&stage.tally, &[slot], expected.as_ref(), &ReadOptions::default())?;
    }
    Ok(())
}

/// Compares the keys of one thread with its model, as `options` read them.
pub fn own_keys(
    stage: &Stage,
    thread: u8,
    model: &Model,
    options: &ReadOptions,
) -> Result<(), Wrong> {
    for (keyspace, expected) in stage.keyspaces.iter().zip(&model.keyspaces) {
        let mut actual = Map::new();
        let features = &stage.features;
        let pair = features.pair_key(thread);
        let value = keyspace.get_opt(&pair, options).map_err(told("a read failed"))?;
        actual.extend(value.map(|value| (pair, value.to_vec())));
        for block in 0..features.blocks {
            let from = features.prefix(block, thread).to_vec();
            let to = [&from[..], &[u8::MAX]].concat();
            let scan = keyspace.range_opt(from..to, options);
            collect(scan.map_err(told("cannot scan"))?, &mut actual)?;
        }
        if let Some(difference) = difference_of(expected, &actual) {
            return Err(format!("thread {thread}, {}: {difference}", keyspace.name()));
        }
    }
    Ok(())
}

/// Takes in the entries that an iterator is still to pass.
pub fn collect(scan: Iter, into: &mut Map) -> Result<(), Wrong> {
    for entry in scan {
        let (key, value) = entry.map_err(told("a scan failed"))?;
        into.insert(key, value.to_vec());
    }
    Ok(())
}

/// No batch is half visible: both halves of each thread's pair say the same. Answers what they say.
pub fn pairs(stage: &Stage, options: &ReadOptions) -> Result<Vec<Option<Vec<u8>>>, Wrong> {
    let (first, last) = (&stage.keyspaces[0], &stage.keyspaces[stage.keyspaces.len() - 1]);
    let mut said = Vec::new();
    for thread in 0..stage.features.threads {
        let read = |keyspace: &Keyspace| {
            let value = keyspace.get_opt(stage.features.pair_key(thread), options);
            value.map(|value| value.map(|value| value.to_vec())).map_err(told("a read failed"))
        };
        let (one, other) = (read(first)?, read(last)?);
        if one != other {
            return Err(format!("half of a batch of thread {thread} shows: {one:?}, {other:?}"));
        }
        said.push(one);
    }
    Ok(said)
}
