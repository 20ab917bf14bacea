//! An open table. Its index and properties are in memory, and [`super::fetch`] gets its blocks. A
//! filter is loaded when a read first asks it: flushes and compactions, which open most tables,
//! never do. Only a small filter is loaded with the rest.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use foldb_env::RandomAccessFile;

use crate::error::{Error, Result};
use crate::key::{Comparator, GuardedPolicy, RecordHeader, SeqNo, shown};
use crate::locks::Lock;
use crate::locks::rank::LOADING;
use crate::memory::Charge;
use crate::range_tombstone::{RangeTombstone, RangeTombstones};
use crate::table::cache::BlockCache;
use crate::table::cursor::CursorOptions;
use crate::table::filter::Filter;
use crate::table::footer::{FOOTER_LEN, Footer};
use crate::table::frame::Handle;
use crate::table::index::Index;
use crate::table::order::KeyOrder;
use crate::table::policy_filter::{KIND_POLICY, PolicyFilter};
use crate::table::properties::Properties;
use crate::table::slots::{Lent, Slots};
use crate::table::sorted_reads::SortedReads;
use crate::table::source::{FrameBuffers, TableFile, Tail};
use crate::table::tombstone_block::decode_tombstones;
use crate::value::EntryValue;

/// A table open for reading. Any number of threads may use it; it takes no lock but the cache's.
#[derive(Debug)]
pub struct TableReader {
    pub(super) file: TableFile,
    file_len: u64,
    pub(super) footer: Footer,
    pub(super) order: KeyOrder,
    pub(super) cache: Arc<BlockCache>,
    pub(super) index: Index,
    /// The cached sub-blocks by their places in `index`.
    pub(super) slots: Arc<Slots>,
    range_tombstones: Option<RangeTombstones>,
    properties: Properties,
    /// The sequence number of all records, if a sorted load wrote them; 0 for other tables.
    loaded_at: SeqNo,
    _charge: Charge,
    filter_policy: Option<GuardedPolicy>,
    filter: OnceLock<LoadedFilter>,
    /// Held while a thread loads the filter.
    loading: Lock<(), LOADING>,
    /// How often the filter was left out, because it has no room in memory. `Relaxed`: it only
    /// decides when to load the filter, which is loaded under a lock.
    left_out: AtomicU32,
}

/// Bytes of a filter for which one read may go without it, if it has no room. A filter of 1 MiB is
/// left out by about 1024 reads, then loaded. A load closes other tables, so it must not
/// come with every read.
const BYTES_A_READ: usize = 1024;

/// A filter in memory.
#[derive(Debug)]
struct LoadedFilter {
    filter: AnyFilter,
    _charge: Charge,
}

impl LoadedFilter {
    fn new(filter: AnyFilter, cache: &BlockCache) -> LoadedFilter {
        let _charge = Charge::new(&cache.store().filters, filter.memory_bytes());
        LoadedFilter { filter, _charge }
    }
}

/// Bytes of a filter that is loaded when the table is opened: it is so small beside its table that
/// a second wait for the device would cost more.
const SMALL_FILTER: usize = 4 << 10;

/// A read that has found its block: see [`TableReader::approach`].
#[derive(Debug)]
pub(crate) struct Approach {
    /// The place in the top index where the versions of the key begin.
    pub(super) place: usize,
    /// The block at this place, if its slot has it.
    pub(super) lent: Option<Lent>,
}

/// The filter that reads ask, chosen when it is loaded.
#[derive(Debug)]
enum AnyFilter {
    /// The table has no filter, or none that may be asked.
    None,
    Blocked(Filter),
    Policy(PolicyFilter),
}

impl AnyFilter {
    fn memory_bytes(&self) -> usize {
        match self {
            AnyFilter::None => 0,
            AnyFilter::Blocked(filter) => filter.memory_bytes(),
            AnyFilter::Policy(filter) => filter.memory_bytes(),
        }
    }
}

impl TableReader {
    /// Opens the table in `file`. Its number is `file_number`, and error messages call it `path`.
    /// Reads ask the table's filter if `filter_policy` made it, or if it is a built-in one.
    ///
    /// # Errors
    /// `Corruption` if footer, index, range tombstones or properties are damaged or another
    /// table's; `Unsupported` for another format version; `InvalidArgument` if another comparator
    /// orders it.
    pub fn open(
        file: Arc<dyn RandomAccessFile>,
        path: &Path,
        file_number: u64,
        comparator: Arc<dyn Comparator>,
        filter_policy: Option<GuardedPolicy>,
        cache: Arc<BlockCache>,
    ) -> Result<Arc<TableReader>> {
        let file_len = file.len().map_err(|e| Error::io(path, "find the length of table", &e))?;
        let tail = Tail::read(&*file, file_len);
        let mut file = TableFile { file, path: path.to_owned(), number: file_number, tail };
        let order = KeyOrder::new(comparator);
        let footer = read_footer(&file, file_len)?;
        let properties = read_properties(&file, footer.properties, &order)?;
        let index = read_index(&file, footer.index, &order, footer.index.offset)?;
        let range_tombstones = read_tombstones(&file, footer.tombstones, &order)?;
        let range_tombstones = range_tombstones.map(RangeTombstones::new);
        let slots = Slots::new(if cache.has_slots() { index.len() } else { 0 });
        let bytes = size_of::<TableReader>()
            + index.memory_bytes()
            + slots.memory_bytes()
            + properties.memory_bytes()
            + range_tombstones.as_ref().map_or(0, RangeTombstones::bytes);
        let filter = match footer.filter {
            Some(handle) if handle.len as usize <= SMALL_FILTER => {
                // A filter that cannot be read is an error of the first read that asks it.
                let filter = read_filter(&file, handle, &order, filter_policy.as_ref()).ok();
                filter.map(|filter| OnceLock::from(LoadedFilter::new(filter, &cache)))
            }
            _ => None,
        };
        file.tail = None;
        Ok(Arc::new(TableReader {
            _charge: Charge::new(&cache.store().indexes, bytes),
            file,
            file_len,
            footer,
            order,
            cache,
            index,
            slots: Arc::new(slots),
            range_tombstones,
            properties,
            loaded_at: 0,
            filter_policy,
            filter: filter.unwrap_or_default(),
            left_out: AtomicU32::new(0),
            loading: Lock::new(()),
        }))
    }

    /// Reads the properties of the table in `file`, whatever its order.
    ///
    /// # Errors
    /// `Corruption` if footer or properties are damaged or another table's; `Unsupported` for
    /// another format version; `Io`.
    pub(crate) fn properties_of(
        file: Arc<dyn RandomAccessFile>,
        path: &Path,
        file_number: u64,
    ) -> Result<Properties> {
        let len = file.len().map_err(|e| Error::io(path, "find the length of table", &e))?;
        let file = TableFile { file, path: path.to_owned(), number: file_number, tail: None };
        let footer = read_footer(&file, len)?;
        properties_at(&file, footer.properties)
    }

    /// Gives all records the sequence number of the sorted load that wrote the table.
    ///
    /// # Errors
    /// `Corruption` if no load wrote the table.
    pub(crate) fn numbered(self: Arc<Self>, loaded_at: SeqNo) -> Result<Arc<TableReader>> {
        let mut table = self;
        let handle = table.footer.properties;
        if table.properties.loaded.is_none() {
            let message = "expected a table of a sorted load, as the manifest says, found another";
            return Err(table.locate(Error::corruption(message), handle));
        }
        // A table that was just opened has one owner.
        if let Some(table) = Arc::get_mut(&mut table) {
            table.loaded_at = loaded_at;
        }
        debug_assert_eq!(table.loaded_at, loaded_at);
        Ok(table)
    }

    /// Returns the header of a record as readers see it.
    #[inline(always)]
    pub(super) fn header_of(&self, stored: RecordHeader) -> RecordHeader {
        // All records of a load are stored with the number 0.
        RecordHeader { seqno: stored.seqno.max(self.loaded_at), ..stored }
    }

    /// Returns the table's properties.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Returns the bytes of the file.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }

    /// Returns whether a user key, of this [`crate::encoding::key_hash`], may be in the table.
    /// `false` is certain; without a filter the answer is always `true`. The first call loads the
    /// filter.
    ///
    /// # Errors
    /// `Corruption`, `Unsupported` or `Io` if the filter cannot be loaded.
    #[inline]
    pub fn may_contain(&self, hash: u64, key: &[u8]) -> Result<bool> {
        let loaded = match self.filter.get() {
            Some(loaded) => loaded,
            None => self.loaded_filter()?,
        };
        Ok(match &loaded.filter {
            AnyFilter::Blocked(filter) => filter.may_contain(hash),
            AnyFilter::None => true,
            AnyFilter::Policy(filter) => filter.may_contain(key, &self.order),
        })
    }

    /// Returns whether [`TableReader::may_contain`] can answer without reading the file.
    #[inline]
    pub fn has_loaded_filter(&self) -> bool {
        self.filter.get().is_some()
    }

    /// Returns the bytes that the filter takes, about.
    pub(crate) fn filter_bytes(&self) -> usize {
        self.footer.filter.map_or(0, |handle| handle.len as usize)
    }

    /// Counts a read that would leave out the filter. Returns whether to load it now instead.
    pub(crate) fn is_filter_due(&self) -> bool {
        let reads = self.left_out.fetch_add(1, Ordering::Relaxed) as usize;
        reads > self.filter_bytes() / BYTES_A_READ
    }

    /// Loads the filter, if it is not loaded yet.
    ///
    /// # Errors
    /// As [`TableReader::may_contain`].
    pub(crate) fn load_filter(&self) -> Result<()> {
        self.loaded_filter().map(drop)
    }

    #[cold]
    fn loaded_filter(&self) -> Result<&LoadedFilter> {
        let _loading = self.loading.lock();
        if let Some(loaded) = self.filter.get() {
            return Ok(loaded);
        }
        let filter = self.read_filter()?;
        Ok(self.filter.get_or_init(|| LoadedFilter::new(filter, &self.cache)))
    }

    fn read_filter(&self) -> Result<AnyFilter> {
        self.footer.filter.map_or(Ok(AnyFilter::None), |handle| {
            read_filter(&self.file, handle, &self.order, self.filter_policy.as_ref())
        })
    }

    /// Returns the error for a filter that rejects a key of the table.
    #[cold]
    pub(super) fn wrong_filter(&self, key: &[u8]) -> Error {
        let key = shown(key);
        match self.filter.get().map(|loaded| &loaded.filter) {
            Some(AnyFilter::Policy(filter)) => Error::invalid_argument(format!(
                "filter policy '{}' rejects key '{key}', which the table holds: reads of the key \
                 miss its records; open the database without the policy, and give the corrected \
                 policy another name",
                filter.policy_name()
            )),
            _ => Error::corruption(format!(
                "filter: expected it to admit key \"{key}\", found that it does not"
            )),
        }
    }

    /// Returns the range tombstones, if there are any. The filter does not know the keys they
    /// cover.
    #[inline]
    pub(crate) fn range_tombstones(&self) -> Option<&RangeTombstones> {
        self.range_tombstones.as_ref()
    }

    /// Returns the largest sequence number, at most `max_seqno`, of a range tombstone around `key`;
    /// 0 for none.
    #[inline]
    pub(crate) fn cover(&self, key: &[u8], max_seqno: SeqNo) -> SeqNo {
        let Some(tombstones) = &self.range_tombstones else { return 0 };
        tombstones.cover(self.order.comparator(), key, max_seqno)
    }

    /// Visits the versions of `key` with a seqno of at most `max_seqno`, newest first, until
    /// `visit` breaks. It does not ask the filter: see [`TableReader::may_contain`].
    ///
    /// # Errors
    /// `Corruption` or `Unsupported` for damaged blocks, `Io` if one cannot be read.
    #[inline]
    pub fn get(
        &self,
        key: &[u8],
        max_seqno: SeqNo,
        options: CursorOptions,
        visit: impl FnMut(RecordHeader, EntryValue<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        SortedReads::new(self, options).get(key, max_seqno, visit)
    }

    /// Returns the cache of its blocks.
    #[cfg(test)]
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// Reads footer, properties, index, filter and range tombstones again, as [`TableReader::open`]
    /// does, and drops them.
    pub(super) fn check_metadata(&self) -> Result<Footer> {
        let footer = read_footer(&self.file, self.file_len)?;
        read_properties(&self.file, footer.properties, &self.order)?;
        read_index(&self.file, footer.index, &self.order, footer.index.offset)?;
        self.read_filter()?;
        let tombstones = read_tombstones(&self.file, footer.tombstones, &self.order)?;
        let (said, found) = (self.properties.range_deletes, tombstones.map_or(0, |all| all.len()));
        if said != found as u64 {
            let error =
                format!("range tombstones: expected {said} as the properties say, found {found}");
            return Err(self.locate(Error::corruption(error), footer.properties));
        }
        Ok(footer)
    }

    pub(super) fn file(&self) -> &TableFile {
        &self.file
    }

    pub(super) fn footer(&self) -> &Footer {
        &self.footer
    }

    #[inline]
    pub(super) fn order(&self) -> &KeyOrder {
        &self.order
    }

    /// Begins a read of a key, of this hash, that is probably in the table. It finds the block of
    /// the key, and fetches from memory what [`TableReader::may_contain`] reads and what
    /// [`SortedReads::get`] reads first. So the cache misses of both overlap.
    #[inline]
    pub(crate) fn approach(&self, key: &[u8], hash: u64) -> Approach {
        if let Some(LoadedFilter { filter: AnyFilter::Blocked(filter), .. }) = self.filter.get() {
            filter.prefetch(hash);
        }
        let place = self.index.search(key, &self.order);
        Approach { place, lent: self.slots.lend(place) }
    }

    #[inline]
    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    /// Adds file and offset to an error about the frame of this handle.
    #[cold]
    pub(super) fn locate(&self, error: Error, handle: Handle) -> Error {
        self.file.locate(error, handle.offset)
    }
}

pub(super) fn read_footer(file: &TableFile, file_len: u64) -> Result<Footer> {
    let Some(offset) = file_len.checked_sub(FOOTER_LEN as u64) else {
        return Err(file.locate(
            Error::corruption(format!(
                "not a foldb table, or truncated: expected at least {FOOTER_LEN} bytes, found \
                 {file_len}"
            )),
            0,
        ));
    };
    let mut bytes = [0; FOOTER_LEN];
    file.read(&mut bytes, offset)?;
    Footer::decode(&bytes, file.number, offset).map_err(|e| file.locate(e, offset))
}

/// Reads a filter. A built-in filter knows only bytes: it is no use where different bytes are
/// equal.
fn read_filter(
    file: &TableFile,
    handle: Handle,
    order: &KeyOrder,
    policy: Option<&GuardedPolicy>,
) -> Result<AnyFilter> {
    let mut buffers = FrameBuffers::default();
    let payload = file.read_frame(handle, &mut buffers)?;
    let filter = match payload.first() {
        Some(&KIND_POLICY) => PolicyFilter::parse(payload, order, policy)
            .map(|filter| filter.map_or(AnyFilter::None, AnyFilter::Policy)),
        _ => Filter::parse(payload).map(|filter| match order.is_equality_of_bytes() {
            true => AnyFilter::Blocked(filter),
            false => AnyFilter::None,
        }),
    };
    filter.map_err(|error| file.locate(error, handle.offset))
}

fn read_properties(file: &TableFile, handle: Handle, order: &KeyOrder) -> Result<Properties> {
    let properties = properties_at(file, handle)?;
    if properties.comparator != order.name() {
        let message = format!(
            "the table is ordered by comparator '{}', not by '{}': open it with the first",
            properties.comparator,
            order.name()
        );
        return Err(file.locate(Error::invalid_argument(message), handle.offset));
    }
    Ok(properties)
}

/// Reads the properties of a table in any order.
fn properties_at(file: &TableFile, handle: Handle) -> Result<Properties> {
    let mut buffers = FrameBuffers::default();
    let payload = file.read_frame(handle, &mut buffers)?;
    let checked = Properties::decode(payload).and_then(|properties| {
        if properties.file_number != file.number {
            return Err(Error::corruption(format!(
                "properties: expected file number {}, found {}",
                file.number, properties.file_number
            )));
        }
        Ok(properties)
    });
    checked.map_err(|e| file.locate(e, handle.offset))
}

pub(super) fn read_index(
    file: &TableFile,
    handle: Handle,
    order: &KeyOrder,
    limit: u64,
) -> Result<Index> {
    let mut buffers = FrameBuffers::default();
    let payload = file.read_frame(handle, &mut buffers)?;
    Index::parse(payload, order, limit).map_err(|e| file.locate(e, handle.offset))
}

pub(super) fn read_tombstones(
    file: &TableFile,
    handle: Option<Handle>,
    order: &KeyOrder,
) -> Result<Option<Vec<RangeTombstone>>> {
    let Some(handle) = handle else {
        return Ok(None);
    };
    let mut buffers = FrameBuffers::default();
    let payload = file.read_frame(handle, &mut buffers)?;
    let tombstones = decode_tombstones(payload, order);
    tombstones.map(Some).map_err(|e| file.locate(e, handle.offset))
}
