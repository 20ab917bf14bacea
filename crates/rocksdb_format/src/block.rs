//! A block of a table. Its entries are LevelDB's.
//!
//! ```text
//! entries | restarts u32 each | hash index, if there is one | footer u32
//! hash index:  a byte for each bucket | buckets u16
//! footer:      restarts in the low 28 bits | bit 31: there is a hash index
//!              | bit 29 or 30: the keys are evenly spread | bit 28: the values lie apart
//! trailer:     compression u8 | checksum u32
//! ```
//!
//! The hash index serves reads of single keys, so this crate skips it.

use foldb_leveldb_format::block::Cursor;
use foldb_leveldb_format::encoding::Fields;
use foldb_leveldb_format::table::TRAILER;

use crate::checksum::of_place;
use crate::compression::{self, NONE};
use crate::footer::Footer;
use crate::{Fault, Read};

const HASH_INDEX: u32 = 1 << 31;
const VALUES_APART: u32 = 1 << 28;
const RESTARTS: u32 = VALUES_APART - 1;

/// Returns the contents of a block at an offset, with its trailer.
///
/// # Errors
/// Fails for a checksum that does not match, and for contents that cannot be decompressed.
pub fn unpack(stored: &[u8], offset: u64, footer: &Footer, dictionary: &[u8]) -> Read<Vec<u8>> {
    let (contents, kind) = checked(stored, offset, footer)?;
    match kind {
        NONE => Ok(contents.to_vec()),
        kind => compression::decompress(kind, contents, footer.version, dictionary),
    }
}

/// Returns the stored contents of a block, and how they are compressed.
fn checked<'a>(stored: &'a [u8], offset: u64, footer: &Footer) -> Read<(&'a [u8], u8)> {
    let Some((contents, trailer)) = stored.split_last_chunk::<TRAILER>() else {
        return Err(Fault::damaged("a block has no trailer"));
    };
    let [kind, checksum @ ..] = *trailer;
    let found = u32::from_le_bytes(checksum);
    let expected = footer.checksum.of(contents, kind).wrapping_add(of_place(footer.base, offset));
    if found != expected && footer.checksum != crate::checksum::Checksum::None {
        return Err(Fault::damaged(format!(
            "the checksum of a block does not match: expected {expected:#x}, found {found:#x}"
        )));
    }
    Ok((contents, kind))
}

/// Returns a cursor over the entries of a block.
///
/// # Errors
/// Fails if the end of the block is damaged, and if values lie apart from their keys.
pub fn cursor<B: AsRef<[u8]>>(contents: B) -> Read<Cursor<B>> {
    let (end, restarts) = ends(contents.as_ref())?;
    Cursor::within(contents, end, restarts).ok_or_else(|| Fault::damaged("a block is damaged"))
}

/// Returns where the entries of a block end, and how many restarts it has.
pub(crate) fn ends(contents: &[u8]) -> Read<(usize, usize)> {
    let damaged = || Fault::damaged("a block is damaged: its restarts are cut");
    let (rest, packed) = contents.split_last_chunk::<4>().ok_or_else(damaged)?;
    let packed = u32::from_le_bytes(*packed);
    if packed & VALUES_APART != 0 {
        return Err(Fault::unsupported(
            "a block stores its values apart from its keys, which foldb does not read: compact \
             the database without that option first",
        ));
    }
    let mut end = rest.len();
    if packed & HASH_INDEX != 0 {
        let buckets = rest.last_chunk::<2>().ok_or_else(damaged)?;
        let buckets = usize::from(u16::from_le_bytes(*buckets));
        end = end.checked_sub(buckets + 2).ok_or_else(damaged)?;
    }
    // The bits between are hints for searches.
    let restarts = (packed & RESTARTS) as usize;
    let end = end.checked_sub(4 * restarts).ok_or_else(damaged)?;
    Ok((end, restarts))
}

/// Reads the entries of a block in order, from its first byte.
#[derive(Debug)]
pub(crate) struct Entries<'a> {
    pub rest: Fields<'a>,
    pub key: Vec<u8>,
}

impl<'a> Entries<'a> {
    pub(crate) fn of(contents: &'a [u8]) -> Read<Entries<'a>> {
        let (end, _) = ends(contents)?;
        Ok(Entries { rest: Fields(&contents[..end]), key: Vec::new() })
    }

    /// Reads the next key, and returns how many bytes it shares. The lengths are `shared`, `own`
    /// and, unless values are delta-encoded, that of the value, which `between` reads.
    pub(crate) fn next_key<T>(
        &mut self,
        between: impl FnOnce(&mut Fields<'a>) -> Option<T>,
    ) -> Option<(usize, T)> {
        let shared = self.rest.varint32()? as usize;
        let own = self.rest.varint32()? as usize;
        let between = between(&mut self.rest)?;
        let own = self.rest.take(own)?;
        if shared > self.key.len() {
            return None;
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(own);
        Some((shared, between))
    }
}
