//! Explains a key: each record, its place, and why it is not folded yet.

use std::fmt;
use std::ops::ControlFlow;

use crate::db::core::Core;
use crate::db::read::key_walk::{KeyVisitor, Place, Sought};
use crate::db::read::settings::ReadSettings;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::Result;
use crate::fold::Resolver;
use crate::fold::stamp::STAMP_LEN;
use crate::key::{Kind, RecordHeader, SeqNo};
use crate::separated::Address;
use crate::value::Value;

/// The records of a key. [`Keyspace::explain`](crate::Keyspace::explain) returns it.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options {
/// #     create_if_missing: true,
/// #     default: foldb::KeyspaceOptions::with_operator("uint64add"),
/// #     ..Default::default()
/// # };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::explain::{Place, RecordKind, Unfolded};
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
        let (view, _, seqno) = self.begin_read(keyspace, ReadSettings::default(), Core::pin)?;
        let place = Place::Memtable { age: 0 };
        let mut finding = Finding { place, found: Vec::new(), admitting: 0 };
        let sought = Sought::new(key, seqno);
        keyspace.walk_key(&view, &sought, ReadSettings::default(), &mut finding)?;
        let places = finding.admitting + finding.memtables();
        let mut found = finding.found;
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
}

/// All records of a key, newest first.
struct Finding {
    place: Place,
    found: Vec<Found>,
    /// The number of tables whose filter admits the key.
    admitting: usize,
}

impl Finding {
    /// Returns the number of memtables with records of the key.
    fn memtables(&self) -> usize {
        let mut places: Vec<Place> = self.found.iter().map(|found| found.place).collect();
        places.dedup();
        places.iter().filter(|place| matches!(place, Place::Memtable { .. })).count()
    }
}

impl KeyVisitor for Finding {
    fn enter(&mut self, place: Place, _: SeqNo) -> bool {
        self.place = place;
        true
    }

    fn cover(&mut self, seqno: SeqNo) -> ControlFlow<()> {
        let header = RecordHeader { seqno, kind: Kind::Delete, operator: 0 };
        let kind = RecordKind::DeleteRange;
        self.found.push(Found { place: self.place, kind, header, bytes: 0 });
        ControlFlow::Continue(())
    }

    fn filtered(&mut self, admits: bool) {
        self.admitting += usize::from(admits);
    }

    fn record(&mut self, header: RecordHeader, value: impl FnOnce() -> Value) -> ControlFlow<()> {
        let value = value();
        let bytes = match header.kind {
            Kind::Separated => Address::decode(&value).map_or(0, |address| address.len as usize),
            _ => value.len(),
        };
        let record = Found { place: self.place, kind: kind_of(header.kind), header, bytes };
        // The range delete of the place was found first, and belongs below the newer records.
        let is_older_cover = |last: &Found| {
            let is_cover = last.kind == RecordKind::DeleteRange && last.place == self.place;
            is_cover && last.header.seqno < header.seqno
        };
        let at = self.found.len() - usize::from(self.found.last().is_some_and(is_older_cover));
        self.found.insert(at, record);
        ControlFlow::Continue(())
    }
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
