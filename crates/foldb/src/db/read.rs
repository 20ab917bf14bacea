//! Reading: point reads and iterators.

use std::collections::HashSet;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::db::core::Core;
use crate::db::keyspace::{Keyspace, KeyspaceState};
use crate::db::view::View;
use crate::encoding::key_hash;
use crate::error::{Error, ErrorKind, Result};
use crate::fold::Chain;
use crate::iterator::{Bounds, Iter, MergingCursor, RunCursor, Source, VisibleParts};
use crate::key::SeqNo;
use crate::options::ReadOptions;
use crate::table::CursorOptions;
use crate::totals::Total;
use crate::value::Value;
use crate::version::KeyRange;

impl Core {
    pub(crate) fn get(
        &self,
        keyspace: &KeyspaceState,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Value>> {
        self.check_open()?;
        // The view first, the sequence number second (H3).
        let view = keyspace.view.load();
        let seqno = self.read_seqno(keyspace, options)?;
        let mut chain = Chain::default();
        self.collect(keyspace, &view, key, seqno, options, &mut chain)?;
        if chain.is_empty() {
            return Ok(None);
        }
        let value = chain.value(key, &self.registry.resolver(), &mut Vec::new());
        if matches!(&value, Err(error) if error.kind() == ErrorKind::MergeFailed) {
            self.totals.add(Total::FailedMerges, 1);
        }
        value
    }

    /// Collects the chain of a key, newest first, until its base.
    #[inline]
    pub(super) fn collect(
        &self,
        keyspace: &KeyspaceState,
        view: &View,
        key: &[u8],
        seqno: SeqNo,
        options: &ReadOptions,
        chain: &mut Chain,
    ) -> Result<()> {
        let hash = key_hash(key);
        for memtable in view.memtables() {
            if !memtable.collect(hash, key, seqno, chain) {
                return Ok(());
            }
        }
        for (_, run) in view.version.runs() {
            let Some(table) = run.table_of(&*keyspace.comparator, key) else { continue };
            let table = keyspace.tables.get_owned(&table.file)?;
            if !keyspace.tables.may_contain(&table, hash)? {
                self.totals.add(Total::FilterNegatives, 1);
                continue;
            }
            let mut open = true;
            table.get(key, seqno, options.fill_cache, |header, value| {
                open = chain.push(header, value.to_value());
                if open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            if !open {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Checks every table of the present versions, each file once.
    pub(crate) fn verify(&self) -> Result<u64> {
        self.check_open()?;
        let mut bytes = 0;
        for keyspace in self.all_keyspaces() {
            let view = keyspace.view.load_full();
            let mut checked = HashSet::new();
            for table in view.version.tables() {
                if checked.insert(table.file.number) {
                    bytes += keyspace.tables.get_owned(&table.file)?.verify()?.bytes;
                }
            }
        }
        Ok(bytes)
    }

    /// The sequence number that a read sees a keyspace at. To be asked for when the view is loaded:
    /// a view that a drop has emptied is refused here.
    pub(super) fn read_seqno(
        &self,
        keyspace: &KeyspaceState,
        options: &ReadOptions,
    ) -> Result<SeqNo> {
        keyspace.check_exists()?;
        match &options.snapshot {
            None => Ok(self.published.load(Ordering::Acquire)),
            Some(snapshot) if std::ptr::eq(&**snapshot.db().core(), self) => Ok(snapshot.seqno()),
            Some(_) => Err(Error::invalid_argument("the snapshot is of another database")),
        }
    }
}

impl KeyspaceState {
    fn sources(&self, view: &View, seqno: SeqNo, options: &ReadOptions) -> Vec<Source> {
        let table_options = CursorOptions { fill_cache: options.fill_cache, readahead: 0 };
        let memtables = view.memtables().filter(|memtable| !memtable.is_empty());
        let memtables = memtables.map(|memtable| Source::Memtable(memtable.cursor(seqno)));
        let runs = view.version.runs().map(|(_, run)| {
            let everything = KeyRange::all();
            let (tables, comparator) = (&self.tables, &self.comparator);
            Source::Run(RunCursor::new(run, &everything, tables, comparator, table_options))
        });
        memtables.chain(runs).collect()
    }
}

impl Keyspace {
    pub(crate) fn new_iter(&self, bounds: Bounds, options: &ReadOptions) -> Result<Iter> {
        let (core, keyspace) = (self.core(), self.state());
        core.check_open()?;
        // The view first, the sequence number second (H3), the memtables' key lists third (H17).
        let view = keyspace.view.load_full();
        let seqno = core.read_seqno(keyspace, options)?;
        let sources = keyspace.sources(&view, seqno, options);
        Ok(Iter::new(VisibleParts {
            records: MergingCursor::new(sources, Arc::clone(&keyspace.comparator)),
            seqno,
            bounds,
            comparator: Arc::clone(&keyspace.comparator),
            registry: Arc::clone(&core.registry),
            totals: Arc::clone(&core.totals),
            _keep_alive: Arc::new((self.clone(), view)),
        }))
    }
}

/// A range of keys as owned bounds.
pub(crate) fn bounds_of<K: AsRef<[u8]>>(range: &impl RangeBounds<K>) -> Bounds {
    let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
    Bounds { lower: owned(range.start_bound()), upper: owned(range.end_bound()) }
}

/// The keys that begin with a prefix, in the order of the bytes.
pub(crate) fn bounds_of_prefix(prefix: &[u8]) -> Bounds {
    // The first key behind them: the prefix without its trailing 0xff bytes, its last byte raised.
    let mut end = prefix.to_vec();
    while end.last() == Some(&0xff) {
        end.pop();
    }
    let upper = match end.last_mut() {
        None => Bound::Unbounded,
        Some(last) => {
            *last += 1;
            Bound::Excluded(end)
        }
    };
    Bounds { lower: Bound::Included(prefix.to_vec()), upper }
}
