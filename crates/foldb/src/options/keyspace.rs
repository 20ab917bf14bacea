//! The options with which a keyspace is created.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::key::{Comparator, FilterPolicy};
use crate::options::Options;
use crate::settings::{CompactionPreset, Compression, Expiry, KeyspaceSettings};

/// The options with which a keyspace is created. `None` takes the value of the database's
/// [`Options`]. The database stores them all: a keyspace is opened as it was created.
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
    /// The operator of merges that name none, as `NAME` or `NAME:PARAM`.
    pub merge_operator: Option<String>,
    /// The order of the keys. Every later open must register a comparator of the program's in
    /// [`Options::comparators`].
    pub comparator: Option<Arc<dyn Comparator>>,
    /// The compression codec of blocks.
    pub compression: Option<Compression>,
    /// Filter bits per key in the last level, at most 64; see [`Options::bloom_bits`].
    pub bloom_bits: Option<u32>,
    /// Makes the filters of the keyspace's tables; see [`Options::filter_policy`]. The database
    /// stores its name. Later opens register the policy in [`Options::filter_policies`].
    pub filter_policy: Option<Arc<dyn FilterPolicy>>,
    /// The shape of the tree.
    pub compaction: Option<CompactionPreset>,
    /// Bytes from which a value is separated; see [`Options::value_separation_min`]. `usize::MAX`:
    /// no value is, whatever the database's options say.
    pub value_separation_min: Option<usize>,
    /// When entries expire. `None`: never. The database's options have no such setting, so entries
    /// of the keyspace `default` never expire. Values of a keyspace with expiry are not separated.
    pub expiry: Option<Expiry>,
}

impl KeyspaceOptions {
    /// Returns the settings that the manifest stores of a new keyspace.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the option that is out of range; `Unsupported` for a codec that
    /// this build lacks.
    pub(crate) fn settings(&self, database: &Options) -> Result<KeyspaceSettings> {
        let settings = KeyspaceSettings {
            compression: self.compression.unwrap_or(database.compression),
            bloom_bits: self.bloom_bits.unwrap_or(database.bloom_bits),
            compaction: self.compaction.unwrap_or(database.compaction),
            value_separation_min: match self.expiry {
                None => self.value_separation_min.or(database.value_separation_min),
                Some(_) => Some(usize::MAX),
            },
            expiry: self.expiry,
        };
        if let Some(expiry) = &self.expiry {
            expiry.check()?;
        }
        settings.compression.check_supported()?;
        if settings.bloom_bits > 64 {
            return Err(Error::invalid_argument(format!(
                "bloom_bits is {}, but must be at most 64",
                settings.bloom_bits
            )));
        }
        Ok(settings)
    }
}

impl Options {
    /// Returns the settings of a keyspace with expiry, otherwise those of the default keyspace.
    pub(crate) fn settings_with(&self, expiry: Expiry) -> KeyspaceSettings {
        let value_separation_min = Some(usize::MAX);
        let expiry = Some(expiry);
        KeyspaceSettings { value_separation_min, expiry, ..self.keyspace_settings() }
    }

    /// Returns the settings that the manifest stores of the default keyspace.
    pub(crate) fn keyspace_settings(&self) -> KeyspaceSettings {
        KeyspaceSettings {
            compression: self.compression,
            bloom_bits: self.bloom_bits,
            compaction: self.compaction,
            value_separation_min: self.value_separation_min,
            expiry: None,
        }
    }
}
