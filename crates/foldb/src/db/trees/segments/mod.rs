//! The database's part in value segments: writers, readers, statistics.

#[cfg(test)]
mod accounting;

use std::sync::Arc;

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Tree;
use crate::error::Result;
use crate::fold::Chain;
use crate::key::KeyspaceId;
use crate::rewriting::memory::WorkMemory;
use crate::segment::{Placement, Separation, ValueReader, ValueWriter, WriterContext};
use crate::stats::SegmentStats;
use crate::version::Version;

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
            segment_size: self.settings.segments.size,
            hints: self.settings.segments.hints,
            most_hints: (self.settings.segments.gc_memory_budget / 8).min(MOST_HINTS),
        }
    }

    /// Discards segments that were not installed. After a failed sync they stay, because the
    /// manifest may name them.
    pub(crate) fn discard_segments(&self, tree: &Tree, id: KeyspaceId, segments: &[Placement]) {
        if self.poison.get().is_some() {
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

    pub(crate) fn segment_stats(&self) -> SegmentStats {
        let mut stats = SegmentStats::default();
        for keyspace in self.all_keyspaces() {
            let version = Arc::clone(&keyspace.view.load().version);
            for file in version.segments.files().into_values() {
                stats.segments += file.segments.len() as u64;
                stats.files += 1;
                stats.bytes += file.end;
                stats.live_bytes += file.live;
                stats.dead_bytes += file.dead();
            }
        }
        stats
    }
}

impl KeyspaceState {
    /// If the base of a chain is a separated value, replaces its address by the value.
    #[inline]
    pub(crate) fn resolve(&self, version: &Version, key: &[u8], chain: &mut Chain) -> Result<()> {
        if chain.separated().is_some() { self.read_value(version, key, chain) } else { Ok(()) }
    }

    #[inline(never)]
    fn read_value(&self, version: &Version, key: &[u8], chain: &mut Chain) -> Result<()> {
        let Some(base) = chain.separated() else { return Ok(()) };
        let segments = self.tables.segments();
        let value = segments.value(self.id, &version.segments, &base.value, key)?;
        chain.resolve(value);
        Ok(())
    }

    /// Returns the reader of separated values for a walk; `None` if no value is separated.
    pub(crate) fn value_reader(&self, version: &Version) -> Option<ValueReader> {
        let map = &version.segments;
        (!map.is_empty()).then(|| ValueReader::new(self.tables.segments(), self.id, map))
    }
}
