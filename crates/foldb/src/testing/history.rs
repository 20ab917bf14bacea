//! Histories as text: `a.PUT.1(10) a.MERGE.2(+1) b.DEL.3`, in any order.
//!
//! The operator of a merge is the [toy](super::toys) that its operand is for.

use super::toys::operator_of;
use crate::key::{Kind, NO_OPERATOR, RecordHeader, SeqNo};
use crate::value::Value;

/// One record of a history.
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

    fn parse(text: &str) -> Event {
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
            Kind::Delete => "DEL",
            Kind::Merge => "MERGE",
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

/// In the order of tables: key ascending, seqno descending.
pub(crate) fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by(|a, b| a.key.cmp(&b.key).then(b.header.seqno.cmp(&a.header.seqno)));
    events
}
