//! The choices of codec and shape by their names, as commands and dumps say them.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::options::{CompactionPreset, Compression};

impl Compression {
    /// All of them, whether or not this build has the codec.
    pub const ALL: [Compression; 4] =
        [Compression::None, Compression::Lz4, Compression::Snappy, Compression::Zstd];

    /// Its name: `none`, `lz4`, `snappy` or `zstd`.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
            Compression::Snappy => "snappy",
            Compression::Zstd => "zstd",
        }
    }
}

impl CompactionPreset {
    /// All of them.
    pub const ALL: [CompactionPreset; 3] =
        [CompactionPreset::Leveled, CompactionPreset::Tiered, CompactionPreset::LazyLeveled];

    /// Its name: `leveled`, `tiered` or `lazy leveled`.
    pub fn name(self) -> &'static str {
        match self {
            CompactionPreset::Leveled => "leveled",
            CompactionPreset::Tiered => "tiered",
            CompactionPreset::LazyLeveled => "lazy leveled",
        }
    }

    /// The preset of this number, if there is one.
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
    /// `InvalidArgument`, with the names there are.
    fn from_str(name: &str) -> Result<Compression> {
        let found = Compression::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| unknown("compression", name, &Compression::ALL.map(Compression::name)))
    }
}

impl FromStr for CompactionPreset {
    type Err = Error;

    /// # Errors
    /// `InvalidArgument`, with the names there are.
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
