//! A block of a table: entries in the order of their keys.
//!
//! ```text
//! entries:  shared varint | own varint | value length varint | own key bytes | value
//! restarts: offset u32 of every 16th entry, which shares nothing | count u32
//! ```
//!
//! An entry shares its first key bytes with the key before it.
//!
//! Invariant: a cursor never leaves the contents, whatever bytes they hold. Bytes that are no entry
//! end the walk, and the cursor says so.

use std::cmp::Ordering;
use std::ops::Range;

use crate::Order;
use crate::encoding::{Fields, put_varint};

/// A place in a block: on an entry, or on none.
#[derive(Debug)]
pub struct Cursor<B> {
    bytes: B,
    /// Where the entries end.
    end: usize,
    restarts: usize,
    /// Where the entry begins, and where the next one does. Both are `end` without an entry.
    at: usize,
    next: usize,
    key: Vec<u8>,
    value: Range<usize>,
    is_damaged: bool,
}

/// The parts of an entry: how many bytes of its key it shares, and where the rest is.
struct Entry {
    shared: usize,
    own: Range<usize>,
    value: Range<usize>,
}

impl<B: AsRef<[u8]>> Cursor<B> {
    /// Returns a cursor on no entry. `None` if the bytes are no block.
    pub fn new(bytes: B) -> Option<Cursor<B>> {
        let all = bytes.as_ref();
        let count = all.last_chunk::<4>().map(|count| u32::from_le_bytes(*count))?;
        let restarts = usize::try_from(count).ok()?;
        let mut end = all.len().checked_sub(restarts.checked_add(1)?.checked_mul(4)?)?;
        if restarts == 0 {
            // No search could begin, so such a block shows no entry.
            end = 0;
        }
        Cursor::within(bytes, end, restarts)
    }

    /// Returns a cursor on no entry of a block with this many restarts, which begin where the
    /// entries end. `None` if the bytes end before the restarts do.
    pub fn within(bytes: B, end: usize, restarts: usize) -> Option<Cursor<B>> {
        let behind = end.checked_add(restarts.checked_mul(4)?)?;
        if behind > bytes.as_ref().len() {
            return None;
        }
        let (key, value) = (Vec::new(), 0..0);
        Some(Cursor { bytes, end, restarts, at: end, next: end, key, value, is_damaged: false })
    }

    /// Returns whether the cursor is on an entry.
    pub fn is_valid(&self) -> bool {
        self.at < self.end
    }

    /// Returns whether the cursor has met bytes that are no entry.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Returns the key of the entry.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the value of the entry.
    pub fn value(&self) -> &[u8] {
        &self.bytes.as_ref()[self.value.clone()]
    }

    /// Moves to the first entry.
    pub fn first(&mut self) {
        if self.go_to_restart(0) {
            self.step();
        }
    }

    /// Moves to the last entry.
    pub fn last(&mut self) {
        if self.restarts > 0 && self.go_to_restart(self.restarts - 1) {
            while self.step() && self.next < self.end {}
        }
    }

    /// Moves to the first entry whose key is not before `target`.
    pub fn seek(&mut self, target: &[u8], order: &impl Order) {
        // The entry is behind the last restart whose key is before the target.
        let (mut before, mut behind) = (0, self.restarts);
        while behind - before > 1 {
            let middle = before + (behind - before) / 2;
            let Some(key) = self.restart_key(middle) else {
                self.fail();
                return;
            };
            match order.compare(&self.bytes.as_ref()[key], target) {
                Ordering::Less => before = middle,
                _ => behind = middle,
            }
        }
        if self.go_to_restart(before) {
            while self.step() && order.compare(&self.key, target) == Ordering::Less {}
        }
    }

    /// Moves to the next entry, or past the last one.
    pub fn next(&mut self) {
        self.step();
    }

    /// Moves to the entry before, or to none from the first one.
    pub fn prev(&mut self) {
        let before = self.at;
        if before == 0 {
            return self.go_to_end();
        }
        if !self.go_to_restart(self.last_restart_before(before)) {
            return;
        }
        // A step back must not go forward: a loop of steps back would never end.
        if self.next >= before {
            self.fail();
            return;
        }
        while self.step() && self.next < before {}
    }

    fn restart(&self, index: usize) -> usize {
        let at = self.end + 4 * index;
        let offset = self.bytes.as_ref().get(at..).and_then(|bytes| bytes.first_chunk::<4>());
        offset.map_or(usize::MAX, |offset| u32::from_le_bytes(*offset) as usize)
    }

    /// Returns the last restart before an offset, which is behind the first entry.
    fn last_restart_before(&self, offset: usize) -> usize {
        let (mut before, mut behind) = (0, self.restarts);
        while behind - before > 1 {
            let middle = before + (behind - before) / 2;
            if self.restart(middle) < offset {
                before = middle;
            } else {
                behind = middle;
            }
        }
        before
    }

    /// Returns where the key at a restart is. `None` if there is none.
    fn restart_key(&self, index: usize) -> Option<Range<usize>> {
        let entry = self.entry(self.restart(index))?;
        (entry.shared == 0).then_some(entry.own)
    }

    /// Prepares a step to the entry at a restart, and leaves the cursor on none.
    fn go_to_restart(&mut self, index: usize) -> bool {
        if self.restarts == 0 {
            return false;
        }
        let offset = self.restart(index);
        self.go_to_end();
        // The only restart of a block without entries is at its end.
        if offset > self.end {
            return self.fail();
        }
        self.next = offset;
        true
    }

    /// Moves to the entry at `next`. Returns whether there is one.
    fn step(&mut self) -> bool {
        if self.next >= self.end {
            self.go_to_end();
            return false;
        }
        let Some(entry) = self.entry(self.next).filter(|entry| entry.shared <= self.key.len())
        else {
            return self.fail();
        };
        self.key.truncate(entry.shared);
        self.key.extend_from_slice(&self.bytes.as_ref()[entry.own]);
        self.at = self.next;
        self.next = entry.value.end;
        self.value = entry.value;
        true
    }

    /// Reads the entry at an offset. `None` if the bytes are none.
    fn entry(&self, at: usize) -> Option<Entry> {
        let entries = &self.bytes.as_ref()[..self.end];
        let mut fields = Fields(entries.get(at..).filter(|rest| !rest.is_empty())?);
        let shared = fields.varint32()? as usize;
        let own = fields.varint32()? as usize;
        let value = fields.varint32()? as usize;
        let begin = self.end - fields.0.len();
        let middle = begin.checked_add(own)?;
        let end = middle.checked_add(value).filter(|&end| end <= self.end)?;
        Some(Entry { shared, own: begin..middle, value: middle..end })
    }

    fn go_to_end(&mut self) {
        (self.at, self.next) = (self.end, self.end);
        self.key.clear();
        self.value = 0..0;
    }

    fn fail(&mut self) -> bool {
        self.go_to_end();
        self.is_damaged = true;
        false
    }
}

/// A block being written.
#[derive(Debug)]
pub struct BlockBuilder {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    /// Entries between two restarts.
    interval: usize,
    since_restart: usize,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    /// Begins a block with this number of entries between two restarts.
    pub fn new(interval: usize) -> BlockBuilder {
        let (bytes, last_key) = (Vec::new(), Vec::new());
        BlockBuilder { bytes, restarts: vec![0], interval, since_restart: 0, last_key }
    }

    /// Sets the interval from the next entry on.
    pub fn set_interval(&mut self, interval: usize) {
        self.interval = interval;
    }

    /// Returns whether the block has no entry.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes of the block if no entry follows.
    pub fn len(&self) -> usize {
        self.bytes.len() + 4 * self.restarts.len() + 4
    }

    /// Adds an entry. Its key is larger than the last one.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        // A restart needs an offset of 32 bits, so an entry above it shares with the one before.
        let begins_restart = self.since_restart >= self.interval;
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

    /// Adds the restarts, and returns the whole block. Call [`BlockBuilder::clear`] next.
    pub fn finish(&mut self) -> &[u8] {
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        self.bytes.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        &self.bytes
    }

    /// Begins the next block.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.restarts.truncate(1);
        self.since_restart = 0;
        self.last_key.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytewise;

    fn entries() -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut entries = vec![(Vec::new(), b"empty key".to_vec())];
        for n in 0..50 {
            entries.push((format!("key{n:04}").into_bytes(), vec![n; usize::from(n)]));
        }
        entries
    }

    fn block(interval: usize) -> Vec<u8> {
        let mut builder = BlockBuilder::new(interval);
        assert!(builder.is_empty());
        entries().iter().for_each(|(key, value)| builder.add(key, value));
        let len = builder.len();
        let bytes = builder.finish().to_vec();
        assert_eq!(bytes.len(), len);
        builder.clear();
        assert_eq!(builder.finish(), [0, 0, 0, 0, 1, 0, 0, 0]);
        bytes
    }

    fn entry(cursor: &Cursor<&[u8]>) -> Option<(Vec<u8>, Vec<u8>)> {
        cursor.is_valid().then(|| (cursor.key().to_vec(), cursor.value().to_vec()))
    }

    #[test]
    fn a_block_is_read_as_written_in_both_directions() {
        for interval in [1, 3, 16, 1000] {
            let bytes = block(interval);
            let mut cursor = Cursor::new(&bytes[..]).unwrap();
            assert_eq!(entry(&cursor), None);
            cursor.first();
            for expected in entries() {
                assert_eq!(entry(&cursor), Some(expected));
                cursor.next();
            }
            assert_eq!(entry(&cursor), None);
            cursor.last();
            for expected in entries().into_iter().rev() {
                assert_eq!(entry(&cursor), Some(expected));
                cursor.prev();
            }
            assert_eq!(entry(&cursor), None);
            assert!(!cursor.is_damaged());
        }
    }

    #[test]
    fn a_search_finds_the_first_key_that_is_not_before_the_target() {
        for interval in [1, 3, 16, 1000] {
            let bytes = block(interval);
            let mut cursor = Cursor::new(&bytes[..]).unwrap();
            for target in ["", "a", "key", "key0000", "key0016x", "key0030", "key0049", "key0049x"]
            {
                cursor.seek(target.as_bytes(), &Bytewise);
                let mut after =
                    entries().into_iter().filter(|(key, _)| &key[..] >= target.as_bytes());
                assert_eq!(entry(&cursor), after.next(), "{target}");
            }
        }
    }

    #[test]
    fn a_block_without_entries_shows_none() {
        let one_restart = BlockBuilder::new(1).finish().to_vec();
        for bytes in [&one_restart[..], &[0; 4], &[9, 9, 9, 0, 0, 0, 0]] {
            let mut cursor = Cursor::new(bytes).unwrap();
            cursor.first();
            assert_eq!(entry(&cursor), None);
            cursor.last();
            assert_eq!(entry(&cursor), None);
            cursor.seek(b"", &Bytewise);
            assert_eq!((entry(&cursor), cursor.is_damaged()), (None, false));
        }
        assert!(Cursor::new(&[1, 0, 0][..]).is_none());
        assert!(Cursor::new(&[1, 0, 0, 0][..]).is_none());
    }

    /// Walks, steps and searches. Every walk ends.
    fn use_all(bytes: &[u8]) {
        let Some(mut cursor) = Cursor::new(bytes) else { return };
        let mut left = 2 * bytes.len() + 2;
        let mut all = Vec::new();
        cursor.first();
        while let Some((key, _)) = entry(&cursor) {
            all.push(key);
            cursor.next();
            left = left.checked_sub(1).expect("a walk forward ends");
        }
        cursor.last();
        while cursor.is_valid() {
            cursor.prev();
            left = left.checked_sub(1).expect("a walk backward ends");
        }
        for key in &all {
            cursor.seek(key, &Bytewise);
            cursor.prev();
        }
    }

    #[test]
    fn damaged_bytes_do_not_panic() {
        let good = block(4);
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[at] ^= 1 << bit;
                use_all(&bytes);
            }
            use_all(&good[..at]);
        }
    }
}
