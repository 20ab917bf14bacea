//! Values outside of tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foldb_rocksdb_format::Fault;
use foldb_rocksdb_format::blob::{self, HEADER, Reference};
use foldb_rocksdb_format::compression::{self, WITH_LENGTH};

use super::losses::Losses;
use crate::exit::Outcome;
use crate::foreign::window::Window;

/// The files of blobs of a database.
#[derive(Debug)]
pub(super) struct Blobs {
    directory: PathBuf,
    open: BTreeMap<u64, Window>,
    losses: Losses,
}

/// How many files are open at most.
const MOST_OPEN: usize = 64;

impl Blobs {
    pub(super) fn new(directory: &Path, losses: &Losses) -> Blobs {
        let directory = directory.to_owned();
        Blobs { directory, open: BTreeMap::new(), losses: losses.clone() }
    }

    /// Returns the value that a reference of a key leads to. `None` if it is given up.
    ///
    /// # Errors
    /// Fails for damage, if nothing may be given up.
    pub(super) fn get(&mut self, key: &[u8], reference: &[u8]) -> Outcome<Option<Vec<u8>>> {
        let reference = match Reference::decode(reference) {
            Ok(reference) => reference,
            Err(fault) => return self.losses.note(&self.directory, 0, fault).map(|()| None),
        };
        let path = self.directory.join(format!("{:06}.blob", reference.file));
        match self.read(&path, key, reference)? {
            Ok(value) => Ok(Some(value)),
            Err(fault) => self.losses.note(&path, reference.offset, fault).map(|()| None),
        }
    }

    fn read(
        &mut self,
        path: &Path,
        key: &[u8],
        reference: Reference,
    ) -> Outcome<Result<Vec<u8>, Fault>> {
        if self.open.len() >= MOST_OPEN && !self.open.contains_key(&reference.file) {
            self.open.pop_first();
        }
        let file = match self.open.entry(reference.file) {
            std::collections::btree_map::Entry::Occupied(open) => open.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => match open(path)? {
                Ok(file) => place.insert(file),
                Err(fault) => return Ok(Err(fault)),
            },
        };
        let record = reference
            .record(key)
            .filter(|&(at, len)| at.checked_add(len as u64).is_some_and(|end| end <= file.size()));
        let Some((at, len)) = record else {
            return Ok(Err(Fault::damaged("a blob is outside of its file")));
        };
        let record = file.bytes(at, len)?;
        Ok(blob::value(&record, key).and_then(|stored| {
            compression::decompress(reference.compression, stored, WITH_LENGTH, &[])
        }))
    }
}

fn open(path: &Path) -> Outcome<Result<Window, Fault>> {
    let (mut file, size) = match Window::open(path) {
        Ok(opened) => opened,
        Err(error) => {
            return Ok(Err(Fault::damaged(format!("the file of blobs cannot be opened: {error}"))));
        }
    };
    if size < HEADER as u64 {
        return Ok(Err(Fault::damaged(format!("the file of blobs has {size} bytes"))));
    }
    let header = file.bytes(0, HEADER)?;
    Ok(blob::check_header(&header).map(|()| file))
}
