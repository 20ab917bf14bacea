//! The report of one seed's process to the process that started it: one fact a line.
//!
//! ```text
//!  count Write 612
//!  trace 5045739566391558992 3327 841 1006785234 39
//!  wrong life 3: ...
//! ```

use std::collections::BTreeMap;

use crate::counts::{Counted, Counts};
use crate::machine::Trace;

/// Counts by name.
pub type Totals = BTreeMap<String, u64>;

/// The result of a seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How often each event happened.
    pub counts: Totals,
    /// The decisions of the scheduler.
    pub trace: Trace,
    /// The first wrong answer.
    pub wrong: Option<String>,
}

impl Report {
    /// Makes the report of a run.
    pub fn new(counts: &Counts, trace: Trace, wrong: Option<String>) -> Report {
        let counted = Counted::ALL.map(|counted| (format!("{counted:?}"), counts.get(counted)));
        Report { counts: counted.into_iter().collect(), trace, wrong }
    }

    /// Writes the report as lines.
    pub fn lines(&self) -> String {
        let Trace { hash, calls, switches, nanos, threads } = self.trace;
        let counts = self.counts.iter().map(|(name, count)| format!("count {name} {count}\n"));
        let wrong = self.wrong.iter().map(|wrong| format!("wrong {}\n", wrong.replace('\n', " ")));
        let trace = format!("trace {hash} {calls} {switches} {nanos} {threads}\n");
        counts.chain([trace]).chain(wrong).collect()
    }

    /// Reads lines. Returns `None` where the process ended before it reported its trace.
    pub fn parse(lines: &str) -> Option<Report> {
        let (mut report, mut is_whole) = (Report::default(), false);
        for line in lines.lines() {
            match line.split_once(' ')? {
                ("count", rest) => {
                    let (name, count) = rest.split_once(' ')?;
                    report.counts.insert(name.to_owned(), count.parse().ok()?);
                }
                ("trace", rest) => {
                    let numbers = rest.split(' ').map(str::parse).collect::<Result<Vec<u64>, _>>();
                    let [hash, calls, switches, nanos, threads] = numbers.ok()?.try_into().ok()?;
                    let threads = usize::try_from(threads).ok()?;
                    report.trace = Trace { hash, calls, switches, nanos, threads };
                    is_whole = true;
                }
                ("wrong", message) => report.wrong = Some(message.to_owned()),
                _ => {}
            }
        }
        is_whole.then_some(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_is_read() {
        let counts = Counts::default();
        counts.add_many(Counted::Write, 612);
        let trace = Trace { hash: u64::MAX, calls: 1, switches: 2, nanos: 3, threads: 4 };
        for wrong in [None, Some("life 3: a value of two words".to_owned())] {
            let report = Report::new(&counts, trace, wrong);
            assert_eq!(Report::parse(&report.lines()), Some(report));
        }
        assert_eq!(Report::parse("count Write 612\n"), None, "cut short");
    }
}
