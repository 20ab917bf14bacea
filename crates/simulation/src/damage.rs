//! A misdirected write: it puts sectors of one file over sectors of another file.
//!
//! Invariant: the bytes of at least one sector change.

use std::io;
use std::path::{Path, PathBuf};

use foldb_env::{FileSystem, MemFs};

/// Bytes that a disk writes at once.
const SECTOR: usize = 512;

/// Copies sectors of a random file in `directory` over sectors of a random file there. Returns a
/// description, or `None` if the chosen sectors change nothing.
///
/// # Errors
/// Errors of the file system.
pub fn misdirect(
    fs: &MemFs,
    directory: &Path,
    rng: &mut fastrand::Rng,
) -> io::Result<Option<String>> {
    let mut files: Vec<PathBuf> =
        fs.list(directory)?.iter().map(|name| directory.join(name)).collect();
    // An order that does not depend on that of the directory.
    files.sort();
    files.retain(|path| fs.len(path).is_ok_and(|len| len > 0));
    let (Some(from), Some(to)) = (rng.choice(&files), rng.choice(&files)) else {
        return Ok(None);
    };
    let (source, mut target) = (fs.read(from)?, fs.read(to)?);
    let sector = |rng: &mut fastrand::Rng, len: usize| rng.usize(..len.div_ceil(SECTOR)) * SECTOR;
    let (read, written) = (sector(rng, source.len()), sector(rng, target.len()));
    let count = SECTOR.min(source.len() - read).min(target.len() - written);
    if source[read..read + count] == target[written..written + count] {
        return Ok(None);
    }
    target[written..written + count].copy_from_slice(&source[read..read + count]);
    fs.create(to)?.write_at(&target, 0)?;
    let (from, to) = (from.display(), to.display());
    Ok(Some(format!("{count} bytes of {from} at {read} went to {to} at {written}")))
}
