//! The values that the engine works with.
//!
//! `Options` holds what the user set. `options::resolve` makes [`Settings`] of it once, when a
//! database is opened. It computes every automatic number, and makes every size fit into the memory
//! there is. The engine and the compaction policy read these values here, so no two of them can
//! compute different defaults.
//!
//! Three groups of options are read elsewhere. Handles, such as `env` and the comparators, stay in
//! `Options`. A runtime has its memory and `max_open_files` from `options::memory`. An open or a
//! repair reads what only it needs, such as `map_log`, from `Options`.

use crate::settings::table::declared_options;
use crate::settings::{KeyspaceSettings, Knobs, LogAdoption, WalRetention};

/// Declares the settings that are options, with their automatic numbers computed.
macro_rules! declare_settings {
    (
        open { $($open:tt)* }
        keyspace { $($keyspace:tt)* }
        knobs { $($knobs:tt)* }
        engine { $($(#[$about:meta])* $engine:ident: $engine_type:ty { $($_e:tt)* })* }
        tree { $($(#[$about_tree:meta])* $tree:ident: $tree_type:ty { $($_t:tt)* })* }
        segments { $($(#[$about_segment:meta])* $segment:ident: $segment_type:ty { $($_s:tt)* })* }
    ) => {
        /// Resolved settings of an open database. The options of the same names document each one.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct Settings {
            pub(crate) write_buffers: WriteBuffers,
            pub(crate) wal_retention: WalRetention,
            /// The settings of the default keyspace.
            pub(crate) keyspace: KeyspaceSettings,
            pub(crate) tree: TreeSettings,
            pub(crate) segments: SegmentSettings,
            pub(crate) knobs: Knobs,
            $(pub(crate) $engine: $engine_type,)*
        }

        /// The settings that determine the shape of a tree, except for its preset.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct TreeSettings {
            $(pub(crate) $tree: $tree_type,)*
        }

        /// The settings of separated values.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct SegmentSettings {
            $(pub(crate) $segment: $segment_type,)*
        }
    };
}

declared_options!(declare_settings);

/// The write buffers: how much is written before a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteBuffers {
    /// Bytes of one.
    pub(crate) size: usize,
    /// The most that may exist at once, including the one being filled.
    pub(crate) most: usize,
    /// Bytes that all of them may take together.
    pub(crate) bytes: usize,
    /// How many sealed ones make a flush worthwhile: the writer fills as many meanwhile.
    pub(crate) flushed_together: usize,
}

impl WriteBuffers {
    /// Returns the bytes of memtables that become one run of level 0 under fast writes.
    pub(crate) fn bytes_of_a_flush(&self) -> u64 {
        self.size as u64 * self.flushed_together as u64
    }
}
