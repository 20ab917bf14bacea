//! The database's part in value segments: writers, readers, statistics.

#[cfg(test)]
mod accounting;

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Tree;
use crate::db::throttle::full_disk::segment_size;
use crate::key::KeyspaceId;
use crate::rewriting::memory::WorkMemory;
use crate::segment::{Placement, Separation, ValueWriter, WriterContext};

/// The most bytes of hints in one segment: the keys and sequence numbers at its end. A collection
/// holds in memory the hints that it reads and the hints that it writes.
const MOST_HINTS: usize = 4 << 20;

impl Core {
    /// Returns the writer of large values for a flush or slice; `None` if the keyspace separates no
    /// values.
    pub(crate) fn value_writer<'a>(
        &'a self,
        keyspace: &'a KeyspaceState,
        next_number: &'a dyn Fn() -> u64,
        memory: &WorkMemory,
    ) -> Option<ValueWriter<'a>> {
        let separation = self.separation(keyspace);
        separation.min?;
        let context = WriterContext {
            fs: &self.options.env.fs,
            names: &self.names,
            segment_files: &self.segment_files,
            next_number,
            database: self.database,
            keyspace: keyspace.id,
        };
        Some(ValueWriter::new(context, separation, &keyspace.growing, memory.charge(0)))
    }

    pub(crate) fn separation(&self, keyspace: &KeyspaceState) -> Separation {
        Separation {
            min: keyspace.settings.value_separation_min.filter(|&min| min < usize::MAX),
            segment_size: segment_size(self),
            hints: self.settings.knobs.value_hints,
            most_hints: (self.settings.knobs.gc_memory_budget / 8).min(MOST_HINTS),
        }
    }

    /// Discards segments that were not installed. They stay if the manifest may name them.
    pub(crate) fn discard_segments(&self, tree: &Tree, id: KeyspaceId, segments: &[Placement]) {
        if self.standing.may_have_failed_edit() {
            return;
        }
        let own = tree.keyspaces.get(&id);
        for placement in segments {
            let is_used = own.is_some_and(|own| {
                own.version.segments.iter().any(|used| used.placement.file == placement.file)
            });
            let file = self.segment_files.get(placement.file);
            if is_used {
                // No writer appends to the file any more. Otherwise the unused segments of repeated
                // failures would fill it.
                if let Some(own) = own {
                    own.keyspace.growing.retire(&file);
                }
            } else {
                // If a writer appends to the file now and installs the new segment, the file is
                // used again.
                file.set_obsolete(true);
                own.inspect(|own| own.keyspace.growing.remove_obsolete());
            }
        }
    }
}
