//! What a table says about the expiry of its records.
//!
//! ```text
//! merged since varint | half expires varint |
//! settings: rule u8 | lifetime varint | bucket varint          only in the table, not the manifest
//! ```

use crate::encoding::{ByteReader, put_varint};
use crate::error::Result;
use crate::fold::stamp::{Moment, NEVER, Rule, Stamp};
use crate::key::Kind;

/// The expiry of a table's records. An operand that keeps the end of its base has no end here: only
/// a fold with the base knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableExpiry {
    /// The earliest moment of an operand. Values below that had not expired by then may be needed.
    pub merged_since: Moment,
    /// When half of the records have expired, about.
    pub half_expires: Moment,
}

impl TableExpiry {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.merged_since));
        put_varint(out, u64::from(self.half_expires));
    }

    pub(crate) fn decode(bytes: &mut ByteReader<'_>) -> Result<TableExpiry> {
        let merged_since = bytes.varint32("expiry: merged since")?;
        Ok(TableExpiry { merged_since, half_expires: bytes.varint32("expiry: half expires")? })
    }
}

/// Collects the expiry of a table's records.
#[derive(Debug)]
pub(super) struct ExpiryCounts {
    merged_since: Moment,
    /// Evenly spaced samples of the ends.
    samples: Vec<Moment>,
    /// Records from one sample to the next.
    step: u64,
    records: u64,
    /// When the newer records of the key have expired.
    end_of_newer: Moment,
}

/// Most samples of the ends.
const MOST_SAMPLES: usize = 256;

impl Default for ExpiryCounts {
    fn default() -> ExpiryCounts {
        ExpiryCounts {
            merged_since: NEVER,
            samples: Vec::new(),
            step: 1,
            records: 0,
            end_of_newer: 0,
        }
    }
}

impl ExpiryCounts {
    /// Notes a record. Those of a key come newest first, and `is_newest` tells the first of them.
    ///
    /// A record goes when the newer ones of its key have expired too. Otherwise a base that an
    /// operand still needs would make the table look worth a rewrite, again and again.
    pub(super) fn note(&mut self, kind: Kind, stored: &[u8], is_newest: bool) {
        if is_newest {
            self.end_of_newer = 0;
        }
        let Some((_, stamp)) = Stamp::split(stored).filter(|_| kind.may_expire()) else { return };
        if kind == Kind::Merge {
            self.merged_since = self.merged_since.min(stamp.written);
        }
        let is_open = kind == Kind::Merge && stamp.rule == Rule::Keep;
        let own = if is_open { NEVER } else { stamp.expires };
        let end = own.max(self.end_of_newer);
        self.end_of_newer = end;
        if self.records.is_multiple_of(self.step) {
            if self.samples.len() == MOST_SAMPLES {
                let mut index = 0;
                self.samples.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.step *= 2;
            }
            if self.records.is_multiple_of(self.step) {
                self.samples.push(end);
            }
        }
        self.records += 1;
    }

    pub(super) fn finish(&mut self) -> TableExpiry {
        self.samples.sort_unstable();
        let middle = self.samples.len().div_ceil(2).saturating_sub(1);
        let half_expires = self.samples.get(middle).copied().unwrap_or(NEVER);
        TableExpiry { merged_since: self.merged_since, half_expires }
    }
}
