//! Reads values from open segment files. Finding an open file takes no lock, each value takes one
//! read, and the number of open files is bounded.
//!
//! Invariant: a value is returned only if its checksum holds. The checksum is seeded with the
//! value's address.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use foldb_env::{FileSystem, RandomAccessFile};

use crate::error::{Error, Result};
use crate::files::FileNames;
use crate::files::PooledFile;
use crate::files::{Closed, FilePool, HeldFiles};
use crate::key::KeyspaceId;
use crate::memory::Charge;
use crate::segment::file::SegmentFile;
use crate::segment::format::{
    FILE_HEADER_LEN, FileHeader, SECTION_HEADER_LEN, check_section_header,
};
use crate::segment::logged;
use crate::segment::map::{Placement, SegmentMap};
use crate::segment::tails::{Kept, MoveChunks};
use crate::separated::address::{Address, SegmentId};
use crate::separated::extents::Extents;
use crate::separated::record::check_record;
use crate::value::BlockBytes;
use crate::value::Value;

/// An open segment file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file: Arc<dyn RandomAccessFile>,
    path: PathBuf,
    /// Where the records of moved segments lie, for the segments that were read.
    moves: ArcSwap<BTreeMap<(SegmentId, u64), Known>>,
    /// Counts the file as an open table, and the memory of its moves as that of a table's index.
    held: HeldFiles,
}

/// The part of a segment's moves that is held in memory.
#[derive(Clone, Debug)]
enum Known {
    Moves(Arc<Moves>),
    /// Only the places of the chunks of moves, because the memory budget has no space for the
    /// moves.
    Chunks(Arc<(MoveChunks, Charge)>),
}

/// Where the records of a rewritten segment lie.
#[derive(Debug)]
pub(crate) struct Moves {
    pub(crate) kept: Extents,
    /// Where each extent of `kept` begins now, relative to the first record.
    starts: Vec<u64>,
    /// The memory charge, for as long as the moves are kept for later readers.
    charge: Option<Charge>,
}

fn key_of(placement: &Placement) -> (SegmentId, u64) {
    (placement.segment, placement.offset)
}

impl Moves {
    fn of(kept: Extents) -> Moves {
        let mut end = 0;
        let starts = kept.iter().map(|extent| {
            let start = end;
            end += extent.end - extent.start;
            start
        });
        let starts = starts.collect();
        Moves { kept, starts, charge: None }
    }

    /// Returns where `[position, end)` lies now, if the rewrite kept that range.
    pub(crate) fn find(&self, position: u64, end: u64) -> Option<u64> {
        let (index, extent) = self.kept.around(position)?;
        (end <= extent.end).then(|| self.starts[index] + (position - extent.start))
    }
}

impl OpenFile {
    /// Fills `buf` from `offset`.
    pub(crate) fn read(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_exact_at(buf, offset).map_err(|error| {
            if error.kind() == std::io::ErrorKind::UnexpectedEof {
                let len = buf.len();
                let message =
                    format!("value segment ends early: expected {len} more bytes, found fewer");
                return Error::corruption(message).at(&self.path, offset);
            }
            Error::io(&self.path, "read the value segment", &error).at_offset(offset)
        })
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Asks the system to read ahead.
    pub(crate) fn will_need(&self, offset: u64, len: u64) {
        self.file.will_need(offset, len);
    }

    /// Returns where a segment's records lie; `None` if they lie where they were written.
    pub(crate) fn moves(&self, placement: &Placement) -> Result<Option<Arc<Moves>>> {
        if !placement.is_moved() {
            return Ok(None);
        }
        if let Some(Known::Moves(moves)) = self.moves.load().get(&key_of(placement)) {
            return Ok(Some(Arc::clone(moves)));
        }
        self.read_moves(placement).map(Some)
    }

    /// Returns where `[position, end)` of a moved segment lies, if the rewrite kept that range.
    pub(crate) fn find_moved(
        &self,
        placement: &Placement,
        position: u64,
        end: u64,
    ) -> Result<Option<u64>> {
        match self.moves.load().get(&key_of(placement)) {
            Some(Known::Moves(moves)) => Ok(moves.find(position, end)),
            Some(Known::Chunks(chunks)) => chunks.0.find(self, placement, position, end),
            None => Ok(self.read_moves(placement)?.find(position, end)),
        }
    }

    /// Reads the moves of a segment and keeps them. If the budget has no space for the moves, keeps
    /// only the places of their chunks.
    #[cold]
    fn read_moves(&self, placement: &Placement) -> Result<Arc<Moves>> {
        let (mut kept, mut stretches) = (Kept::new(self, placement), Vec::new());
        let mut chunks = MoveChunks::default();
        while let Some((stretch, place)) = kept.next()? {
            chunks.note(&kept, stretch, place);
            stretches.push(stretch);
        }
        let mut moves = Moves::of(Extents::of(stretches));
        let bytes = moves.kept.memory_bytes() + moves.starts.capacity() * size_of::<u64>();
        moves.charge = self.held.pool().charge_index(bytes);
        let moves = Arc::new(moves);
        let known = if moves.charge.is_some() {
            Known::Moves(Arc::clone(&moves))
        } else {
            let charge = self.held.pool().charge_small_index(chunks.memory_bytes());
            Known::Chunks(Arc::new((chunks, charge)))
        };
        self.moves.rcu(|all| {
            let mut all = BTreeMap::clone(all);
            all.insert(key_of(placement), known.clone());
            all
        });
        Ok(moves)
    }

    /// Checks the header of a section. A log has no section header.
    pub(crate) fn check_section(&self, placement: &Placement) -> Result<()> {
        if placement.is_adopted() {
            return Ok(());
        }
        let mut header = [0; SECTION_HEADER_LEN as usize];
        self.read(&mut header, placement.offset)?;
        check_section_header(&header, placement.segment, placement.flags)
            .map_err(|error| error.at(&self.path, placement.offset))
    }
}

/// The segment files of a database, opened at first use.
#[derive(Debug)]
pub(crate) struct OpenSegments {
    fs: Arc<dyn FileSystem>,
    names: FileNames,
    database: u64,
    pool: Arc<FilePool>,
    closed: Arc<Closed>,
}

/// The place of a value's record.
pub(crate) struct Located {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) address: Address,
    /// Offset of the end of the segment's records.
    pub(crate) records_end: u64,
}

impl Located {
    /// Returns the bytes of the record without its key part.
    pub(crate) fn len(&self) -> u64 {
        self.address.record_len() - self.address.key_part
    }

    /// Returns the value from a buffer in which the record begins at `start`.
    pub(crate) fn value_in(&self, buffer: &Arc<[u8]>, start: usize, key: &[u8]) -> Result<Value> {
        let Address { segment, position, len, .. } = self.address;
        let record = &buffer[start..start + self.len() as usize];
        let head = check_record(record, segment, position, len)
            .map_err(|error| about(error, key).at(self.file.path(), self.offset))?;
        let value = &record[head..head + len as usize];
        if let Some(value) = Value::inline(value) {
            return Ok(value);
        }
        match BlockBytes::new(buffer, start + head, len as usize) {
            Some(bytes) => Ok(Value::from_block(bytes)),
            None => Ok(Value::from(value)),
        }
    }
}

impl OpenSegments {
    pub(crate) fn new(
        fs: Arc<dyn FileSystem>,
        names: FileNames,
        pool: Arc<FilePool>,
        database: u64,
        closed: Arc<Closed>,
    ) -> OpenSegments {
        OpenSegments { fs, names, database, pool, closed }
    }

    /// Returns the value at an address, which the tree holds for `key`.
    ///
    /// # Errors
    /// `Corruption` with file, offset and key if the value is damaged or its file is missing; `Io`
    /// if a read fails.
    pub(crate) fn value(
        &self,
        keyspace: KeyspaceId,
        map: &SegmentMap,
        address: &[u8],
        key: &[u8],
    ) -> Result<Value> {
        let located = self.locate(keyspace, map, address, key)?;
        let mut buffer: Arc<[u8]> = std::iter::repeat_n(0, located.len() as usize).collect();
        let bytes = Arc::get_mut(&mut buffer).expect("a new Arc is not shared");
        located.file.read(bytes, located.offset).map_err(|error| about(error, key))?;
        located.value_in(&buffer, 0, key)
    }

    /// Returns where the value at an address lies.
    ///
    /// # Errors
    /// As [`OpenSegments::value`].
    pub(crate) fn locate(
        &self,
        keyspace: KeyspaceId,
        map: &SegmentMap,
        address: &[u8],
        key: &[u8],
    ) -> Result<Located> {
        let address = Address::decode(address).map_err(|error| about(error, key))?;
        let segment = map.get(address.segment).ok_or_else(|| {
            let message = format!("value segment {} does not exist", address.segment);
            about(Error::corruption(message), key)
        })?;
        let file = self.get(keyspace, &segment.file).map_err(|error| about(error, key))?;
        let placement = &segment.placement;
        let end = address.end();
        let place = if placement.is_moved() {
            let found = file.find_moved(placement, address.position, end);
            found.map_err(|error| about(error, key))?
        } else {
            Some(address.position).filter(|_| end <= placement.records_len)
        };
        let place = place.filter(|place| place + address.record_len() <= placement.records_len);
        let Some(place) = place else {
            let message = format!(
                "expected a record at position {} of segment {}, found none",
                address.position, address.segment
            );
            let error = Error::corruption(message).at(&file.path, placement.offset);
            return Err(about(error, key));
        };
        Ok(Located {
            file,
            number: placement.file,
            offset: placement.records_at() + place,
            address,
            records_end: placement.records_end(),
        })
    }

    /// Returns the handle of a file. Opens the file if it is closed.
    ///
    /// # Errors
    /// `Corruption` if the file is missing or its header is that of another file; `Io` if the
    /// system cannot open or read it.
    #[inline]
    pub(crate) fn get(
        &self,
        keyspace: KeyspaceId,
        file: &Arc<SegmentFile>,
    ) -> Result<Arc<OpenFile>> {
        if let Some(open) = file.open.load_full() {
            // Relaxed, as all accesses of `used`: a hint for the choice of the file to close. The
            // load keeps the line shared between readers.
            if !file.used.load(Ordering::Relaxed) {
                file.used.store(true, Ordering::Relaxed);
            }
            return Ok(open);
        }
        self.open(keyspace, file)
    }

    /// Stores the handle of a file that is already open.
    pub(crate) fn take_in(&self, file: &SegmentFile, open: Arc<OpenFile>) {
        file.open.store(Some(open));
    }

    /// Opens a file without a lock. If two threads open the same file at once, both use the handle
    /// that was stored first. So no thread waits while another opens the file.
    #[cold]
    fn open(&self, keyspace: KeyspaceId, file: &Arc<SegmentFile>) -> Result<Arc<OpenFile>> {
        let own = self.open_own(keyspace, file).map_err(|error| self.closed.explain(error))?;
        let before = file.open.compare_and_swap(&None::<Arc<OpenFile>>, Some(Arc::clone(&own)));
        if let Some(first) = before.as_ref() {
            return Ok(Arc::clone(first));
        }
        file.used.store(true, Ordering::Relaxed);
        self.pool.note_segment(Arc::downgrade(file) as Weak<dyn PooledFile>);
        Ok(own)
    }

    fn open_own(&self, keyspace: KeyspaceId, file: &SegmentFile) -> Result<Arc<OpenFile>> {
        let path = self.names.segment(file.number());
        let handle = self.fs.open_named(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::corruption("the value segment is missing; restore it from a copy")
                    .in_file(&path)
            }
            _ => Error::io(&path, "open the value segment", &error),
        })?;
        let held = FilePool::hold(&self.pool, 1);
        let open = OpenFile { file: handle, path, moves: ArcSwap::default(), held };
        if file.is_adopted() {
            logged::check_header(&open, file.number(), self.database)?;
            return Ok(Arc::new(open));
        }
        let mut header = [0; FILE_HEADER_LEN as usize];
        open.read(&mut header, 0)?;
        let found = FileHeader::decode(&header).map_err(|error| error.at(&open.path, 0))?;
        let expected = FileHeader { file: file.number(), database: self.database, keyspace };
        if found != expected {
            let message = format!("expected the value segment {expected:?}, found {found:?}");
            return Err(Error::corruption(message).at(&open.path, 0));
        }
        Ok(Arc::new(open))
    }
}

/// Adds to an error the key whose value could not be read.
#[cold]
pub(crate) fn about(error: Error, key: &[u8]) -> Error {
    let shown = &key[..key.len().min(64)];
    let dots = if shown.len() < key.len() { "…" } else { "" };
    error.prefixed(&format!("value of key '{}{dots}': ", shown.escape_ascii()))
}

/// Returns an open file with these bytes, for tests.
#[cfg(test)]
pub(crate) fn in_memory(bytes: &[u8]) -> OpenFile {
    use crate::table::BlockCache;
    use std::path::Path;

    let (fs, path) = (foldb_env::MemFs::new(), Path::new("1.seg"));
    fs.create(path).unwrap().write_at(bytes, 0).unwrap();
    let file = fs.open(path).unwrap();
    let pool = BlockCache::new(0).store().file_pool(100);
    let held = FilePool::hold(&pool, 1);
    OpenFile { file, path: path.to_owned(), moves: ArcSwap::default(), held }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use foldb_env::MemFs;

    use super::*;
    use crate::segment::SegmentFiles;
    use crate::table::BlockCache;

    /// Segment files get a quarter of the handles of a pool, however many databases use the pool.
    #[test]
    fn databases_of_one_pool_share_the_handles_of_segment_files() {
        let pool = BlockCache::new(0).store().file_pool(16);
        let mut opened = Vec::new();
        for database in 0..3 {
            let (fs, names, segment_files) =
                (MemFs::new(), FileNames::new(Path::new("db")), Arc::<SegmentFiles>::default());
            fs.create_dir_all(names.directory()).unwrap();
            let shared: Arc<dyn FileSystem> = Arc::new(fs.clone());
            let (own_pool, closed) = (Arc::clone(&pool), Arc::default());
            let segments = OpenSegments::new(shared, names.clone(), own_pool, database, closed);
            for file in 1..=4 {
                let mut header = Vec::new();
                FileHeader { file, database, keyspace: 0 }.encode(&mut header);
                fs.create(&names.segment(file)).unwrap().write_at(&header, 0).unwrap();
                let file = segment_files.get(file);
                segments.get(0, &file).unwrap();
                opened.push(file);
            }
        }
        let open = opened.iter().filter(|file| file.open.load().is_some()).count();
        assert_eq!(open, 4, "a quarter of 16");
    }
}
