//! The end of a table.
//!
//! ```text
//! version 0:     metaindex, index | zeros to 40 bytes | magic u64, LevelDB's
//! 1 to 5:        checksum u8 | metaindex, index | zeros to 40 bytes | version u32 | magic u64
//! 6 and 7:       checksum u8 | 3e 00 7a 00 | checksum of the footer u32 | base of places u32
//!                | bytes of the metaindex u32 | 24 zeros | version u32 | magic u64
//! ```
//!
//! Metaindex and index are handles. From version 6 on, the metaindex lies right before the footer,
//! and names the index. The footer's own checksum is computed with zeros in its place.

use foldb_leveldb_format::encoding::Fields;
use foldb_leveldb_format::table::{self, FOOTER as OLD_FOOTER, Handle, TRAILER};

use crate::checksum::{Checksum, of_place};
use crate::{Fault, Read};

/// The last bytes of a table.
pub const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
/// The most bytes of a footer.
pub const FOOTER: usize = 53;
/// The newest version that is read.
pub const NEWEST: u32 = 7;
/// The version from which on the index has no place in the footer.
const WITHOUT_INDEX: u32 = 6;
/// Bytes of the two handles, with their zeros.
const HANDLES: usize = 40;
const MARK: [u8; 4] = [0x3e, 0x00, 0x7a, 0x00];

/// The magics of formats of tables that RocksDB has besides the usual one, and their names.
const OTHERS: [(u64, &str); 3] = [
    (0x8242_2296_63bf_9564, "plain"),
    (0x4f34_18eb_7a8f_13b8, "plain"),
    (0x926a_17a1_8b42_1f9d, "cuckoo"),
];

/// What a footer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The version of the format.
    pub version: u32,
    /// How blocks are checked.
    pub checksum: Checksum,
    /// What is added to checksums: see [`of_place`].
    pub base: u32,
    /// Where the metaindex is.
    pub metaindex: Handle,
    /// Where the index is, before version 6.
    pub index: Option<Handle>,
}

impl Footer {
    /// Reads the last bytes of a file of `size` bytes: [`FOOTER`] of them, or all.
    ///
    /// # Errors
    /// Fails if they are no footer, and for a table of another format or a newer version.
    pub fn decode(bytes: &[u8], size: u64) -> Read<Footer> {
        let magic = bytes.last_chunk::<8>().map(|magic| u64::from_le_bytes(*magic));
        match magic {
            Some(table::MAGIC) => Footer::oldest(bytes),
            Some(MAGIC) => Footer::with_version(bytes, size),
            Some(other) => match OTHERS.iter().find(|(magic, _)| *magic == other) {
                Some((_, name)) => Err(Fault::unsupported(format!(
                    "the table has the {name} format, which foldb does not read: compact the \
                     database with block-based tables first"
                ))),
                None => Err(Fault::damaged(format!(
                    "the footer is damaged: expected the magic {MAGIC:#x}, found {other:#x}"
                ))),
            },
            None => Err(too_short(bytes)),
        }
    }

    fn oldest(bytes: &[u8]) -> Read<Footer> {
        let begin = bytes.len().checked_sub(OLD_FOOTER).ok_or_else(|| too_short(bytes))?;
        let (metaindex, index) = handles(&bytes[begin..])?;
        Ok(Footer {
            version: 0,
            checksum: Checksum::Crc32c,
            base: 0,
            metaindex,
            index: Some(index),
        })
    }

    fn with_version(bytes: &[u8], size: u64) -> Read<Footer> {
        let bytes = bytes.last_chunk::<FOOTER>().ok_or_else(|| too_short(bytes))?;
        let mut version = Fields(&bytes[1 + HANDLES..]);
        let version = version.u32().ok_or_else(|| too_short(bytes))?;
        if version > NEWEST {
            return Err(Fault::unsupported(format!(
                "the table has format version {version}: expected 0 to {NEWEST}"
            )));
        }
        let checksum = Checksum::of_number(bytes[0]).ok_or_else(|| {
            Fault::unsupported(format!(
                "the table has checksums of kind {}: expected 0 to 4",
                bytes[0]
            ))
        })?;
        if version >= WITHOUT_INDEX {
            return Footer::without_index(bytes, size, version, checksum);
        }
        let (metaindex, index) = handles(&bytes[1..=HANDLES])?;
        Ok(Footer { version, checksum, base: 0, metaindex, index: Some(index) })
    }

    fn without_index(
        bytes: &[u8; FOOTER],
        size: u64,
        version: u32,
        checksum: Checksum,
    ) -> Read<Footer> {
        let damaged = |what: &str| Fault::damaged(format!("the footer is damaged: {what}"));
        let mut fields = Fields(&bytes[1..]);
        if fields.take(MARK.len()) != Some(&MARK) {
            return Err(damaged("its mark is missing"));
        }
        let mut number = || fields.u32().ok_or_else(|| too_short(bytes));
        let (own, base, len) = (number()?, number()?, u64::from(number()?));
        let at = size.checked_sub(FOOTER as u64).ok_or_else(|| too_short(bytes))?;
        let mut covered = *bytes;
        covered[1 + MARK.len()..][..4].fill(0);
        let (contents, last) = covered.split_at(FOOTER - 1);
        let expected = checksum.of(contents, last[0]).wrapping_add(of_place(base, at));
        if checksum != Checksum::None && own != expected {
            return Err(damaged(&format!("expected checksum {expected:#x}, found {own:#x}")));
        }
        let offset = at.checked_sub(len + TRAILER as u64);
        let offset = offset.ok_or_else(|| damaged("the metaindex begins before the file"))?;
        let metaindex = Handle { offset, len };
        Ok(Footer { version, checksum, base, metaindex, index: None })
    }

    /// Returns the bytes of a footer with an index.
    pub fn encode(self) -> Vec<u8> {
        let mut bytes = vec![match self.checksum {
            Checksum::None => 0,
            Checksum::Crc32c => 1,
            Checksum::XxHash32 => 2,
            Checksum::XxHash64 => 3,
            Checksum::Xxh3 => 4,
        }];
        self.metaindex.append(&mut bytes);
        if let Some(index) = self.index {
            index.append(&mut bytes);
        }
        bytes.resize(1 + HANDLES, 0);
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(&MAGIC.to_le_bytes());
        bytes
    }
}

fn handles(bytes: &[u8]) -> Read<(Handle, Handle)> {
    let mut fields = Fields(bytes);
    let mut handle = || {
        let read = Handle::read(&mut fields);
        read.ok_or_else(|| Fault::damaged("the footer is damaged: a handle is cut"))
    };
    Ok((handle()?, handle()?))
}

fn too_short(bytes: &[u8]) -> Fault {
    Fault::damaged(format!(
        "the footer is damaged: expected at least {OLD_FOOTER} bytes, found {}",
        bytes.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(offset: u64, len: u64) -> Handle {
        Handle { offset, len }
    }

    #[test]
    fn footers_of_all_versions_are_read() {
        let old = table::Footer { metaindex: handle(900, 30), index: handle(935, 60) };
        let read = Footer::decode(&old.encode(), 1048).unwrap();
        assert_eq!((read.version, read.index), (0, Some(handle(935, 60))));
        let five = Footer {
            version: 5,
            checksum: Checksum::Xxh3,
            base: 0,
            metaindex: handle(900, 30),
            index: Some(handle(935, 60)),
        };
        assert_eq!(five.encode().len(), FOOTER);
        assert_eq!(Footer::decode(&five.encode(), 1048), Ok(five));
    }

    #[test]
    fn what_is_not_read_is_named() {
        let mut bytes = [0; FOOTER];
        let mut with = |magic: u64, version: u32, checksum: u8| {
            bytes[0] = checksum;
            bytes[41..45].copy_from_slice(&version.to_le_bytes());
            bytes[45..].copy_from_slice(&magic.to_le_bytes());
            Footer::decode(&bytes, 1000).unwrap_err().to_string()
        };
        assert!(with(0x8242_2296_63bf_9564, 0, 0).contains("the plain format"));
        assert!(with(MAGIC, 8, 1).contains("format version 8: expected 0 to 7"));
        assert!(with(MAGIC, 2, 5).contains("checksums of kind 5"));
        assert!(with(MAGIC, 6, 1).contains("mark"));
        assert!(with(7, 6, 1).contains("found 0x7"));
        assert!(Footer::decode(&[1; 7], 7).is_err());
    }
}
