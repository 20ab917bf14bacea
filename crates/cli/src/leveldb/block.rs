//! A block of a LevelDB table: entries in the order of their keys.
//!
//! ```text
//! entries:  shared varint | own varint | value length varint | own key bytes | value
//! restarts: offset u32 of every 16th entry, which shares nothing | count u32
//! ```
//!
//! An entry shares its first key bytes with the key before it.

use super::encoding::{Fields, put_varint};

/// Entries between two restarts.
const RESTART_INTERVAL: usize = 16;

/// A block being read from its first entry to its last.
#[derive(Debug, Default)]
pub(super) struct Block {
    bytes: Vec<u8>,
    /// Where the next entry begins, and where the entries end.
    at: usize,
    end: usize,
    key: Vec<u8>,
    value: std::ops::Range<usize>,
}

impl Block {
    /// Takes the bytes of a block. `None` if they are no block.
    pub(super) fn new(bytes: Vec<u8>) -> Option<Block> {
        let count = bytes.last_chunk::<4>().map(|count| u32::from_le_bytes(*count))?;
        let restarts = usize::try_from(count).ok()?.checked_add(1)?.checked_mul(4)?;
        let end = bytes.len().checked_sub(restarts)?;
        Some(Block { bytes, end, ..Block::default() })
    }

    /// Moves to the next entry. Returns false at the end of the block, and `None` if the entry is
    /// damaged.
    pub(super) fn advance(&mut self) -> Option<bool> {
        if self.at == self.end {
            return Some(false);
        }
        let mut fields = Fields(&self.bytes[self.at..self.end]);
        let shared = fields.varint32()? as usize;
        let own = fields.varint32()? as usize;
        let value_len = fields.varint32()? as usize;
        let key = fields.take(own)?;
        let value = fields.take(value_len)?;
        if shared > self.key.len() {
            return None;
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(key);
        let left = fields.0.len();
        let value_len = value.len();
        self.at = self.end - left;
        self.value = self.at - value_len..self.at;
        Some(true)
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn value(&self) -> &[u8] {
        &self.bytes[self.value.clone()]
    }
}

/// A block being written.
#[derive(Debug)]
pub(super) struct BlockBuilder {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    since_restart: usize,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    pub(super) fn new() -> BlockBuilder {
        let (bytes, last_key) = (Vec::new(), Vec::new());
        BlockBuilder { bytes, restarts: vec![0], since_restart: 0, last_key }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() + 4 * self.restarts.len() + 4
    }

    /// Adds an entry. Its key is larger than the last one.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        // A restart needs an offset of 32 bits, so an entry above it shares with the one before.
        let begins_restart = self.since_restart == RESTART_INTERVAL;
        let mut shared = 0;
        match u32::try_from(self.bytes.len()) {
            Ok(offset) if begins_restart => {
                self.restarts.push(offset);
                self.since_restart = 0;
            }
            _ => {
                let pairs = self.last_key.iter().zip(key);
                shared = pairs.take_while(|(last, own)| last == own).count();
            }
        }
        for length in [shared, key.len() - shared, value.len()] {
            put_varint(&mut self.bytes, length as u64);
        }
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        self.since_restart += 1;
    }

    /// Returns the whole block.
    pub(super) fn finish(mut self) -> Vec<u8> {
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        self.bytes.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut entries = vec![(Vec::new(), b"empty key".to_vec())];
        for n in 0..50 {
            entries.push((format!("key{n:04}").into_bytes(), vec![n; usize::from(n)]));
        }
        entries
    }

    fn block() -> Vec<u8> {
        let mut builder = BlockBuilder::new();
        assert!(builder.is_empty());
        entries().iter().for_each(|(key, value)| builder.add(key, value));
        let len = builder.len();
        let bytes = builder.finish();
        assert_eq!(bytes.len(), len);
        bytes
    }

    #[test]
    fn a_block_is_read_as_written() {
        let mut block = Block::new(block()).unwrap();
        for (key, value) in entries() {
            assert_eq!(block.advance(), Some(true));
            assert_eq!((block.key(), block.value()), (&key[..], &value[..]));
        }
        assert_eq!(block.advance(), Some(false));
        let mut empty = Block::new(BlockBuilder::new().finish()).unwrap();
        assert_eq!(empty.advance(), Some(false));
    }

    #[test]
    fn damaged_bytes_do_not_panic() {
        let good = block();
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[at] ^= 1 << bit;
                let Some(mut block) = Block::new(bytes) else { continue };
                while block.advance() == Some(true) {
                    let _ = (block.key(), block.value());
                }
            }
            let Some(mut block) = Block::new(good[..at].to_vec()) else { continue };
            while block.advance() == Some(true) {}
        }
    }
}
