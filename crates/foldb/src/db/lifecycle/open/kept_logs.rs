//! The chain of an open: which logs of earlier opens the change feed can read.
//!
//! The open walks from the newest log that it replayed to the predecessor of each log, as long as
//! that log exists under its id. Logs outside this chain belong to another history, for example to
//! the state before a backup was restored. They are removed.
//!
//! The replayed logs become archived logs. After a clean close they are durable, and a rename is
//! enough. After a crash their last frames may be in the page cache only. The open then writes the
//! frames that it replayed to a new file and syncs it, before the edit that no longer needs the
//! log:
//!
//! ```text
//! 000007.log: 1 2 3 (torn)     000007.arc: 1 2 3, synced     edit     000007.log removed
//! ```
//!
//! A full disk has no space for the copy. The open then syncs the log, and the log is renamed once
//! tables have its writes. A torn tail behind the last frame stays, and no reader of the feed reads
//! so far.
//!
//! If that open is cut before its edit, replay still needs the log, and a power loss may take the
//! frames of the log and leave the copy. So for a needed log only its replayed frames count:
//!
//! ```text
//! 000007.log: 1 (2 3 lost)     000007.arc: 1 2 3     the database and the feed have 1
//! ```

use std::path::{Path, PathBuf};
use std::time::Duration;

use foldb_env::FileSystem;

use crate::db::lifecycle::open::begun::BegunFiles;
use crate::db::lifecycle::open::files::{archives_in, list_files, logs_in};
use crate::db::lifecycle::replay::ReplayedLog;
use crate::db::state::announced::Announced;
use crate::db::state::chain::{Archived, Link};
use crate::error::{Error, ErrorKind, Result};
use crate::files::copy_file;
use crate::files::{FileKind, FileNames};
use crate::wal::{Lineage, LogReader, LogRecord, Predecessor};

/// The logs that the feed keeps from earlier opens.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    /// Oldest first.
    pub(crate) links: Vec<Link>,
    /// The end that the next log follows: of the newest one, or of a log that was removed.
    pub(crate) end: Option<Predecessor>,
    /// The keyspaces that were announced there. `None` only if nothing was, or without an end.
    pub(crate) announced: Option<Announced>,
    /// Why earlier logs, which are in the directory, are not in the chain.
    pub(crate) shortened: Option<Error>,
}

/// The error of an archived log that does not exist.
pub(crate) const MISSING_ARCHIVE: &str = "the archived log is missing, but older ones exist: \
     followers at positions before it copy the database anew";

/// Returns the chain that ends with the newest replayed log. If a power loss took the logs to
/// replay, it ends with `stored_end`, which the manifest names. Replay needs the logs from
/// `first_log` on.
///
/// The next log must announce what a follower at that end has not heard of. So if the log of the
/// end was removed or cannot be read, and keyspaces were ever created, there is no end: its
/// followers get `PositionLost`.
///
/// ```text
/// log 7, removed    log 9: created x, lost    log 11: does a follower at the end of 7 know x?
/// ```
///
/// A log that cannot be read ends the walk: the chain begins after it, and followers at earlier
/// positions get `PositionLost`. The open goes on, because tables hold what the log had. It raises
/// an event ([`Recovered::shortened`]).
pub(crate) fn recover(
    fs: &dyn FileSystem,
    names: &FileNames,
    present: &[FileKind],
    replayed: &mut [ReplayedLog],
    (first_log, stored_end): (u64, Option<Predecessor>),
    has_had_keyspaces: bool,
    now: Duration,
) -> Recovered {
    let mut links = Vec::new();
    let (mut announced, mut newest_log) = (None, None);
    let (mut end, mut before) = match newest(replayed, first_log) {
        Newest::Log(log, lineage) => {
            let link = link(log.number, lineage, None);
            let before = link.predecessor;
            links.push(link);
            newest_log = Some(log.number);
            let end = Predecessor { log: log.number, id: lineage.id, frames: log.frames };
            (Some(end), before)
        }
        Newest::Lost => (stored_end, stored_end),
        Newest::NotKept => (None, None),
    };
    if let Some(log) = replayed.iter_mut().find(|log| Some(log.number) == newest_log) {
        announced = Some(std::mem::take(&mut log.announced));
    }
    let kept = Kept { fs, names, archives: archives_in(present), logs: logs_in(present), now };
    let mut shortened = None;
    while let Some(log) = before {
        let found = match replayed.iter().find(|replayed| replayed.number == log.log) {
            Some(found) if found.frames == log.frames => {
                found.lineage.clone().filter(|own| own.id == log.id).map(|own| (own, None))
            }
            Some(_) => None,
            // A power loss took its frames. An archive of its number is the copy of a cut open.
            None if log.log >= first_log => None,
            None => kept.find(log).unwrap_or_else(|error| {
                shortened = Some(error);
                None
            }),
        };
        let Some((lineage, archived)) = found else { break };
        let link = link(log.log, &lineage, archived);
        before = link.predecessor;
        links.push(link);
    }
    links.reverse();
    assert!(
        links.is_sorted_by(|before, next| before.number < next.number),
        "the feed reads the logs from old to new"
    );
    if let (None, Some(end), Some(last)) = (&announced, end, links.last())
        && last.number == end.log
    {
        let path = match last.archived {
            Some(_) => names.archive(end.log),
            None => names.log(end.log),
        };
        match LogReader::open(fs, &path, end.log).and_then(|log| Announced::before(end, log)) {
            Ok(found) => announced = Some(found),
            // A follower cannot read that log either. It copies the database anew.
            Err(error) => {
                links.clear();
                shortened = Some(error);
            }
        }
    }
    if announced.is_none() && has_had_keyspaces {
        end = None;
    }
    Recovered { links, end, announced, shortened }
}

/// The logs of the directory that no open replays.
struct Kept<'a> {
    fs: &'a dyn FileSystem,
    names: &'a FileNames,
    archives: Vec<u64>,
    logs: Vec<u64>,
    now: Duration,
}

impl Kept<'_> {
    /// Returns the place of a log in the history, and its file if it is archived; `None` if it was
    /// removed with all logs before it.
    ///
    /// # Errors
    /// `Io` or `Corruption` if the feed cannot read the log.
    fn find(&self, log: Predecessor) -> Result<Option<(Lineage, Option<Archived>)>> {
        let Kept { fs, names, now, .. } = *self;
        let path = match self.archives.contains(&log.log) {
            true => names.archive(log.log),
            // A crash came between the flush and the rename.
            false if self.logs.contains(&log.log) => names.log(log.log),
            false if self.archives.first().is_none_or(|oldest| *oldest > log.log) => {
                return Ok(None);
            }
            false => {
                let missing = Error::corruption(MISSING_ARCHIVE);
                return Err(missing.in_file(&names.archive(log.log)));
            }
        };
        let lineage = lineage_of(fs, &path, log)?;
        let archived = (path == names.archive(log.log)).then(|| {
            let bytes = fs.len(&path).unwrap_or(0);
            Archived { bytes, since: now, age: fs.age(&path).unwrap_or_default() }
        });
        Ok(Some((lineage, archived)))
    }
}

/// Reads the lineage record of a log that another log follows.
///
/// # Errors
/// `Corruption` if the record is damaged, or the log belongs to another history; `Io`.
pub(crate) fn lineage_of(fs: &dyn FileSystem, path: &Path, log: Predecessor) -> Result<Lineage> {
    let found = read_lineage(fs, path.to_owned(), log.log)?;
    let id = found.as_ref().map_or(0, |lineage| lineage.id);
    found.filter(|_| id == log.id).ok_or_else(|| {
        Error::corruption(format!(
            "expected the log of id {:016x}, which the log after it names, found {id:016x}",
            log.id
        ))
        .in_file(path)
    })
}

/// The newest log of the history among the replayed ones.
enum Newest<'a> {
    Log(&'a ReplayedLog, &'a Lineage),
    /// None of them has changes or a place in the history.
    Lost,
    /// The newest writes are in a log that was not kept for the feed.
    NotKept,
}

/// Returns the newest log with a place in the history. Logs without changes, which an open began,
/// are passed over in two cases: a power loss took their lineage record, or it took frames of the
/// log before them, which then ends elsewhere or is empty.
fn newest(replayed: &[ReplayedLog], first_log: u64) -> Newest<'_> {
    let fits = |before: Predecessor| {
        let found = replayed.iter().find(|log| log.number == before.log);
        found.map_or(before.log < first_log, |log| log.frames == before.frames)
    };
    for log in replayed.iter().rev() {
        let Some(lineage) = &log.lineage else {
            match log.has_changes {
                // The log was written while logs were not kept.
                true => return Newest::NotKept,
                false => continue,
            }
        };
        if log.has_changes || lineage.predecessor.is_none_or(fits) {
            return Newest::Log(log, lineage);
        }
    }
    Newest::Lost
}

/// Returns whether a database keeps logs: whether it has an archived log, or its newest log was
/// begun for the feed. A kill may leave a log that the open had just created and that says neither.
/// Then the log before it decides.
///
/// # Errors
/// `Io` if the directory or the log cannot be read.
pub(crate) fn keeps_logs(fs: &dyn FileSystem, names: &FileNames) -> Result<bool> {
    let present = list_files(fs, names)?;
    if !archives_in(&present).is_empty() {
        return Ok(true);
    }
    for number in logs_in(&present).into_iter().rev() {
        match read_head(fs, names.log(number), number) {
            // A writer removed the log after it was listed.
            Err(error) if error.is_missing_file() => {}
            Ok(Head::Unfinished) => {}
            found => return Ok(matches!(found?, Head::Kept(_))),
        }
    }
    Ok(false)
}

/// Returns a log as a link of the chain. Whatever a file says, a log follows an older one, so each
/// walk to the predecessors ends.
pub(crate) fn link(number: u64, lineage: &Lineage, archived: Option<Archived>) -> Link {
    let Lineage { id, predecessor, last_seqno, .. } = *lineage;
    let predecessor = predecessor.filter(|before| before.log < number);
    Link { number, id, predecessor, last_seqno, sync: None, archived }
}

/// What the first records of a log say of the feed.
enum Head {
    /// The log was begun for the feed.
    Kept(Lineage),
    /// The log was begun while logs were not kept.
    NotKept,
    /// The log ends before the record that decides.
    Unfinished,
}

/// Reads the lineage record of a log; `None` if it has none, or is damaged.
pub(crate) fn read_lineage(
    fs: &dyn FileSystem,
    path: PathBuf,
    number: u64,
) -> Result<Option<Lineage>> {
    match read_head(fs, path, number)? {
        Head::Kept(lineage) => Ok(Some(lineage)),
        Head::NotKept | Head::Unfinished => Ok(None),
    }
}

fn read_head(fs: &dyn FileSystem, path: PathBuf, number: u64) -> Result<Head> {
    let mut log = LogReader::open(fs, &path, number)?.for_its_head();
    let mut record = Vec::new();
    for _header_then_lineage in 0..2 {
        match log.next(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(Head::Unfinished),
            Err(error) if error.kind() == ErrorKind::Corruption => return Ok(Head::Unfinished),
            Err(error) => return Err(error),
        }
    }
    match LogRecord::decode(&record) {
        Ok(LogRecord::Lineage(lineage)) => Ok(Head::Kept(lineage)),
        _ => Ok(Head::NotKept),
    }
}

/// Writes the replayed logs of the chain to archived logs, durably up to the next sync of the
/// directory. `begun` gets each file before it is created.
///
/// # Errors
/// `NoSpace` or `Io`.
pub(super) fn copy_replayed(
    fs: &dyn FileSystem,
    names: &FileNames,
    recovered: &mut Recovered,
    replayed: &[ReplayedLog],
    now: Duration,
    begun: &mut BegunFiles,
) -> Result<()> {
    for link in &mut recovered.links {
        let Some(log) = replayed.iter().find(|log| log.number == link.number) else { continue };
        let archive = names.archive(log.number);
        begun.push(archive.clone());
        copy_file(fs, &names.log(log.number), &archive, log.len)?;
        link.archived = Some(Archived { bytes: log.len, since: now, age: Duration::ZERO });
    }
    Ok(())
}

/// Makes the replayed logs of the chain durable under their names. Their flush archives them.
///
/// # Errors
/// `Io`.
pub(super) fn sync_replayed(
    fs: &dyn FileSystem,
    names: &FileNames,
    recovered: &Recovered,
    replayed: &[ReplayedLog],
) -> Result<()> {
    for log in replayed {
        if recovered.links.iter().any(|link| link.number == log.number) {
            let path = names.log(log.number);
            let synced = fs.open(&path).and_then(|file| file.sync());
            synced.map_err(|error| Error::io(&path, "sync the log", &error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use foldb_env::MemFs;

    use super::*;
    use crate::wal::{LogWriter, encode_lineage};

    #[test]
    fn a_log_that_names_itself_as_its_predecessor_ends_the_chain() {
        let fs: Arc<dyn FileSystem> = Arc::new(MemFs::new());
        let names = FileNames::new(Path::new("db"));
        fs.create_dir_all(names.directory()).unwrap();
        let itself = Predecessor { log: 7, id: 1, frames: 2 };
        let lineage =
            Lineage { id: 1, predecessor: Some(itself), last_seqno: 0, keyspaces: Vec::new() };
        let mut log = LogWriter::create(&fs, &names.log(7), 7, 1, None).unwrap();
        encode_lineage(&lineage, log.begin());
        log.append().unwrap();
        let (present, flushed) = ([FileKind::Log(7)], (9, Some(itself)));
        let kept = recover(&*fs, &names, &present, &mut [], flushed, false, Duration::ZERO);
        let numbers: Vec<_> = kept.links.iter().map(|link| link.number).collect();
        assert_eq!(numbers, [7]);
        assert!(kept.shortened.is_none());
    }
}
