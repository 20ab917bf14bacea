//! The history checker: is there one order of all calls that explains every answer?
//!
//! Writes have the order of their sequence numbers. The checker finds a moment for each read. The
//! moment is after every call that had returned before the read began, and before every call that
//! began after the read returned. The database at this moment gives the read's answer.
//!
//! ```text
//!  writes     a=1 ────┤    a=2 ─────────┤
//!  numbers    ·1      ·    ·2           ·
//!  reads              ├ a? 2 ┤  ├ a? 1 ┤      the second one is wrong: 2 was seen before it began
//! ```
//!
//! Each read gets the earliest moment that fits, in the order in which reads returned. An earlier
//! moment never prevents a later read, so no search is needed.
//!
//! A transaction or conditional write is one moment: what it read is true directly before its
//! numbers, and what it returned directly after them. Entries expire by the database's time, which
//! the clients' record has. When a client resets that time, it also records which entries are left.
//!
//! Checked: linearizability of gets, puts, merges, deletes and batches over all keys; snapshots and
//! iterators that show one moment; no half-visible batch. After a stop, the state is that of some
//! moment, no earlier than the last promised one.

use std::ops::{Bound, RangeInclusive};

use foldb_model::{Cell, Change, Expiry, Model, Moment};

use crate::checker::feed::Unread;
use crate::history::{BRIEF, BRIEF_SECONDS, History, Outcome, Read, Seen, Tick, Write};

/// The description of a wrong answer, as a sentence.
pub type Wrong = String;

/// The checker of one database, over all of its lives.
#[derive(Clone, Debug)]
pub struct Checker {
    model: Model,
    /// Sequence number at which this life began.
    base: u64,
    /// Moments of this life: the last sequence number of each batch. The batch is visible from that
    /// number on.
    moments: Vec<u64>,
    /// The latest moment that must survive a power cut. It must also survive a kill.
    durable: u64,
    written: u64,
    /// Failed writes that share their numbers with another failed write: either may become visible.
    rivals: Vec<Write>,
    /// The writes that the change feed has not yielded.
    unread: Unread,
}

impl Checker {
    /// Makes the checker of a new, empty database, whose keyspaces have these rules of expiry.
    pub fn new(expiries: Vec<Option<Expiry>>) -> Checker {
        let mut model = Model::default();
        expiries.into_iter().enumerate().for_each(|(at, expiry)| model.create(at, expiry));
        let (moments, rivals, unread) = (vec![0], Vec::new(), Unread::default());
        Checker { model, base: 0, moments, durable: 0, written: 0, rivals, unread }
    }

    /// Checks the history of one life.
    pub fn check(&mut self, mut history: History) -> Result<(), Wrong> {
        (history.writes, self.rivals) = in_order(history.writes)?;
        history.resets.sort_by_key(|reset| reset.number);
        if let Some(write) = history.writes.first()
            && *write.numbers.start() <= self.base
        {
            let numbers = &write.numbers;
            return Err(format!("a write got the numbers {numbers:?}, and {} is taken", self.base));
        }
        let mut resets = history.resets.iter().peekable();
        for write in &history.writes {
            let last = *write.numbers.end();
            while let Some(reset) = resets.next_if(|reset| reset.number < last) {
                self.model.reset(reset)?;
            }
            apply(&mut self.model, write);
            self.moments.push(last);
            self.unread.add(write);
        }
        resets.try_for_each(|reset| self.model.reset(reset))?;
        self.note_promises(&history);
        // What the feed yields, no stop may take back.
        self.durable = self.durable.max(self.unread.read(&history.feed, &self.rivals)?);
        history.writes.iter().try_for_each(|write| self.is_one_moment(write))?;
        let windows = Windows::of(&history.writes, self.base);
        history.reads.sort_by_key(|read| read.returned);
        let mut seen = SeenSoFar::default();
        for read in &history.reads {
            let moment = match read.at {
                Some(number) => {
                    self.shows(std::slice::from_ref(&read.seen), number, read.second)?;
                    None
                }
                None => Some(self.moment_of(read, &windows, &seen)?),
            };
            if let Some(moment) = moment
                && !read.is_ahead
            {
                seen.add(read.returned, moment);
            }
        }
        Ok(())
    }

    /// Checks that a write's own reads and answers are true at its place in the order.
    fn is_one_moment(&self, write: &Write) -> Result<(), Wrong> {
        if write.outcome == Outcome::Open {
            return Ok(());
        }
        let (before, after) = (write.numbers.start() - 1, *write.numbers.end());
        self.shows(&write.before, before, write.second)
            .and_then(|()| self.shows(&write.after, after, write.second))
            .map_err(|wrong| format!("the write {:?} reads what is not so {wrong}", write.numbers))
    }

    /// Notes that calls of the disk failed.
    pub fn note_failures(&mut self) {
        self.unread.is_lossy = true;
    }

    /// Checks that the change feed has yielded every write.
    pub fn all_is_read(&mut self, feed: &[crate::history::Fed]) -> Result<(), Wrong> {
        self.unread.read(feed, &[])?;
        self.unread.is_empty()
    }

    /// Checks that a database opened after a stop shows one of its moments, and a moment that this
    /// stop may leave. `number` is the sequence number of its last write, or a later one. With
    /// `was_kill`, every acknowledged write must be present; otherwise only every synced write.
    /// `found` has all entries of all keyspaces, at this second. Returns how many sequence numbers
    /// of acknowledged writes are lost.
    pub fn begin_life(
        &mut self,
        number: u64,
        was_kill: bool,
        found: &[Seen],
        second: u64,
    ) -> Result<u64, Wrong> {
        let least = if was_kill { self.written.max(self.durable) } else { self.durable };
        let moment = self.moment_after_stop(least..=number, found, second)?;
        // Several moments may look the same. The writes between them may be lost.
        let alike = self.moments.iter().filter(|own| (least..=moment).contains(*own));
        let mut alike = alike.filter(|own| self.shows(found, **own, second).is_ok()).copied();
        let first = alike.next().unwrap_or(moment);
        // Where nothing expires, what looks alike is the same.
        let others = if self.model.may_expire() { alike.collect() } else { Vec::new() };
        let others = [&[first], &others[..]].concat();
        self.unread.truncate(first, moment);
        let lost = self.written.saturating_sub(moment);
        self.model.truncate(moment, &others);
        (self.base, self.moments) = (number, vec![number]);
        (self.durable, self.written) = (number, number);
        Ok(lost)
    }

    /// Returns the latest moment between two numbers that explains the files after a stop.
    fn moment_after_stop(
        &mut self,
        possible: RangeInclusive<u64>,
        found: &[Seen],
        second: u64,
    ) -> Result<u64, Wrong> {
        let (least, number) = possible.into_inner();
        let mut rivals = std::mem::take(&mut self.rivals);
        rivals.retain(|rival| {
            *rival.numbers.end() <= number && self.rival_shows(rival, found, second)
        });
        if let Some((rival, others)) = rivals.split_first() {
            // Deletes of missing keys change nothing, so several failed writes may look alike.
            let (first, last) = rival.numbers.clone().into_inner();
            let others = others.iter().map(|other| other.operations.clone());
            self.unread.replace(first, rival, others.collect());
            self.model = self.model_with(rival);
            return Ok(last);
        }
        let possible = self.moments.iter().filter(|moment| (least..=number).contains(moment));
        let mut latest = None;
        for &moment in possible.rev() {
            match self.shows(found, moment, second) {
                Ok(()) => return Ok(moment),
                Err(wrong) => drop(latest.get_or_insert(wrong)),
            }
        }
        let had = self.moments.iter().filter(|moment| self.shows(found, **moment, second).is_ok());
        let had: Vec<_> = had.collect();
        let wrong = latest.unwrap_or_else(|| "no such moment".to_owned());
        Err(format!(
            "after the stop no moment in {least}..={number} is there, but {had:?}; {wrong}"
        ))
    }

    /// Returns the model if a failed write became visible in place of its rival.
    fn model_with(&self, rival: &Write) -> Model {
        let mut model = self.model.clone();
        model.truncate(rival.numbers.start() - 1, &[]);
        apply(&mut model, rival);
        model
    }

    fn rival_shows(&mut self, rival: &Write, found: &[Seen], second: u64) -> bool {
        let other = self.model_with(rival);
        let own = std::mem::replace(&mut self.model, other);
        let shows = self.shows(found, *rival.numbers.end(), second).is_ok();
        self.model = own;
        shows
    }

    fn shows(&self, found: &[Seen], number: u64, second: u64) -> Result<(), Wrong> {
        let differences = found.iter().find_map(|seen| self.difference(seen, number, second));
        differences.map_or(Ok(()), |difference| Err(format!("at number {number}: {difference}")))
    }

    /// Marks all writes of this life as durable: the database was closed.
    pub fn closed(&mut self) {
        self.durable = self.durable.max(self.written);
    }

    /// Notes what must survive from now on.
    fn note_promises(&mut self, history: &History) {
        let done = |write: &&Write| matches!(write.outcome, Outcome::Done { .. });
        let last = |write: &Write| *write.numbers.end();
        let written = history.writes.iter().filter(done).map(last).max();
        self.written = self.written.max(written.unwrap_or(0));
        let latest = history.syncs.iter().max().copied().unwrap_or(0);
        let durable = history.writes.iter().filter(done).filter(|write| {
            write.outcome == Outcome::Done { synced: true } || write.returned < latest
        });
        self.durable = self.durable.max(durable.map(last).max().unwrap_or(0));
    }

    /// Returns the earliest moment that explains a read.
    fn moment_of(&self, read: &Read, windows: &Windows, seen: &SeenSoFar) -> Result<u64, Wrong> {
        let earliest = windows.earliest(read.began).max(seen.before(read.began)).max(self.base);
        let latest = windows.latest(read.returned);
        if let Seen::Snapshot(number) = read.seen {
            let is_moment = self.moments.binary_search(&number).is_ok();
            if (earliest..=latest).contains(&number) && is_moment {
                return Ok(number);
            }
            let why = if is_moment { "is not in" } else { "halves a batch; it may be in" };
            return Err(format!("the snapshot {number} {why} {earliest}..={latest}"));
        }
        let first = self.moments.partition_point(|moment| *moment <= earliest).saturating_sub(1);
        let fitting = self.moments[first..].iter().take_while(|moment| **moment <= latest);
        let mut differences = Vec::new();
        for &moment in fitting {
            match self.difference(&read.seen, moment, read.second) {
                None => return Ok(moment.max(earliest)),
                Some(difference) => differences.push(format!("at {moment}: {difference}")),
            }
        }
        differences.truncate(3);
        Err(format!(
            "no moment in {earliest}..={latest} explains a read; {}",
            differences.join("; ")
        ))
    }

    fn difference(&self, seen: &Seen, number: u64, second: u64) -> Option<String> {
        let at = Moment { number, second };
        match seen {
            Seen::Snapshot(_) => None,
            Seen::Together(all) => {
                all.iter().find_map(|seen| self.difference(seen, number, second))
            }
            Seen::Value { keyspace, key, value } => {
                let expected = self.model.of(*keyspace, at).get(key).map(Cell::value);
                (expected != value.as_ref()).then(|| {
                    let (expected, found) = (shown(expected), shown(value.as_ref()));
                    format!(
                        "keyspace {keyspace}, second {second}, key {key:?}: expected {expected}, \
                         found {found}"
                    )
                })
            }
            Seen::Entries { keyspace, range, entries } => {
                let bounds = range.as_ref().map_or((Bound::Unbounded, Bound::Unbounded), |range| {
                    (Bound::Included(&range.start), Bound::Excluded(&range.end))
                });
                let expected = self.model.of(*keyspace, at).range(bounds);
                let mut expected = expected.map(|(key, cell)| (key, cell.value()));
                let mut found = entries.iter().map(|(key, value)| (key, value));
                loop {
                    match (expected.next(), found.next()) {
                        (None, None) => return None,
                        (one, other) if one == other => {}
                        (one, other) => {
                            let told = |entry: Option<(&Vec<u8>, &Vec<u8>)>| {
                                let value = shown(entry.map(|entry| entry.1));
                                format!("key {:?} with {value}", entry.map(|entry| entry.0))
                            };
                            let (one, other) = (told(one), told(other));
                            return Some(format!(
                                "a walk of keyspace {keyspace}: expected {one}, found {other}"
                            ));
                        }
                    }
                }
            }
        }
    }
}

/// Applies a write as a whole: it is visible from its last number on.
fn apply(model: &mut Model, write: &Write) {
    let at = Moment { number: *write.numbers.end(), second: write.second };
    for operation in &write.operations {
        let is_brief =
            matches!(&operation.change, Change::Put(_, value) if value.last() == Some(&BRIEF));
        model.apply_lasting(operation, is_brief.then_some(BRIEF_SECONDS), at);
    }
}

fn shown(value: Option<&Vec<u8>>) -> String {
    value.map_or("nothing".to_owned(), |value| {
        format!("{} bytes {:?}", value.len(), &value[..value.len().min(24)])
    })
}

/// Returns the writes in the order of their numbers. Leaves out failed writes whose numbers a later
/// write got. Also returns the left-out writes that may be in the log instead, because the later
/// write failed too.
///
/// # Errors
/// Fails if two successful writes have the same numbers, or if a write began after another write
/// with greater numbers had returned.
fn in_order(mut writes: Vec<Write>) -> Result<(Vec<Write>, Vec<Write>), Wrong> {
    writes.sort_by_key(|write| write.rank);
    let mut kept: Vec<Write> = Vec::with_capacity(writes.len());
    let (mut began_last, mut rivals) = (0, Vec::new());
    for write in writes {
        let is_open = write.outcome == Outcome::Open;
        let first = *write.numbers.start();
        rivals.retain(|rival: &Write| is_open || *rival.numbers.end() < first);
        while let Some(before) = kept.pop_if(|before| *before.numbers.end() >= first) {
            if before.outcome != Outcome::Open {
                let (one, other) = (&before.numbers, &write.numbers);
                return Err(format!("two writes got the same numbers: {one:?} and {other:?}"));
            }
            if is_open {
                rivals.push(before);
            }
        }
        if write.returned < began_last {
            let numbers = &write.numbers;
            return Err(format!(
                "the write {numbers:?} had returned before one with smaller numbers began"
            ));
        }
        began_last = began_last.max(write.began);
        kept.push(write);
    }
    Ok((kept, rivals))
}

/// The moments that a read may show, given when the read began and returned.
struct Windows {
    /// When a write returned, and the greatest number returned by then.
    returned: Vec<(Tick, u64)>,
    /// When a write began, and the smallest number that began then or later.
    began: Vec<(Tick, u64)>,
    last: u64,
}

impl Windows {
    fn of(writes: &[Write], base: u64) -> Windows {
        let done = writes.iter().filter(|write| matches!(write.outcome, Outcome::Done { .. }));
        let mut returned: Vec<_> =
            done.map(|write| (write.returned, *write.numbers.end())).collect();
        returned.sort_unstable();
        let mut greatest = 0;
        for (_, number) in &mut returned {
            greatest = greatest.max(*number);
            *number = greatest;
        }
        let mut began: Vec<_> =
            writes.iter().map(|write| (write.began, *write.numbers.start())).collect();
        began.sort_unstable();
        let mut least = u64::MAX;
        for (_, number) in began.iter_mut().rev() {
            least = least.min(*number);
            *number = least;
        }
        let last = writes.last().map_or(base, |write| *write.numbers.end());
        Windows { returned, began, last }
    }

    /// Returns the last number that had returned before `tick`.
    fn earliest(&self, tick: Tick) -> u64 {
        let count = self.returned.partition_point(|(returned, _)| *returned < tick);
        count.checked_sub(1).map_or(0, |last| self.returned[last].1)
    }

    /// Returns the last number before all those that began after `tick`.
    fn latest(&self, tick: Tick) -> u64 {
        let first = self.began.partition_point(|(began, _)| *began <= tick);
        self.began.get(first).map_or(self.last, |(_, number)| number - 1)
    }
}

/// For each time at which a read returned: the latest moment that reads had shown by then.
#[derive(Default)]
struct SeenSoFar(Vec<(Tick, u64)>);

impl SeenSoFar {
    fn add(&mut self, returned: Tick, moment: u64) {
        let latest = self.0.last().map_or(0, |(_, moment)| *moment);
        self.0.push((returned, moment.max(latest)));
    }

    fn before(&self, tick: Tick) -> u64 {
        let count = self.0.partition_point(|(returned, _)| *returned < tick);
        count.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

mod feed;
#[cfg(test)]
mod tests;
