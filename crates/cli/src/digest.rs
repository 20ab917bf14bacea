//! A count and a checksum of entries in the order of their keys, to compare two databases.

use xxhash_rust::xxh3::Xxh3Default;

/// Entries that were counted, and their checksum.
#[derive(Clone, Default)]
pub(crate) struct Digest {
    entries: u64,
    bytes: u64,
    hash: Xxh3Default,
}

impl Digest {
    /// Adds an entry.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.entries += 1;
        self.bytes += (key.len() + value.len()) as u64;
        // With their lengths, no two lists of entries have the same bytes.
        self.hash.update(&(key.len() as u64).to_le_bytes());
        self.hash.update(key);
        self.hash.update(&(value.len() as u64).to_le_bytes());
        self.hash.update(value);
    }

    /// Returns the number of entries.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the bytes of all keys and values.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the checksum as text.
    pub(crate) fn checksum(&self) -> String {
        format!("{:032x}", self.hash.digest128())
    }

    /// Describes how another list of entries differs; `None` if it is the same.
    pub(crate) fn difference(&self, other: &Digest) -> Option<String> {
        let (entries, checksum) = (self.entries, self.checksum());
        if entries == other.entries && checksum == other.checksum() {
            return None;
        }
        Some(format!(
            "expected {entries} entries with the checksum {checksum}, found {} with {}",
            other.entries,
            other.checksum()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entries: &[(&str, &str)]) -> Digest {
        let mut digest = Digest::default();
        entries.iter().for_each(|(key, value)| digest.add(key.as_bytes(), value.as_bytes()));
        digest
    }

    #[test]
    fn other_entries_have_another_digest() {
        let base = of(&[("a", "1"), ("b", "2")]);
        assert_eq!(base.difference(&of(&[("a", "1"), ("b", "2")])), None);
        let others: [&[(&str, &str)]; 6] = [
            &[],
            &[("a", "1")],
            &[("a", "1"), ("b", "3")],
            &[("b", "2"), ("a", "1")],
            &[("a", "1b2"), ("", "")],
            &[("a1", ""), ("b", "2")],
        ];
        for other in others {
            let difference = base.difference(&of(other)).unwrap();
            assert!(difference.starts_with("expected 2 entries"), "{difference}");
        }
        assert_eq!((base.entries(), base.bytes()), (2, 4));
    }
}
