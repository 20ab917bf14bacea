//! What one keyspace may have of its own.
//!
//! ```text
//! settings, in the manifest:  compression u8 | filter bits varint | compaction preset u8
//!                             [least bytes of a separated value varint]
//! ```

use std::sync::Arc;

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, ErrorKind, Result};
use crate::key::Comparator;
use crate::options::validate::check_compression;
use crate::options::{CompactionPreset, Compression, Options};
use crate::table::codec_from_u8;

/// How a keyspace is created. What is `None` is as the database's [`Options`] say at that moment.
/// All of it is stored: a keyspace is opened as it was created.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::{Compression, KeyspaceOptions};
///
/// let options = KeyspaceOptions {
///     merge_operator: Some("uint64add".to_owned()),
///     compression: Some(Compression::None),
///     ..KeyspaceOptions::default()
/// };
/// let counters = db.create_keyspace("counters", options)?;
/// counters.merge("visits", 1u64.to_le_bytes())?;
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeyspaceOptions {
    /// Operator of merges that name none, as `NAME` or `NAME:PARAM`.
    pub merge_operator: Option<String>,
    /// Order of the keys. One of your own must be in [`Options::comparators`] whenever the database
    /// is opened again.
    pub comparator: Option<Arc<dyn Comparator>>,
    /// How blocks are compressed.
    pub compression: Option<Compression>,
    /// Filter bits per key in the last level, at most 64; see [`Options::bloom_bits`].
    pub bloom_bits: Option<u32>,
    /// Shape of the tree.
    pub compaction: Option<CompactionPreset>,
    /// Bytes from which a value is separated; see [`Options::value_separation_min`]. `usize::MAX`:
    /// none is, whatever the database's options say.
    pub value_separation_min: Option<usize>,
}

/// What the manifest keeps of a keyspace's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyspaceSettings {
    pub(crate) compression: Compression,
    pub(crate) bloom_bits: u32,
    pub(crate) compaction: CompactionPreset,
    pub(crate) value_separation_min: Option<usize>,
}

impl KeyspaceSettings {
    /// Those of the default keyspace.
    pub(crate) fn of_database(options: &Options) -> KeyspaceSettings {
        KeyspaceSettings {
            compression: options.compression,
            bloom_bits: options.bloom_bits,
            compaction: options.compaction,
            value_separation_min: options.value_separation_min,
        }
    }

    /// Those of a keyspace to be created.
    ///
    /// # Errors
    /// `InvalidArgument`, naming what is out of range; `Unsupported` for a codec that this build
    /// has not.
    pub(crate) fn new(own: &KeyspaceOptions, database: &Options) -> Result<KeyspaceSettings> {
        let settings = KeyspaceSettings {
            compression: own.compression.unwrap_or(database.compression),
            bloom_bits: own.bloom_bits.unwrap_or(database.bloom_bits),
            compaction: own.compaction.unwrap_or(database.compaction),
            value_separation_min: own.value_separation_min.or(database.value_separation_min),
        };
        check_compression(settings.compression)?;
        if settings.bloom_bits > 64 {
            return Err(Error::invalid_argument(format!(
                "bloom_bits is {}, but must be at most 64",
                settings.bloom_bits
            )));
        }
        Ok(settings)
    }

    /// Filter bits per key of tables in a level. Each level above the last gets two more, so that
    /// the false positives of all of them stay a small multiple of the last level's.
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
                format!("compaction preset {compaction} is of a newer foldb"),
            )
        })?;
        let value_separation_min = match body.is_empty() {
            true => None,
            false => Some(body.varint("least bytes of a separated value")?),
        };
        let value_separation_min =
            value_separation_min.map(|min| usize::try_from(min).unwrap_or(usize::MAX));
        Ok(KeyspaceSettings { compression, bloom_bits, compaction, value_separation_min })
    }
}
