//! The chain as a read-only handle finds it, while another process may write to the database.
//!
//! Each look lists the directory, reads the first records of logs that are new, and walks from the
//! newest log to its predecessors. The handle has no list of the writer's syncs. What it knows to
//! be durable:
//!
//! - archived logs, and all logs of a cleanly closed database;
//! - a log before one that says it was synced, because the earlier log was synced first;
//! - the frames that a later frame of the same log calls synced. So the last sync shows only when
//!   another write comes after it.
//!
//! An open that fails removes the log that it began, and the next open gives the number again:
//!
//! ```text
//! 000007.log <- 000009.log, no changes     open fails     000007.log <- 000009.log of another id
//! ```
//!
//! So a reader enters a log only when the log is *settled*: its open has succeeded.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::db::core::Core;
use crate::db::feed::updates::not_kept;
use crate::db::lifecycle::open::files::{archives_in, list_files, logs_in};
use crate::db::lifecycle::open::kept_logs::{link, read_lineage};
use crate::db::state::chain::{Archived, Frames, Link, Seen, see_in};
use crate::db::state::position::Position;
use crate::error::Result;
use crate::version::CloseRecord;
use crate::wal::{LogReader, LogRecord, Predecessor};

/// What a read-only handle knows of the logs.
#[derive(Default)]
pub(crate) struct Directory {
    /// The logs whose first records were read, by number.
    known: BTreeMap<u64, Link>,
    /// Readers at the ends of the newest logs.
    ends: BTreeMap<u64, LogReader>,
    /// The logs of `known` whose opens succeeded. What is known of the others is read again at each
    /// look.
    settled: BTreeSet<u64>,
}

/// A read-only handle removes no logs, so it needs neither their bytes nor their age.
const OF_UNKNOWN_AGE: Archived = Archived { bytes: 0, since: Duration::ZERO, age: Duration::ZERO };

impl Directory {
    /// Returns the chain, oldest first, and the record of a clean close of its last log.
    fn chain(&mut self, core: &Core) -> Result<(Vec<u64>, Option<CloseRecord>)> {
        let (fs, names) = (&*core.options.env.fs, &core.names);
        let present = list_files(fs, names)?;
        let (archives, logs) = (archives_in(&present), logs_in(&present));
        self.settled.retain(|number| archives.contains(number) || logs.contains(number));
        self.known.retain(|number, _| self.settled.contains(number));
        self.ends.retain(|number, _| self.settled.contains(number));
        let paths = archives.iter().map(|&number| (number, names.archive(number)));
        let paths = paths.chain(logs.iter().map(|&number| (number, names.log(number))));
        for (number, path) in paths {
            if self.known.contains_key(&number) {
                continue;
            }
            let found = match read_lineage(fs, path, number) {
                // The writer renamed or removed the log after it was listed.
                Err(error) if error.is_missing_file() => None,
                found => found?,
            };
            if let Some(lineage) = found {
                self.known.insert(number, link(number, &lineage, None));
            }
        }
        for (number, link) in &mut self.known {
            // While an open copies a log to an archive, both exist, and the copy is not durable.
            let is_archived = archives.contains(number) && !logs.contains(number);
            link.archived = is_archived.then_some(OF_UNKNOWN_AGE);
        }
        let mut chain = Vec::new();
        let mut next = self.known.last_key_value().map(|(number, _)| *number);
        while let Some(number) = next {
            chain.push(number);
            let Some(before) = self.known[&number].predecessor else { break };
            self.find_missed(core, before.log)?;
            let is_known = |before: &Predecessor| {
                self.known.get(&before.log).is_some_and(|link| link.id == before.id)
            };
            next = Some(before).filter(is_known).map(|before| before.log);
        }
        chain.reverse();
        assert!(
            chain.is_sorted_by(|before, next| before < next),
            "the feed reads the logs from old to new"
        );
        let closed = CloseRecord::read_among(&present, fs, names)?;
        self.settle(core, &chain, closed.as_ref())?;
        Ok((chain, closed))
    }

    /// Notes which logs of the chain are settled: those that another log follows, archived logs,
    /// logs of a clean close, and logs with changes.
    fn settle(&mut self, core: &Core, chain: &[u64], closed: Option<&CloseRecord>) -> Result<()> {
        let Some((&newest, followed)) = chain.split_last() else { return Ok(()) };
        self.settled.extend(followed);
        if self.settled.contains(&newest) {
            return Ok(());
        }
        let is_settled = self.known[&newest].archived.is_some()
            || closed.is_some_and(|close| close.log(newest).is_some())
            || has_changes(core, newest)?;
        if is_settled {
            self.settled.insert(newest);
        }
        Ok(())
    }

    /// Looks for a log by its names. A list of the directory may miss a file that the writer is
    /// renaming, or show a name that is gone when the file is opened.
    fn find_missed(&mut self, core: &Core, number: u64) -> Result<()> {
        let Entry::Vacant(place) = self.known.entry(number) else { return Ok(()) };
        let (log, archive) = (core.names.log(number), core.names.archive(number));
        for (path, archived) in [(log, None), (archive, Some(OF_UNKNOWN_AGE))] {
            match read_lineage(&*core.options.env.fs, path, number) {
                Err(error) if error.is_missing_file() => {}
                Ok(Some(lineage)) => {
                    place.insert(Link { archived, ..link(number, &lineage, None) });
                    break;
                }
                Ok(None) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns what a reader at this position may read next; see `Chain::see`.
    pub(crate) fn see(&mut self, core: &Core, at: &Position, durable: bool) -> Result<Seen> {
        let (chain, closed) = self.chain(core)?;
        let is_closed = closed.is_some();
        let mut frames = Frames { through: at.frame, most: None };
        if let Some(index) = chain.iter().position(|&number| number == at.log) {
            let after = chain.get(index + 1).copied();
            let end = after.and_then(|after| self.known[&after].predecessor);
            let (written, synced) = self.end_of(core, at.log)?;
            let most = end.map_or(written, |end| end.frames);
            let is_durable = is_closed || self.known[&at.log].archived.is_some();
            let is_synced = match after {
                Some(after) if durable && !is_durable => self.end_of(core, after)?.1 > 0,
                _ => is_durable,
            };
            let through = if durable && !is_synced { synced.min(most) } else { most };
            frames = Frames { through, most: Some(most) };
        }
        let links: Vec<&Link> = chain.iter().map(|number| &self.known[number]).collect();
        let Seen { through, next } = see_in(&links, at, |_, _| frames)?;
        Ok(Seen { through, next: next.filter(|(log, _)| self.settled.contains(log)) })
    }

    /// Returns the oldest position at which the feed can begin.
    pub(crate) fn oldest(&mut self, core: &Core) -> Result<Position> {
        let (chain, _) = self.chain(core)?;
        let oldest = chain.first().ok_or_else(not_kept)?;
        Ok(self.known[oldest].begin())
    }

    /// Returns the number of whole frames of a log, and the last frame that another one calls
    /// synced.
    fn end_of(&mut self, core: &Core, number: u64) -> Result<(u64, u64)> {
        // Only the log of the reader and the next one are needed.
        while self.ends.len() > 2 {
            self.ends.pop_first();
        }
        let log = match self.ends.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => match core.open_kept_log(number)? {
                Some(log) => place.insert(log),
                None => return Ok((0, 0)),
            },
        };
        if log.run_to_end().is_err() {
            // The writer renamed the file, or put another one in its place. Where a file is known
            // by its name only, the open reader cannot read it any more.
            let Some(again) = core.open_kept_log(number)? else { return Ok((0, 0)) };
            *log = again;
            log.run_to_end()?;
        }
        Ok((log.frames(), log.max_synced()))
    }
}

/// Returns whether a log has a record that only a successful open leaves there.
fn has_changes(core: &Core, number: u64) -> Result<bool> {
    let Some(log) = core.open_kept_log(number)? else { return Ok(false) };
    let (mut log, mut record) = (log.for_its_head(), Vec::new());
    while log.next(&mut record)? {
        match LogRecord::decode(&record).map_err(|error| error.in_file(log.path()))? {
            LogRecord::Header(_) | LogRecord::Lineage(_) | LogRecord::Definition(_) => {}
            LogRecord::Batch(..) | LogRecord::Created(_) | LogRecord::Dropped(_) => {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
