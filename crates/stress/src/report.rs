//! The worker's reports to the supervisor: one line for each event, in one system call.
//!
//! A written line survives the worker. So a write is acknowledged if the supervisor can read its
//! line after the kill.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::str::FromStr;

use crate::coverage::{Counted, Counts};

/// The known progress of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Writes before this number succeeded or failed.
    pub acknowledged: u64,
    /// The writes before `acknowledged` that failed.
    pub failed: BTreeSet<u64>,
    /// Number of writes from `acknowledged` on that failed. No later write is acknowledged yet.
    pub attempted: u64,
}

impl Progress {
    /// Acknowledges the write in progress. The failed attempts before it can never become visible.
    fn acknowledge(&mut self) {
        self.failed.extend(self.acknowledged..self.acknowledged + self.attempted);
        self.acknowledged += self.attempted + 1;
        self.attempted = 0;
    }

    /// Returns the progress for a later life in which no failed attempt is visible.
    pub(crate) fn without_attempts(mut self) -> Progress {
        self.failed.extend(self.acknowledged..self.acknowledged + self.attempted);
        self.acknowledged += self.attempted;
        self.attempted = 0;
        self
    }

    /// Returns the unacknowledged writes of which one may be visible, each with the progress if it
    /// is visible. These are the write in progress and the last failed write. An earlier failed
    /// write cannot be visible: the write after it removed the rest of its append.
    pub(crate) fn attempts(&self) -> impl Iterator<Item = (u64, Progress)> {
        let next = self.acknowledged + self.attempted;
        let last_failed = (self.attempted > 0).then(|| next - 1);
        [Some(next), last_failed].into_iter().flatten().map(move |number| {
            let mut progress = self.clone().without_attempts();
            progress.failed.remove(&number);
            progress.acknowledged = next.max(number + 1);
            (number, progress)
        })
    }
}

/// Writes the form of arguments and lines: `acknowledged,attempted,failed,failed...`.
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.acknowledged, self.attempted)?;
        self.failed.iter().try_for_each(|number| write!(f, ",{number}"))
    }
}

impl FromStr for Progress {
    type Err = String;

    fn from_str(text: &str) -> Result<Progress, String> {
        let numbers: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
        match numbers.map_err(|error| error.to_string())?[..] {
            [acknowledged, attempted, ref failed @ ..] => {
                let failed = failed.iter().copied().collect();
                Ok(Progress { acknowledged, failed, attempted })
            }
            _ => Err(format!("'{text}' does not say how far a thread is")),
        }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The check has compared the database, and found this progress of a thread.
    Found { thread: usize, progress: Progress },
    /// The check of all threads is over, and writing begins.
    Begun,
    /// One more write of a thread was acknowledged.
    Acknowledged { thread: usize },
    /// The write of a thread failed, and the thread tries its next one.
    Failed { thread: usize },
    /// How often an event happened in this life.
    Count { name: String, count: u64 },
    /// A check failed.
    Wrong { message: String },
}

impl Line {
    /// Writes the line to the supervisor.
    pub(crate) fn tell(&self) {
        let line = match self {
            Line::Found { thread, progress } => format!("found {thread} {progress};\n"),
            Line::Begun => "begun\n".to_owned(),
            Line::Acknowledged { thread } => format!("ack {thread}\n"),
            Line::Failed { thread } => format!("failed {thread}\n"),
            Line::Count { name, count } => format!("count {name} {count}\n"),
            Line::Wrong { message } => format!("wrong {}\n", message.replace('\n', " ")),
        };
        // Without a supervisor, the worker has no purpose.
        if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
            std::process::exit(1);
        }
    }

    /// Parses a line; `None` if a kill cut the line short.
    pub(crate) fn parse(line: &str) -> Option<Line> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.split(' ');
        Some(match kind {
            "found" => Line::Found {
                thread: words.next()?.parse().ok()?,
                progress: words.next()?.strip_suffix(';')?.parse().ok()?,
            },
            "begun" => Line::Begun,
            "ack" => Line::Acknowledged { thread: rest.parse().ok()? },
            "failed" => Line::Failed { thread: rest.parse().ok()? },
            "count" => {
                Line::Count { name: words.next()?.to_owned(), count: words.next()?.parse().ok()? }
            }
            "wrong" => Line::Wrong { message: rest.to_owned() },
            _ => return None,
        })
    }

    /// Updates the supervisor's knowledge of the threads.
    pub(crate) fn note(&self, threads: &mut [Progress]) {
        match self {
            Line::Found { thread, progress } => threads[*thread] = progress.clone(),
            Line::Acknowledged { thread } => threads[*thread].acknowledge(),
            Line::Failed { thread } => threads[*thread].attempted += 1,
            Line::Begun | Line::Count { .. } | Line::Wrong { .. } => {}
        }
    }
}

/// Reports all counts.
pub(crate) fn tell_counts(counts: &Counts) {
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
        let failed = BTreeSet::from([4, 9]);
        let progress = Progress { acknowledged: 17, failed, attempted: 2 };
        assert_eq!(Line::parse("found 3 17,2,4,9;"), Some(Line::Found { thread: 3, progress }));
        for cut in ["", "a", "ack", "ack ", "found 3", "found 3 17,2,4", "count Flush"] {
            assert_eq!(Line::parse(cut), None, "{cut:?}");
        }
    }

    #[test]
    fn an_acknowledged_write_ends_the_failed_attempts_before_it() {
        let mut threads = [Progress { acknowledged: 5, ..Progress::default() }];
        let failed = Line::Failed { thread: 0 };
        failed.note(&mut threads);
        failed.note(&mut threads);
        let numbers: Vec<u64> = threads[0].attempts().map(|(number, _)| number).collect();
        assert_eq!(numbers, [7, 6]);
        let after: Vec<u64> = threads[0].attempts().map(|(_, after)| after.acknowledged).collect();
        assert_eq!(after, [8, 7]);
        Line::Acknowledged { thread: 0 }.note(&mut threads);
        assert_eq!(threads[0].to_string(), "8,0,5,6");
        assert_eq!(threads[0].to_string().parse(), Ok(threads[0].clone()));
    }
}
