//! A LevelDB table, read from its first key to its last.
//!
//! ```text
//! data blocks | filter | metaindex block | index block | footer
//! block:  contents | compression u8 | checksum u32 of both
//! index:  last key of a data block or a little more → its offset and length
//! footer: metaindex offset, length | index offset, length | zeros to 40 bytes | magic u64
//! ```
//!
//! Invariant: a table whose last key was returned had every block and every key that its manifest
//! entry promises.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::block::Block;
use super::encoding::{Fields, masked, split_internal};
use super::framing;
use super::manifest::TableInfo;
use crate::exit::{Exit, Outcome};
use crate::location::shown;

/// The last bytes of every table.
pub(super) const MAGIC: u64 = 0xdb47_7524_8b80_fb57;
pub(super) const FOOTER: usize = 48;
/// Bytes after the contents of a block.
pub(super) const TRAILER: usize = 5;

pub(super) const PLAIN: u8 = 0;
pub(super) const SNAPPY: u8 = 1;

/// How much a read takes from the file at once.
const WINDOW: usize = 256 << 10;

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    offset: u64,
    len: u64,
}

/// A table being read.
#[derive(Debug)]
pub(super) struct Table {
    path: PathBuf,
    info: TableInfo,
    file: File,
    index: Block,
    block: Block,
    /// Where `block` is.
    block_at: u64,
    /// The last key that was returned.
    last: Vec<u8>,
    is_begun: bool,
    is_done: bool,
    /// Bytes of the file from `window_at` on.
    window: Vec<u8>,
    window_at: u64,
}

/// Returns the path of a table: releases before 1.14 called it `.sst`.
///
/// # Errors
/// Fails if the table is missing.
pub(super) fn path_of(directory: &Path, number: u64) -> Outcome<PathBuf> {
    let path = directory.join(format!("{number:06}.ldb"));
    let old = directory.join(format!("{number:06}.sst"));
    match [&path, &old].into_iter().find(|path| path.exists()) {
        Some(path) => Ok(path.clone()),
        None => Err(Exit::failed(format!(
            "corruption: the table {} is missing: nothing was imported; restore it from a copy, or \
             repair the database with LevelDB, which gives up its entries",
            shown(&path)
        ))),
    }
}

impl Table {
    /// Opens a table.
    ///
    /// # Errors
    /// Fails if the file is shorter than the manifest says, or its footer or index is damaged.
    pub(super) fn open(directory: &Path, info: &TableInfo) -> Outcome<Table> {
        let path = path_of(directory, info.number)?;
        let failed = |error| Exit::failed(format!("cannot read {}: {error}", shown(&path)));
        let file = File::open(&path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        if len < info.size || info.size < FOOTER as u64 {
            let what = format!("expected a table of {} bytes, found {len}", info.size);
            return Err(framing::damaged(&path, 0, &what));
        }
        let mut table = Table {
            path,
            info: info.clone(),
            file,
            index: Block::default(),
            block: Block::default(),
            block_at: 0,
            last: Vec::new(),
            is_begun: false,
            is_done: false,
            window: Vec::new(),
            window_at: 0,
        };
        let at = info.size - FOOTER as u64;
        let footer = table.bytes(at, FOOTER)?;
        let index = index_of(&footer).ok_or_else(|| table.damaged(at, "the footer is damaged"))?;
        table.index = table.read_block(index)?;
        Ok(table)
    }

    /// Moves to the next key. Returns false after the last one.
    ///
    /// # Errors
    /// Fails for damage.
    pub(super) fn advance(&mut self) -> Outcome<bool> {
        loop {
            let moved = self.block.advance();
            if moved.ok_or_else(|| self.damaged(self.block_at, "an entry is damaged"))? {
                break;
            }
            let moved = self.index.advance();
            if !moved.ok_or_else(|| self.damaged(0, "the index is damaged"))? {
                return self.end();
            }
            let handle = handle(&mut Fields(self.index.value()));
            let handle = handle.ok_or_else(|| self.damaged(0, "the index is damaged"))?;
            self.block = self.read_block(handle)?;
            self.block_at = handle.offset;
        }
        self.check_key()?;
        self.last.clear();
        self.last.extend_from_slice(self.block.key());
        self.is_begun = true;
        Ok(true)
    }

    fn end(&mut self) -> Outcome<bool> {
        if !self.is_done && self.last != self.info.largest {
            return Err(self.damaged(0, "the last key is not the one that the manifest has"));
        }
        self.is_done = true;
        Ok(false)
    }

    /// Checks that the keys ascend from the one that the manifest says.
    fn check_key(&self) -> Outcome {
        let key = self.block.key();
        if split_internal(key).is_none() {
            return Err(self.damaged(self.block_at, "a key is damaged"));
        }
        match self.is_begun {
            false if key != self.info.smallest => {
                Err(self.damaged(0, "the first key is not the one that the manifest has"))
            }
            true if !precedes(&self.last, key) => {
                Err(self.damaged(self.block_at, "the keys do not ascend"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the user key and the tag.
    pub(super) fn key(&self) -> (&[u8], u64) {
        // `check_key` has split it already.
        split_internal(self.block.key()).unwrap_or_default()
    }

    pub(super) fn value(&self) -> &[u8] {
        self.block.value()
    }

    /// Returns the error of damage.
    fn damaged(&self, at: u64, what: &str) -> Exit {
        framing::damaged(&self.path, at as usize, what)
    }

    fn read_block(&mut self, handle: Handle) -> Outcome<Block> {
        let at = handle.offset;
        let end = handle.offset.checked_add(handle.len);
        let end = end.and_then(|end| end.checked_add(TRAILER as u64));
        if end.is_none_or(|end| end > self.info.size - FOOTER as u64) {
            return Err(self.damaged(at, "a block lies outside of its table"));
        }
        // It fits into the file, and so into memory.
        let mut bytes = self.bytes(at, handle.len as usize + TRAILER)?;
        let covered = bytes.len() - 4;
        let stored = bytes.last_chunk::<4>().map(|stored| u32::from_le_bytes(*stored));
        if stored != Some(masked(crc32c::crc32c(&bytes[..covered]))) {
            return Err(self.damaged(at, "the checksum of a block does not match"));
        }
        let compression = bytes[covered - 1];
        bytes.truncate(covered - 1);
        let contents = match compression {
            PLAIN => bytes,
            SNAPPY => decompress(&bytes).map_err(|error| {
                self.damaged(at, &format!("a block cannot be decompressed: {error}"))
            })?,
            other => {
                return Err(Exit::failed(format!(
                    "a block of {} is compressed in a way that foldb does not know: expected 0 or \
                     1 (Snappy), found {other}: compact the database with LevelDB and Snappy, and \
                     try again",
                    shown(&self.path)
                )));
            }
        };
        Block::new(contents).ok_or_else(|| self.damaged(at, "a block is damaged"))
    }

    /// Reads bytes of the file.
    fn bytes(&mut self, at: u64, len: usize) -> Outcome<Vec<u8>> {
        let inside = |this: &Table| {
            let begin = usize::try_from(at.checked_sub(this.window_at)?).ok()?;
            this.window.get(begin..begin.checked_add(len)?).map(<[u8]>::to_vec)
        };
        if let Some(bytes) = inside(self) {
            return Ok(bytes);
        }
        let left = self.info.size - at;
        self.window.resize(left.min(len.max(WINDOW) as u64) as usize, 0);
        self.window_at = at;
        let mut read = || {
            self.file.seek(SeekFrom::Start(at))?;
            self.file.read_exact(&mut self.window)
        };
        read()
            .map_err(|error| Exit::failed(format!("cannot read {}: {error}", shown(&self.path))))?;
        Ok(self.window[..len].to_vec())
    }
}

/// The most bytes that a byte of Snappy becomes: a copy of 64 bytes takes 3.
const MOST_OF_SNAPPY: usize = 22;

/// Returns the contents of a block that Snappy compressed.
///
/// # Errors
/// What is wrong with the bytes. A length that they cannot have is not allocated.
pub(super) fn decompress(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let told = |error: snap::Error| error.to_string();
    let len = snap::raw::decompress_len(bytes).map_err(told)?;
    if len > bytes.len() * MOST_OF_SNAPPY {
        return Err(format!("{} bytes cannot become {len}", bytes.len()));
    }
    snap::raw::Decoder::new().decompress_vec(bytes).map_err(told)
}

/// Returns whether an internal key stands before another: the larger tag of a key comes first.
fn precedes(one: &[u8], other: &[u8]) -> bool {
    match (split_internal(one), split_internal(other)) {
        (Some((one, one_tag)), Some((other, other_tag))) => {
            (one, std::cmp::Reverse(one_tag)) < (other, std::cmp::Reverse(other_tag))
        }
        _ => false,
    }
}

/// Returns where the index is.
pub(super) fn index_of(footer: &[u8]) -> Option<Handle> {
    let (handles, magic) = footer.split_last_chunk::<8>()?;
    if u64::from_le_bytes(*magic) != MAGIC {
        return None;
    }
    let mut fields = Fields(handles);
    handle(&mut fields)?;
    handle(&mut fields)
}

/// Reads a handle. `None` if it is bad.
pub(super) fn handle(fields: &mut Fields<'_>) -> Option<Handle> {
    Some(Handle { offset: fields.varint()?, len: fields.varint()? })
}
