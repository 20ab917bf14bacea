//! What a worker tells the supervisor: one line for each thing, in one system call.
//!
//! A line that was written survives the worker. So an acknowledged write is one whose line the
//! supervisor can read after the kill.

use std::io::Write as _;

use crate::coverage::{Counted, Counts};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The database was compared; of a thread, so many writes were there.
    Found { thread: usize, writes: u64 },
    /// All threads were compared, and writing begins.
    Begun,
    /// One more write of a thread was acknowledged.
    Acknowledged { thread: usize },
    /// How often something happened in this life.
    Count { name: String, count: u64 },
    /// Something is wrong.
    Wrong { message: String },
}

impl Line {
    /// Writes the line where the supervisor reads.
    pub fn tell(&self) {
        let line = match self {
            Line::Found { thread, writes } => format!("found {thread} {writes}\n"),
            Line::Begun => "begun\n".to_owned(),
            Line::Acknowledged { thread } => format!("ack {thread}\n"),
            Line::Count { name, count } => format!("count {name} {count}\n"),
            Line::Wrong { message } => format!("wrong {}\n", message.replace('\n', " ")),
        };
        // Without a supervisor there is nothing to work for.
        if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
            std::process::exit(1);
        }
    }

    /// Reads a line; `None` where a kill cut it short.
    pub fn parse(line: &str) -> Option<Line> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.split(' ');
        Some(match kind {
            "found" => Line::Found {
                thread: words.next()?.parse().ok()?,
                writes: words.next()?.parse().ok()?,
            },
            "begun" => Line::Begun,
            "ack" => Line::Acknowledged { thread: rest.parse().ok()? },
            "count" => {
                Line::Count { name: words.next()?.to_owned(), count: words.next()?.parse().ok()? }
            }
            "wrong" => Line::Wrong { message: rest.to_owned() },
            _ => return None,
        })
    }
}

/// Tells all counts.
pub fn tell_counts(counts: &Counts) {
    for counted in Counted::ALL {
        Line::Count { name: counted.name(), count: counts.get(counted) }.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cut_short_is_no_line() {
        assert_eq!(Line::parse("ack 3"), Some(Line::Acknowledged { thread: 3 }));
        assert_eq!(Line::parse("found 3 17"), Some(Line::Found { thread: 3, writes: 17 }));
        for cut in ["", "a", "ack", "ack ", "found 3", "count Flush"] {
            assert_eq!(Line::parse(cut), None, "{cut:?}");
        }
    }
}
