//! Making iterators.

use std::sync::Arc;

use arc_swap::Guard;

use crate::counters::Totals;
use crate::db::core::{Core, Handle};
use crate::db::read::settings::ReadSettings;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::view::View;
use crate::error::Result;
use crate::fold::{CachedResolver, ReadTime};
use crate::iterator::{
    Bounded, Bounds, DeadStretches, Effort, MergingCursor, Opened, Origin, RunCursor, Source,
    Sources, Viewpoint,
};
use crate::key::{Order, SeqNo};
use crate::segment::ValueReader;
use crate::stats::ReadReport;
use crate::table::CursorOptions;
use crate::version::KeyRange;

/// A view of a keyspace, which its iterators read and keep alive.
struct ViewOrigin {
    /// Keeps the database open.
    handle: Arc<Handle>,
    keyspace: Arc<KeyspaceState>,
    view: Arc<View>,
    fill_cache: bool,
}

impl Origin for ViewOrigin {
    fn open(&self, seqno: SeqNo, report: Option<&ReadReport>) -> Opened {
        let ViewOrigin { keyspace, view, fill_cache, .. } = self;
        let report = report.cloned();
        let options = CursorOptions { fill_cache: *fill_cache, readahead: 0, report };
        let sources = keyspace.sources(view, seqno, &options);
        Opened {
            records: MergingCursor::new(sources, &keyspace.comparator),
            covers: keyspace.covers(view, seqno),
        }
    }

    fn values(&self) -> Option<ValueReader> {
        self.keyspace.value_reader(&self.view.version)
    }

    fn operators(&self) -> CachedResolver {
        self.handle.core.registry.cached_resolver()
    }

    fn totals(&self) -> &Totals {
        &self.handle.core.totals
    }

    #[cold]
    fn note_effort(&self, effort: Effort) {
        self.handle.core.note_iterator(&self.keyspace, &self.view, effort);
    }

    fn dead(&self) -> &DeadStretches {
        &self.keyspace.dead
    }

    #[cold]
    fn newest_file(&self) -> u64 {
        let tables = self.view.version.runs().flat_map(|(_, run)| run.tables.iter());
        tables.map(|table| table.file.number).max().unwrap_or(0)
    }

    fn installs(&self) -> u64 {
        self.view.installs
    }
}

impl KeyspaceState {
    fn sources(&self, view: &View, seqno: SeqNo, options: &CursorOptions) -> Sources {
        let memtables = view.memtables().filter(|memtable| !memtable.is_empty());
        let memtables =
            memtables.map(|memtable| Source::Memtable(Box::new(memtable.cursor(seqno))));
        let runs = view.version.runs().map(|(_, run)| {
            let everything = KeyRange::all();
            let (tables, comparator) = (&self.tables, &self.comparator);
            Source::Run(RunCursor::new(run, &everything, tables, comparator, options.clone()))
        });
        memtables.chain(runs).collect()
    }
}

/// Begins a read as [`Core::begin_read`] does, with a view that has every write up to its
/// number.
///
/// A walk tells later ones which keys were deleted at its number. So a walk whose view lacks
/// writes up to its number would believe what its records do not show:
///
/// ```text
/// a reader loads its view   table a.PUT.1, memtable a.MERGE.2
/// the memtable is sealed    the next one gets a.DEL.3, and another walk notes: a, at 3
/// the reader's number is 3  led past a.PUT.1, it would show a.MERGE.2 alone
/// ```
fn begin_walk(
    core: &Core,
    keyspace: &KeyspaceState,
    options: ReadSettings<'_>,
) -> Result<(Arc<View>, Option<ReadTime>, SeqNo)> {
    loop {
        let (view, time, seqno) = core.begin_read(keyspace, options, Core::pin)?;
        if Arc::ptr_eq(&view, &keyspace.view.load()) {
            return Ok((Guard::into_inner(view), time, seqno));
        }
    }
}

impl Handle {
    /// Returns a cursor whose moment `adapt` changes. Only a keyspace with expiry has one.
    pub(crate) fn cursor(
        self: &Arc<Handle>,
        keyspace: &Arc<KeyspaceState>,
        bounds: Bounds,
        options: ReadSettings<'_>,
        adapt: impl FnOnce(ReadTime) -> ReadTime,
    ) -> Result<Bounded> {
        let (core, handle) = (&self.core, self);
        core.check_open()?;
        keyspace.check_ends(bounds.as_refs())?;
        // The view and the sequence number first, the memtables' key lists second (H17).
        let (view, time, seqno) = begin_walk(core, keyspace, options)?;
        let time = time.map(adapt);
        let fill_cache = options.fill_cache;
        let active = view.active.clone();
        let (handle, own) = (Arc::clone(handle), Arc::clone(keyspace));
        let viewpoint = Viewpoint {
            seqno,
            time,
            order: Order::of(&keyspace.comparator),
            origin: Arc::new(ViewOrigin { handle, keyspace: own, view, fill_cache }),
            report: options.report.cloned(),
        };
        let cursor = Bounded::open(viewpoint, bounds);
        core.background.scans.note_scan();
        if active.is_some_and(|memtable| memtable.wants_order()) {
            core.order_soon();
        }
        Ok(cursor)
    }
}

#[cfg(test)]
mod tests;
