//! Operators that a program brings when it opens the imported database with foldb's librocksdb.
//!
//! The import cannot fold their operands. It stores them as they are, under the name that
//! librocksdb gives to the operator of a family. It compares the old and the new database by
//! checksums of what each key has:
//!
//! ```text
//! a.PUT.1 a.MERGE.2 a.MERGE.3    compared as the checksum of (1; 2, 3)
//! ```
//!
//! Invariant: what is stored is never a checksum, because the writing database has only the
//! operator that fails.

use foldb::operators::{Full, MergeOperator};
use xxhash_rust::xxh3::Xxh3Default;

/// What stands for an operator of the program on the command line.
pub(crate) const BROUGHT: &str = "librocksdb";

/// An operator that keeps all operands.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) name: String,
}

/// An operator whose folds are checksums of what it is given.
#[derive(Debug)]
pub(crate) struct Summed {
    pub(crate) name: String,
}

impl MergeOperator for Kept {
    fn name(&self) -> &str {
        &self.name
    }

    fn full(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]], _: &mut Vec<u8>) -> Full {
        Full::Fail
    }
}

impl MergeOperator for Summed {
    fn name(&self) -> &str {
        &self.name
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let mut hash = Xxh3Default::new();
        hash.update(&[base.is_some().into()]);
        for part in base.iter().chain(operands) {
            // With their lengths, no two lists have the same bytes.
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        out.extend_from_slice(&hash.digest128().to_le_bytes());
        Full::Value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(base: Option<&[u8]>, operands: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let summed = Summed { name: "rocksdb.default".to_owned() };
        assert!(matches!(summed.full(b"key", base, operands, &mut out), Full::Value));
        out
    }

    #[test]
    fn histories_that_differ_have_different_sums() {
        let sums = [
            sum(None, &[b"ab"]),
            sum(None, &[b"a", b"b"]),
            sum(None, &[b"b", b"a"]),
            sum(Some(b"a"), &[b"b"]),
            sum(Some(b""), &[b"a", b"b"]),
            sum(None, &[b"", b"a", b"b"]),
        ];
        for (at, one) in sums.iter().enumerate() {
            assert!(sums[..at].iter().all(|other| other != one), "{at}");
        }
    }
}
