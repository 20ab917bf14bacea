//! The reader of dumps, for fuzzing: see [`crate::decoders`].
//!
//! ```text
//! input: blocks      block: kind u8 | length u16 | payload
//! ```
//!
//! The blocks become a dump whose checksums are right.

use foldb_env::{Env, MemFs};

use super::format::{BlockKind, BlockWriter, Counts};
use crate::db::handle::database::Db;
use crate::encoding::ByteReader;
use crate::options::Options;

fn options(fs: &MemFs) -> Options {
    Options { env: Env::in_memory(fs.clone()), ..Options::default() }
}

/// Restores a forged dump. What a restore makes is a sound database.
pub(crate) fn dump(bytes: &[u8]) {
    let Some(forged) = forge(bytes) else { return };
    let fs = MemFs::new();
    let restored = Db::restore(&forged[..], "db", options(&fs));
    match restored {
        Ok(_) => {
            let db = Db::open("db", options(&fs)).expect("what was restored opens");
            db.verify().expect("what was restored is sound");
        }
        // A failed restore leaves no database.
        Err(_) => assert!(Db::open("db", options(&fs)).is_err()),
    }
}

fn forge(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = ByteReader::new(bytes);
    let mut forged = Vec::new();
    let mut dump = BlockWriter::begin(&mut forged).ok()?;
    while let Ok(kind) = bytes.u8("kind") {
        let mut half = || bytes.u8("length").map_or(0, usize::from);
        let len = (half() | half() << 8).min(bytes.remaining());
        let payload = bytes.take(len, "payload").ok()?;
        let kind = match kind {
            1 => BlockKind::Operator,
            2 => BlockKind::Keyspace,
            3 => BlockKind::Entries,
            _ => {
                let mut numbers = ByteReader::new(payload);
                let mut number = || numbers.u64("number").unwrap_or(0);
                let counts = Counts { keyspaces: number(), keys: number(), operands: number() };
                dump.finish(&counts).ok()?;
                return Some(forged);
            }
        };
        dump.block(kind, payload).ok()?;
    }
    Some(forged)
}

/// Returns the input that becomes a dump.
#[cfg(test)]
pub(crate) fn input(dump: &[u8]) -> Vec<u8> {
    let mut reader = super::format::BlockReader::begin(dump).unwrap();
    let mut input = Vec::new();
    loop {
        let block = reader.next().unwrap();
        input.push(block.kind as u8);
        input.extend_from_slice(&(block.payload.len() as u16).to_le_bytes());
        input.extend_from_slice(block.payload);
        if block.kind == BlockKind::End {
            return input;
        }
    }
}
