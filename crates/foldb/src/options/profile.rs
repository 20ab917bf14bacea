//! Ready-made options for common needs, chosen by name.
//!
//! A profile is a starting point; each option can be set on top of it. [`Options::profile`] records
//! the profile for [`Options::explain`] only.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::options::{KeyspaceOptions, Options};
use crate::settings::Knobs;

/// A named set of options to start from.
///
/// | | memtables, at most | block cache | tree |
/// | --- | --- | --- | --- |
/// | `balanced` | 2 of 64 MiB | 32 MiB | lazy leveled |
/// | `write_heavy` | 3 of 128 MiB | 32 MiB | lazy leveled with wider tiers, two compactors |
/// | `small_memory` | 4 of 2 MiB | 2 MiB | lazy leveled with smaller tables and indexes |
/// | `small` | 2 of 128 KiB | 128 KiB | as `small_memory`, on one thread |
///
/// `docs/experiments/profiles.md` has their measurements.
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
    /// The defaults: one or two memtables of 64 MiB, and reads that meet few runs.
    #[default]
    Balanced,
    /// The highest write throughput and the lowest write amplification, for memory, space and
    /// longer reads.
    WriteHeavy,
    /// A database in about 30 MiB and one byte a key, for more write amplification and slower
    /// reads.
    SmallMemory,
    /// A small tool's own store: its settings, its history, a cache of some megabytes. The open
    /// costs little, one background thread starts when there is work for it, and memory is about a
    /// mebibyte. Large databases work, slowly.
    Small,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 4] =
        [Profile::Balanced, Profile::WriteHeavy, Profile::SmallMemory, Profile::Small];

    /// Returns the name: `balanced`, `write_heavy`, `small_memory` or `small`.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Balanced => "balanced",
            Profile::WriteHeavy => "write_heavy",
            Profile::SmallMemory => "small_memory",
            Profile::Small => "small",
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
            Error::invalid_argument(format!("unknown profile '{name}': expected one of {names}"))
        })
    }
}

impl Options {
    /// Returns the options of a profile.
    pub fn profile(profile: Profile) -> Options {
        match profile {
            Profile::Balanced => Options::balanced(),
            Profile::WriteHeavy => Options::write_heavy(),
            Profile::SmallMemory => Options::small_memory(),
            Profile::Small => Options::small(),
        }
    }

    /// Returns the defaults, which are those of [`Profile::Balanced`].
    pub fn balanced() -> Options {
        Options::default()
    }

    /// Returns the options of [`Profile::WriteHeavy`].
    pub fn write_heavy() -> Options {
        Options {
            profile: Profile::WriteHeavy,
            // The memtable folds a hot key into one record, so a memtable of twice the size flushes
            // nearly half the records. A third memtable takes bursts during a flush.
            write_buffer_size: 128 << 20,
            max_write_buffers: 3,
            // The log may hold the writes of all memtables.
            wal_limit: 512 << 20,
            // Each tier is rewritten less often, for more runs to read.
            level0_compaction_trigger: 8,
            // The levels above the last may reach half its size before they are merged into it.
            knobs: Knobs { tier_fan_in: 8, staging_ratio: 0.5, ..Knobs::default() },
            level0_slowdown_trigger: 40,
            level0_stop_trigger: 64,
            max_background_compactions: 2,
            ..Options::default()
        }
    }

    /// Returns the options of [`Profile::SmallMemory`].
    pub fn small_memory() -> Options {
        Options {
            profile: Profile::SmallMemory,
            write_buffer_size: 2 << 20,
            // A flush takes two while the writer fills two.
            max_write_buffers: 4,
            // Recovery takes memory for each record of the log.
            wal_limit: 16 << 20,
            block_cache_size: 2 << 20,
            // A quarter of the index entries of 4 KiB blocks; a point read still reads about 4 KiB.
            block_size: 16 << 10,
            default: KeyspaceOptions { bloom_bits: Some(8), ..KeyspaceOptions::default() },
            // The writer of a table keeps eight bytes per key for its filter, so small tables take
            // less. A smaller `max_open_files` would take more memory: tables opened again and
            // again fragment the heap.
            target_file_size: 2 << 20,
            max_open_files: 512,
            ..Options::default()
        }
    }

    /// Returns the options of [`Profile::Small`]. `docs/limits.md` has what they promise.
    pub fn small() -> Options {
        Options {
            profile: Profile::Small,
            write_buffer_size: 128 << 10,
            max_write_buffers: 2,
            // An open reads the log, so this bounds its time too.
            wal_limit: 512 << 10,
            // The smallest: indexes and filters of open tables may use a sixteenth of it, and what
            // the others leave.
            memory_budget: 8 << 20,
            block_cache_size: 128 << 10,
            target_file_size: 1 << 20,
            max_open_files: 64,
            // The window of a mapped log takes as much memory as both write buffers.
            map_log: false,
            // Flushes and compactions take turns on one thread.
            max_background_compactions: 0,
            space_reserve: 1 << 20,
            // The recorder has a thread of its own, and files that may be larger than the database.
            flight_recorder: 0,
            ..Options::default()
        }
    }
}
