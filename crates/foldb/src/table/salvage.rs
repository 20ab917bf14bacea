//! Reads what is still readable of a damaged table.
//!
//! ```text
//! sub-blocks   a..c   x   g..k   x   x   t..v        read   a..c, g..k, t..v
//!                                                    gaps   c to g, k to t
//! ```
//!
//! Sub-blocks are read one by one, in the order of index and directories. If the footer, the index
//! or a directory is damaged, the search finds frames by their checksums ([`super::frame_search`]).
//!
//! Invariant: a record is passed on only if its sub-block is whole and continues the order. Both
//! ends of a gap belong to it: older versions of its first key may be lost, and newer ones of its
//! last key.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use foldb_env::RandomAccessFile;

use crate::error::{Error, ErrorKind, Result};
use crate::key::{Comparator, RecordHeader, SeqNo};
use crate::range_tombstone::RangeTombstone;
use crate::table::data_block::DataBlock;
use crate::table::footer::Footer;
use crate::table::frame::Handle;
use crate::table::frame_search::FrameSearch;
use crate::table::index::Index;
use crate::table::key_buffer::KeyBuffer;
use crate::table::order::KeyOrder;
use crate::table::properties::Properties;
use crate::table::reader::{read_footer, read_index, read_tombstones};
use crate::table::source::{FrameBuffers, TableFile};
use crate::table::tombstone_block::decode_tombstones;

/// What [`salvage`] found beside the records.
#[derive(Debug, Default)]
pub(crate) struct Salvaged {
    /// Number of records passed on.
    pub(crate) records: u64,
    /// The range tombstones.
    pub(crate) tombstones: Vec<RangeTombstone>,
    /// Whether range tombstones are lost, or may be.
    pub(crate) lost_tombstones: bool,
    /// The gaps, in order. Without a footer the last gap is after all records, because the file may
    /// have been longer.
    pub(crate) gaps: Vec<Gap>,
}

/// Records that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The last readable key before the gap; `None` if the gap begins the table.
    pub(crate) after: Option<Vec<u8>>,
    /// The first readable key after the gap; `None` if the gap reaches the end.
    pub(crate) before: Option<Vec<u8>>,
}

/// Receives a record.
pub(crate) type Take<'a> = dyn FnMut(&[u8], RecordHeader, &[u8]) -> Result<()> + 'a;

/// Reads what is readable of the table in `file`, and passes its records on in order.
///
/// # Errors
/// `Unsupported` for another format version; `Io`; those of `take`. Damage is not an error.
pub(crate) fn salvage(
    file: Arc<dyn RandomAccessFile>,
    path: &Path,
    number: u64,
    comparator: Arc<dyn Comparator>,
    take: &mut Take<'_>,
) -> Result<Salvaged> {
    let len = file.len().map_err(|error| Error::io(path, "find the length of table", &error))?;
    let file = TableFile { file, path: path.to_owned(), number, tail: None };
    let order = KeyOrder::new(comparator);
    let footer = unless_damaged(read_footer(&file, len))?;
    let mut work = Salvage {
        file: &file,
        order: &order,
        take,
        buffers: FrameBuffers::default(),
        decoded: Decoded::default(),
        last: None,
        in_gap: false,
        done: Salvaged::default(),
        others: Vec::new(),
    };
    let index = match &footer {
        Some(footer) => {
            unless_damaged(read_index(&file, footer.index, &order, footer.index.offset))?
        }
        None => None,
    };
    match (&index, &footer) {
        (Some(index), _) => work.follow(index)?,
        (None, Some(footer)) => work.search(0, data_end(footer))?,
        (None, None) => work.search(0, len)?,
    }
    match &footer {
        Some(footer) => match unless_damaged(read_tombstones(&file, footer.tombstones, &order))? {
            Some(tombstones) => work.done.tombstones = tombstones.unwrap_or_default(),
            None => work.done.lost_tombstones = true,
        },
        None => work.find_tombstones(),
    }
    if work.in_gap || footer.is_none() {
        work.end_gap(None);
    }
    Ok(work.done)
}

/// Returns an offset at or after the end of all sub-blocks and directories.
fn data_end(footer: &Footer) -> u64 {
    let metadata = [footer.tombstones, footer.filter, Some(footer.properties), Some(footer.index)];
    metadata.into_iter().flatten().map(|handle| handle.offset).min().unwrap_or(0)
}

/// Turns damage into `None`.
fn unless_damaged<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == ErrorKind::Corruption => Ok(None),
        Err(error) => Err(error),
    }
}

struct Salvage<'a, 'b> {
    file: &'a TableFile,
    order: &'a KeyOrder,
    take: &'a mut Take<'b>,
    buffers: FrameBuffers,
    decoded: Decoded,
    /// Key and sequence number of the last record passed on.
    last: Option<(Vec<u8>, SeqNo)>,
    /// Whether an unreadable part follows the last record passed on.
    in_gap: bool,
    done: Salvaged,
    /// Payloads of frames that are neither sub-blocks nor directories. Without a footer their role
    /// is unknown.
    others: Vec<Vec<u8>>,
}

impl Salvage<'_, '_> {
    fn follow(&mut self, index: &Index) -> Result<()> {
        let mut end = 0;
        for child in (0..index.len()).map(|at| index.child(at)) {
            let handle = child.handle;
            if !child.is_directory {
                self.sub_block(handle)?;
            } else if let Some(directory) = self.directory(handle)? {
                for at in 0..directory.len() {
                    self.sub_block(directory.child(at).handle)?;
                }
            } else {
                self.search(end, handle.offset)?;
            }
            end = handle.end();
        }
        Ok(())
    }

    fn directory(&mut self, handle: Handle) -> Result<Option<Index>> {
        let payload = match self.file.read_frame(handle, &mut self.buffers) {
            Ok(payload) => payload,
            Err(error) => return unless_damaged(Err(error)),
        };
        unless_damaged(Index::parse(payload, self.order, handle.offset))
    }

    fn sub_block(&mut self, handle: Handle) -> Result<()> {
        let read = self.file.read_frame(handle, &mut self.buffers);
        let decoded = match read.and_then(DataBlock::parse) {
            Ok(block) => self.decoded.fill(&block, self.order).map(|()| block),
            Err(error) => Err(error),
        };
        match unless_damaged(decoded)? {
            Some(block) => self.hand_out(&block),
            None => {
                self.in_gap = true;
                Ok(())
            }
        }
    }

    /// Passes on the records of a decoded sub-block, unless they do not continue the order.
    fn hand_out(&mut self, block: &DataBlock) -> Result<()> {
        let decoded = std::mem::take(&mut self.decoded);
        let handed_out = self.hand_out_decoded(block, &decoded);
        self.decoded = decoded;
        handed_out
    }

    fn hand_out_decoded(&mut self, block: &DataBlock, decoded: &Decoded) -> Result<()> {
        let Some((first, header)) = decoded.first() else { return Ok(()) };
        let continues =
            self.last.as_ref().is_none_or(|(key, seqno)| match self.order.compare(key, first) {
                Ordering::Less => true,
                Ordering::Equal => header.seqno < *seqno,
                Ordering::Greater => false,
            });
        if !continues {
            self.in_gap = true;
            return Ok(());
        }
        if self.in_gap {
            self.end_gap(Some(first.to_vec()));
        }
        let mut start = 0;
        for record in &decoded.records {
            let key = &decoded.keys[start..record.key_end];
            (self.take)(key, record.header, &block.bytes()[record.value.0..record.value.1])?;
            start = record.key_end;
        }
        self.done.records += decoded.records.len() as u64;
        self.last = decoded.last().map(|(key, header)| (key.to_vec(), header.seqno));
        Ok(())
    }

    fn end_gap(&mut self, before: Option<Vec<u8>>) {
        let after = self.last.as_ref().map(|(key, _)| key.clone());
        self.done.gaps.push(Gap { after, before });
        self.in_gap = false;
    }

    /// Finds frames in a part of the file that no readable index covers.
    fn search(&mut self, start: u64, end: u64) -> Result<()> {
        let mut bytes = vec![0; end.saturating_sub(start) as usize];
        self.file.read(&mut bytes, start)?;
        let mut search = FrameSearch::new(&bytes, start, self.file.number);
        while !search.is_at_end() {
            match search.here() {
                Some(handle) => self.found(handle)?,
                None => {
                    self.in_gap = true;
                    if !search.skip() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Handles a frame of unknown role.
    fn found(&mut self, handle: Handle) -> Result<()> {
        let read = self.file.read_frame(handle, &mut self.buffers);
        let Some(payload) = unless_damaged(read)? else { return Ok(()) };
        let Ok(block) = DataBlock::parse(payload) else {
            // It is a directory of sub-blocks that were already read, or another part that a table
            // has once.
            if Index::parse(payload, self.order, handle.offset).is_err() {
                self.others.push(payload.to_vec());
            }
            return Ok(());
        };
        match unless_damaged(self.decoded.fill(&block, self.order))? {
            Some(()) => self.hand_out(&block),
            None => Ok(()),
        }
    }

    /// Finds range tombstones among other frames. The properties say how many there must be.
    fn find_tombstones(&mut self) {
        let mut properties =
            self.others.iter().filter_map(|payload| Properties::decode(payload).ok());
        let own = properties.find(|properties| properties.file_number == self.file.number);
        let Some(wanted) = own.map(|own| own.range_deletes) else {
            self.done.lost_tombstones = true;
            return;
        };
        if wanted == 0 {
            return;
        }
        let mut sets = self.others.iter().filter_map(|it| decode_tombstones(it, self.order).ok());
        match sets.find(|set| set.len() as u64 == wanted) {
            Some(set) => self.done.tombstones = set,
            None => self.done.lost_tombstones = true,
        }
    }
}

/// The records of a sub-block.
#[derive(Default)]
struct Decoded {
    /// All keys, one after the other.
    keys: Vec<u8>,
    records: Vec<DecodedRecord>,
}

struct DecodedRecord {
    header: RecordHeader,
    /// Where its key ends among the keys.
    key_end: usize,
    /// Where its value begins and ends in the sub-block.
    value: (usize, usize),
}

impl Decoded {
    /// Decodes a whole sub-block, and checks the order.
    fn fill(&mut self, block: &DataBlock, order: &KeyOrder) -> Result<()> {
        self.keys.clear();
        self.records.clear();
        let (mut at, mut key) = (0, KeyBuffer::default());
        while at < block.entries_end() {
            let entry = block.checked_entry(at)?;
            if entry.shared > key.len() {
                return Err(Error::corruption("a record shares more than the key before it has"));
            }
            key.set_suffix(entry.shared, block.suffix(&entry));
            let ascends = self.last().is_none_or(|(last, header)| {
                match order.compare(last, key.as_slice()) {
                    Ordering::Less => true,
                    Ordering::Equal => entry.header.seqno < header.seqno,
                    Ordering::Greater => false,
                }
            });
            if !ascends {
                return Err(Error::corruption("records do not ascend"));
            }
            self.keys.extend_from_slice(key.as_slice());
            self.records.push(DecodedRecord {
                header: entry.header,
                key_end: self.keys.len(),
                value: (entry.key_end, entry.end),
            });
            at = entry.end;
        }
        Ok(())
    }

    fn first(&self) -> Option<(&[u8], RecordHeader)> {
        self.records.first().map(|record| (&self.keys[..record.key_end], record.header))
    }

    fn last(&self) -> Option<(&[u8], RecordHeader)> {
        let (last, before) = self.records.split_last()?;
        let start = before.last().map_or(0, |record| record.key_end);
        Some((&self.keys[start..last.key_end], last.header))
    }
}
