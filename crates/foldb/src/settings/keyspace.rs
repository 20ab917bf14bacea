//! The settings that a keyspace may have of its own.
//!
//! ```text
//! settings, in the manifest:  compression u8 | filter bits varint | compaction preset u8
//!                             [least bytes of a separated value varint [expiry]]
//! ```

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, ErrorKind, Result};
use crate::settings::{CompactionPreset, Compression, Expiry, codec_from_u8};

/// The part of a keyspace's options that the manifest keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyspaceSettings {
    pub(crate) compression: Compression,
    pub(crate) bloom_bits: u32,
    pub(crate) compaction: CompactionPreset,
    pub(crate) value_separation_min: Option<usize>,
    /// When entries expire. If they do, no value is separated.
    pub(crate) expiry: Option<Expiry>,
}

impl KeyspaceSettings {
    /// Returns the filter bits per key of tables in a level. Each level above the last gets two
    /// more bits. So the false positives of all levels together stay a small multiple of the last
    /// level's.
    pub(crate) fn filter_bits(&self, num_levels: usize, level: usize) -> u32 {
        match self.bloom_bits {
            0 => 0,
            bits => bits + 2 * (num_levels - 1).saturating_sub(level).min(3) as u32,
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.compression as u8);
        put_varint(out, u64::from(self.bloom_bits));
        out.push(self.compaction as u8);
        if let Some(min) = self.value_separation_min {
            put_varint(out, min as u64);
        }
        if let Some(expiry) = &self.expiry {
            debug_assert!(self.value_separation_min.is_some(), "the fields stand in this order");
            expiry.encode(out);
        }
    }

    /// # Errors
    /// `Corruption`, or `Unsupported` for a codec or preset of a later version.
    pub(crate) fn decode(body: &mut ByteReader<'_>) -> Result<KeyspaceSettings> {
        let compression = codec_from_u8(body.u8("compression")?)?;
        let bloom_bits = body.varint32("filter bits")?;
        if bloom_bits > 64 {
            return Err(Error::corruption(format!(
                "expected at most 64 filter bits, found {bloom_bits}"
            )));
        }
        let compaction = body.u8("compaction preset")?;
        let compaction = CompactionPreset::from_u8(compaction).ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!("unknown compaction preset {compaction}: use the foldb that wrote it"),
            )
        })?;
        let value_separation_min = match body.is_empty() {
            true => None,
            false => Some(body.varint("least bytes of a separated value")?),
        };
        let value_separation_min =
            value_separation_min.map(|min| usize::try_from(min).unwrap_or(usize::MAX));
        let expiry = if body.is_empty() { None } else { Some(Expiry::decode(body)?) };
        Ok(KeyspaceSettings { compression, bloom_bits, compaction, value_separation_min, expiry })
    }
}
