//! Compares a database with the models of its threads.

use foldb::{Iter, Keyspace, KeyspaceReader, Value};

use crate::features::Features;
use crate::model::{Map, Model};
use crate::report::Progress;
use crate::stage::{Shown, Stage};
use crate::write::{TALLIES, Write};

/// An error found by a check, as a sentence.
pub(crate) type Wrong = String;

/// Returns a function that turns an engine's error into a sentence that names the failed call.
pub(crate) fn told(what: &str) -> impl Fn(foldb::Error) -> Wrong {
    let what = what.to_owned();
    move |error| format!("{what}: {error}")
}

/// What a check of a whole database found about one thread.
pub(crate) struct Found {
    pub model: Model,
    pub progress: Progress,
    /// Whether an unacknowledged write is visible.
    pub kept_interrupted: bool,
}

/// Compares all keys with the acknowledged writes of the threads. One more write of each thread may
/// be visible: the write that the kill interrupted, or the write before it if that one failed.
pub(crate) fn whole(stage: &Stage, before: &[Progress]) -> Result<Vec<Found>, Wrong> {
    let features = &stage.features;
    let mut actual = vec![vec![Map::new(); stage.keyspaces.len()]; usize::from(features.threads)];
    for (at, keyspace) in stage.keyspaces.iter().enumerate() {
        for (key, value) in both_directions(features, keyspace)? {
            let thread = features.owner(&key).filter(|&thread| thread < features.threads);
            let thread = thread.ok_or_else(|| format!("the key belongs to no thread {key:?}"))?;
            actual[usize::from(thread)][at].insert(key, value);
        }
    }
    let mut found = Vec::new();
    for ((thread, actual), before) in (0..).zip(&actual).zip(before) {
        found.push(one_thread(features, thread, actual, before)?);
    }
    point_reads(stage, &actual)?;
    tallies(stage, &found)?;
    Ok(found)
}

fn one_thread(
    features: &Features,
    thread: u8,
    actual: &[Map],
    before: &Progress,
) -> Result<Found, Wrong> {
    let without = Model::after(features, thread, before.acknowledged, &before.failed);
    // If the next write has no visible effect, doing it again is harmless.
    if differences(&without, actual).is_empty() {
        let progress = before.clone().without_attempts();
        return Ok(Found { model: without, progress, kept_interrupted: false });
    }
    for (number, progress) in before.attempts() {
        let mut model = without.clone();
        model.apply(&features.write(thread, number));
        if differences(&model, actual).is_empty() {
            return Ok(Found { model, progress, kept_interrupted: true });
        }
    }
    let writes = before.acknowledged + before.attempted;
    Err(format!(
        "thread {thread} after {writes} acknowledged writes, of which {} failed: {}; the next write is {}",
        before.failed.len() as u64 + before.attempted,
        differences(&without, actual).join("; "),
        shown(&features.write(thread, writes)),
    ))
}

/// Returns the first key of each keyspace at which a thread's model and its maps differ.
fn differences(expected: &Model, actual: &[Map]) -> Vec<String> {
    let difference = actual.iter().enumerate().filter_map(|(at, actual)| {
        Some(format!("keyspace {at}, {}", difference_of(expected.entries(at), actual)?))
    });
    difference.collect()
}

/// Returns a write as text, without most of its bytes.
fn shown(write: &Write) -> String {
    let text = format!("{write:?}");
    text.chars().take(2000).collect()
}

/// Returns the first key at which expected entries and a map differ.
pub(crate) fn difference_of<'a>(
    mut expected: impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>,
    actual: &Map,
) -> Option<String> {
    let mut actual = actual.iter();
    loop {
        match (expected.next(), actual.next()) {
            (None, None) => return None,
            (one, other) if one == other => {}
            (one, other) => {
                let key = one.into_iter().chain(other).map(|(key, _)| key).min()?;
                let shown = |entry: Option<(&Vec<u8>, &Vec<u8>)>| {
                    let value = entry.filter(|(own, _)| *own == key).map(|(_, value)| value);
                    value.map_or("nothing".to_owned(), |value| {
                        format!("{} bytes {:?}", value.len(), &value[..value.len().min(40)])
                    })
                };
                return Some(format!(
                    "key {key:?}: expected {}, found {}",
                    shown(one),
                    shown(other)
                ));
            }
        }
    }
}

/// Returns all entries of a keyspace. Fails if forward and backward scans differ.
fn both_directions(features: &Features, keyspace: &Keyspace) -> Result<Map, Wrong> {
    let scan = || keyspace.iter().map_err(told("cannot scan"));
    let collect = |entry: foldb::Result<(Vec<u8>, Value)>| {
        let entry = entry.map_err(told("a scan failed"));
        entry.map(|(key, value)| (features.written_key(&key), value.to_vec()))
    };
    let forwards = scan()?.map(collect).collect::<Result<Vec<_>, _>>()?;
    let mut backwards = scan()?.rev().map(collect).collect::<Result<Vec<_>, _>>()?;
    backwards.reverse();
    if forwards != backwards {
        return Err(format!("keyspace {}: forwards and backwards differ", keyspace.name()));
    }
    if !forwards.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(format!("keyspace {}: a scan is out of order", keyspace.name()));
    }
    Ok(forwards.into_iter().collect())
}

/// Reads some keys one by one, and keys that do not exist.
fn point_reads(stage: &Stage, actual: &[Vec<Map>]) -> Result<(), Wrong> {
    for maps in actual {
        for (keyspace, map) in stage.keyspaces.iter().zip(maps) {
            for (key, value) in map.iter().step_by(5) {
                let get = |key: &[u8], value| {
                    let key = stage.features.stored_key(key);
                    expect_get(keyspace, &key, value)
                };
                get(key, Some(value))?;
                let absent = [key, &b"~"[..]].concat();
                let value = map.get(&absent);
                get(&absent, value)?;
            }
        }
    }
    Ok(())
}

pub(crate) fn expect_get(
    keyspace: &Keyspace,
    key: &[u8],
    expected: Option<&Vec<u8>>,
) -> Result<(), Wrong> {
    let value = keyspace.get(key).map_err(told("a read failed"))?;
    let value = value.map(|value| value.to_vec());
    if value.as_ref() == expected {
        return Ok(());
    }
    let own = key.to_vec();
    let actual = value.map(|value| (own.clone(), value)).into_iter().collect();
    let difference = difference_of(expected.map(|value| (&own, value)).into_iter(), &actual);
    Err(format!("get in {}: {}", keyspace.name(), difference.unwrap_or_default()))
}

/// Compares tallies with the sum over all threads, which merge into the same keys.
fn tallies(stage: &Stage, found: &[Found]) -> Result<(), Wrong> {
    for slot in 0..TALLIES {
        let expected: u64 = found.iter().map(|one| one.model.tallies[usize::from(slot)]).sum();
        let expected = (expected > 0).then(|| expected.to_le_bytes().to_vec());
        expect_get(&stage.tally, &[slot], expected.as_ref())?;
    }
    Ok(())
}

/// Compares the keys of one thread with its model.
pub(crate) fn own_keys(shown: &Shown<'_>, thread: u8, model: &Model) -> Result<(), Wrong> {
    let features = shown.features;
    for (at, keyspace) in shown.keyspaces.iter().enumerate() {
        let mut actual = Map::new();
        for key in [features.pair_key(thread), features.bulk_key(thread)] {
            let value = keyspace.get(features.stored_key(&key));
            let value = value.map_err(told("a read failed"))?;
            actual.extend(value.map(|value| (key, value.to_vec())));
        }
        for block in 0..features.blocks {
            let from = features.prefix(block, thread).to_vec();
            let to = [&from[..], &[u8::MAX]].concat();
            let range = features.stored_key(&from)..features.stored_key(&to);
            let scan = keyspace.range(range);
            collect(features, scan.map_err(told("cannot scan"))?, &mut actual)?;
        }
        if let Some(difference) = difference_of(model.entries(at), &actual) {
            return Err(format!("thread {thread}, {}: {difference}", keyspace.name()));
        }
    }
    Ok(())
}

/// Adds the entries that an iterator has not yet passed.
pub(crate) fn collect(features: &Features, scan: Iter, into: &mut Map) -> Result<(), Wrong> {
    for entry in scan {
        let (key, value) = entry.map_err(told("a scan failed"))?;
        into.insert(features.written_key(&key), value.to_vec());
    }
    Ok(())
}

/// Checks that batches are visible as a whole: both halves of each thread's pair are equal. Returns
/// the pairs.
pub(crate) fn pairs(shown: &Shown<'_>) -> Result<Vec<Option<Vec<u8>>>, Wrong> {
    let Shown { features, keyspaces } = shown;
    let (first, last) = (&keyspaces[0], &keyspaces[keyspaces.len() - 1]);
    let mut said = Vec::new();
    for thread in 0..features.threads {
        let read = |keyspace: &KeyspaceReader| {
            let value = keyspace.get(features.stored_key(&features.pair_key(thread)));
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
