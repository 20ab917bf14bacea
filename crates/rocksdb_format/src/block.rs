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
//!
//! Values that lie apart, since release 11:
//!
//! ```text
//! keys | values | restarts u32 each | hash index | where the values begin u32 | footer u32
//! key:  shared varint | own varint | length of the value varint | own key bytes
//! at a restart, the place of the value among the values, varint, is before the key bytes
//! ```

use foldb_leveldb_format::block::Cursor;
use foldb_leveldb_format::encoding::{Fields, put_varint};
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
    let mut end = rest.len();
    if packed & VALUES_APART != 0 {
        end = end.checked_sub(4).ok_or_else(damaged)?;
    }
    if packed & HASH_INDEX != 0 {
        let buckets = rest[..end].last_chunk::<2>().ok_or_else(damaged)?;
        let buckets = usize::from(u16::from_le_bytes(*buckets));
        end = end.checked_sub(buckets + 2).ok_or_else(damaged)?;
    }
    // The bits between are hints for searches.
    let restarts = (packed & RESTARTS) as usize;
    let end = end.checked_sub(4 * restarts).ok_or_else(damaged)?;
    Ok((end, restarts))
}

/// Returns a block whose values follow their keys. One whose values lie apart is written again.
///
/// # Errors
/// Fails for bytes that are no entry.
pub fn joined(contents: Vec<u8>) -> Read<Vec<u8>> {
    let footer = contents.last_chunk::<4>().map(|footer| u32::from_le_bytes(*footer));
    if footer.is_none_or(|footer| footer & VALUES_APART == 0) {
        return Ok(contents);
    }
    let (end, restarts) = ends(&contents)?;
    let damaged = || Fault::damaged("a block is damaged: its values are not where it says");
    let begins = contents.get(contents.len() - 8..).and_then(|ends| Fields(ends).u32());
    let begin = begins.map(|begin| begin as usize).filter(|&begin| begin <= end);
    let (keys, values) = contents[..end].split_at(begin.ok_or_else(damaged)?);
    let mut offsets = Fields(&contents[end..end + 4 * restarts]);
    let mut next_restart = offsets.u32();
    let mut joined = Joined { values, at: 0, bytes: Vec::new(), restarts: Vec::new() };
    let mut rest = Fields(keys);
    while !rest.is_empty() {
        let at = (keys.len() - rest.0.len()) as u32;
        let is_restart = next_restart == Some(at);
        if is_restart {
            next_restart = offsets.u32();
        }
        joined.entry(&mut rest, is_restart).ok_or_else(damaged)?;
    }
    Ok(joined.finish())
}

/// A block being joined.
struct Joined<'a> {
    values: &'a [u8],
    /// Where the next value is.
    at: usize,
    bytes: Vec<u8>,
    restarts: Vec<u32>,
}

impl Joined<'_> {
    fn entry(&mut self, keys: &mut Fields<'_>, is_restart: bool) -> Option<()> {
        let (shared, own, len) = (keys.varint32()?, keys.varint32()?, keys.varint32()?);
        if is_restart {
            // A place before this one would use a value twice.
            self.at = Some(keys.varint32()? as usize).filter(|&place| place >= self.at)?;
            self.restarts.push(u32::try_from(self.bytes.len()).ok()?);
        }
        let key = keys.take(own as usize)?;
        let end = self.at.checked_add(len as usize)?;
        let value = self.values.get(self.at..end)?;
        self.at = end;
        for length in [shared, own, len] {
            put_varint(&mut self.bytes, u64::from(length));
        }
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        Some(())
    }

    fn finish(mut self) -> Vec<u8> {
        if self.restarts.is_empty() {
            self.restarts.push(0);
        }
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        self.bytes.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        self.bytes
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Three keys, of which the last is a restart, with their values apart.
    fn apart() -> Vec<u8> {
        let mut block = b"\x00\x02\x03\x00ka\x01\x01\x02b\x00\x01\x01\x05l".to_vec();
        let values = block.len() as u32;
        block.extend_from_slice(b"onetwx");
        for number in [0, 10, values, VALUES_APART | 2] {
            block.extend_from_slice(&number.to_le_bytes());
        }
        block
    }

    #[test]
    fn values_that_lie_apart_are_joined_with_their_keys() {
        let mut cursor = super::cursor(joined(apart()).unwrap()).unwrap();
        let mut found = Vec::new();
        cursor.first();
        while cursor.is_valid() {
            found.push((cursor.key().to_vec(), cursor.value().to_vec()));
            cursor.next();
        }
        let entry = |key: &str, value: &str| (key.into(), value.into());
        assert_eq!(found, [entry("ka", "one"), entry("kb", "tw"), entry("l", "x")]);
        for at in 0..apart().len() {
            let mut damaged = apart();
            damaged[at] ^= 0x11;
            let _block_or_error = joined(damaged).and_then(super::cursor);
        }
        assert!(joined(apart()[4..].to_vec()).is_err());
    }
}
