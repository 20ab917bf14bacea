//! Recognises the directory of a LevelDB or RocksDB database, which use some of foldb's file names.
//!
//! The checks read and never write. A foldb database is never taken for a foreign one: a manifest
//! or log with foldb's magic, or a file whose name only foldb gives, settles the question first,
//! whatever else is in the directory. The foreign evidence is then
//!
//! - a manifest or log whose first record has LevelDB's framing and a matching checksum. RocksDB
//!   frames its manifests in the same way;
//! - a numbered table, `.ldb` or `.sst`, with the magic of its engine at its end.
//!
//! Next to such a file, `IDENTITY` or `OPTIONS-000005` tells RocksDB from LevelDB. `LOG`, `LOCK`
//! and an empty log or manifest are no evidence, because foldb or its programs write them too.
//! `CURRENT` is no evidence either, and a database without it is recognised all the same.

use foldb_env::FileSystem;

use super::names::{FileKind, FileNames};
use crate::encoding::format::{LOG, MANIFEST};
use crate::error::{Error, ErrorKind, Result};

/// An engine whose directories foldb recognises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    LevelDb,
    RocksDb,
}

/// Offset of the magic in foldb's manifests and logs.
const OWN_MAGIC_AT: usize = 33;
/// Bytes before the payload of a LevelDB record: checksum, length, type.
const RECORD_HEADER: usize = 7;
/// LevelDB's logs consist of blocks of this size, and no record crosses the end of a block.
const BLOCK: usize = 32 << 10;
/// The last bytes of a LevelDB table. Old RocksDB tables have the same.
const LEVELDB_TABLE: [u8; 8] = 0xdb47_7524_8b80_fb57_u64.to_le_bytes();
/// The last bytes of a RocksDB table in its default format.
const ROCKSDB_TABLE: [u8; 8] = 0x88e2_41b7_85f4_cff7_u64.to_le_bytes();
/// How many tables the check reads.
const TABLES_READ: usize = 8;

/// Refuses the database of another engine.
///
/// # Errors
/// `ForeignDatabase` if the directory holds a database of LevelDB or RocksDB.
pub(crate) fn refuse_foreign(fs: &dyn FileSystem, names: &FileNames) -> Result<()> {
    let message = match engine_of(fs, names) {
        None => return Ok(()),
        Some(Engine::LevelDb) => {
            "this is a LevelDB database, and foldb changes nothing in it: run `foldb import --from \
             leveldb SRC DST` to copy it into a foldb database"
        }
        Some(Engine::RocksDb) => {
            "this is a RocksDB database, and foldb changes nothing in it: run `foldb import --from \
             rocksdb SRC DST` to copy it into a foldb database"
        }
    };
    Err(Error::new(ErrorKind::ForeignDatabase, message).in_file(names.directory()))
}

/// Returns the other engine that the directory belongs to. A file that cannot be read says nothing.
fn engine_of(fs: &dyn FileSystem, names: &FileNames) -> Option<Engine> {
    let in_force = manifest_in_force(fs, names);
    if let Some(number) = in_force
        && first_bytes(fs, names, FileKind::Manifest(number)).is_own()
    {
        return None;
    }
    let listed = fs.list(names.directory()).ok()?;
    let mut evidence = Evidence::default();
    for name in &listed {
        match FileKind::parse(name) {
            Some(
                FileKind::Closed | FileKind::Archive(_) | FileKind::Table(_) | FileKind::Segment(_),
            ) => return None,
            Some(kind @ (FileKind::Manifest(_) | FileKind::Log(_))) => {
                match first_bytes(fs, names, kind) {
                    FirstBytes::Own => return None,
                    FirstBytes::Foreign => evidence.framed = true,
                    FirstBytes::Unknown => {}
                }
            }
            _ => evidence.name(name),
        }
    }
    evidence.read_tables(fs, names);
    evidence.engine()
}

/// Returns the number of the manifest that `CURRENT` names.
fn manifest_in_force(fs: &dyn FileSystem, names: &FileNames) -> Option<u64> {
    let current = names.current();
    if !fs.exists(&current) || fs.len(&current).ok()? > 64 {
        return None;
    }
    let content = fs.read(&current).ok()?;
    match FileKind::parse(std::str::from_utf8(&content).ok()?.trim_end())? {
        FileKind::Manifest(number) => Some(number),
        _ => None,
    }
}

/// What is known of a directory that has no file of foldb.
#[derive(Default)]
struct Evidence {
    /// A manifest or log has LevelDB's framing.
    framed: bool,
    /// `IDENTITY` or `OPTIONS-000005`.
    rocksdb_name: bool,
    /// A table has the magic of LevelDB.
    leveldb_table: bool,
    /// A table has the magic of RocksDB.
    rocksdb_table: bool,
    /// Names of tables.
    tables: Vec<String>,
}

impl Evidence {
    /// Takes note of a name that foldb does not give.
    fn name(&mut self, name: &str) {
        if name == "IDENTITY" || name.strip_prefix("OPTIONS-").is_some_and(is_number) {
            self.rocksdb_name = true;
        } else if let Some((stem, extension)) = name.split_once('.')
            && is_number(stem)
            && matches!(extension, "ldb" | "sst")
        {
            self.tables.push(name.to_owned());
        }
    }

    fn read_tables(&mut self, fs: &dyn FileSystem, names: &FileNames) {
        for name in self.tables.iter().take(TABLES_READ) {
            match last_bytes(fs, names, name) {
                Some(LEVELDB_TABLE) => self.leveldb_table = true,
                Some(ROCKSDB_TABLE) => self.rocksdb_table = true,
                _ => {}
            }
        }
    }

    fn engine(&self) -> Option<Engine> {
        if self.rocksdb_table {
            return Some(Engine::RocksDb);
        }
        (self.framed || self.leveldb_table).then_some(match self.rocksdb_name {
            true => Engine::RocksDb,
            false => Engine::LevelDb,
        })
    }
}

/// Returns whether all of the text is digits, as many as the engines write at least.
fn is_number(text: &str) -> bool {
    text.len() >= 6 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What the first bytes of a manifest or log say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstBytes {
    /// They have foldb's magic.
    Own,
    /// They are a record of LevelDB.
    Foreign,
    /// They are neither, or cannot be read.
    Unknown,
}

impl FirstBytes {
    fn is_own(self) -> bool {
        self == FirstBytes::Own
    }

    fn of(bytes: &[u8]) -> FirstBytes {
        let magic = bytes.get(OWN_MAGIC_AT..);
        if magic.is_some_and(|magic| LOG.begins(magic) || MANIFEST.begins(magic)) {
            return FirstBytes::Own;
        }
        match is_leveldb_record(bytes) {
            true => FirstBytes::Foreign,
            false => FirstBytes::Unknown,
        }
    }
}

fn first_bytes(fs: &dyn FileSystem, names: &FileNames, kind: FileKind) -> FirstBytes {
    let read = || {
        let file = fs.open(&names.of(kind))?;
        let mut bytes = vec![0; file.len()?.min(BLOCK as u64) as usize];
        file.read_exact_at(&mut bytes, 0)?;
        Ok::<_, std::io::Error>(bytes)
    };
    read().map_or(FirstBytes::Unknown, |bytes| FirstBytes::of(&bytes))
}

fn last_bytes(fs: &dyn FileSystem, names: &FileNames, name: &str) -> Option<[u8; 8]> {
    let file = fs.open(&names.directory().join(name)).ok()?;
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, file.len().ok()?.checked_sub(8)?).ok()?;
    Some(bytes)
}

/// Returns whether the bytes begin with a record of a LevelDB log or manifest. A record whose
/// checksum is wrong counts if it begins as the first record of a manifest does.
fn is_leveldb_record(bytes: &[u8]) -> bool {
    let Some((header, rest)) = bytes.split_first_chunk::<RECORD_HEADER>() else { return false };
    let [c0, c1, c2, c3, l0, l1, kind] = *header;
    // A record that begins a file is whole or the first part of one.
    if !matches!(kind, 1 | 2) {
        return false;
    }
    if rest.first() == Some(&1) && rest.get(2..10) == Some(b"leveldb.") {
        return true;
    }
    let payload = rest.get(..usize::from(u16::from_le_bytes([l0, l1])));
    payload.is_some_and(|payload| {
        let stored = u32::from_le_bytes([c0, c1, c2, c3]);
        !payload.is_empty() && stored == masked(crc32c(kind, payload))
    })
}

/// Returns the checksum as LevelDB stores it.
fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Returns the CRC-32C of the type and payload of a record. Bit by bit, because an open computes it
/// for a foreign file only.
fn crc32c(kind: u8, payload: &[u8]) -> u32 {
    !std::iter::once(&kind).chain(payload).fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc: u32, _| {
            (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg())
        })
    })
}
