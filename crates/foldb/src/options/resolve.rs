//! Makes the settings that the engine works with from the options that the user set. Every default
//! that depends on other options is computed here.

use crate::options::Options;
use crate::settings::memory::{automatic_count, memtable_bytes};
use crate::settings::table::declared_options;
use crate::settings::{SegmentSettings, Settings, TreeSettings, WalRetention, WriteBuffers};

/// The value of an option, or the number that an automatic one stands for.
macro_rules! resolved {
    ($options:ident.$name:ident { value $($_rest:tt)* }) => {
        $options.$name
    };
    (
        $options:ident.$name:ident
        { automatic $_words:literal |$own:ident| $derived:expr, $($_rest:tt)* }
    ) => {
        match $options.$name {
            0 => {
                let $own = $options;
                $derived
            }
            given => given,
        }
    };
}

macro_rules! resolve_options {
    (
        open { $($open:tt)* }
        keyspace { $($keyspace:tt)* }
        knobs { $($knobs:tt)* }
        engine { $($(#[$_about:meta])* $engine:ident: $_type:ty { $($spec:tt)* })* }
        tree { $($(#[$_about_tree:meta])* $tree:ident: $_tree_type:ty { $($tree_spec:tt)* })* }
        segments {
            $($(#[$_about_segment:meta])* $segment:ident: $_segment_type:ty
              { $($segment_spec:tt)* })*
        }
    ) => {
        impl Options {
            /// Returns the settings that follow from these options. Before an open calls this, it
            /// fits the write buffers into their share of memory ([`Options::fitted`]).
            pub(crate) fn resolve(&self) -> Settings {
                let own = self;
                Settings {
                    write_buffers: own.write_buffers(),
                    wal_retention: WalRetention {
                        bytes: own.wal_retention_bytes,
                        seconds: own.wal_retention_seconds,
                    },
                    keyspace: own.default.settings(),
                    tree: TreeSettings { $($tree: resolved!(own.$tree { $($tree_spec)* }),)* },
                    segments: SegmentSettings {
                        $($segment: resolved!(own.$segment { $($segment_spec)* }),)*
                    },
                    knobs: own.knobs,
                    $($engine: resolved!(own.$engine { $($spec)* }),)*
                }
            }
        }
    };
}

declared_options!(resolve_options);

impl Options {
    fn write_buffers(&self) -> WriteBuffers {
        let (size, is_automatic) = (self.write_buffer_size, self.max_write_buffers == 0);
        let most = match self.max_write_buffers {
            0 => automatic_count(size, usize::MAX),
            given => given,
        };
        WriteBuffers {
            size,
            most,
            bytes: memtable_bytes(size, most, is_automatic),
            flushed_together: (most / 2).clamp(1, 8),
        }
    }
}
