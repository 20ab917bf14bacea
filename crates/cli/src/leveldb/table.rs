//! A LevelDB table, read from its first key to its last.
//!
//! Invariant: a table whose last key was returned had every block and every key that its manifest
//! entry promises.

use std::path::{Path, PathBuf};

use foldb_leveldb_format::Order;
use foldb_leveldb_format::cursor::{Source, TableCursor};
use foldb_leveldb_format::edit::TableInfo;
use foldb_leveldb_format::encoding::{Internal, split_internal};
use foldb_leveldb_format::table::{Contents, Damage, FOOTER, Footer, Handle, TRAILER, unpack};

use super::damaged;
use crate::exit::{Exit, Outcome};
use crate::foreign::window::Window;
use crate::location::shown;

/// A table being read.
#[derive(Debug)]
pub(super) struct Table {
    info: TableInfo,
    cursor: TableCursor<Blocks>,
    /// The last key that was returned.
    last: Vec<u8>,
    is_begun: bool,
    is_done: bool,
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
        let mut blocks = Blocks::open(&path_of(directory, info.number)?, info.size)?;
        let at = info.size - FOOTER as u64;
        let footer = Footer::decode(&blocks.0.bytes(at, FOOTER)?);
        let footer = footer.map_err(|_| damaged(blocks.0.path(), at, "the footer is damaged"))?;
        let index = blocks.block(footer.index)?;
        Ok(Table {
            info: info.clone(),
            cursor: TableCursor::new(blocks, index),
            last: Vec::new(),
            is_begun: false,
            is_done: false,
        })
    }

    /// Moves to the next key. Returns false after the last one.
    ///
    /// # Errors
    /// Fails for damage.
    pub(super) fn advance(&mut self) -> Outcome<bool> {
        if self.is_begun {
            self.cursor.next();
        } else {
            self.cursor.first();
        }
        if let Some(error) = self.cursor.take_error() {
            return Err(error);
        }
        if self.cursor.index_damage().is_some() {
            return Err(self.damaged("the index is damaged"));
        }
        if !self.cursor.is_valid() {
            return self.end();
        }
        self.check_key()?;
        self.last.clear();
        self.last.extend_from_slice(self.cursor.key());
        self.is_begun = true;
        Ok(true)
    }

    fn end(&mut self) -> Outcome<bool> {
        if !self.is_done && self.last != self.info.largest {
            return Err(self.damaged("the last key is not the one that the manifest has"));
        }
        self.is_done = true;
        Ok(false)
    }

    /// Checks that the keys ascend from the one that the manifest says.
    fn check_key(&self) -> Outcome {
        let key = self.cursor.key();
        if split_internal(key).is_none() {
            return Err(self.damaged("a key is damaged"));
        }
        match self.is_begun {
            false if key != self.info.smallest => {
                Err(self.damaged("the first key is not the one that the manifest has"))
            }
            true if !Internal.compare(&self.last, key).is_lt() => {
                Err(self.damaged("the keys do not ascend"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the user key and the tag.
    pub(super) fn key(&self) -> (&[u8], u64) {
        // `check_key` has split it already.
        split_internal(self.cursor.key()).unwrap_or_default()
    }

    pub(super) fn value(&self) -> &[u8] {
        self.cursor.value()
    }

    /// Returns the error of damage in the present block.
    fn damaged(&self, what: &str) -> Exit {
        let at = self.cursor.handle().filter(|_| self.cursor.is_valid());
        damaged(self.cursor.source().0.path(), at.map_or(0, |block| block.offset), what)
    }
}

/// The blocks of a table, whose checksums are right.
#[derive(Debug)]
struct Blocks(Window);

impl Source for Blocks {
    type Block = Vec<u8>;
    type Error = Exit;
    type Order = Internal;

    fn order(&self) -> &Internal {
        &Internal
    }

    fn block(&mut self, handle: Handle) -> Outcome<Vec<u8>> {
        let Some(stored) = handle.stored(self.0.size() - FOOTER as u64) else {
            return Err(self.damaged(Damage::Outside, Some(handle)));
        };
        // It fits into the file, and so into memory.
        let mut bytes = self.0.bytes(handle.offset, stored)?;
        match unpack(&bytes, true) {
            Ok(Contents::Decompressed(contents)) => Ok(contents),
            Ok(Contents::Plain) => {
                bytes.truncate(stored - TRAILER);
                Ok(bytes)
            }
            Err(damage) => Err(self.damaged(damage, Some(handle))),
        }
    }

    fn damaged(&mut self, damage: Damage, block: Option<Handle>) -> Exit {
        match damage {
            Damage::Compression(kind) => Exit::failed(format!(
                "a block of {} is compressed in a way that foldb does not know: expected 0 or 1 \
                 (Snappy), found {kind}: compact the database with LevelDB and Snappy, and try \
                 again",
                shown(self.0.path())
            )),
            _ => damaged(self.0.path(), block.map_or(0, |block| block.offset), &damage.to_string()),
        }
    }
}

impl Blocks {
    fn open(path: &Path, size: u64) -> Outcome<Blocks> {
        let failed = |error| Exit::failed(format!("cannot read {}: {error}", shown(path)));
        let (mut window, len) = Window::open(path).map_err(failed)?;
        if len < size || size < FOOTER as u64 {
            let what = format!("expected a table of {size} bytes, found {len}");
            return Err(damaged(path, 0, &what));
        }
        window.cut(size);
        Ok(Blocks(window))
    }
}
