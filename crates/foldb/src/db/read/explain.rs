//! Explains a key: each record, its place, and why it is not folded yet.

use std::fmt;
use std::ops::ControlFlow;

use crate::db::core::Core;
use crate::db::read::settings::ReadSettings;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::view::View;
use crate::encoding::key_hash;
use crate::error::Result;
use crate::fold::Resolver;
use crate::fold::stamp::STAMP_LEN;
use crate::key::{Kind, RecordHeader, SeqNo};
use crate::separated::Address;
use crate::table::CursorOptions;

/// The records of a key. [`Keyspace::explain`](crate::Keyspace::explain) returns it.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options {
/// #     create_if_missing: true,
/// #     merge_operator: Some("uint64add".to_owned()),
/// #     ..Default::default()
/// # };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::{Place, RecordKind, Unfolded};
///
/// db.put("visits", 7u64.to_le_bytes())?;
/// let before = db.snapshot();
/// db.merge("visits", 1u64.to_le_bytes())?;
/// db.flush()?;
///
/// let explained = db.explain("visits")?;
/// let [merge, put] = &explained.records[..] else { panic!("two records") };
/// assert_eq!((merge.kind, merge.operator.as_deref()), (RecordKind::Merge, Some("uint64add")));
/// assert_eq!(merge.unfolded, Some(Unfolded::Snapshot(before.sequence_number())));
/// assert!(matches!(put.place, Place::Table { level: 0, .. }));
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explained {
    /// All records, newest first, including those that only snapshots still see.
    pub records: Vec<ExplainedRecord>,
    /// Sequence numbers of the live snapshots, oldest first.
    pub snapshots: Vec<u64>,
    /// Places that a read of the key searches: memtables with records of the key, and tables whose
    /// filter admits the key.
    pub places: usize,
    /// Why a read of the key fails, if it does.
    pub failure: Option<String>,
}

/// A record of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedRecord {
    /// The place of the record.
    pub place: Place,
    /// What the record does.
    pub kind: RecordKind,
    /// Position in the order of writes; 0 if a compaction has removed it because no reader needs
    /// it.
    pub sequence_number: u64,
    /// The operator of a merge, as `NAME` or `NAME:PARAM`.
    pub operator: Option<String>,
    /// Bytes of the value or operand.
    pub bytes: usize,
    /// Why the record was not folded with the record below it. `None` only for the last record, if
    /// it is not a merge.
    pub unfolded: Option<Unfolded>,
}

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// In memory.
    Memtable {
        /// The position among the memtables, 0 for the newest. Only the newest may still take
        /// writes; the others wait for their flush.
        age: usize,
    },
    /// In a table.
    Table {
        /// The level; 0 is the youngest.
        level: usize,
        /// The number of its run, as `stats` and the log show it.
        run: u64,
        /// The number of its file.
        file: u64,
    },
}

/// What a record does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// Sets the key.
    Put,
    /// Deletes the key.
    Delete,
    /// Deletes a range that contains the key.
    DeleteRange,
    /// Merges an operand.
    Merge,
}

/// Why a record was not folded with the record below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unfolded {
    /// This snapshot sees the record below and not this one.
    Snapshot(u64),
    /// The two records lie in different places, and no flush or compaction has moved them together
    /// yet.
    Apart,
    /// The two records lie in one memtable, or the last record is a merge in a memtable. A flush
    /// may fold them.
    NotFlushed,
    /// The operand folds only onto a base, and the base of the key, if it has one, lies deeper in
    /// the tree.
    NeedsBase,
    /// The operator is not registered.
    OperatorMissing,
    /// The operator rejects the operand or the base.
    Failed,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Memtable { age: 0 } => f.write_str("memtable"),
            Place::Memtable { age } => write!(f, "memtable -{age}"),
            Place::Table { level, run, file } => write!(f, "L{level} run {run} table {file:06}"),
        }
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordKind::Put => "put",
            RecordKind::Delete => "delete",
            RecordKind::DeleteRange => "delete range",
            RecordKind::Merge => "merge",
        })
    }
}

impl fmt::Display for Unfolded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfolded::Snapshot(seqno) => write!(f, "snapshot {seqno} sees the record below"),
            Unfolded::Apart => f.write_str("not yet compacted with the record below"),
            Unfolded::NotFlushed => f.write_str("not yet flushed"),
            Unfolded::NeedsBase => f.write_str("folds only onto a base, which lies deeper"),
            Unfolded::OperatorMissing => f.write_str("its operator is not registered"),
            Unfolded::Failed => f.write_str("its operator rejects it"),
        }
    }
}

/// A record and the place where it was found.
struct Found {
    place: Place,
    kind: RecordKind,
    header: RecordHeader,
    bytes: usize,
}

impl Found {
    fn leave_out_stamp(&mut self) {
        if self.header.kind.may_expire() {
            self.bytes = self.bytes.saturating_sub(STAMP_LEN);
        }
    }
}

impl Core {
    /// Returns every record of a key: see [`crate::Keyspace::explain`].
    pub(crate) fn explain(&self, keyspace: &KeyspaceState, key: &[u8]) -> Result<Explained> {
        self.check_open()?;
        keyspace.check_key(key)?;
        // The view first, the sequence number second (H3).
        let view = keyspace.view.load_full();
        let seqno = self.read_seqno(keyspace, ReadSettings::default(), Core::pin)?;
        let (mut found, places) = self.records_of(keyspace, &view, key, seqno)?;
        if keyspace.settings.expiry.is_some() {
            found.iter_mut().for_each(Found::leave_out_stamp);
        }
        let failure = self.get(keyspace, key, ReadSettings::default()).err();
        let snapshots = self.snapshots.live();
        let resolver = self.registry.resolver();
        let records = (0..found.len())
            .map(|at| explain_record(&found[at..], &snapshots, &resolver, failure.is_some()))
            .collect();
        let failure = failure.map(|error| error.to_string());
        Ok(Explained { records, snapshots, places, failure })
    }

    /// Returns all records of a key up to `seqno`, newest first, and the number of places that a
    /// read searches.
    fn records_of(
        &self,
        keyspace: &KeyspaceState,
        view: &View,
        key: &[u8],
        seqno: SeqNo,
    ) -> Result<(Vec<Found>, usize)> {
        let (hash, mut found, mut places) = (key_hash(key), Vec::new(), 0);
        for (age, memtable) in view.memtables().enumerate() {
            let (place, before) = (Place::Memtable { age }, found.len());
            let cover = memtable.records_of(hash, key, seqno, |header, bytes| {
                found.push(Found { place, kind: kind_of(header.kind), header, bytes });
            });
            insert_cover(&mut found, before, place, cover);
            places += usize::from(found.len() > before);
        }
        for (level, run) in view.version.runs() {
            let Some(table) = run.table_of(&*keyspace.comparator, key) else { continue };
            let place = Place::Table { level, run: run.id, file: table.file.number };
            let open = keyspace.tables.get_owned(&table.file)?;
            let before = found.len();
            let cover = if table.has_range_tombstones() { open.cover(key, seqno) } else { 0 };
            if keyspace.tables.may_contain(&open, hash, key)? {
                places += 1;
                open.get(key, seqno, CursorOptions::default(), |header, value| {
                    let bytes = match header.kind {
                        Kind::Separated => Address::decode(value.as_slice())
                            .map_or(0, |address| address.len as usize),
                        _ => value.as_slice().len(),
                    };
                    found.push(Found { place, kind: kind_of(header.kind), header, bytes });
                    ControlFlow::Continue(())
                })?;
            }
            insert_cover(&mut found, before, place, cover);
        }
        Ok((found, places))
    }
}

/// Inserts a range delete between the records of its place, by its sequence number.
fn insert_cover(found: &mut Vec<Found>, from: usize, place: Place, cover: SeqNo) {
    if cover == 0 {
        return;
    }
    let newer = found[from..].iter().take_while(|record| record.header.seqno > cover).count();
    let header = RecordHeader { seqno: cover, kind: Kind::Delete, operator: 0 };
    found.insert(from + newer, Found { place, kind: RecordKind::DeleteRange, header, bytes: 0 });
}

fn kind_of(kind: Kind) -> RecordKind {
    match kind {
        Kind::Put | Kind::Separated => RecordKind::Put,
        Kind::Delete => RecordKind::Delete,
        Kind::Merge => RecordKind::Merge,
        Kind::DeleteRange => RecordKind::DeleteRange,
    }
}

/// Explains the first of these records, given those below it.
fn explain_record(
    records: &[Found],
    snapshots: &[SeqNo],
    resolver: &Resolver,
    fails: bool,
) -> ExplainedRecord {
    let Found { place, kind, header, bytes } = records[0];
    let is_merge = kind == RecordKind::Merge;
    let below = records.get(1);
    let unfolded = below.map(|below| why_unfolded(&records[0], below, snapshots, resolver));
    let unfolded = match unfolded {
        _ if is_merge && resolver.is_unresolved(header.operator) => Some(Unfolded::OperatorMissing),
        None | Some(Unfolded::NeedsBase) if is_merge && fails => Some(Unfolded::Failed),
        None if is_merge && matches!(place, Place::Memtable { .. }) => Some(Unfolded::NotFlushed),
        None if is_merge => Some(Unfolded::NeedsBase),
        unfolded => unfolded,
    };
    ExplainedRecord {
        place,
        kind,
        sequence_number: header.seqno,
        operator: is_merge.then(|| resolver.name(header.operator)),
        bytes,
        unfolded,
    }
}

fn why_unfolded(
    record: &Found,
    below: &Found,
    snapshots: &[SeqNo],
    resolver: &Resolver,
) -> Unfolded {
    let (newer, older) = (record.header.seqno, below.header.seqno);
    let first_not_below = snapshots.partition_point(|&snapshot| snapshot < older);
    if let Some(&snapshot) = snapshots.get(first_not_below).filter(|&&snapshot| snapshot < newer) {
        return Unfolded::Snapshot(snapshot);
    }
    if record.place != below.place {
        return Unfolded::Apart;
    }
    if matches!(record.place, Place::Memtable { .. }) {
        return Unfolded::NotFlushed;
    }
    if record.kind == RecordKind::Merge && resolver.is_unresolved(record.header.operator) {
        return Unfolded::OperatorMissing;
    }
    match record.kind {
        RecordKind::Merge => Unfolded::NeedsBase,
        // Only a snapshot makes a table keep records below a base, and that snapshot is released.
        RecordKind::Put | RecordKind::Delete | RecordKind::DeleteRange => Unfolded::Apart,
    }
}

impl Explained {
    /// Returns the number of operands that a read now folds.
    pub fn operands(&self) -> usize {
        self.records.iter().take_while(|record| record.kind == RecordKind::Merge).count()
    }

    /// Returns the bytes of all records.
    pub fn bytes(&self) -> usize {
        self.records.iter().map(|record| record.bytes).sum()
    }
}
