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
    let mut actual = vec![Model::new(features).keyspaces; usize::from(features.threads)];
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
    if without.keyspaces == actual {
        let progress = before.clone().without_attempts();
        return Ok(Found { model: without, progress, kept_interrupted: false });
    }
    for (number, progress) in before.attempts() {
        let mut model = without.clone();
        model.apply(&features.write(thread, number));
        if model.keyspaces == actual {
            return Ok(Found { model, progress, kept_interrupted: true });
        }
    }
    let writes = before.acknowledged + before.attempted;
    let difference = (0..).zip(without.keyspaces.iter().zip(actual));
    let difference = difference.filter_map(|(at, (expected, actual))| {
        Some(format!("keyspace {at}, {}", difference_of(expected, actual)?))
    });
    let differences: Vec<_> = difference.collect();
    Err(format!(
        "thread {thread} after {writes} acknowledged writes, of which {} failed: {}; the next write is {}",
        before.failed.len() as u64 + before.attempted,
        differences.join("; "),
        shown(&features.write(thread, writes)),
    ))
}

/// Returns a write as text, without most of its bytes.
fn shown(write: &Write) -> String {
    let text = format!("{write:?}");
    text.chars().take(2000).collect()
}

/// Returns the first key at which two maps differ.
pub(crate) fn difference_of(expected: &Map, actual: &Map) -> Option<String> {
    let keys = expected.keys().chain(actual.keys());
    let key = keys.filter(|&key| expected.get(key) != actual.get(key)).min()?;
    let shown = |map: &Map| {
        map.get(key).map_or("nothing".to_owned(), |value| {
            format!("{} bytes {:?}", value.len(), &value[..value.len().min(40)])
        })
    };
    Some(format!("key {key:?}: expected {}, found {}", shown(expected), shown(actual)))
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
    let one = |value: Option<&Vec<u8>>| value.map(|value| (key.to_vec(), value.clone()));
    let map = |value| one(value).into_iter().collect::<Map>();
    let difference = difference_of(&map(expected), &map(value.as_ref()));
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
    for (keyspace, expected) in shown.keyspaces.iter().zip(&model.keyspaces) {
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
        if let Some(difference) = difference_of(expected, &actual) {
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
