//! Writes a dump of all keyspaces, as of one snapshot.
//!
//! Invariant: the dump holds what a reader of the snapshot sees, and nothing else. A key whose
//! value cannot be folded is dumped unfolded. A value that cannot be read ends the dump.

use std::io::{BufWriter, Write};

use crate::db::dump::format::{BlockKind, BlockWriter, Counts, FULL};
use crate::db::dump::record::{Described, Entry};
use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::read_only::ReadOnlyDb;
use crate::db::handle::snapshot::Snapshot;
use crate::db::read::settings::ReadSettings;
use crate::encoding::put_varint;
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::fold::ReadTime;
use crate::fold::stamp::Stamp;
use crate::iterator::Bounds;
use crate::key::Kind;

/// What [`Db::dump`] wrote, or [`Db::restore`] read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DumpReport {
    /// Keyspaces, the default one included.
    pub keyspaces: u64,
    /// Keys of all keyspaces.
    pub keys: u64,
    /// Operands of keys whose operands cannot be folded.
    pub operands: u64,
    /// Bytes of the dump.
    pub bytes: u64,
}

impl DumpReport {
    pub(super) fn of(counts: &Counts, bytes: u64) -> DumpReport {
        let Counts { keyspaces, keys, operands } = *counts;
        DumpReport { keyspaces, keys, operands, bytes }
    }
}

impl Db {
    /// Writes the whole database as one stream: all keyspaces with their options and operators, and
    /// all entries, as of one moment. [`Db::restore`] makes a new database of it. The stream has
    /// checksums, and every later version of foldb reads it. Other threads may go on writing.
    ///
    /// Values are dumped folded. A key whose operands cannot be folded, because the merge fails or
    /// its operator is not registered, is dumped as its base and operands. Comparators, operators
    /// and filter policies are dumped by name. The memory for this is a few blocks and the largest
    /// value; `to` need not be buffered.
    ///
    /// # Errors
    /// The error of `to`. `Corruption` or `Io` if a value cannot be read. `KeyspaceDropped` if a
    /// keyspace is dropped meanwhile. A dump that failed has no end, and a restore refuses it.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let (path, copy) = (dir.path().join("db"), dir.path().join("copy"));
    /// use foldb::{Db, Options};
    ///
    /// let db = Db::create(&path)?;
    /// db.put("key", "value")?;
    /// let mut stream = Vec::new();
    /// let dumped = db.dump(&mut stream)?;
    /// assert_eq!((dumped.keyspaces, dumped.keys), (1, 1));
    ///
    /// Db::restore(&stream[..], &copy, Options::default())?;
    /// assert_eq!(Db::open(&copy, Options::default())?.get("key")?.unwrap(), b"value");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn dump(&self, to: impl Write) -> Result<DumpReport> {
        self.core().check_open()?;
        let before = self.core().keyspaces.all();
        let snapshot = (!planted(Fault::DumpWithoutSnapshot)).then(|| self.snapshot());
        // The second list comes after the snapshot. It has every keyspace that the snapshot shows,
        // unless one was dropped in between. A keyspace that was created in between is empty in it.
        let states = self.core().keyspaces.all();
        for state in &before {
            state.check_exists()?;
        }
        let keyspaces: Vec<Keyspace> =
            states.into_iter().map(|state| self.default_keyspace().sibling(state)).collect();
        let mut dump = Dump {
            to: BlockWriter::begin(BufWriter::new(to))?,
            block: Vec::new(),
            has_entries: false,
            counts: Counts::default(),
        };
        let mut payload = Vec::new();
        // The snapshot comes first, so every operand that it shows has a definition.
        for definition in self.core().registry.resolver().definitions() {
            payload.clear();
            definition.encode(&mut payload);
            dump.to.block(BlockKind::Operator, &payload)?;
        }
        for keyspace in &keyspaces {
            payload.clear();
            Described::of(keyspace.state()).encode(&mut payload);
            dump.to.block(BlockKind::Keyspace, &payload)?;
            dump.counts.keyspaces += 1;
        }
        let once = ReadSettings {
            snapshot: snapshot.as_ref().map(Snapshot::moment),
            fill_cache: false,
            ..ReadSettings::default()
        };
        for (number, keyspace) in keyspaces.iter().enumerate() {
            dump.entries_of(number as u64, keyspace, once)?;
        }
        let counts = dump.counts;
        Ok(DumpReport::of(&counts, dump.to.finish(&counts)?))
    }
}

impl ReadOnlyDb {
    /// Writes the whole database as one stream: see [`Db::dump`].
    ///
    /// # Errors
    /// As [`Db::dump`].
    pub fn dump(&self, to: impl Write) -> Result<DumpReport> {
        self.db().dump(to)
    }
}

/// A dump being written.
struct Dump<W: Write> {
    to: BlockWriter<BufWriter<W>>,
    /// The block of entries being filled.
    block: Vec<u8>,
    has_entries: bool,
    counts: Counts,
}

impl<W: Write> Dump<W> {
    fn entries_of(
        &mut self,
        number: u64,
        keyspace: &Keyspace,
        once: ReadSettings<'_>,
    ) -> Result<()> {
        keyspace.state().check_exists()?;
        let mut now = None;
        let as_stored = |time: ReadTime| {
            now = Some(time.now);
            ReadTime { as_stored: true, ..time }
        };
        let mut entries = keyspace.new_iter_at(Bounds::of(&(..)), once, as_stored)?;
        // The clock may have been set back. The new database would then show them again.
        let has_expired = |value: &[u8]| {
            let stamp = now.and_then(|now| Some((now, Stamp::split(value)?.1)));
            stamp.is_some_and(|(now, stamp)| stamp.has_expired(now))
        };
        self.begin_block(number);
        while entries.advance()? {
            match entries.value() {
                Ok(value) if has_expired(value) => continue,
                Ok(value) => self.add(number, &Entry::Value { key: entries.key(), value })?,
                Err(error) if error.failed_merge().is_some() => {
                    self.add_unfolded(number, keyspace, entries.key(), once)?;
                }
                Err(error) => return Err(error),
            }
            self.counts.keys += 1;
        }
        self.end_block()?;
        // A dropped keyspace reads as an empty one.
        keyspace.state().check_exists()
    }

    fn add_unfolded(
        &mut self,
        number: u64,
        keyspace: &Keyspace,
        key: &[u8],
        once: ReadSettings<'_>,
    ) -> Result<()> {
        let (newest_first, base) =
            keyspace.core().chain_of(keyspace.state(), key, once)?.0.into_records();
        let base = base.as_ref().filter(|base| base.header.kind == Kind::Put);
        self.add(number, &Entry::Unfolded { key, base: base.map(|base| &base.value[..]) })?;
        for operand in newest_first.iter().rev() {
            let (operator, operand) = (operand.header.operator, &operand.value[..]);
            self.add(number, &Entry::Operand { operator, operand })?;
            self.counts.operands += 1;
        }
        Ok(())
    }

    fn add(&mut self, number: u64, entry: &Entry<'_>) -> Result<()> {
        entry.encode(&mut self.block);
        self.has_entries = true;
        if self.block.len() < FULL {
            return Ok(());
        }
        self.end_block()?;
        self.begin_block(number);
        Ok(())
    }

    fn begin_block(&mut self, number: u64) {
        self.block.clear();
        self.block.shrink_to(2 * FULL);
        self.has_entries = false;
        put_varint(&mut self.block, number);
    }

    fn end_block(&mut self) -> Result<()> {
        if !self.has_entries {
            return Ok(());
        }
        self.has_entries = false;
        self.to.block(BlockKind::Entries, &self.block)
    }
}
