//! Archived logs: what the writer, the flushes and the opens do for the change feed.
//!
//! ```text
//! write, seal   sync the log   tables, edit synced   rename 000007.log to 000007.arc   remove the
//!                                                                                      oldest ones
//! ```
//!
//! The log is synced before the edit that no longer needs it. Otherwise a power loss could take
//! back logged writes whose tables stay, and the feed would miss them. A crash before the rename
//! leaves a log that the next open archives ([`crate::db::lifecycle::open::kept_logs`]).

use std::sync::Arc;
use std::time::Duration;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::announced::Announced;
use crate::db::state::buffers::SealedGroup;
use crate::db::state::chain::{Archived, Link};
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::keyspaces::Keyspaces;
use crate::db::state::writer::WriterState;
use crate::encoding::checksum;
use crate::error::Result;
use crate::files::FileKind;
use crate::fold::Operator;
use crate::wal::{
    Lineage, LogWriter, NamedKeyspace, Predecessor, encode_created, encode_dropped, encode_lineage,
};

impl Core {
    /// Begins a log for the feed: appends its place in the history, if logs are kept. Returns its
    /// link of the chain. The log lists only keyspaces that the log before it has announced: a
    /// follower at the end of that log takes them for known. `owed`: which these are, if they are
    /// not the ones that exist.
    pub(crate) fn begin_lineage(
        &self,
        log: &mut LogWriter,
        predecessor: Option<Predecessor>,
        owed: Option<&Announced>,
    ) -> Result<Option<Link>> {
        if self.feed.is_none() {
            return Ok(None);
        }
        let number = log.number();
        let place = [number.to_le_bytes(), self.database.to_le_bytes()].concat();
        let id = checksum(self.options.env.random_seed(), &place).max(1);
        assert!(
            predecessor.is_none_or(|before| before.log < number),
            "a log follows an older one, so each walk to the predecessors ends"
        );
        let last_seqno = self.published();
        let keyspaces = match owed {
            Some(announced) => announced.listed.clone(),
            None => named_all(&self.keyspaces),
        };
        encode_lineage(&Lineage { id, predecessor, last_seqno, keyspaces }, log.begin());
        log.append()?;
        let sync = Some(Arc::clone(log.sync_handle()));
        Ok(Some(Link { number, id, predecessor, last_seqno, sync, archived: None }))
    }

    /// Returns the end of the writer's log, as the next log names it.
    pub(crate) fn end_of(&self, log: &LogWriter) -> Option<Predecessor> {
        let (number, id) = self.feed.as_ref()?.newest()?;
        debug_assert_eq!(number, log.number(), "the newest link of the chain is the writer's log");
        Some(Predecessor { log: number, id, frames: log.frames() })
    }

    /// Adds a log to the chain, if logs are kept.
    pub(crate) fn note_link(&self, link: Option<Link>) {
        if let (Some(feed), Some(link)) = (&self.feed, link) {
            feed.push(link);
        }
    }

    /// Logs that a keyspace was created, if logs are kept. If the append fails, or if the log takes
    /// no records any more, the log owes the record ([`WriterState::owed`]).
    pub(crate) fn log_created(&self, writer: &mut WriterState, keyspace: &KeyspaceState) {
        let encode = |record: &mut Vec<u8>| encode_created(&named(keyspace), record);
        self.announce(writer, encode, |before| before.drop_id(keyspace.id));
    }

    /// Logs that a keyspace was dropped, if logs are kept; see [`Core::log_created`].
    pub(crate) fn log_dropped(&self, writer: &mut WriterState, keyspace: &KeyspaceState) {
        let encode = |record: &mut Vec<u8>| encode_dropped(keyspace.id, record);
        self.announce(writer, encode, |before| before.create(named(keyspace)));
    }

    /// Logs a change of the keyspaces. `undo` makes those that exist now the ones before it.
    fn announce(
        &self,
        writer: &mut WriterState,
        encode: impl FnOnce(&mut Vec<u8>),
        undo: impl FnOnce(&mut Announced),
    ) {
        let Some(feed) = &self.feed else { return };
        let takes_records = writer.log.takes_records();
        if writer.owed.is_some() {
            if takes_records {
                // If this fails, the next batch tries again.
                let _best_effort = self.append_owed(writer);
            }
            return;
        }
        let before = writer.log.len();
        encode(writer.log.begin());
        if !takes_records || writer.log.append().is_err() {
            let mut announced = Announced { listed: named_all(&self.keyspaces) };
            undo(&mut announced);
            writer.owed = Some(announced);
        }
        feed.news.changed();
        self.totals.add_exclusive(Total::BytesLog, writer.log.len() - before);
    }

    /// Appends the records that the log owes.
    ///
    /// # Errors
    /// As [`LogWriter::append`]. The log then still owes what it could not append.
    #[cold]
    pub(crate) fn append_owed(&self, writer: &mut WriterState) -> Result<()> {
        let WriterState { log, owed, .. } = writer;
        debug_assert!(log.takes_records(), "no record follows one that was taken back (H28)");
        let Some(announced) = owed else { return Ok(()) };
        let before = log.len();
        let appended = announced.append_rest(log, named_all(&self.keyspaces));
        self.totals.add_exclusive(Total::BytesLog, log.len() - before);
        if appended.is_ok() {
            *owed = None;
        }
        if let Some(feed) = &self.feed {
            feed.news.changed();
        }
        appended
    }

    /// Makes the logs of groups durable before their flush, if logs are kept.
    pub(crate) fn sync_for_feed(&self, groups: &[Arc<SealedGroup>]) -> Result<()> {
        let Some(feed) = &self.feed else { return Ok(()) };
        for log in groups.iter().filter_map(|group| group.log.as_ref()) {
            log.sync.trim(log.len)?;
            log.sync.sync_all().inspect_err(|error| self.standing.note_failed_sync(error))?;
        }
        feed.news.changed();
        Ok(())
    }

    /// Keeps a log that tables hold under the name of an archived log. Returns whether the caller
    /// must leave the file alone.
    pub(crate) fn archive_log(&self, number: u64) -> bool {
        let Some(feed) = &self.feed else { return false };
        if feed.find(number) != Some(false) {
            return false;
        }
        let (fs, archive) = (&self.options.env.fs, self.names.archive(number));
        // If the file cannot be renamed, the feed reads it under its old name. The next open tries
        // again.
        let _best_effort = fs.rename(&self.names.log(number), &archive);
        let bytes = fs.len(&archive).or_else(|_| fs.len(&self.names.log(number))).unwrap_or(0);
        let since = self.options.env.clock.now();
        feed.note_archived(number, Archived { bytes, since, age: Duration::ZERO });
        true
    }

    /// Removes archived logs that expired. Between writes, a worker calls this.
    pub(crate) fn trim_expired(&self) {
        let now = self.options.env.clock.now();
        if self.feed.as_ref().is_some_and(|feed| feed.has_expired(now)) {
            self.trim_archive();
        }
    }

    /// Removes the oldest archived logs until the rest is within the bounds.
    pub(crate) fn trim_archive(&self) {
        let Some(feed) = &self.feed else { return };
        let removed = feed.trim(self.options.env.clock.now());
        if removed.is_empty() {
            return;
        }
        let trash = self.segment_files.trash();
        removed.into_iter().for_each(|number| trash.throw(FileKind::Archive(number)));
        self.remove_unreferenced_tables();
    }
}

/// Returns what the feed says of the keyspaces that exist.
fn named_all(keyspaces: &Keyspaces) -> Vec<NamedKeyspace> {
    keyspaces.all().iter().map(|keyspace| named(keyspace)).collect()
}

/// Returns what the feed says of a keyspace.
fn named(keyspace: &KeyspaceState) -> NamedKeyspace {
    NamedKeyspace {
        id: keyspace.id,
        name: keyspace.name.to_string(),
        comparator: keyspace.comparator.name().to_owned(),
        operator: keyspace.merge_operator().map(Operator::spec).unwrap_or_default(),
        expiry: keyspace.expiry().map(|expiry| expiry.to_string()).unwrap_or_default(),
    }
}
