//! The two operators the workloads merge with, for engines that have none.

/// A merge operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Adds 8-byte little-endian integers, wrapping.
    Add,
    /// Keeps the larger string, in the order of its bytes.
    Max,
}

impl Operator {
    /// Its name, in foldb and in RocksDB.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Add => "uint64add",
            Operator::Max => "max",
        }
    }

    /// Returns the result of merging `operand` into `value`.
    pub fn apply(self, value: Option<&[u8]>, operand: &[u8]) -> Vec<u8> {
        match (self, value) {
            (Operator::Add, Some(value)) => {
                (number(value).wrapping_add(number(operand))).to_le_bytes().to_vec()
            }
            (Operator::Max, Some(value)) => value.max(operand).to_vec(),
            (_, None) => operand.to_vec(),
        }
    }
}

/// The number in 8 bytes; other lengths count as 0, as in RocksDB.
fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_start_with_the_operand() {
        for operator in [Operator::Add, Operator::Max] {
            assert_eq!(operator.apply(None, &[7; 8]), [7; 8]);
        }
    }

    #[test]
    fn addition_wraps_and_max_compares_bytes() {
        let two = 2_u64.to_le_bytes();
        assert_eq!(Operator::Add.apply(Some(&u64::MAX.to_le_bytes()), &two), 1_u64.to_le_bytes());
        assert_eq!(Operator::Max.apply(Some(b"b"), b"aa"), b"b");
    }
}
