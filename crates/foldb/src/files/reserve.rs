//! The file of the reserve. It holds blocks of the disk that the database can give back and use
//! when the disk is full. Its bytes are zeroes and say nothing.
//!
//! The file stays when its blocks are given back, with no bytes. So an open after a kill knows that
//! the database had a reserve.

use std::io;
use std::sync::Arc;

use foldb_env::{FileSystem, WritableFile};

use super::names::FileNames;

/// Bytes written at once.
const STEP: u64 = 1 << 20;
/// Bytes at the start of a file that must be zeroes before foldb uses it as its reserve.
const PROBE: u64 = 4096;

/// What a directory has under the name of the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundReserve {
    Nothing,
    /// A reserve of this many bytes, which an earlier open made.
    Bytes(u64),
    /// A file that foldb did not make.
    Foreign,
}

/// Makes the reserve hold `len` bytes. After an error it holds none.
///
/// # Errors
/// Those of the file system: `StorageFull` if the disk has no such space.
pub(crate) fn make_reserve(fs: &dyn FileSystem, names: &FileNames, len: u64) -> io::Result<()> {
    let file = empty_reserve(fs, names)?;
    let filled = file.preallocate(len).and_then(|()| match fs.len(&names.reserve())? {
        found if found >= len => Ok(()),
        // The file system reserves no blocks.
        found => write_zeroes(&*file, found, len),
    });
    let made = filled.and_then(|()| file.close());
    made.inspect_err(|_| drop(empty_reserve(fs, names)))
}

/// Gives the blocks of the reserve back to the disk. The file must be foldb's, or missing.
///
/// # Errors
/// Those of the file system.
pub(crate) fn empty_reserve(
    fs: &dyn FileSystem,
    names: &FileNames,
) -> io::Result<Arc<dyn WritableFile>> {
    fs.create(&names.reserve())
}

fn write_zeroes(file: &dyn WritableFile, from: u64, to: u64) -> io::Result<()> {
    let zeroes = vec![0; STEP.min(to - from) as usize];
    let mut at = from;
    while at < to {
        let step = STEP.min(to - at);
        file.write_at(&zeroes[..step as usize], at)?;
        at += step;
    }
    Ok(())
}

/// Looks for the reserve that an earlier open made. A file that cannot be read counts as foreign.
pub(crate) fn find_reserve(fs: &dyn FileSystem, names: &FileNames) -> FoundReserve {
    let path = names.reserve();
    match fs.try_exists(&path) {
        Ok(false) => return FoundReserve::Nothing,
        Ok(true) => {}
        Err(_) => return FoundReserve::Foreign,
    }
    let look = || {
        let file = fs.open(&path)?;
        let len = file.len()?;
        let mut start = vec![0; len.min(PROBE) as usize];
        file.read_exact_at(&mut start, 0)?;
        Ok::<_, io::Error>(start.iter().all(|&byte| byte == 0).then_some(len))
    };
    look().ok().flatten().map_or(FoundReserve::Foreign, FoundReserve::Bytes)
}
