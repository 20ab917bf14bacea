//! Makes a new database from a dump.
//!
//! The writes need no log: a restore that ends early leaves no database. At the end, the restore
//! reads the new database and compares it with what the dump had.
//!
//! Invariant: a restore that returns has read the whole dump, checked every checksum of it, and
//! read back an equal database. Otherwise it removes what it wrote. After a kill, the mark
//! `RESTORING` stays, and every open refuses the database.

use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::db::batch::WriteBatch;
use crate::db::dump::create::{Created, Description};
use crate::db::dump::digest::Digest;
use crate::db::dump::dumping::DumpReport;
use crate::db::dump::format::{Block, BlockKind, BlockReader, Counts, decode_end};
use crate::db::dump::record::{Described, Entry, check_end};
use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::read_options::ReadOptions;
use crate::db::lifecycle::destroy::destroy_own;
use crate::encoding::ByteReader;
use crate::error::{Error, Result};
use crate::files::{FileNames, Proof, refuse_inside, remove};
use crate::fold::Definition;
use crate::fold::stamp::Stamp;
use crate::key::{Kind, NO_OPERATOR, OperatorId};
use crate::options::{Options, WriteOptions};

/// Bytes of keys and values that fill a batch.
const BATCH_BYTES: usize = 1 << 20;

impl Db {
    /// Makes a new database from a dump of [`Db::dump`]. Checks every checksum, and reads the new
    /// database to compare it with the dump. The new database is closed and durable when this
    /// returns.
    ///
    /// `options` gives comparators, operators and filter policies by name. The dump gives the
    /// operator and the settings of each keyspace. An open of the new database gives the settings
    /// of the default keyspace again, as every open does.
    ///
    /// A restore that fails removes what it wrote. A kill or a power loss leaves a part of the
    /// database, and every open of it fails with `Corruption`. [`Db::destroy`] removes it.
    ///
    /// # Errors
    /// `Corruption`, with the offset in the dump, if it is damaged or cut off. `Unsupported` for a
    /// dump of a later version. `UnknownComparator`, and without
    /// [`Options::allow_unresolved_operators`] `UnknownOperator`, if the dump names one that is not
    /// registered. `DatabaseExists` if `path` has a database, `Corruption` if it has the rest of an
    /// interrupted restore. The error of `from`; `Io`, `NoSpace`.
    ///
    /// # Example
    /// See [`Db::dump`].
    pub fn restore(
        from: impl Read,
        path: impl AsRef<Path>,
        options: Options,
    ) -> Result<DumpReport> {
        // Looked up once: the program may change its working directory during the restore.
        let names = FileNames::at(&*options.env.fs, path.as_ref())?;
        let path = names.directory();
        refuse_inside(&*options.env.fs, path)?;
        let mut created = None;
        restore(from, path, &options, &mut created).inspect_err(|_| {
            if let Some(database) = created {
                let _best_effort = destroy_own(database, path, &options);
            }
        })
    }
}

fn restore(
    from: impl Read,
    path: &Path,
    options: &Options,
    created: &mut Option<u64>,
) -> Result<DumpReport> {
    let mut dump = BlockReader::begin(BufReader::new(from))?;
    let mut description = Description::default();
    let mut restore = loop {
        let block = dump.next()?;
        let Block { kind, offset, payload } = block;
        let describes = match kind {
            BlockKind::Operator => {
                decode_operator(payload).map(|own| description.operators.push(own))
            }
            BlockKind::Keyspace => {
                Described::decode(payload).map(|own| description.keyspaces.push(own))
            }
            BlockKind::Entries | BlockKind::End => {
                let new = description.create(path, options, created)?;
                let mut restore = Restore::new(new, options);
                if restore.block(&block)? {
                    break restore;
                }
                while !restore.block(&dump.next()?)? {}
                break restore;
            }
        };
        describes.map_err(|error| error.at_offset(offset))?;
    };
    restore.write()?;
    restore.finish(dump.len())
}

fn decode_operator(payload: &[u8]) -> Result<Definition> {
    let mut bytes = ByteReader::new(payload);
    let definition = Definition::decode(&mut bytes)?;
    check_end(&bytes, "operator")?;
    Ok(definition)
}

/// A database during its restore.
struct Restore {
    new: Created,
    allow_unresolved: bool,
    batch: WriteBatch,
    /// Number of the keyspace whose entries are read.
    keyspace: usize,
    /// The last key, if it does not fold. Its operands are read.
    unfolded: Option<Vec<u8>>,
    counts: Counts,
    /// What the new database must hold.
    expected: Digest,
}

impl Restore {
    fn new(new: Created, options: &Options) -> Restore {
        Restore {
            counts: Counts { keyspaces: new.keyspaces.len() as u64, ..Counts::default() },
            new,
            allow_unresolved: options.allow_unresolved_operators,
            batch: WriteBatch::new(),
            keyspace: 0,
            unfolded: None,
            expected: Digest::default(),
        }
    }

    /// Restores the entries of a block. Returns whether it is the end.
    fn block(&mut self, block: &Block<'_>) -> Result<bool> {
        let restored = match block.kind {
            BlockKind::Entries => self.entries(block.payload).map(|()| false),
            BlockKind::End => self.end(block.payload).map(|()| true),
            BlockKind::Operator | BlockKind::Keyspace => Err(Error::corruption(
                "expected operators and keyspaces before all entries, found one behind",
            )),
        };
        restored.map_err(|error| error.at_offset(block.offset))
    }

    fn entries(&mut self, payload: &[u8]) -> Result<()> {
        let mut bytes = ByteReader::new(payload);
        let keyspace = usize::try_from(bytes.varint("keyspace")?).unwrap_or(usize::MAX);
        if !(self.keyspace..self.new.keyspaces.len()).contains(&keyspace) {
            let (least, all) = (self.keyspace, self.new.keyspaces.len());
            return Err(Error::corruption(format!(
                "entries of keyspace {keyspace}: expected one from {least} to below {all}"
            )));
        }
        if keyspace > self.keyspace {
            self.end_of_unfolded()?;
            self.keyspace = keyspace;
        }
        while !bytes.is_empty() {
            match Entry::decode(&mut bytes)? {
                Entry::Value { key, value } => {
                    self.end_of_unfolded()?;
                    if self.is_compared() {
                        self.expected.add(keyspace, key, Some(value));
                    }
                    self.put(key, value)?;
                }
                Entry::Unfolded { key, base } => self.unfolded(key, base)?,
                Entry::Operand { operator, operand } => self.operand(operator, operand)?,
            }
        }
        Ok(())
    }

    /// Returns whether the end of the restore compares the current keyspace with the dump. Entries
    /// that expire may be gone by then.
    fn is_compared(&self) -> bool {
        !expires(&self.new.keyspaces[self.keyspace])
    }

    /// Checks what a keyspace with expiry stores of a value or operand. A dump from elsewhere may
    /// have right checksums and no stamps.
    ///
    /// # Errors
    /// `Corruption` if there is no stamp at the end.
    fn check_stamp(&self, key: &[u8], stored: &[u8]) -> Result<()> {
        let keyspace = &self.new.keyspaces[self.keyspace];
        if !expires(keyspace) || Stamp::split(stored).is_some() {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "key '{}' of the keyspace '{}', whose entries expire: expected a stamp at the end of \
             {} bytes, found none",
            crate::key::shown(key),
            keyspace.state().name,
            stored.len()
        )))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_stamp(key, value)?;
        self.make_room(key.len() + value.len())?;
        self.counts.keys += 1;
        let keyspace = self.new.keyspaces[self.keyspace].state();
        self.batch.add_as_stored((Kind::Put, NO_OPERATOR), keyspace, key, value);
        Ok(())
    }

    fn unfolded(&mut self, key: &[u8], base: Option<&[u8]>) -> Result<()> {
        self.end_of_unfolded()?;
        match base {
            Some(base) => self.put(key, base)?,
            None => self.counts.keys += 1,
        }
        self.unfolded = Some(key.to_vec());
        Ok(())
    }

    fn operand(&mut self, operator: OperatorId, operand: &[u8]) -> Result<()> {
        let key = self.unfolded.take().ok_or_else(|| {
            Error::corruption("expected a key before its operands, found an operand")
        })?;
        let id = self.new.operators.get(&operator).copied().ok_or_else(|| {
            Error::corruption(format!("an operand of operator {operator}, which is not defined"))
        })?;
        if !self.allow_unresolved {
            self.check_registered(id, &key)?;
        }
        self.check_stamp(&key, operand)?;
        self.make_room(key.len() + operand.len())?;
        self.counts.operands += 1;
        let keyspace = self.new.keyspaces[self.keyspace].state();
        self.batch.add_as_stored((Kind::Merge, id), keyspace, &key, operand);
        self.unfolded = Some(key);
        Ok(())
    }

    fn check_registered(&self, id: OperatorId, key: &[u8]) -> Result<()> {
        let registry = &self.new.db.core().registry;
        let resolver = registry.resolver();
        match resolver.definition(id).filter(|_| resolver.is_unresolved(id)) {
            None => Ok(()),
            Some(definition) => Err(registry.unknown_operator(definition).prefixed(&format!(
                "key '{}' has operands that do not fold: ",
                crate::key::shown(key)
            ))),
        }
    }

    /// Notes what the new database shows of the last unfolded key. If this program has an operator
    /// that the dumping program lacked, the key folds now.
    fn end_of_unfolded(&mut self) -> Result<()> {
        let Some(key) = self.unfolded.take() else { return Ok(()) };
        self.write()?;
        if !self.is_compared() {
            return Ok(());
        }
        match self.new.keyspaces[self.keyspace].get(&key) {
            Ok(None) => {}
            Ok(Some(value)) => self.expected.add(self.keyspace, &key, Some(&value)),
            Err(error) if error.failed_merge().is_some() => {
                self.expected.add(self.keyspace, &key, None);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Writes the batch if it is full with `bytes` more. A large value has a batch of its own.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        match self.batch.byte_len() + bytes > BATCH_BYTES {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<()> {
        if !self.batch.is_empty() {
            let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
            self.new.db.with(&unlogged).write(&self.batch)?;
        }
        if self.batch.byte_len() > 2 * BATCH_BYTES {
            self.batch = WriteBatch::new();
        }
        self.batch.clear();
        Ok(())
    }

    /// Compares the counts of the dump's end with what was read.
    fn end(&mut self, payload: &[u8]) -> Result<()> {
        self.end_of_unfolded()?;
        let expected = decode_end(payload)?.counts;
        if expected == self.counts {
            return Ok(());
        }
        let found = self.counts;
        Err(Error::corruption(format!(
            "the end of the dump: expected {} keyspaces, {} keys and {} operands, found {}, {} and \
             {}",
            expected.keyspaces,
            expected.keys,
            expected.operands,
            found.keyspaces,
            found.keys,
            found.operands
        )))
    }

    /// Makes the new database durable, and compares it with the dump.
    fn finish(self, bytes: u64) -> Result<DumpReport> {
        self.new.db.flush()?;
        let mut found = Digest::default();
        for (number, keyspace) in self.new.keyspaces.iter().enumerate() {
            if !expires(keyspace) {
                add_all(number, keyspace, &mut found)?;
            }
        }
        if let Some(difference) = self.expected.difference(&found) {
            return Err(Error::corruption(format!(
                "the new database differs from the dump: {difference}"
            ))
            .in_file(self.new.db.path()));
        }
        self.new.db.close()?;
        let (fs, names) = (&self.new.db.core().options.env.fs, &self.new.db.core().names);
        let (mark, directory) = (names.restoring(), names.directory());
        match remove(&**fs, &mark, Proof::Written) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(|error| Error::io(&mark, "remove", &error))?,
        }
        let synced = fs.sync_dir(directory);
        synced.map_err(|error| Error::io(directory, "sync the directory", &error))?;
        Ok(DumpReport::of(&self.counts, bytes))
    }
}

fn expires(keyspace: &Keyspace) -> bool {
    keyspace.state().settings.expiry.is_some()
}

/// Adds the entries of a keyspace to a digest.
fn add_all(number: usize, keyspace: &Keyspace, digest: &mut Digest) -> Result<()> {
    let once = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let mut entries = keyspace.with(&once).range(..)?;
    while entries.advance()? {
        match entries.value() {
            Ok(value) => digest.add(number, entries.key(), Some(value)),
            Err(error) if error.failed_merge().is_some() => {
                digest.add(number, entries.key(), None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
