//! Ready-made settings for what people want most often, chosen by name.
//!
//! A profile is where options begin; each may be set on top of it. [`Options::profile`] remembers
//! which one it was, for [`Options::explain`] only.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::options::Options;

/// Where options begin.
///
/// | | memtables, at most | block cache | tree |
/// | --- | --- | --- | --- |
/// | `balanced` | 2 of 64 MiB | 32 MiB | lazy leveled |
/// | `write_heavy` | 3 of 128 MiB | 32 MiB | lazy leveled with wider tiers, two compactors |
/// | `small_memory` | 4 of 2 MiB | 2 MiB | lazy leveled with smaller tables and indexes |
///
/// `docs/experiments/profiles.md` has what they measured.
///
/// # Example
/// ```
/// use foldb::{Options, Profile};
///
/// let profile: Profile = "small_memory".parse()?;
/// let options = Options { create_if_missing: true, ..Options::profile(profile) };
/// assert_eq!(options.write_buffer_size, Options::small_memory().write_buffer_size);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// The defaults: a memtable or two of 64 MiB, and reads that meet few runs.
    #[default]
    Balanced,
    /// Most writes a second and least write amplification, for memory, space and longer reads.
    WriteHeavy,
    /// A database in some 30 MiB and a byte a key, for more write amplification and slower reads.
    SmallMemory,
}

impl Profile {
    /// All of them.
    pub const ALL: [Profile; 3] = [Profile::Balanced, Profile::WriteHeavy, Profile::SmallMemory];

    /// Its name: `balanced`, `write_heavy` or `small_memory`.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Balanced => "balanced",
            Profile::WriteHeavy => "write_heavy",
            Profile::SmallMemory => "small_memory",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = Error;

    /// # Errors
    /// `InvalidArgument` for a name that is not one of [`Profile::ALL`].
    fn from_str(name: &str) -> Result<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name).ok_or_else(|| {
            let names = Profile::ALL.map(Profile::name).join(", ");
            Error::invalid_argument(format!("there is no profile '{name}', only {names}"))
        })
    }
}

impl Options {
    /// The options of a profile.
    pub fn profile(profile: Profile) -> Options {
        match profile {
            Profile::Balanced => Options::balanced(),
            Profile::WriteHeavy => Options::write_heavy(),
            Profile::SmallMemory => Options::small_memory(),
        }
    }

    /// The defaults, under the name of their [`Profile`].
    pub fn balanced() -> Options {
        Options::default()
    }

    /// Options of [`Profile::WriteHeavy`].
    pub fn write_heavy() -> Options {
        Options {
            profile: Profile::WriteHeavy,
            // A hot key is folded once a memtable: twice the memtable is nearly half the records
            // out of it. A third one takes bursts while one is flushed.
            write_buffer_size: 128 << 20,
            max_write_buffers: 3,
            // The log may keep all of them.
            wal_limit: 512 << 20,
            // Each level of runs is rewritten less often, for more runs to read.
            tier_fan_in: 8,
            level0_compaction_trigger: 8,
            // As much as half the last level may be out of date above it, before it is rewritten.
            staging_ratio: 0.5,
            level0_slowdown_trigger: 40,
            level0_stop_trigger: 64,
            max_background_compactions: 2,
            ..Options::default()
        }
    }

    /// Options of [`Profile::SmallMemory`].
    pub fn small_memory() -> Options {
        Options {
            profile: Profile::SmallMemory,
            write_buffer_size: 2 << 20,
            // Two are flushed together while the writer fills two.
            max_write_buffers: 4,
            // Recovery takes as much memory as the log has records.
            wal_limit: 16 << 20,
            block_cache_size: 2 << 20,
            // A quarter of the index entries; a point read still reads about 4 KiB.
            block_size: 16 << 10,
            bloom_bits: 8,
            // A table that is written keeps eight bytes a key for its filter. Fewer open tables
            // would take more memory, not less: what is opened again and again leaves holes.
            target_file_size: 2 << 20,
            max_open_files: 512,
            ..Options::default()
        }
    }
}
