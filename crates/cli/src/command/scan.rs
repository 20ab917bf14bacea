//! `scan`: entries in the order of their keys, as a stream.

use std::ops::Bound;

use foldb::{Iter, ReadOptions};

use crate::args::{Common, Scan};
use crate::command::{key, point};
use crate::exit::{Exit, Outcome};
use crate::location;
use crate::output::{EntryStyle, Output};

/// Prints the entries that were asked for.
pub fn run(args: &Scan, common: &Common) -> Outcome {
    let bound = |text: &Option<_>| text.as_deref().map(|text| key(text, common)).transpose();
    let range = KeyRange::new(
        bound(&args.from)?,
        bound(&args.to)?,
        bound(&args.prefix)?.unwrap_or_default(),
    );
    let db = location::open_to_read(&args.db)?;
    if !range.is_empty() {
        let once = ReadOptions { fill_cache: false, ..ReadOptions::default() };
        let entries = db.range_opt::<Vec<u8>>(range.bounds(), &once)?;
        let style = point::entry_style(&db, common);
        let mut output = Output::new();
        let printed = print(entries, args, style, &mut output);
        // What stands before a bad entry is printed.
        output.flush()?;
        printed?;
    }
    Ok(db.close()?)
}

fn print(mut entries: Iter, args: &Scan, style: EntryStyle, output: &mut Output) -> Outcome {
    let mut left = args.limit.unwrap_or(u64::MAX);
    if left == 0 {
        return Ok(());
    }
    let mut valid = if args.reverse { entries.seek_to_last()? } else { entries.seek_to_first()? };
    while valid {
        let value = entries.value().map_err(|error| {
            Exit::failed(format!("{}: {error}", style.key_in_message(entries.key())))
        })?;
        style.line(output, entries.key(), value)?;
        left -= 1;
        if left == 0 {
            break;
        }
        valid = if args.reverse { entries.retreat()? } else { entries.advance()? };
    }
    Ok(())
}

/// Keys from `from`, included, to `to`, excluded.
#[derive(Debug, PartialEq, Eq)]
struct KeyRange {
    from: Vec<u8>,
    to: Option<Vec<u8>>,
}

impl KeyRange {
    /// What lies between the bounds and begins with the prefix.
    fn new(from: Option<Vec<u8>>, to: Option<Vec<u8>>, prefix: Vec<u8>) -> KeyRange {
        let to = match (to, behind_prefix(&prefix)) {
            (Some(to), Some(end)) => Some(to.min(end)),
            (to, end) => to.or(end),
        };
        KeyRange { from: from.unwrap_or_default().max(prefix), to }
    }

    fn is_empty(&self) -> bool {
        self.to.as_ref().is_some_and(|to| *to <= self.from)
    }

    fn bounds(self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (Bound::Included(self.from), self.to.map_or(Bound::Unbounded, Bound::Excluded))
    }
}

/// The smallest key behind all that begin with `prefix`; nothing if there is none.
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
