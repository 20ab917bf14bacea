//! The codecs and compaction presets, with their names in commands and dumps.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};

/// The compression codec of blocks. The numbers are on disk: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Compression {
    /// Blocks are not compressed.
    None = 0,
    /// LZ4: the default.
    Lz4 = 1,
    /// Snappy, LevelDB's codec. It needs the cargo feature `snappy`. Without the feature, an open
    /// with this option and a read of such blocks fail with `Unsupported`.
    Snappy = 2,
    /// Zstandard at level 3: smaller than LZ4, and slower to write and to read. It is the only
    /// codec in C, so it needs the cargo feature `zstd`. Without the feature, an open with this
    /// option and a read of such blocks fail with `Unsupported`.
    Zstd = 3,
}

/// The three shapes of the one compaction policy. The numbers are on disk: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum CompactionPreset {
    /// One run per level, each `max_bytes_for_level_multiplier` times the size of the one above:
    /// shortest reads, highest write amplification. RocksDB: leveled.
    Leveled = 0,
    /// Runs gather at every level: lowest write amplification, longest reads, most space. RocksDB:
    /// universal.
    Tiered = 1,
    /// Runs gather above one sorted last level: nearly tiered's write amplification at nearly
    /// leveled's space.
    LazyLeveled = 2,
}

impl Compression {
    /// All codecs, whether or not this build has them.
    pub const ALL: [Compression; 4] =
        [Compression::None, Compression::Lz4, Compression::Snappy, Compression::Zstd];

    /// Returns the name: `none`, `lz4`, `snappy` or `zstd`.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
            Compression::Snappy => "snappy",
            Compression::Zstd => "zstd",
        }
    }
}

impl Compression {
    /// # Errors
    /// `Unsupported` if this build has no such codec.
    pub(crate) fn check_supported(self) -> Result<()> {
        match self {
            Compression::Snappy => compiled_in(self, cfg!(feature = "snappy")),
            Compression::Zstd => compiled_in(self, cfg!(feature = "zstd")),
            Compression::None | Compression::Lz4 => Ok(()),
        }
    }
}

impl CompactionPreset {
    /// All presets.
    pub const ALL: [CompactionPreset; 3] =
        [CompactionPreset::Leveled, CompactionPreset::Tiered, CompactionPreset::LazyLeveled];

    /// Returns the name: `leveled`, `tiered` or `lazy leveled`.
    pub fn name(self) -> &'static str {
        match self {
            CompactionPreset::Leveled => "leveled",
            CompactionPreset::Tiered => "tiered",
            CompactionPreset::LazyLeveled => "lazy leveled",
        }
    }

    /// Returns the preset of this number, if there is one.
    pub(crate) fn from_u8(byte: u8) -> Option<CompactionPreset> {
        CompactionPreset::ALL.into_iter().find(|preset| *preset as u8 == byte)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for CompactionPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Compression {
    type Err = Error;

    /// # Errors
    /// `InvalidArgument`, with the valid names.
    fn from_str(name: &str) -> Result<Compression> {
        let found = Compression::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| unknown("compression", name, &Compression::ALL.map(Compression::name)))
    }
}

impl FromStr for CompactionPreset {
    type Err = Error;

    /// # Errors
    /// `InvalidArgument`, with the valid names.
    fn from_str(name: &str) -> Result<CompactionPreset> {
        let found = CompactionPreset::ALL.into_iter().find(|known| known.name() == name);
        let names = CompactionPreset::ALL.map(CompactionPreset::name);
        found.ok_or_else(|| unknown("compaction", name, &names))
    }
}

fn unknown(option: &str, name: &str, names: &[&str]) -> Error {
    let (name, names) = (name.escape_debug(), names.join(", "));
    Error::invalid_argument(format!("unknown value '{name}' for {option}: expected one of {names}"))
}

/// Returns the codec of this number.
///
/// # Errors
/// `Unsupported` for a codec that this version or build does not know.
pub(crate) fn codec_from_u8(byte: u8) -> Result<Compression> {
    match byte {
        0 => Ok(Compression::None),
        1 => Ok(Compression::Lz4),
        2 => Compression::Snappy.check_supported().map(|()| Compression::Snappy),
        3 => Compression::Zstd.check_supported().map(|()| Compression::Zstd),
        _ => Err(Error::new(
            ErrorKind::Unsupported,
            format!("codec {byte} is not one this version reads (expected 0 to 3)"),
        )),
    }
}

/// # Errors
/// `Unsupported` in a build without the feature that has the codec's name.
fn compiled_in(codec: Compression, has_feature: bool) -> Result<()> {
    if has_feature {
        return Ok(());
    }
    let name = codec.name();
    Err(Error::new(
        ErrorKind::Unsupported,
        format!(
            "{name} is not in this build: build foldb with its cargo feature `{name}` \
             (--features {name})"
        ),
    ))
}
