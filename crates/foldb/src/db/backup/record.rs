//! The record of a backup: the files that make it up.
//!
//! ```text
//! record: magic "bak/fold" | version u32 | id u64 | database u64 | new files u64 | new bytes u64 |
//!         files u64 | files | checksum u64
//! file:   place u8 | name string | length u64 | digest u128
//!   place:    0 shared by backups, 1 in the backup's own directory
//!   name:     in the directory of the database
//!   digest:   XXH3-128 of the file
//!   checksum: XXH3-64 of all before it
//!   string:   length varint | bytes
//! ```
//!
//! A rename gives the record its name, so it exists whole or not at all.

use xxhash_rust::xxh3::xxh3_64;

use crate::encoding::format::{BACKUP, FORMAT_VERSION, MAGIC_LEN};
use crate::encoding::{ByteReader, put_length_delimited};
use crate::error::{Error, Result};
use crate::files::FileKind;

/// Bytes of the checksum.
const CHECKSUM_LEN: usize = 8;

/// A backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) id: u64,
    pub(super) database: u64,
    pub(super) new_files: u64,
    pub(super) new_bytes: u64,
    pub(super) files: Vec<StoredFile>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredFile {
    pub(super) is_own: bool,
    /// Its name in the directory of the database.
    pub(super) name: String,
    pub(super) len: u64,
    pub(super) digest: u128,
}

impl StoredFile {
    /// Returns whether a backup has files of this name.
    pub(super) fn is_name(name: &str, is_own: bool) -> bool {
        matches!(
            (FileKind::parse(name), is_own),
            (Some(FileKind::Table(_) | FileKind::Segment(_)), false)
                | (Some(FileKind::Log(_) | FileKind::Manifest(_)), true)
                | (Some(FileKind::Current | FileKind::Closed), true)
        )
    }

    /// Returns its name in the directory of shared files.
    pub(super) fn shared_name(&self) -> String {
        let (stem, extension) = self.name.split_once('.').unwrap_or((&self.name, ""));
        format!("{stem}-{:032x}.{extension}", self.digest)
    }
}

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = BACKUP.magic().to_vec();
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        let files = self.files.len() as u64;
        for number in [self.id, self.database, self.new_files, self.new_bytes, files] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for file in &self.files {
            out.push(u8::from(file.is_own));
            put_length_delimited(&mut out, file.name.as_bytes());
            out.extend_from_slice(&file.len.to_le_bytes());
            out.extend_from_slice(&file.digest.to_le_bytes());
        }
        let checksum = xxh3_64(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        assert!(
            Record::decode(&out).is_ok_and(|read| read == *self),
            "a restore reads the files that the backup has"
        );
        out
    }

    /// # Errors
    /// `Corruption` for damaged bytes, `Unsupported` for another version.
    pub(super) fn decode(bytes: &[u8]) -> Result<Record> {
        BACKUP.check_magic(&bytes[..bytes.len().min(MAGIC_LEN)])?;
        let at = bytes.len().saturating_sub(CHECKSUM_LEN).max(MAGIC_LEN);
        let (covered, stored) = bytes.split_at(at);
        let found = ByteReader::new(stored).u64("checksum")?;
        let expected = xxh3_64(covered);
        if found != expected {
            return Err(Error::corruption(format!(
                "the checksum of a record of a backup: expected {expected:016x} for its {} bytes, \
                 found {found:016x}",
                covered.len()
            )));
        }
        let mut bytes = ByteReader::new(&covered[MAGIC_LEN..]);
        BACKUP.check_version(bytes.u32("version")?)?;
        let mut record = Record {
            id: bytes.u64("id")?,
            database: bytes.u64("database")?,
            new_files: bytes.u64("new files")?,
            new_bytes: bytes.u64("new bytes")?,
            files: Vec::new(),
        };
        for _ in 0..bytes.u64("number of files")? {
            let is_own = bytes.u8("place")? == 1;
            let name = bytes.length_delimited("name")?;
            let name = std::str::from_utf8(name).ok();
            let name = name.filter(|name| StoredFile::is_name(name, is_own));
            let name =
                name.ok_or_else(|| Error::corruption("a file of a backup has a bad name"))?;
            let name = name.to_owned();
            let len = bytes.u64("length")?;
            let (low, high) = (bytes.u64("digest")?, bytes.u64("digest")?);
            let digest = u128::from(high) << 64 | u128::from(low);
            record.files.push(StoredFile { is_own, name, len, digest });
        }
        match bytes.remaining() {
            0 => Ok(record),
            left => Err(Error::corruption(format!("{left} bytes behind the last file"))),
        }
    }
}
