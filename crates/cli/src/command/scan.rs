//! `scan`: prints entries in key order, or their number.

use std::ops::Bound;

use foldb::{Iter, KeyspaceReader, ReadOptions, Value};
use serde_json::json;

use crate::args::{Common, Scan};
use crate::command::point;
use crate::command::typed::key_of;
use crate::exit::{Exit, Outcome};
use crate::form::KeyFormat;
use crate::form::escape::quoted;
use crate::form::json::integer;
use crate::keyspace::Shown;
use crate::output::{EntryStyle, Output};

/// Runs the command.
pub(super) fn run(args: &Scan, common: &Common) -> Outcome {
    if common.key_format == KeyFormat::Typed && args.prefix.is_some() {
        return Err(Exit::usage("--prefix takes bytes, and --key-format typed has whole keys"));
    }
    let shown = Shown::open(&args.db, &args.within.keyspace, common.options())?;
    let style = point::entry_style(&shown, common)?;
    let types = style.types.as_ref();
    let bound =
        |text: &Option<_>| text.as_deref().map(|text| key_of(text, common, types)).transpose();
    let range = KeyRange::new(
        bound(&args.from)?,
        bound(&args.to)?,
        bound(&args.prefix)?.unwrap_or_default(),
    );
    let entries = shown.keyspace.with(&once()).range(range.bounds_in(&shown.keyspace)?)?;
    let walk = Walk { entries, reverse: args.reverse, limit: args.limit.unwrap_or(u64::MAX) };
    let mut output = Output::new();
    if args.count {
        print_count(walk.count()?, common.json, &mut output)?;
        output.flush()?;
    } else {
        let printed = print(walk, &style, args.skip_failed, &mut output);
        // Print the entries before a bad one.
        output.flush()?;
        printed?;
    }
    shown.close()
}

/// Options of a walk that leaves the cached blocks of other reads in place.
pub(super) fn once() -> ReadOptions {
    ReadOptions { fill_cache: false, ..ReadOptions::default() }
}

/// Counts printed and skipped entries.
#[derive(Default)]
pub(super) struct Tally {
    skip_failed: bool,
    printed: u64,
    skipped: u64,
    /// The reason for the first skip.
    first: Option<String>,
}

impl Tally {
    /// Starts counting. An entry that cannot be printed is skipped if `skip_failed`; otherwise it
    /// ends the walk.
    pub(super) fn new(skip_failed: bool) -> Tally {
        Tally { skip_failed, ..Tally::default() }
    }

    /// Counts an entry.
    ///
    /// # Errors
    /// The reason why it cannot be printed, unless such entries are skipped.
    pub(super) fn note(&mut self, printed: Outcome) -> Outcome {
        match printed {
            Err(Exit::Failed(why)) if self.skip_failed => {
                self.skipped += 1;
                self.first.get_or_insert(why);
                Ok(())
            }
            done => done.map(|()| self.printed += 1),
        }
    }

    /// Returns how many entries were printed.
    pub(super) fn printed(&self) -> u64 {
        self.printed
    }

    /// Ends the walk.
    ///
    /// # Errors
    /// [`Exit::Partial`] if entries were skipped.
    pub(super) fn finish(self) -> Outcome {
        let Tally { printed, skipped, .. } = self;
        self.first.map_or(Ok(()), |first| {
            let were = if printed == 1 { "entry was" } else { "entries were" };
            Err(Exit::Partial(format!(
                "{printed} {were} printed, {skipped} skipped; the first: {first}"
            )))
        })
    }
}

fn print(walk: Walk, style: &EntryStyle, skip_failed: bool, output: &mut Output) -> Outcome {
    let mut tally = Tally::new(skip_failed);
    walk.each(|entries| {
        let printed = value_of(entries, style);
        let printed = printed.and_then(|value| style.line(output, entries.key(), value));
        tally.note(printed)
    })?;
    tally.finish()
}

/// Returns the value at an iterator.
///
/// # Errors
/// Fails with the key's name if the value cannot be read or folded.
pub(super) fn value_of<'a>(entries: &'a Iter, style: &EntryStyle) -> Outcome<&'a Value> {
    entries
        .value()
        .map_err(|error| Exit::failed(format!("{}: {error}", style.key_in_message(entries.key()))))
}

fn print_count(count: u64, as_json: bool, output: &mut Output) -> Outcome {
    if as_json {
        return output.json(&json!({ "count": integer(count) }));
    }
    output.text(&format!("{count}\n"))
}

/// A walk through entries.
pub(super) struct Walk {
    /// The position.
    pub entries: Iter,
    /// Whether it walks from the last entry to the first.
    pub reverse: bool,
    /// Most entries that it visits.
    pub limit: u64,
}

impl Walk {
    /// Counts its entries. It reads no value, so entries whose merge fails count too.
    pub(super) fn count(self) -> Outcome<u64> {
        let mut count = 0;
        self.each(|_| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    /// Visits the entries in order.
    pub(super) fn each(mut self, mut visit: impl FnMut(&Iter) -> Outcome) -> Outcome {
        if self.limit == 0 {
            return Ok(());
        }
        let entries = &mut self.entries;
        let mut valid =
            if self.reverse { entries.seek_to_last()? } else { entries.seek_to_first()? };
        let mut left = self.limit;
        while valid {
            visit(entries)?;
            left -= 1;
            if left == 0 {
                break;
            }
            valid = if self.reverse { entries.retreat()? } else { entries.advance()? };
        }
        Ok(())
    }
}

/// The first and the last key of a walk.
type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Keys from `from` (inclusive) to `to` (exclusive).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyRange {
    from: Vec<u8>,
    to: Option<Vec<u8>>,
}

impl KeyRange {
    /// Returns the keys between the bounds that begin with the prefix.
    pub(super) fn new(from: Option<Vec<u8>>, to: Option<Vec<u8>>, prefix: Vec<u8>) -> KeyRange {
        let to = match (to, behind_prefix(&prefix)) {
            (Some(to), Some(end)) => Some(to.min(end)),
            (to, end) => to.or(end),
        };
        KeyRange { from: from.unwrap_or_default().max(prefix), to }
    }

    /// The range without keys: it ends at the empty key, which is smaller than all others.
    fn nothing() -> KeyRange {
        KeyRange { from: Vec::new(), to: Some(Vec::new()) }
    }

    fn is_empty(&self) -> bool {
        self.to.as_ref().is_some_and(|to| *to <= self.from)
    }

    /// Returns the range as bounds in the order of a keyspace.
    ///
    /// # Errors
    /// Fails for a part of a keyspace that is not in the order of the bytes.
    pub(super) fn bounds_in(self, keyspace: &KeyspaceReader) -> Outcome<Bounds> {
        if keyspace.comparator().bytewise_order() {
            return Ok(self.bounds());
        }
        match self.from.is_empty() && self.to.is_none() {
            true => Ok((Bound::Unbounded, Bound::Unbounded)),
            false => Err(Exit::failed(format!(
                "the comparator {} orders the keys: a part of them by its first and last key or by \
                 a prefix is only for the order of the bytes",
                quoted(keyspace.comparator().name().as_bytes())
            ))),
        }
    }

    /// Returns the range as bounds. The engine refuses a range that ends before it begins.
    fn bounds(self) -> Bounds {
        let range = if self.is_empty() { KeyRange::nothing() } else { self };
        range.into_bounds()
    }

    fn into_bounds(self) -> Bounds {
        (Bound::Included(self.from), self.to.map_or(Bound::Unbounded, Bound::Excluded))
    }
}

/// Returns the smallest key after all keys that begin with `prefix`; `None` if no key comes after
/// them.
fn behind_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: Option<&str>, to: Option<&str>, prefix: &str) -> KeyRange {
        KeyRange::new(from.map(Into::into), to.map(Into::into), prefix.into())
    }

    #[test]
    fn the_end_of_a_prefix() {
        assert_eq!(behind_prefix(b"th"), Some(b"ti".to_vec()));
        assert_eq!(behind_prefix(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(behind_prefix(b"\xff"), None);
        assert_eq!(behind_prefix(b""), None);
    }

    #[test]
    fn bounds_and_prefix_hold_together() {
        let all = KeyRange { from: vec![], to: None };
        assert_eq!(range(None, None, ""), all);
        let th = KeyRange { from: b"th".to_vec(), to: Some(b"ti".to_vec()) };
        assert_eq!(range(None, None, "th"), th);
        assert_eq!(range(Some("a"), Some("z"), "th"), th);
        let inner = KeyRange { from: b"the".to_vec(), to: Some(b"thi".to_vec()) };
        assert_eq!(range(Some("the"), Some("thi"), "th"), inner);
    }

    #[test]
    fn a_range_the_wrong_way_round_is_empty() {
        assert!(range(Some("b"), Some("a"), "").is_empty());
        assert!(range(Some("a"), Some("a"), "").is_empty());
        assert!(range(Some("z"), None, "th").is_empty());
        assert!(range(None, Some("a"), "th").is_empty());
        assert!(range(None, Some(""), "").is_empty());
        assert!(!range(None, None, "").is_empty());
    }
}
