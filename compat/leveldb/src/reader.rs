//! The functions under `leveldb::Table` and its iterators. `cpp/table/formats.h` declares them.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use foldb_leveldb_format::block::Cursor;
use foldb_leveldb_format::cursor::{Source, TableCursor};
use foldb_leveldb_format::filter;
use foldb_leveldb_format::table::{self, Damage, FOOTER, Footer, Handle, TRAILER, unpack};

use crate::foreign::{
    Bytes, Comparator, Failure, FilterPolicy, OK, Outcome, Read, Readable, TOO_SHORT,
};

/// The contents of a block.
pub struct Contents {
    stored: Read,
    /// The length of the contents, without compression and checksum.
    length: usize,
}

impl AsRef<[u8]> for Contents {
    fn as_ref(&self) -> &[u8] {
        &self.stored.as_ref()[..self.length]
    }
}

fn read_block(file: &Readable, handle: Handle, verify: bool) -> Result<Contents, Failure> {
    let wanted = handle.stored(file.size()).ok_or(Damage::Outside)?;
    let stored = file.read(handle.offset, wanted)?;
    if stored.as_ref().len() != wanted {
        return Err(Damage::Outside.into());
    }
    Ok(match unpack(stored.as_ref(), verify)? {
        table::Contents::Plain => Contents { stored, length: wanted - TRAILER },
        table::Contents::Decompressed(bytes) => {
            let length = bytes.len();
            Contents { stored: Read::Owned(bytes), length }
        }
    })
}

/// Reads a block for C++, which may keep it in a cache. Stores the contents, and whether the file
/// keeps their bytes: then a cache would hold a second copy.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_block_read(
    file: &Readable,
    offset: u64,
    length: u64,
    verify: bool,
    contents: &mut *mut Contents,
    is_lent: &mut bool,
) -> Outcome {
    match read_block(file, Handle { offset, len: length }, verify) {
        Ok(found) => {
            *is_lent = matches!(found.stored, Read::Lent(_));
            *contents = Box::into_raw(Box::new(found));
            OK
        }
        Err(failure) => failure.outcome(),
    }
}

/// Stores where the bytes of a block are. They live as long as it.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_block_bytes(contents: &Contents, bytes: &mut Bytes) {
    *bytes = Bytes::of(contents.as_ref());
}

/// Frees a block.
///
/// # Safety
/// `contents` comes from [`foldbport_block_read`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_block_free(contents: *mut Contents) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(contents) });
}

/// A table: what is read when it is opened.
pub struct Table {
    order: Comparator,
    policy: Option<FilterPolicy>,
    metaindex: Handle,
    index: Contents,
    /// Without a readable filter block, a table works, only slower.
    filter: Option<Contents>,
}

// SAFETY: LevelDB asks of comparators and filter policies that several threads may call them at a
// time. Nothing else in a table changes, or belongs to a thread.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    fn open(
        file: &Readable,
        order: Comparator,
        policy: FilterPolicy,
        verify: bool,
    ) -> Result<Table, Failure> {
        let at = file.size().checked_sub(FOOTER as u64).ok_or(TOO_SHORT)?;
        let footer = Footer::decode(file.read(at, FOOTER)?.as_ref())?;
        let index = read_block(file, footer.index, verify)?;
        let policy = policy.get();
        let filter = policy.and_then(|policy| {
            let metaindex = read_block(file, footer.metaindex, verify).ok()?;
            let handle = filter::find(metaindex.as_ref(), &policy)?;
            read_block(file, handle, verify).ok()
        });
        Ok(Table { order, policy, metaindex: footer.metaindex, index, filter })
    }

    /// Returns whether the data block at an offset may hold a key.
    fn may_match(&self, offset: u64, key: &[u8]) -> bool {
        match (&self.policy, &self.filter) {
            (Some(policy), Some(block)) => filter::may_match(block.as_ref(), policy, offset, key),
            _ => true,
        }
    }
}

/// Opens a table, and stores it.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_table_open(
    file: &Readable,
    order: &Comparator,
    policy: &FilterPolicy,
    verify: bool,
    table: &mut *const Table,
) -> Outcome {
    match Table::open(file, *order, *policy, verify) {
        Ok(found) => {
            *table = Arc::into_raw(Arc::new(found));
            OK
        }
        Err(failure) => failure.outcome(),
    }
}

/// Returns about where the data of a key begins in the file.
///
/// # Safety
/// The key stays as it is during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_table_offset_of(table: &Table, key: Bytes) -> u64 {
    let Some(mut index) = Cursor::new(&table.index) else { return table.metaindex.offset };
    // SAFETY: the caller's promise.
    index.seek(unsafe { key.get() }, &table.order);
    let handle = index.is_valid().then(|| Handle::of(index.value())).flatten();
    // Behind the last key, or in a damaged index: near the end of the file.
    handle.unwrap_or(table.metaindex).offset
}

/// Frees a table.
///
/// # Safety
/// `table` comes from [`foldbport_table_open`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_table_free(table: *const Table) {
    // SAFETY: the caller's promise.
    drop(unsafe { Arc::from_raw(table) });
}

/// A data block that C++ lends, perhaps from a cache.
#[repr(C)]
pub struct Block {
    pub(crate) bytes: Bytes,
    /// Called with the two fields after it. Null for a block that C++ has not filled in.
    pub(crate) release: Option<extern "C" fn(*mut c_void, *mut c_void)>,
    pub(crate) owner: *mut c_void,
    pub(crate) handle: *mut c_void,
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            release(self.owner, self.handle);
        }
    }
}

/// The data blocks of a table, as C++ finds them: in a cache or in the file.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Blocks {
    pub(crate) object: *mut c_void,
    /// Stores the block, or returns why there is none.
    pub(crate) find: extern "C" fn(*mut c_void, offset: u64, length: u64, &mut Block) -> Outcome,
}

/// The table and the data blocks that an iterator reads.
pub struct Reader {
    table: Arc<Table>,
    blocks: Blocks,
}

/// The index, which the table keeps, or a data block.
pub enum Held {
    /// The index of this table.
    Index(Arc<Table>),
    /// A data block.
    Data(Block),
}

impl AsRef<[u8]> for Held {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Held::Index(table) => table.index.as_ref(),
            // SAFETY: C++ keeps the bytes until the block is released.
            Held::Data(block) => unsafe { block.bytes.get() },
        }
    }
}

impl Source for Reader {
    type Block = Held;
    type Error = Failure;
    type Order = Comparator;

    fn order(&self) -> &Comparator {
        &self.table.order
    }

    fn block(&mut self, handle: Handle) -> Result<Held, Failure> {
        let null = std::ptr::null_mut();
        let mut block = Block { bytes: Bytes::of(&[]), release: None, owner: null, handle: null };
        let found = (self.blocks.find)(self.blocks.object, handle.offset, handle.len, &mut block);
        // SAFETY: C++ returns what a function here returned, or a literal.
        match unsafe { Failure::passed(found) } {
            None => Ok(Held::Data(block)),
            Some(failure) => Err(failure),
        }
    }

    fn damaged(&mut self, damage: Damage, _: Option<Handle>) -> Failure {
        damage.into()
    }
}

/// An iterator over a table.
pub struct Iterator(TableCursor<Reader>);

/// Where an iterator is. The bytes stay as they are until it moves.
#[repr(C)]
pub struct Entry {
    pub(crate) is_valid: bool,
    pub(crate) key: Bytes,
    pub(crate) value: Bytes,
}

impl Iterator {
    #[inline]
    fn show(&self, entry: &mut Entry) {
        entry.is_valid = self.0.is_valid();
        entry.key = Bytes::of(self.0.key());
        entry.value = Bytes::of(self.0.value());
    }
}

/// Returns an iterator at no entry.
///
/// # Safety
/// `table` comes from [`foldbport_table_open`]. What `blocks` names outlives the iterator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_iterator_new(
    table: *const Table,
    blocks: &Blocks,
) -> *mut Iterator {
    // SAFETY: the caller's promise. The table counts the iterators that use it.
    let table = unsafe {
        Arc::increment_strong_count(table);
        Arc::from_raw(table)
    };
    let index = Held::Index(Arc::clone(&table));
    let cursor = TableCursor::new(Reader { table, blocks: *blocks }, index);
    Box::into_raw(Box::new(Iterator(cursor)))
}

/// Moves to the first entry (0), the last (1), the next (2) or the one before (any other number).
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_iterator_move(iterator: &mut Iterator, step: c_int, entry: &mut Entry) {
    match step {
        0 => iterator.0.first(),
        1 => iterator.0.last(),
        2 => iterator.0.next(),
        _ => iterator.0.prev(),
    }
    iterator.show(entry);
}

/// Moves to the first entry that is not before a key.
///
/// # Safety
/// The key stays as it is during the call, so it is not one that the iterator shows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_iterator_seek(
    iterator: &mut Iterator,
    key: Bytes,
    entry: &mut Entry,
) {
    // SAFETY: the caller's promise.
    iterator.0.seek(unsafe { key.get() });
    iterator.show(entry);
}

/// Moves to the same entry if it is in the data block that may hold the key, unless a filter
/// excludes the key.
///
/// # Safety
/// As [`foldbport_iterator_seek`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_iterator_get(
    iterator: &mut Iterator,
    key: Bytes,
    entry: &mut Entry,
) {
    // SAFETY: the caller's promise.
    let key = unsafe { key.get() };
    let block = iterator.0.seek_index(key);
    if block.is_none_or(|block| iterator.0.source().table.may_match(block.offset, key)) {
        iterator.0.find_in_block(key);
    }
    iterator.show(entry);
}

/// Returns the first error that the iterator met.
#[unsafe(no_mangle)]
pub extern "C" fn foldbport_iterator_status(iterator: &Iterator) -> Outcome {
    let of_index = iterator.0.index_damage().map(Failure::from);
    of_index.or(iterator.0.error().copied()).map_or(OK, Failure::outcome)
}

/// Frees an iterator.
///
/// # Safety
/// `iterator` comes from [`foldbport_iterator_new`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldbport_iterator_free(iterator: *mut Iterator) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(iterator) });
}
