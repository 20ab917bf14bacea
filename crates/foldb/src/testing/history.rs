//! Histories as text: `a.PUT.1(10) a.MERGE.2(+1) b.DEL.3`, in any order. `a..f.RDEL.4` deletes the
//! range `[a, f)`, `a..=f.RDEL.4` includes `f`, `>a..f.RDEL.4` excludes `a`.
//!
//! The first character of a merge's operand names its [toy](super::toys) operator.

use std::sync::Arc;

use crate::key::{Comparator, Kind, NO_OPERATOR, RecordHeader, SeqNo};
use crate::range_tombstone::{Edge, RangeTombstone};
use crate::testing::toys::operator_of;
use crate::value::Value;

/// One record of a history, or a range delete. For a range delete, the key is the text before the
/// two dots, and the value is the text between them and `.RDEL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) key: Vec<u8>,
    pub(crate) header: RecordHeader,
    pub(crate) value: Vec<u8>,
}

impl Event {
    pub(crate) fn new(key: &[u8], header: RecordHeader, value: &[u8]) -> Event {
        Event { key: key.to_vec(), header, value: value.to_vec() }
    }

    pub(crate) fn put(key: &str, seqno: SeqNo, value: &str) -> Event {
        Event::of(Kind::Put, key, seqno, value)
    }

    pub(crate) fn delete(key: &str, seqno: SeqNo) -> Event {
        Event::of(Kind::Delete, key, seqno, "")
    }

    pub(crate) fn merge(key: &str, seqno: SeqNo, operand: &str) -> Event {
        Event::of(Kind::Merge, key, seqno, operand)
    }

    fn of(kind: Kind, key: &str, seqno: SeqNo, value: &str) -> Event {
        let operator = if kind == Kind::Merge { operator_of(value) } else { NO_OPERATOR };
        Event::new(key.as_bytes(), RecordHeader { seqno, kind, operator }, value.as_bytes())
    }

    pub(crate) fn value(&self) -> Value {
        Value::from(&self.value[..])
    }

    /// Makes a delete of the range `[start, end)`.
    pub(crate) fn delete_range(start: &str, end: &str, seqno: SeqNo) -> Event {
        Event::of(Kind::DeleteRange, start, seqno, end)
    }

    /// Makes the range delete of a tombstone whose ends are keys.
    pub(crate) fn of_tombstone(tombstone: &RangeTombstone) -> Event {
        let header =
            RecordHeader { seqno: tombstone.seqno, kind: Kind::DeleteRange, operator: NO_OPERATOR };
        let said = |edge: &Edge, behind: &[u8]| match edge {
            Edge::Before(key) => key.to_vec(),
            Edge::Behind(key) => [behind, &**key].concat(),
            Edge::Lowest | Edge::Highest => panic!("{tombstone:?} has an open end"),
        };
        Event::new(&said(&tombstone.start, b">"), header, &said(&tombstone.end, b"="))
    }

    /// Returns whether the event is a range delete.
    pub(crate) fn is_range(&self) -> bool {
        self.header.kind == Kind::DeleteRange
    }

    /// Returns the event. If the start of a range delete is not below its end, the two change
    /// places, and the range includes its last key.
    pub(crate) fn in_order(mut self, comparator: &dyn Comparator) -> Event {
        if self.is_range() && comparator.compare(&self.key, &self.value).is_ge() {
            std::mem::swap(&mut self.key, &mut self.value);
            self.value.insert(0, b'=');
        }
        self
    }

    /// Returns a range delete's tombstone.
    pub(crate) fn tombstone(&self) -> Option<RangeTombstone> {
        let edge = |text: &[u8], behind: &[u8]| match text.strip_prefix(behind) {
            Some(key) => Edge::Behind(Arc::from(key)),
            None => Edge::Before(Arc::from(text)),
        };
        let (start, end) = (edge(&self.key, b">"), edge(&self.value, b"="));
        self.is_range().then_some(RangeTombstone { start, end, seqno: self.header.seqno })
    }

    fn parse(text: &str) -> Event {
        if let Some((start, rest)) = text.split_once("..") {
            let (end, seqno) =
                rest.split_once(".RDEL.").expect("a range delete is like a..f.RDEL.4");
            return Event::delete_range(start, end, seqno.parse().expect("a seqno"));
        }
        fn broken(text: &str) -> ! {
            panic!("'{text}' is not like a.PUT.1(10), a.MERGE.2(+1) or a.DEL.3")
        }
        let (name, value) = match text.split_once('(') {
            Some((name, value)) => (name, value.strip_suffix(')').unwrap_or_else(|| broken(text))),
            None => (text, ""),
        };
        let mut parts = name.split('.');
        let (Some(key), Some(kind), Some(seqno), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            broken(text);
        };
        let kind = match kind {
            "PUT" => Kind::Put,
            "DEL" => Kind::Delete,
            "MERGE" => Kind::Merge,
            _ => broken(text),
        };
        Event::of(kind, key, seqno.parse().unwrap_or_else(|_| panic!("a seqno in '{text}'")), value)
    }
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.header.kind {
            Kind::Put => "PUT",
            Kind::Separated => "SEPARATED",
            Kind::Delete => "DEL",
            Kind::Merge => "MERGE",
            Kind::DeleteRange => {
                let (start, end) = (self.key.escape_ascii(), self.value.escape_ascii());
                return write!(f, "{start}..{end}.RDEL.{}", self.header.seqno);
            }
        };
        write!(f, "{}.{kind}.{}", self.key.escape_ascii(), self.header.seqno)?;
        if self.header.kind != Kind::Delete {
            write!(f, "({})", self.value.escape_ascii())?;
        }
        Ok(())
    }
}

/// Reads a history, in the order written.
pub(crate) fn parse(text: &str) -> Vec<Event> {
    text.split_whitespace().map(Event::parse).collect()
}

/// Writes a history, in the order given.
pub(crate) fn print<'a>(events: impl IntoIterator<Item = &'a Event>) -> String {
    events.into_iter().map(Event::to_string).collect::<Vec<_>>().join(" ")
}

/// Sorts events as tables do: key ascending, seqno descending.
pub(crate) fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by(|a, b| a.key.cmp(&b.key).then(b.header.seqno.cmp(&a.header.seqno)));
    events
}

/// Cuts the sorted records of a run into tables of at most `keys` keys each. A range delete that
/// reaches into the next table is cut before that table's first key.
pub(crate) fn tables(
    comparator: &dyn Comparator,
    sorted: Vec<Event>,
    keys: usize,
) -> Vec<Vec<Event>> {
    let by_key: Vec<&[Event]> =
        sorted.chunk_by(|a, b| comparator.compare(&a.key, &b.key).is_eq()).collect();
    let mut tables: Vec<Vec<Event>> = by_key.chunks(keys).map(<[&[Event]]>::concat).collect();
    for at in 1..tables.len() {
        let cut = tables[at][0].key.clone();
        let mut behind = Vec::new();
        for event in &mut tables[at - 1] {
            if event.is_range()
                && event.tombstone().is_some_and(|t| !t.end.is_before(comparator, &cut))
            {
                let rest = Event { key: cut.clone(), ..event.clone() };
                event.value.clone_from(&cut);
                behind.push(rest);
            }
        }
        tables[at].splice(0..0, behind);
    }
    tables
}
