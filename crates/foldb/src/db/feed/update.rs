//! The entries of the change feed.

use std::ops::Bound;
use std::sync::Arc;
use std::time::SystemTime;

use crate::db::batch::WriteBatch;
use crate::db::handle::database::Db;
use crate::db::state::position::Position;
use crate::encoding::ByteReader;
use crate::error::{Error, Result};
use crate::fold::stamp::{Rule, Stamp, time_of};
use crate::fold::{Definition, Operator};
use crate::key::{KeyspaceId, Kind, NO_OPERATOR, OperatorId};
use crate::operation::Operation;
use crate::settings::Expiry;
use crate::wal::{BatchHeader, NamedKeyspace};

/// One entry of the change feed; see [`Db::updates_since`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Update {
    /// The place directly after the update. A follower stores it together with the changes.
    pub position: Position,
    /// What happened.
    pub change: Change,
}

/// What happened to the database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// A batch was applied. A single write is a batch of one.
    Batch(BatchUpdate),
    /// Keyspaces were dropped, then others were created. A name may be in both lists. After a crash
    /// the feed may repeat this change, so a keyspace that is gone already is no error.
    Keyspaces {
        /// Names of dropped keyspaces.
        dropped: Vec<String>,
        /// Created keyspaces.
        created: Vec<CreatedKeyspace>,
    },
    /// These sequence numbers belong to changes that are in no log: writes with
    /// [`crate::WriteOptions::disable_wal`], and loads of sorted tables. After a crash the numbers
    /// may also have been skipped. A follower that needs these changes copies the database anew
    /// ([`Db::snapshot_and_position`]).
    Unlogged {
        /// The first of the numbers.
        first: u64,
        /// The last of the numbers.
        last: u64,
    },
}

/// A keyspace that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreatedKeyspace {
    /// Its name.
    pub name: String,
    /// The name of the comparator that orders its keys.
    pub comparator: String,
    /// Its default operator, as `NAME` or `NAME:PARAM`.
    pub merge_operator: Option<String>,
    /// When its entries expire.
    pub expiry: Option<Expiry>,
}

impl CreatedKeyspace {
    pub(super) fn of(keyspace: &NamedKeyspace) -> CreatedKeyspace {
        let NamedKeyspace { name, comparator, operator, expiry, .. } = keyspace.clone();
        let merge_operator = (!operator.is_empty()).then_some(operator);
        CreatedKeyspace { name, comparator, merge_operator, expiry: expiry.parse().ok() }
    }
}

/// A batch of the change feed: writes that were applied together.
#[derive(Clone, Debug)]
pub struct BatchUpdate {
    header: BatchHeader,
    /// The operations as the log stores them. They were decoded once, so they are well formed.
    operations: Vec<u8>,
    /// The names of the keyspaces of the operations, by id.
    keyspaces: Vec<(KeyspaceId, Arc<str>)>,
    /// The operators of the operations, by id.
    operators: Vec<(OperatorId, NamedOperator)>,
}

/// An operator of a batch.
#[derive(Clone, Debug)]
pub(super) struct NamedOperator {
    /// `NAME` or `NAME:PARAM`.
    pub(super) spec: Arc<str>,
    /// `None` if neither the logs nor the database define the operator.
    pub(super) definition: Option<Definition>,
}

/// One write of a batch of the change feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpdateOp<'a> {
    /// A key was set.
    Put {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
        /// The new value.
        value: &'a [u8],
        /// When the value expires, if it does.
        expires: Option<SystemTime>,
    },
    /// A key was deleted.
    Delete {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
    },
    /// An operand was merged into a key.
    Merge {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
        /// The operand.
        operand: &'a [u8],
        /// The operator of the operand, as `NAME` or `NAME:PARAM`.
        operator: &'a str,
        /// When the value expires after this merge, if the merge sets that.
        expires: Option<SystemTime>,
    },
    /// All keys of a range were deleted.
    DeleteRange {
        /// Name of the keyspace.
        keyspace: &'a str,
        /// The start of the range.
        start: Bound<&'a [u8]>,
        /// The end of the range.
        end: Bound<&'a [u8]>,
    },
}

impl<'a> UpdateOp<'a> {
    /// Returns the name of the keyspace.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::feed::{Change, Position};
    /// use foldb::{Db, Options};
    ///
    /// let options = Options {
    ///     create_if_missing: true,
    ///     wal_retention_bytes: 64 << 20,
    ///     ..Options::default()
    /// };
    /// let db = Db::open(dir.path().join("db"), options)?;
    /// db.put("page", "text")?;
    /// db.delete_range("a".."b")?;
    /// db.sync()?;
    /// let mut changed = Vec::new();
    /// for update in db.updates_since(&Position::BEGINNING)? {
    ///     if let Change::Batch(batch) = update?.change {
    ///         for op in batch.iter() {
    ///             changed.push((op.keyspace().to_owned(), op.key().map(Vec::from)));
    ///         }
    ///     }
    /// }
    /// let page = ("default".to_owned(), Some(b"page".to_vec()));
    /// assert_eq!(changed, [page, ("default".to_owned(), None)]);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn keyspace(&self) -> &'a str {
        match *self {
            UpdateOp::Put { keyspace, .. }
            | UpdateOp::Delete { keyspace, .. }
            | UpdateOp::Merge { keyspace, .. }
            | UpdateOp::DeleteRange { keyspace, .. } => keyspace,
        }
    }

    /// Returns the key; `None` for [`UpdateOp::DeleteRange`], which has a range.
    pub fn key(&self) -> Option<&'a [u8]> {
        match *self {
            UpdateOp::Put { key, .. }
            | UpdateOp::Delete { key, .. }
            | UpdateOp::Merge { key, .. } => Some(key),
            UpdateOp::DeleteRange { .. } => None,
        }
    }
}

/// Names that a batch needs: of its keyspaces, or of its operators.
pub(super) trait Names {
    /// Returns the name of a keyspace.
    fn keyspace(&self, id: KeyspaceId) -> Result<Arc<str>>;
    /// Returns the operator of an id.
    fn operator(&self, id: OperatorId) -> NamedOperator;
}

impl BatchUpdate {
    /// Reads the operations of a log record.
    ///
    /// # Errors
    /// `Corruption` for malformed operations; errors of `names`.
    pub(super) fn read(
        header: BatchHeader,
        operations: &[u8],
        names: &impl Names,
    ) -> Result<BatchUpdate> {
        let mut batch = BatchUpdate {
            header,
            operations: Vec::new(),
            keyspaces: Vec::new(),
            operators: Vec::new(),
        };
        let mut bytes = ByteReader::new(operations);
        for _ in 0..header.count {
            let operation = Operation::decode_logged(&mut bytes)?;
            let id = operation.keyspace;
            if let Err(at) = batch.keyspaces.binary_search_by_key(&id, |known| known.0) {
                batch.keyspaces.insert(at, (id, names.keyspace(id)?));
            }
            if operation.kind != Kind::Merge {
                continue;
            }
            let id = batch.operator_of(&operation);
            if let Err(at) = batch.operators.binary_search_by_key(&id, |known| known.0) {
                batch.operators.insert(at, (id, names.operator(id)));
            }
        }
        if !bytes.is_empty() {
            return Err(Error::corruption(format!(
                "expected {} operations in the batch, found {} bytes after them",
                header.count,
                bytes.remaining()
            )));
        }
        batch.operations = operations.to_vec();
        Ok(batch)
    }

    fn operator_of(&self, operation: &Operation<'_>) -> OperatorId {
        match operation.operator {
            NO_OPERATOR => self.header.default_operator,
            named => named,
        }
    }

    /// Returns the number of writes.
    pub fn len(&self) -> usize {
        self.header.count as usize
    }

    /// Returns whether the batch has no writes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sequence number of the first write. Each later one has the next number.
    pub fn first_sequence_number(&self) -> u64 {
        self.header.first_seqno
    }

    /// Returns the writes, in order.
    pub fn iter(&self) -> impl Iterator<Item = UpdateOp<'_>> {
        self.operations().map(|operation| self.shown(operation))
    }

    /// Returns the writes whose keyspace the database still has, in order. Writes of a dropped
    /// keyspace are left out, even if the database has another one of its name now.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     wal_retention_bytes: 64 << 20,
    /// #     ..foldb::Options::default()
    /// # };
    /// # use foldb::KeyspaceOptions;
    /// # use foldb::feed::{Change, Position};
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// db.create_keyspace("pages", KeyspaceOptions::default())?.put("a", "1")?;
    /// db.drop_keyspace("pages")?;
    /// db.create_keyspace("pages", KeyspaceOptions::default())?.put("b", "2")?;
    /// db.sync()?;
    /// let mut kept = 0;
    /// for update in db.updates_since(&Position::BEGINNING)? {
    ///     if let Change::Batch(batch) = update?.change {
    ///         kept += batch.iter_existing(&db).count();
    ///     }
    /// }
    /// assert_eq!(kept, 1);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn iter_existing<'a>(&'a self, db: &'a Db) -> impl Iterator<Item = UpdateOp<'a>> {
        let exists = |operation: &Operation<'_>| {
            let name = name_of(&self.keyspaces, operation.keyspace);
            db.keyspace(name).is_ok_and(|own| own.state().id == operation.keyspace)
        };
        self.operations().filter(exists).map(|operation| self.shown(operation))
    }

    fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        let mut bytes = ByteReader::new(&self.operations);
        (0..self.header.count).map(move |_| {
            let operation = Operation::decode_logged(&mut bytes);
            operation.expect("the operations were decoded once")
        })
    }

    fn shown<'a>(&'a self, operation: Operation<'a>) -> UpdateOp<'a> {
        let keyspace = name_of(&self.keyspaces, operation.keyspace);
        let (kind, key, value) = (operation.kind, operation.key, operation.payload());
        let stamp = Stamp::split(operation.value).filter(|_| operation.stamped);
        let renewed = stamp.filter(|(_, stamp)| stamp.rule == Rule::Renew);
        let expires = renewed.and_then(|(_, stamp)| time_of(stamp.expires));
        match kind {
            Kind::Put | Kind::Separated => UpdateOp::Put { keyspace, key, value, expires },
            Kind::Delete => UpdateOp::Delete { keyspace, key },
            Kind::Merge => {
                let operator = self.named_operator(&operation).map_or("", |own| &own.spec);
                UpdateOp::Merge { keyspace, key, operand: value, operator, expires }
            }
            Kind::DeleteRange => {
                let (start, end) = operation.range();
                UpdateOp::DeleteRange { keyspace, start, end }
            }
        }
    }

    fn named_operator(&self, operation: &Operation<'_>) -> Option<&NamedOperator> {
        let id = self.operator_of(operation);
        let at = self.operators.binary_search_by_key(&id, |known| known.0).ok()?;
        Some(&self.operators[at].1)
    }

    /// Returns the operator of another database that folds the operands of an operation.
    fn operator_in(&self, db: &Db, operation: &Operation<'_>) -> Result<Operator> {
        let Some(named) = self.named_operator(operation) else { return db.operator("") };
        match &named.definition {
            Some(definition) => db.core().operator_of(definition),
            None => db.operator(&named.spec),
        }
    }

    /// Adds the writes to a batch for another database, which has keyspaces of the same names, and
    /// operators with the same names, versions and parameters.
    ///
    /// # Errors
    /// `KeyspaceMissing`, `UnknownOperator`, `Closed`. The batch is then as before.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = || foldb::Options {
    /// #     create_if_missing: true,
    /// #     wal_retention_bytes: 64 << 20,
    /// #     ..foldb::Options::default()
    /// # };
    /// use foldb::feed::{Change, Position};
    /// use foldb::{Db, WriteBatch};
    ///
    /// let db = Db::open(dir.path().join("db"), options())?;
    /// let copy = Db::create(dir.path().join("copy"))?;
    /// db.put("key", "value")?;
    /// db.sync()?;
    /// for update in db.updates_since(&Position::BEGINNING)? {
    ///     if let Change::Batch(changes) = update?.change {
    ///         let mut batch = WriteBatch::new();
    ///         changes.add_to(&mut batch, &copy)?;
    ///         copy.write(&batch)?;
    ///     }
    /// }
    /// assert_eq!(copy.get("key")?.unwrap(), b"value");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn add_to(&self, batch: &mut WriteBatch, db: &Db) -> Result<()> {
        let (mark, mistake) = (batch.mark(), batch.mistake().cloned());
        self.add_all(batch, db).inspect_err(|_| {
            batch.cut(mark);
            mistake.into_iter().for_each(|mistake| batch.note_mistake(mistake));
        })
    }

    fn add_all(&self, batch: &mut WriteBatch, db: &Db) -> Result<()> {
        for operation in self.operations() {
            let name = name_of(&self.keyspaces, operation.keyspace);
            let keyspace = db.keyspace(name)?;
            let stored = operation.value;
            // A copy whose entries expire gets the ends of the original.
            let has_stamp = operation.stamped && keyspace.state().stamps;
            match self.shown(operation) {
                UpdateOp::Put { key, .. } if has_stamp => {
                    batch.add_as_stored((Kind::Put, NO_OPERATOR), keyspace.state(), key, stored);
                }
                UpdateOp::Put { key, value, .. } => {
                    batch.put_in(&keyspace, key, value);
                }
                UpdateOp::Delete { key, .. } => {
                    batch.delete_in(&keyspace, key);
                }
                UpdateOp::Merge { key, .. } if has_stamp => {
                    let operator = self.operator_in(db, &operation)?;
                    let id = db.core().stored_operator(keyspace.state(), &operator)?;
                    batch.add_as_stored((Kind::Merge, id), keyspace.state(), key, stored);
                }
                UpdateOp::Merge { key, operand, .. } => {
                    let operator = self.operator_in(db, &operation)?;
                    batch.merge_with_in(&operator, &keyspace, key, operand);
                }
                UpdateOp::DeleteRange { start, end, .. } => {
                    batch.delete_range_in(&keyspace, (start, end));
                }
            }
        }
        Ok(())
    }
}

fn name_of(names: &[(KeyspaceId, Arc<str>)], id: KeyspaceId) -> &str {
    names.binary_search_by_key(&id, |known| known.0).map_or("", |at| &names[at].1)
}
