//! Counts a corpus in two ways, and compares a database with the true counts.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use foldb::stats::Stats;
use foldb::{Db, KeyspaceOptions, Options};
use indicatif::ProgressBar;

use crate::command::demo::words::Corpus;
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::interrupt::Watch;

/// Words between two flushes. Without them, counters that fold in place would never fill the write
/// buffer, and the demo would show no flush or compaction.
const WORDS_A_FLUSH: u64 = 200_000;
/// A demo of fewer words flushes after each tenth of them.
const FLUSHES: u64 = 10;
/// Words between two checks for Ctrl-C and updates of the progress bar.
const WORDS_A_LOOK: u64 = 2_048;

/// How a word is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// One blind merge.
    Merge,
    /// A get, an addition, a put.
    GetPut,
}

impl Way {
    /// Returns the options of its database. The write buffer is small, so the tree has work.
    pub(super) fn options(self) -> Options {
        Options {
            write_buffer_size: 1 << 20,
            default: KeyspaceOptions {
                merge_operator: (self == Way::Merge).then(|| "uint64add".to_owned()),
                ..KeyspaceOptions::default()
            },
            ..Options::default()
        }
    }

    fn count(self, db: &Db, word: &str) -> Outcome {
        match self {
            Way::Merge => db.merge(word, 1u64.to_le_bytes())?,
            Way::GetPut => {
                let count = match db.get(word)? {
                    Some(value) => counter(word, &value)?,
                    None => 0,
                };
                db.put(word, (count + 1).to_le_bytes())?;
            }
        }
        Ok(())
    }
}

/// The result of a job.
#[derive(Clone, Debug)]
pub(super) struct Done {
    /// Time from the first word to the end of the last background work.
    pub took: Duration,
    /// What the engine did.
    pub stats: Stats,
}

/// Counts the first `total` words of a corpus into `db`.
pub(super) fn count(
    way: Way,
    db: &Db,
    corpus: &Corpus,
    total: u64,
    bar: &ProgressBar,
    watch: &Watch,
) -> Outcome<Done> {
    let words_a_flush = WORDS_A_FLUSH.min(total.div_ceil(FLUSHES)).max(1);
    let started = Instant::now();
    for (done, word) in (1..).zip(corpus.words(total)) {
        way.count(db, word)?;
        if done % words_a_flush == 0 {
            db.flush()?;
        }
        if done % WORDS_A_LOOK == 0 {
            bar.set_position(done);
            if watch.interrupted() {
                return Err(Exit::Interrupted("interrupted".to_owned()));
            }
        }
    }
    db.flush()?;
    db.wait_for_background()?;
    Ok(Done { took: started.elapsed(), stats: db.stats() })
}

/// Compares a database with the true counts, in both directions.
///
/// # Errors
/// Fails with the first word that differs.
pub(super) fn compare(db: &Db, truth: &HashMap<&str, u64>) -> Outcome {
    let entries = db.iter()?.map(|entry| entry.map(|(word, count)| (word, count.into_owned())));
    compare_entries(entries, truth)?;
    compare_lookups(|word| Ok(db.get(word)?.map(|count| count.into_owned())), truth)
}

/// Checks every entry, and the number of entries, against the true counts.
fn compare_entries(
    entries: impl Iterator<Item = foldb::Result<(Vec<u8>, Vec<u8>)>>,
    truth: &HashMap<&str, u64>,
) -> Outcome {
    let mut found = 0;
    for entry in entries {
        let (word, count) = entry?;
        let expected = std::str::from_utf8(&word).ok().and_then(|word| truth.get(word)).copied();
        same(&word, Some(&count), expected)?;
        found += 1;
    }
    if found != truth.len() {
        let expected = truth.len();
        return Err(Exit::failed(format!(
            "the database has {found} words and the hash map {expected}"
        )));
    }
    Ok(())
}

/// Looks up every word of the true counts.
fn compare_lookups(
    lookup: impl Fn(&str) -> Outcome<Option<Vec<u8>>>,
    truth: &HashMap<&str, u64>,
) -> Outcome {
    truth.iter().try_for_each(|(&word, &expected)| {
        same(word.as_bytes(), lookup(word)?.as_deref(), Some(expected))
    })
}

fn same(word: &[u8], found: Option<&[u8]>, expected: Option<u64>) -> Outcome {
    let name = quoted(word);
    let found = found.map(|bytes| counter(&String::from_utf8_lossy(word), bytes)).transpose()?;
    if found == expected {
        return Ok(());
    }
    let shown = |count: Option<u64>| count.map_or("nothing".to_owned(), |count| count.to_string());
    Err(Exit::failed(format!(
        "the counts differ: {name} is {} in the database and {} in the hash map",
        shown(found),
        shown(expected)
    )))
}

fn counter(word: &str, bytes: &[u8]) -> Outcome<u64> {
    let bytes = <[u8; 8]>::try_from(bytes).map_err(|_| {
        let (word, len) = (quoted(word.as_bytes()), bytes.len());
        Exit::failed(format!("the counter of {word} has {len} bytes instead of 8"))
    })?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(of: &[(&str, u64)]) -> Vec<foldb::Result<(Vec<u8>, Vec<u8>)>> {
        of.iter()
            .map(|(word, n)| Ok((word.as_bytes().to_vec(), n.to_le_bytes().to_vec())))
            .collect()
    }

    fn compared(database: &[(&str, u64)], truth: &[(&str, u64)]) -> [Outcome; 2] {
        let truth: HashMap<&str, u64> = truth.iter().copied().collect();
        let by_word: HashMap<&str, u64> = database.iter().copied().collect();
        let lookup = |word: &str| Ok(by_word.get(word).map(|n| n.to_le_bytes().to_vec()));
        [compare_entries(entries(database).into_iter(), &truth), compare_lookups(lookup, &truth)]
    }

    #[test]
    fn equal_counts_agree_both_ways() {
        let counts = [("a", 1), ("b", 2)];
        assert_eq!(compared(&counts, &counts), [Ok(()), Ok(())]);
    }

    #[test]
    fn every_difference_is_a_failure() {
        let truth = [("a", 1), ("b", 2)];
        for wrong in [&[("a", 1), ("b", 3)][..], &[("a", 1)], &[]] {
            for outcome in compared(wrong, &truth) {
                assert_eq!(outcome.unwrap_err().code(), 1, "{wrong:?}");
            }
        }
        let [by_entry, by_lookup] = compared(&[("a", 1), ("b", 2), ("c", 1)], &truth);
        assert_eq!(by_entry.unwrap_err().code(), 1);
        assert_eq!(by_lookup, Ok(()), "only the way over the entries sees a word too many");
    }

    #[test]
    fn a_counter_has_eight_bytes() {
        assert_eq!(counter("a", &[2, 1, 0, 0, 0, 0, 0, 0]), Ok(258));
        assert_eq!(counter("a", b"abc").unwrap_err().code(), 1);
    }
}
