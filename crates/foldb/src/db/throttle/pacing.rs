//! When paces are computed: at each change of a tree, and as write buffers run out.

use std::time::Duration;

use crate::db::core::Core;
use crate::db::state::buffers::Buffers;
use crate::db::state::pace::{Lag, while_flushing};
use crate::db::state::tree::KeyspaceTree;

impl Core {
    /// Computes the pace of a keyspace whose tree changed. Without automatic compaction the pace
    /// stays zero.
    pub(crate) fn set_pace(&self, own: &KeyspaceTree) {
        if self.settings.disable_auto_compactions || !self.has_workers() {
            return;
        }
        let levels = &own.version.levels;
        let runs = levels.iter().flat_map(|level| &level.runs);
        let debt = own.debt(&self.refold());
        let lag = own.ask(|_, comparator| {
            let tree_bytes = runs.map(|run| run.bytes(comparator)).sum();
            Some(Lag { level0_runs: own.keyspace.level0_runs(&own.version), debt, tree_bytes })
        });
        if let Some(lag) = lag {
            own.keyspace.pace.set(lag.per_mib(&self.settings));
        }
    }

    /// Returns the pace of all keyspaces while flushes are behind; zero without workers.
    pub(crate) fn flush_pace(&self, buffers: &Buffers) -> Duration {
        let is_flushed = self.sealed.len() >= self.settings.write_buffers.flushed_together;
        if !is_flushed || !self.has_workers() || self.background.is_flush_failing() {
            return Duration::ZERO;
        }
        let filled = self.filled(buffers);
        while_flushing(filled, &self.settings, self.background.flushes.per_mib())
    }
}
