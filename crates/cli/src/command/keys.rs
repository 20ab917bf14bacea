//! `keys`: where the bytes of a keyspace are, by one walk through its entries.
//!
//! The size of an entry is the bytes of its key and of its value as a read returns it: operands are
//! folded, and a separated value counts by its length. On the disk, compression and older records
//! make another size.
//!
//! Invariant: memory holds as many keys as are asked for, and one prefix.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foldb::Iter;
use foldb_typed::schema::{KeyColumns, Schema};
use serde_json::json;

use crate::args::{Common, Keys};
use crate::command::point;
use crate::command::scan::{Tally, Walk, once};
use crate::exit::{Exit, Outcome};
use crate::form::json::integer;
use crate::form::{Form, Shown as Text, json as as_json};
use crate::keyspace::Shown;
use crate::output::Output;
use crate::progress;

/// Walks, and prints.
pub(super) fn run(args: &Keys, common: &Common) -> Outcome {
    let shown = Shown::open(&args.db, &args.within.keyspace, common.options())?;
    let style = point::entry_style(&shown, common)?;
    let names = Names { form: style.key, types: style.types.clone(), json: common.json };
    let spinner = progress::spinner(
        "walking",
        "{prefix} {spinner} {human_pos} entries, {per_sec}, {elapsed}",
    );
    let mut output = Output::new();
    let mut measure = Measure::of(args, &names)?;
    let mut tally = Tally::new(true);
    let entries = shown.keyspace.with(&once()).iter()?;
    Walk { entries, reverse: false, limit: u64::MAX }.each(|entries| {
        spinner.inc(1);
        let measured = match &mut measure {
            Measure::Chains(top) => shown
                .keyspace
                .get_operands(entries.key())
                .map(|operands| top.offer(operands.len() as u64, entries.key()))
                .map_err(|error| Exit::failed(error.to_string())),
            Measure::Sizes(top) => size_of(entries, &names).map(|size| {
                top.offer(size.total(), entries.key());
            }),
            Measure::Prefixes(prefixes) => size_of(entries, &names)
                .and_then(|size| prefixes.add(entries.key(), size, &names, &mut output)),
        };
        tally.note(measured)
    })?;
    spinner.finish_and_clear();
    match measure {
        Measure::Chains(top) => top.print("operands", &names, &mut output)?,
        Measure::Sizes(top) => top.print("bytes", &names, &mut output)?,
        Measure::Prefixes(prefixes) => prefixes.finish(&names, &mut output)?,
    }
    output.flush()?;
    shown.close()?;
    tally.finish()
}

/// How keys are shown.
struct Names {
    form: Form,
    types: Option<Schema>,
    json: bool,
}

impl Names {
    /// Shows a key, or a prefix that is no whole key.
    fn show(&self, key: &[u8]) -> Outcome<String> {
        if let Some(types) = &self.types {
            return Ok(types.show_key(key)?);
        }
        let mut text = Vec::new();
        let shown = self.form.show(key).map_err(|why| Exit::failed(format!("a key {why}")))?;
        shown.write_escaped(&mut text).map_err(|error| Exit::stdout(&error))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn to_json(&self, key: &[u8]) -> Outcome<serde_json::Value> {
        match (&self.types, self.form) {
            (None, form) => {
                let shown = form.show(key).map_err(|why| Exit::failed(format!("a key {why}")))?;
                Ok(as_json::value(shown))
            }
            (Some(_), _) => Ok(as_json::value(Text::Text(self.show(key)?.as_bytes()))),
        }
    }
}

/// The bytes of an entry.
#[derive(Clone, Copy, Default)]
struct Size {
    key: u64,
    value: u64,
}

impl Size {
    fn total(self) -> u64 {
        self.key + self.value
    }
}

fn size_of(entries: &Iter, names: &Names) -> Outcome<Size> {
    let key = entries.key();
    let value = entries.value().map_err(|error| {
        let key = names.show(key).unwrap_or_else(|_| "a key".to_owned());
        Exit::failed(format!("{key}: {error}"))
    })?;
    Ok(Size { key: key.len() as u64, value: value.len() as u64 })
}

/// What the walk looks for.
enum Measure {
    Sizes(Top),
    Chains(Top),
    Prefixes(Prefixes),
}

impl Measure {
    fn of(args: &Keys, names: &Names) -> Outcome<Measure> {
        let top = |most: u64| Top { most, heap: BinaryHeap::new() };
        if let Some(prefix) = &args.by_prefix {
            let cut = Cut::of(prefix, names)?;
            let largest =
                args.largest.map(|most| LargestPrefixes { most, heap: BinaryHeap::new() });
            return Ok(Measure::Prefixes(Prefixes { cut, largest, ..Prefixes::default() }));
        }
        match (args.largest, args.longest_chains) {
            (Some(most), None) => Ok(Measure::Sizes(top(most))),
            (None, Some(most)) => Ok(Measure::Chains(top(most))),
            _ => {
                Err(Exit::usage("give one of --largest N, --longest-chains N and --by-prefix CUT"))
            }
        }
    }
}

/// The keys with the largest figures. The smallest of them, which leaves first, is on top.
struct Top {
    most: u64,
    heap: BinaryHeap<Reverse<(u64, Reverse<Vec<u8>>)>>,
}

impl Top {
    fn offer(&mut self, figure: u64, key: &[u8]) {
        let is_full = self.heap.len() as u64 >= self.most;
        let least = self.heap.peek().map_or(0, |Reverse((least, _))| *least);
        // Keys come in order, so an equal figure behind another one is out.
        if figure == 0 || is_full && (figure <= least || self.most == 0) {
            return;
        }
        self.heap.push(Reverse((figure, Reverse(key.to_vec()))));
        if is_full {
            self.heap.pop();
        }
    }

    fn print(self, unit: &str, names: &Names, output: &mut Output) -> Outcome {
        for Reverse((figure, Reverse(key))) in self.heap.into_sorted_vec() {
            if names.json {
                output.json(&json!({ "key": names.to_json(&key)?, unit: integer(figure) }))?;
            } else {
                output.text(&format!("{figure}\t{}\n", names.show(&key)?))?;
            }
        }
        Ok(())
    }
}

/// Where a prefix ends.
#[derive(Default)]
enum Cut {
    /// Behind the first of these texts.
    Behind(Vec<u8>),
    /// After this number of bytes.
    Length(usize),
    /// After this number of fields of a typed key.
    Fields(usize, KeyColumns),
    #[default]
    Nowhere,
}

impl Cut {
    fn of(text: &str, names: &Names) -> Outcome<Cut> {
        match (text.parse(), &names.types) {
            (Ok(fields), Some(types)) => Ok(Cut::Fields(fields, types.key_columns()?)),
            (Err(_), Some(_)) => {
                Err(Exit::usage("--by-prefix takes a number of fields for typed keys"))
            }
            (Ok(length), None) => Ok(Cut::Length(length)),
            (Err(_), None) if text.is_empty() => Err(Exit::usage("--by-prefix is empty")),
            (Err(_), None) => Ok(Cut::Behind(text.as_bytes().to_vec())),
        }
    }

    /// Returns the prefix of a key as it is told from others and shown; `None` if the key has no
    /// such prefix.
    fn prefix(&self, key: &[u8]) -> Outcome<Option<Vec<u8>>> {
        Ok(match self {
            Cut::Behind(text) => {
                memchr::memmem::find(key, text).map(|at| key[..at + text.len()].to_vec())
            }
            Cut::Length(length) => Some(key[..key.len().min(*length)].to_vec()),
            Cut::Fields(fields, columns) => {
                let texts = columns.show(key)?;
                Some(texts[..texts.len().min(*fields)].join(", ").into_bytes())
            }
            Cut::Nowhere => None,
        })
    }
}

/// Sums for each prefix. Keys come in order, so a prefix is complete when another one begins.
#[derive(Default)]
struct Prefixes {
    cut: Cut,
    /// The largest prefixes, if only those are asked for.
    largest: Option<LargestPrefixes>,
    current: Option<Sum>,
    /// The keys without a prefix.
    rest: Sum,
}

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Sum {
    bytes: u64,
    prefix: Reverse<Vec<u8>>,
    entries: u64,
}

struct LargestPrefixes {
    most: u64,
    heap: BinaryHeap<Reverse<Sum>>,
}

impl Prefixes {
    fn add(&mut self, key: &[u8], size: Size, names: &Names, output: &mut Output) -> Outcome {
        let Some(prefix) = self.cut.prefix(key)? else {
            self.rest.bytes += size.total();
            self.rest.entries += 1;
            return Ok(());
        };
        match &mut self.current {
            Some(sum) if sum.prefix.0 == prefix => {
                sum.bytes += size.total();
                sum.entries += 1;
                Ok(())
            }
            current => {
                let prefix = Reverse(prefix);
                let done = current.replace(Sum { bytes: size.total(), prefix, entries: 1 });
                done.map_or(Ok(()), |done| self.complete(done, names, output))
            }
        }
    }

    fn complete(&mut self, sum: Sum, names: &Names, output: &mut Output) -> Outcome {
        let Some(largest) = &mut self.largest else { return print(&sum, &self.cut, names, output) };
        largest.heap.push(Reverse(sum));
        if largest.heap.len() as u64 > largest.most {
            largest.heap.pop();
        }
        Ok(())
    }

    fn finish(mut self, names: &Names, output: &mut Output) -> Outcome {
        if let Some(sum) = self.current.take() {
            self.complete(sum, names, output)?;
        }
        if self.rest.entries > 0 {
            let rest = std::mem::take(&mut self.rest);
            self.complete(rest, names, output)?;
        }
        let largest = self.largest.take().map(|largest| largest.heap.into_sorted_vec());
        for Reverse(sum) in largest.unwrap_or_default() {
            print(&sum, &self.cut, names, output)?;
        }
        Ok(())
    }
}

fn print(sum: &Sum, cut: &Cut, names: &Names, output: &mut Output) -> Outcome {
    let prefix = &sum.prefix.0;
    // The fields of a typed key are text already.
    let plain = Names { form: Form::Utf8, types: None, json: names.json };
    let names = if matches!(cut, Cut::Fields(..)) { &plain } else { names };
    if names.json {
        let prefix = names.to_json(prefix)?;
        let (bytes, entries) = (integer(sum.bytes), integer(sum.entries));
        return output.json(&json!({ "prefix": prefix, "bytes": bytes, "entries": entries }));
    }
    output.text(&format!("{}\t{}\t{}\n", sum.bytes, sum.entries, names.show(prefix)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stay_and_equal_ones_keep_their_order() {
        let mut top = Top { most: 2, heap: BinaryHeap::new() };
        for (figure, key) in [(5, "a"), (0, "b"), (7, "c"), (5, "d"), (9, "e"), (7, "f")] {
            top.offer(figure, key.as_bytes());
        }
        let kept: Vec<_> = top.heap.into_sorted_vec();
        let kept: Vec<_> = kept.iter().map(|Reverse((n, Reverse(key)))| (*n, &key[..])).collect();
        assert_eq!(kept, [(9, &b"e"[..]), (7, b"c")]);
        let mut none = Top { most: 0, heap: BinaryHeap::new() };
        none.offer(5, b"a");
        assert!(none.heap.is_empty());
    }
}
