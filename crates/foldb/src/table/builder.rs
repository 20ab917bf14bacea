//! Writes a table: records in order in, one file out.
//!
//! ```text
//! +-----------+-----------+-----------+-----+-------------+--------+--------+-------+--------+
//! | sub-block | sub-block | directory | ... | [references]| filter | prop-  | top   | footer |
//! |           |           |           |     | [range      |        | erties | index |        |
//! |           |           |           |     | tombstones] |        |        |       |        |
//! +-----------+-----------+-----------+-----+-------------+--------+--------+-------+--------+
//!  \__________ block ____________/     a block of one sub-block has no directory
//! ```
//!
//! Invariant: every byte before the footer belongs to exactly one frame.

use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::{Threads, WritableFile};

use crate::encoding::{common_prefix, key_hash};
use crate::error::{Error, ErrorKind, Result};
use crate::fold::Definition;
use crate::key::{
    Comparator, GuardedPolicy, KeyspaceId, Kind, OperatorId, RecordHeader, SeqNo, shown,
};
use crate::range_tombstone::{Edge, RangeTombstone};
use crate::separated::{Address, ReferencesBuilder};
use crate::settings::{Compression, Expiry};
use crate::table::block_builder::BlockBuilder;
use crate::table::block_writer::BlockWriter;
use crate::table::blocks::{Blocks, LARGEST_HELPED};
use crate::table::expiry::{ExpiryCounts, TableExpiry};
use crate::table::filter::{Filter, filter_len, write_filter};
use crate::table::footer::{FOOTER_LEN, Footer};
use crate::table::frame::Handle;
use crate::table::frame_writer::FrameWriter;
use crate::table::hash_list::HashList;
use crate::table::key_buffer::KeyBuffer;
use crate::table::later_syncs::LaterSyncs;
use crate::table::order::KeyOrder;
use crate::table::policy_filter::PolicyFilterBuilder;
use crate::table::properties::{Loaded, Properties, Surroundings};
use crate::table::references::write_references;
use crate::table::samples::Sampler;
use crate::table::tombstone_block::encode_tombstones;

/// Bytes of records in a sub-block, unless the block size is smaller.
const SUB_BLOCK_LEN: usize = 4096;

/// Most bytes of a record beside key and value, so that offsets in a sub-block fit 32 bits.
const RECORD_OVERHEAD: usize = 4096 + 2 * SUB_BLOCK_LEN;

/// How a table is written, and what it says about itself.
#[derive(Clone, Debug)]
pub struct TableBuilderOptions {
    /// Path of the file, for error messages.
    pub path: PathBuf,
    /// The file's number: part of every checksum.
    pub file_number: u64,
    /// The database that writes it.
    pub database_id: u64,
    /// The keyspace of its records.
    pub keyspace: KeyspaceId,
    /// The order of its keys.
    pub comparator: Arc<dyn Comparator>,
    /// Uncompressed bytes of a block, the unit of the top index.
    pub block_size: usize,
    /// The codec of sub-blocks, used where it saves an eighth.
    pub compression: Compression,
    /// Filter bits per user key; 0 for no filter. A comparator under which different bytes are
    /// equal, and a filter policy, turn this filter off.
    pub filter_bits: u32,
    /// Makes the filter.
    pub filter_policy: Option<GuardedPolicy>,
    /// Definitions of the operators that its merge records may name. The table stores those it
    /// uses.
    pub operators: Arc<[Definition]>,
    /// The expiry of the keyspace. If there is one, values and operands end with a stamp.
    pub expiry: Option<Expiry>,
}

/// A summary of a written table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSummary {
    /// Bytes of the file.
    pub file_len: u64,
    /// Number of records.
    pub entries: u64,
    /// Number of records that are deletes.
    pub deletes: u64,
    /// Number of records that are merges.
    pub merges: u64,
    /// Number of range tombstones.
    pub range_deletes: u64,
    /// The first user key, or the start of the first range tombstone if that is before it; empty
    /// without either.
    pub smallest: Vec<u8>,
    /// The last user key, or the end of the last range tombstone if that is after it; empty without
    /// either.
    pub largest: Vec<u8>,
    /// Whether the table holds nothing at `largest` itself, because a range tombstone ends before
    /// it.
    pub largest_excluded: bool,
    /// Smallest sequence number of a record or range tombstone; 0 without either.
    pub smallest_seqno: SeqNo,
    /// Largest sequence number of a record or range tombstone; 0 without either.
    pub largest_seqno: SeqNo,
    /// Bytes of keys and values, before compression.
    pub raw_bytes: u64,
    /// Up to 32 user keys that divide `raw_bytes` evenly: of n samples the i-th (from 0) stands at
    /// about (i + 1) / (n + 1). In bytewise order each is cut to 32 bytes; in any other order they
    /// are whole keys.
    pub samples: Vec<Arc<[u8]>>,
    /// The value segments that records refer to, and the bytes of the referenced records in each.
    pub references: Vec<(u64, u64)>,
    /// The expiry of the records, if the keyspace has one.
    pub expiry: Option<TableExpiry>,
}

/// Writes one table. If the caller drops a builder before `finish`, an incomplete file remains.
pub struct TableBuilder {
    blocks: Blocks,
    options: TableBuilderOptions,
    order: KeyOrder,
    block: BlockBuilder,
    /// Payload bytes at which a sub-block ends.
    sub_block_len: usize,
    last_key: KeyBuffer,
    /// The separator behind the last finished sub-block.
    separator: Vec<u8>,
    hashes: HashList,
    policy_filter: Option<PolicyFilterBuilder>,
    counts: Counts,
    smallest: Vec<u8>,
    operators: Vec<OperatorId>,
    sampler: Sampler,
    tombstones: Vec<RangeTombstone>,
    references: ReferencesBuilder,
    surroundings: Option<Surroundings>,
    flushed_with: Option<SeqNo>,
    loaded: Option<Loaded>,
    expiry: Option<ExpiryCounts>,
}

/// Totals over the records.
#[derive(Debug)]
struct Counts {
    by_kind: [u64; 3],
    raw_key_bytes: u64,
    raw_value_bytes: u64,
    smallest_seqno: SeqNo,
    largest_seqno: SeqNo,
    last_seqno: SeqNo,
}

impl TableBuilder {
    /// Makes a builder of a table in `file`, which must be empty.
    pub fn new(file: Arc<dyn WritableFile>, mut options: TableBuilderOptions) -> TableBuilder {
        let order = KeyOrder::new(options.comparator.clone());
        if options.filter_policy.is_some() || !order.is_equality_of_bytes() {
            options.filter_bits = 0;
        }
        let frames = FrameWriter::new(file, options.path.clone(), options.file_number);
        let blocks = BlockWriter::new(frames, options.block_size, options.compression);
        TableBuilder {
            blocks: Blocks::new(blocks),
            order,
            block: BlockBuilder::default(),
            sub_block_len: options.block_size.clamp(1, SUB_BLOCK_LEN),
            last_key: KeyBuffer::default(),
            separator: Vec::new(),
            hashes: HashList::default(),
            policy_filter: options.filter_policy.clone().map(PolicyFilterBuilder::new),
            counts: Counts {
                by_kind: [0; 3],
                raw_key_bytes: 0,
                raw_value_bytes: 0,
                smallest_seqno: SeqNo::MAX,
                largest_seqno: 0,
                last_seqno: 0,
            },
            smallest: Vec::new(),
            operators: Vec::new(),
            sampler: Sampler::new(!options.comparator.bytewise_order()),
            tombstones: Vec::new(),
            references: ReferencesBuilder::default(),
            surroundings: None,
            flushed_with: None,
            loaded: None,
            expiry: options.expiry.map(|_| ExpiryCounts::default()),
            options,
        }
    }

    /// Lets a thread compress and write finished sub-blocks once the table is large enough. The
    /// builder does so itself until then, and if no thread starts.
    pub(crate) fn set_threads(&mut self, threads: Arc<dyn Threads>) {
        self.blocks.set_threads(threads);
    }

    /// Appends a record.
    ///
    /// Records come in ascending order of keys, those of one key in descending order of sequence
    /// numbers. In bytewise order the caller guarantees that, and only debug builds check it. A
    /// caller's comparator is always checked, because it may contradict itself.
    ///
    /// # Errors
    /// `ComparatorFailed` for keys that do not ascend in its order; `InvalidArgument` for key and
    /// value of 4 GiB together; `Io` or `NoSpace` if the file cannot be written.
    #[inline]
    pub fn add(&mut self, key: &[u8], header: RecordHeader, value: &[u8]) -> Result<()> {
        let shared = common_prefix(self.last_key(), key);
        self.add_sharing(shared, key, header, value)
    }

    /// Returns the last key; empty without a record.
    #[inline]
    pub(crate) fn last_key(&self) -> &[u8] {
        self.last_key.as_slice()
    }

    /// Appends a record as [`TableBuilder::add`] does. `shared` is the length of the common prefix
    /// of its key and [`TableBuilder::last_key`].
    ///
    /// # Errors
    /// As [`TableBuilder::add`].
    #[inline]
    pub(crate) fn add_sharing(
        &mut self,
        shared: usize,
        key: &[u8],
        header: RecordHeader,
        value: &[u8],
    ) -> Result<()> {
        debug_assert_eq!(shared, common_prefix(self.last_key(), key));
        debug_assert!(
            !self.order.is_bytewise() || self.is_in_order(key, header.seqno),
            "records must come in order"
        );
        let block_len = self.block.len(self.blocks.chunk());
        if block_len + key.len() + value.len() >= self.sub_block_len {
            self.make_room(block_len, key, value)?;
        }
        let is_new = shared < key.len() || shared < self.last_key.len();
        let is_newest = is_new || self.counts.entries() == 0;
        if is_newest {
            let is_same = !self.order.is_bytewise() && self.check_order(key, header.seqno)?;
            self.new_key(key, is_same);
        }
        self.block.add(self.blocks.chunk(), key, shared, header, value);
        // Start at a word boundary, so that the next comparison can load the stored word as a
        // whole.
        let kept = shared & !7;
        self.last_key.set_suffix(kept, &key[kept..]);
        self.sampler.observe(self.counts.raw_bytes(), key);
        self.counts.record(key, header, value);
        if let Some(expiry) = &mut self.expiry {
            expiry.note(header.kind, value, is_newest);
        }
        if header.kind == Kind::Merge && self.operators.last() != Some(&header.operator) {
            self.use_operator(header.operator);
        }
        if header.kind == Kind::Separated {
            self.references.add(&Address::decode(value)?);
        }
        Ok(())
    }

    /// Sets the description of the tree around the table.
    pub(crate) fn set_surroundings(&mut self, surroundings: Surroundings) {
        self.surroundings = Some(surroundings);
    }

    /// Notes that it is a table of the flush through this write, and not the last one.
    pub(crate) fn set_flushed_with(&mut self, through: SeqNo) {
        self.flushed_with = Some(through);
    }

    /// Notes that it is a table of a sorted load. Its records have the number 0.
    pub(crate) fn set_loaded(&mut self, loaded: Loaded) {
        self.loaded = Some(loaded);
    }

    /// Replaces the definitions of the operators that merge records may name.
    pub(crate) fn set_operators(&mut self, operators: Arc<[Definition]>) {
        self.options.operators = operators;
    }

    /// Adds a range tombstone. They may come in any order, before, between and after the records.
    ///
    /// # Panics
    /// If one of its ends is open: see [`super::tombstone_block`].
    pub(crate) fn add_tombstone(&mut self, tombstone: RangeTombstone) {
        assert!(
            tombstone.start.key().is_some() && tombstone.end.key().is_some(),
            "a table's range tombstones end at keys"
        );
        self.tombstones.push(tombstone);
    }

    /// Returns the bytes of the file if it ended now, without filter and index. While a helper
    /// writes, this is an upper bound.
    #[inline]
    pub fn file_bytes(&self) -> u64 {
        self.blocks.file_bytes()
    }

    /// Returns whether the file has at least this size if it ends now, without filter and index. If
    /// it may have, the helper ends, so that the answer is exact.
    ///
    /// # Errors
    /// As [`TableBuilder::add`].
    #[inline]
    pub(crate) fn reaches(&mut self, bytes: u64) -> Result<bool> {
        if self.file_bytes() < bytes {
            return Ok(false);
        }
        self.take_back()?;
        Ok(self.file_bytes() >= bytes)
    }

    /// Ends the help of a thread.
    fn take_back(&mut self) -> Result<()> {
        let records = self.block.leave(self.blocks.chunk());
        self.blocks.take_back()?;
        self.block.go_on(self.blocks.chunk(), &records);
        Ok(())
    }

    /// Returns the number of keys that take memory until the filter is written.
    #[inline]
    pub fn filter_keys(&self) -> usize {
        self.hashes.len() + self.policy_filter.as_ref().map_or(0, PolicyFilterBuilder::len)
    }

    /// Returns the bytes of the builder in memory.
    pub fn memory_bytes(&self) -> usize {
        self.hashes.memory_bytes()
            + self.policy_filter.as_ref().map_or(0, PolicyFilterBuilder::memory_bytes)
            + self.blocks.memory_bytes()
            + self.references.memory_bytes()
    }

    /// Returns the bytes that finishing will use: the filter comes on top.
    pub fn memory_bytes_at_end(&self) -> usize {
        self.memory_bytes() + filter_len(self.hashes.len(), self.options.filter_bits)
    }

    /// Writes filter, properties, index and footer. Syncs the file, or leaves the sync to `later`.
    /// The file's name is durable only after a sync of its directory.
    ///
    /// # Errors
    /// `InvalidArgument` if a merge named an operator without a definition; `Io` or `NoSpace` if
    /// the file cannot be written.
    pub fn finish(mut self, later: Option<&LaterSyncs>) -> Result<TableSummary> {
        if !self.block.is_empty() {
            self.order.succeed(self.last_key.as_slice(), &mut self.separator);
            self.end_sub_block()?;
        }
        let mut blocks = self.blocks.finish()?;
        blocks.end_blocks(&self.separator)?;
        let frames = blocks.frames();
        let references = std::mem::take(&mut self.references).finish();
        let handle = write_references(frames, &references)?;
        let properties = self.properties(handle)?;
        let footer = Footer {
            tombstones: self.write_tombstones(frames)?,
            filter: self.write_filter(frames)?,
            properties: frames.add_frame(&properties.encode(), Compression::None)?,
            index: blocks.write_top_index()?,
        };
        debug_assert!(
            Properties::decode(&properties.encode())
                .is_ok_and(|read| read.encode() == properties.encode()),
            "an open reads the properties as they were written"
        );
        let mut frames = blocks.into_frames();
        let len = frames.offset() + FOOTER_LEN as u64;
        let footer = footer.encode(self.options.file_number, frames.offset());
        frames.chunk().put(&footer);
        let mut summary = TableSummary {
            file_len: frames.finish(later)?,
            entries: properties.entries,
            deletes: properties.deletes,
            merges: properties.merges,
            range_deletes: properties.range_deletes,
            smallest: properties.smallest,
            largest: properties.largest,
            largest_excluded: false,
            smallest_seqno: properties.smallest_seqno,
            largest_seqno: properties.largest_seqno,
            raw_bytes: self.counts.raw_bytes(),
            samples: self.sampler.finish(),
            references: references.totals(),
            expiry: properties.expiry.map(|(_, own)| own),
        };
        assert_eq!(summary.file_len, len, "a table ends with its footer");
        for tombstone in &self.tombstones {
            summary.include(tombstone, &self.order);
        }
        Ok(summary)
    }

    fn is_in_order(&self, key: &[u8], seqno: SeqNo) -> bool {
        self.counts.entries() == 0
            || match self.order.compare(self.last_key.as_slice(), key) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => seqno < self.counts.last_seqno,
                std::cmp::Ordering::Greater => false,
            }
    }

    /// Checks that a comparator which sorted a key after the previous one also calls it greater, or
    /// the same key. Returns whether both are one key with different bytes.
    ///
    /// # Errors
    /// `ComparatorFailed`.
    #[cold]
    fn check_order(&self, key: &[u8], seqno: SeqNo) -> Result<bool> {
        let last = self.last_key.as_slice();
        if self.counts.entries() == 0 {
            return Ok(false);
        }
        let by_key = self.order.compare(last, key);
        if by_key.is_lt() {
            return Ok(false);
        }
        let may_repeat = !self.order.is_equality_of_bytes() && seqno < self.counts.last_seqno;
        if by_key.is_eq() && may_repeat {
            return Ok(true);
        }
        Err(Error::new(
            ErrorKind::ComparatorFailed,
            format!(
                "comparator '{}' sorted key '{}' before '{}' and does not call it less",
                self.order.name(),
                shown(last),
                shown(key)
            ),
        ))
    }

    /// Ends the sub-block if it is full, or if `value` alone would fill one: a large value shares
    /// its sub-block with no earlier record.
    fn make_room(&mut self, block_len: usize, key: &[u8], value: &[u8]) -> Result<()> {
        let record = key.len().saturating_add(value.len());
        if record > u32::MAX as usize - RECORD_OVERHEAD {
            return Err(Error::invalid_argument(format!(
                "a key and value of {record} bytes together exceed a table's limit of 4 GiB"
            )));
        }
        if block_len >= self.sub_block_len || (block_len > 0 && value.len() >= self.sub_block_len) {
            self.order.separate(self.last_key.as_slice(), key, &mut self.separator);
            self.end_sub_block()?;
        }
        if record > LARGEST_HELPED {
            self.take_back()?;
        }
        Ok(())
    }

    fn end_sub_block(&mut self) -> Result<()> {
        debug_assert!(
            !self.order.is_bytewise() || self.last_key.as_slice() <= &self.separator[..],
            "a seek finds the last key of a block in it"
        );
        let start = self.block.finish(self.blocks.chunk());
        self.blocks.end_sub_block(start, &self.separator)
    }

    #[inline]
    fn new_key(&mut self, key: &[u8], is_same: bool) {
        if self.options.filter_bits > 0 {
            self.hashes.push(key_hash(key));
        } else if let Some(filter) = &mut self.policy_filter {
            filter.add(key, is_same);
        }
        if self.counts.entries() == 0 {
            self.smallest.extend_from_slice(key);
        }
    }

    #[cold]
    fn use_operator(&mut self, operator: OperatorId) {
        // The operator found last moves to the end, so that a run of one operator is looked up
        // once.
        self.operators.retain(|&used| used != operator);
        self.operators.push(operator);
    }

    fn properties(&mut self, references: Option<Handle>) -> Result<Properties> {
        let empty = self.counts.entries() == 0;
        Ok(Properties {
            database_id: self.options.database_id,
            keyspace: self.options.keyspace,
            file_number: self.options.file_number,
            comparator: self.order.name().to_owned(),
            entries: self.counts.entries(),
            deletes: self.counts.by_kind[Kind::Delete as usize],
            merges: self.counts.by_kind[Kind::Merge as usize],
            range_deletes: self.tombstones.len() as u64,
            references,
            surroundings: self.surroundings.take(),
            flushed_with: self.flushed_with,
            loaded: self.loaded,
            raw_key_bytes: self.counts.raw_key_bytes,
            raw_value_bytes: self.counts.raw_value_bytes,
            smallest: std::mem::take(&mut self.smallest),
            largest: self.last_key.as_slice().to_vec(),
            smallest_seqno: if empty { 0 } else { self.counts.smallest_seqno },
            largest_seqno: self.counts.largest_seqno,
            operators: self.operator_definitions()?,
            compression: self.options.compression,
            filter_bits: self.options.filter_bits,
            expiry: self.options.expiry.zip(self.expiry.as_mut().map(ExpiryCounts::finish)),
        })
    }

    fn operator_definitions(&mut self) -> Result<Vec<Definition>> {
        self.operators.sort_unstable();
        let definition = |&id: &OperatorId| {
            let known = self.options.operators.iter().find(|operator| operator.id == id);
            known.cloned().ok_or_else(|| {
                Error::invalid_argument(format!("merge operator {id} has no definition"))
                    .in_file(&self.options.path)
            })
        };
        self.operators.iter().map(definition).collect()
    }

    fn write_tombstones(&mut self, frames: &mut FrameWriter) -> Result<Option<Handle>> {
        if self.tombstones.is_empty() {
            return Ok(None);
        }
        let comparator = self.order.comparator();
        self.tombstones
            .sort_by(|a, b| a.start.compare(comparator, &b.start).then(b.seqno.cmp(&a.seqno)));
        let payload = encode_tombstones(&self.tombstones);
        frames.add_frame(&payload, Compression::None).map(Some)
    }

    fn write_filter(&mut self, frames: &mut FrameWriter) -> Result<Option<Handle>> {
        if let Some(filter) = self.policy_filter.take() {
            return frames.add_frame(&filter.finish(), Compression::None).map(Some);
        }
        if self.options.filter_bits == 0 {
            return Ok(None);
        }
        let chunk = frames.chunk();
        let start = chunk.position();
        let len = filter_len(self.hashes.len(), self.options.filter_bits);
        write_filter(&mut chunk.room(len)[..len], self.hashes.iter(), self.options.filter_bits);
        debug_assert!(
            Filter::parse(&chunk.room(len)[..len])
                .is_ok_and(|filter| self.hashes.iter().all(|hash| filter.may_contain(hash))),
            "a filter admits each key of its table"
        );
        chunk.advance(len);
        frames.end_frame(start, Compression::None).map(Some)
    }
}

impl TableSummary {
    /// Widens the range of keys and sequence numbers to include a range tombstone.
    fn include(&mut self, tombstone: &RangeTombstone, order: &KeyOrder) {
        let (Some(start), Some(end)) = (tombstone.start.key(), tombstone.end.key()) else { return };
        let ends_before = matches!(tombstone.end, Edge::Before(_));
        let nothing_yet = self.largest_seqno == 0 && self.entries == 0;
        if nothing_yet || order.compare(start, &self.smallest).is_lt() {
            self.smallest = start.to_vec();
        }
        // At the start `largest` is not a key, and the comparator must not see it.
        let ends_later = || {
            let by_key = order.compare(end, &self.largest);
            by_key.then(self.largest_excluded.cmp(&ends_before)).is_gt()
        };
        if nothing_yet || ends_later() {
            self.largest = end.to_vec();
            self.largest_excluded = ends_before;
        }
        let least = if nothing_yet { tombstone.seqno } else { self.smallest_seqno };
        self.smallest_seqno = least.min(tombstone.seqno);
        self.largest_seqno = self.largest_seqno.max(tombstone.seqno);
    }
}

impl Counts {
    #[inline]
    fn entries(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    #[inline]
    fn raw_bytes(&self) -> u64 {
        self.raw_key_bytes + self.raw_value_bytes
    }

    #[inline]
    fn record(&mut self, key: &[u8], header: RecordHeader, value: &[u8]) {
        let kind = if header.kind == Kind::Separated { Kind::Put } else { header.kind };
        self.by_kind[kind as usize] += 1;
        self.raw_key_bytes += key.len() as u64;
        self.raw_value_bytes += value.len() as u64;
        self.smallest_seqno = self.smallest_seqno.min(header.seqno);
        self.largest_seqno = self.largest_seqno.max(header.seqno);
        self.last_seqno = header.seqno;
    }
}
