//! Point reads.
//!
//! 1. A reader loads the keyspace's view (memtables and version) through one atomic pointer, *then*
//!    the sequence number. In the other order, a compaction in between could hide a write.
//! 2. It collects the key's chain, newest first: from the hash index of each memtable, or from its
//!    skiplist if the key may have several spellings (H13). In each run it finds the one table
//!    whose bounds include the key, and searches it if its filter admits the key. Range tombstones
//!    come before the filter. The chain ends at the first base or covered record. A table whose
//!    records are all older than the cover is not opened.
//! 3. It folds the chain, oldest record first. If the result is an operand or the base, it pins the
//!    memtable or the cached block instead of copying the bytes. Values of up to 16 bytes are
//!    copied.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::Guard;
use foldb_env::scheduling_point;

use crate::counters::is_sampled;
use crate::db::core::Core;
use crate::db::read::key_walk::{Counted, Sought, walk_memtables};
use crate::db::read::lost_time::LONG_CHAIN;
use crate::db::read::settings::ReadSettings;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::view::View;
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::fold::stamp::time_of;
use crate::fold::{Chain, ReadTime, end_of};
use crate::iterator::{CoverSource, Covers};
use crate::key::SeqNo;
use crate::stats::Call;
use crate::value::Value;
use crate::version::KeyRange;

#[cold]
fn get_timed(
    core: &Core,
    keyspace: &KeyspaceState,
    key: &[u8],
    options: ReadSettings<'_>,
) -> Result<Option<Value>> {
    let get = || get_untimed(core, keyspace, key, options);
    let (value, took) = core.totals.calls.measure(Call::Get, get);
    if let Some(recorder) = &core.recorder {
        let found = value.as_ref().ok().and_then(Option::as_ref);
        recorder.called(&keyspace.name, key, took, key.len() + found.map_or(0, |it| it.len()));
        recorder.read_took(&keyspace.name, key, took);
    }
    value
}

#[inline]
fn get_untimed(
    core: &Core,
    keyspace: &KeyspaceState,
    key: &[u8],
    options: ReadSettings<'_>,
) -> Result<Option<Value>> {
    let (stored, time) = core.get_stored(keyspace, key, options)?;
    match (stored, time) {
        (Some(stored), Some(time)) => time.show(stored),
        (stored, _) => Ok(stored),
    }
}

impl Core {
    pub(crate) fn get(
        &self,
        keyspace: &KeyspaceState,
        key: &[u8],
        options: ReadSettings<'_>,
    ) -> Result<Option<Value>> {
        if is_sampled() {
            return get_timed(self, keyspace, key, options);
        }
        get_untimed(self, keyspace, key, options)
    }

    /// Returns when a key expires; `None` if the key is absent or never expires.
    pub(crate) fn expires_at(
        &self,
        keyspace: &KeyspaceState,
        key: &[u8],
        options: ReadSettings<'_>,
    ) -> Result<Option<SystemTime>> {
        let (stored, time) = self.get_stored(keyspace, key, options)?;
        let (Some(stored), Some(time)) = (stored, time) else { return Ok(None) };
        let end = end_of(&stored);
        Ok(if end > time.now { time_of(end) } else { None })
    }

    /// Returns the value of a key as it is stored, and the moment of the read if the keyspace has
    /// an expiry.
    #[inline]
    fn get_stored(
        &self,
        keyspace: &KeyspaceState,
        key: &[u8],
        options: ReadSettings<'_>,
    ) -> Result<(Option<Value>, Option<ReadTime>)> {
        self.check_open()?;
        keyspace.check_key(key)?;
        // The view first, the sequence number second (H3).
        let early = planted(Fault::NumberBeforeView).then(|| self.published());
        scheduling_point();
        let now = |core: &Core| Ok(early.unwrap_or(core.published()));
        let (view, time, seqno) = self.begin_read(keyspace, options, now)?;
        let mut chain = Chain::default();
        self.collect(keyspace, &view, &Sought::new(key, seqno), options, &mut chain)?;
        if chain.is_empty() {
            return Ok((None, None));
        }
        if let Some(report) = options.report {
            report.saw_operands(chain.operands());
        }
        keyspace.resolve(&view.version, key, &mut chain)?;
        if let Some(time) = &time {
            time.drop_expired(&mut chain)?;
        }
        let value = chain.value(key, &self.registry.resolver(), &mut Vec::new());
        self.registry.tell_difference(&self.events);
        if let Err(error) = &value {
            self.note_failed_read(keyspace, error);
        }
        Ok((value?, time))
    }

    /// Returns the view and the sequence number of a read, and the moment of the read if the
    /// keyspace has an expiry. `now` is as for [`Core::read_seqno`].
    ///
    /// # Errors
    /// As [`Core::read_seqno`].
    #[inline]
    pub(crate) fn begin_read(
        &self,
        keyspace: &KeyspaceState,
        options: ReadSettings<'_>,
        now: impl Fn(&Core) -> Result<SeqNo>,
    ) -> Result<(Guard<Arc<View>>, Option<ReadTime>, SeqNo)> {
        loop {
            // A reset of the time between the two would hide what was written after it: that may
            // have ended by the time before the reset.
            let reading = keyspace.stamps.then(|| self.time.last_reading());
            // The view first, the sequence number second (H3).
            let (view, time) = self.view_in_time(keyspace, options);
            scheduling_point();
            let seqno = self.read_seqno(keyspace, options, &now)?;
            let was_reset = reading.is_some_and(|reading| self.time.was_reset_since(reading));
            if !was_reset && !keyspace.view.lacks_load(&view, seqno) {
                return Ok((view, time, seqno));
            }
        }
    }

    /// Returns the view for a read, and the moment of the read if the keyspace has an expiry. The
    /// caller takes the sequence number afterwards.
    ///
    /// The view is the current one before and after the moment is taken. So it lacks no record that
    /// is alive at this moment, and no write from before it.
    #[inline]
    fn view_in_time(
        &self,
        keyspace: &KeyspaceState,
        options: ReadSettings<'_>,
    ) -> (Guard<Arc<View>>, Option<ReadTime>) {
        let mut view = keyspace.view.load();
        loop {
            let Some(time) = self.read_time(keyspace, options) else { return (view, None) };
            let current = keyspace.view.load();
            if Arc::ptr_eq(&view, &current) {
                return (view, Some(time));
            }
            view = current;
        }
    }

    /// Returns the moment of a read of a keyspace with expiry.
    #[inline]
    fn read_time(&self, keyspace: &KeyspaceState, options: ReadSettings<'_>) -> Option<ReadTime> {
        keyspace.stamps.then(|| {
            let now = options.snapshot.map_or_else(|| self.time(), |snapshot| snapshot.time);
            ReadTime::at(now)
        })
    }

    /// Collects the chain of a key, newest first, until its base.
    #[inline(always)]
    pub(crate) fn collect(
        &self,
        keyspace: &KeyspaceState,
        view: &View,
        sought: &Sought<'_>,
        options: ReadSettings<'_>,
        chain: &mut Chain,
    ) -> Result<()> {
        if walk_memtables(view, sought, chain).is_break() {
            return Ok(());
        }
        let in_memtables = chain.operands();
        let mut counted = Counted::new(chain);
        let walked = keyspace.walk_runs(view, sought, options, &mut counted);
        let Counted { chain, searched, spared } = counted;
        if spared > 0 {
            self.totals.add_filter_negatives(spared);
            if let Some(report) = options.report {
                report.ruled_out_tables(spared);
            }
        }
        let in_tables = chain.operands().saturating_sub(in_memtables);
        if in_tables > LONG_CHAIN {
            self.note_long_chain(keyspace, sought.key, in_tables);
        }
        walked?;
        if searched > 1 {
            self.note_more_runs(keyspace, searched - 1);
        }
        Ok(())
    }

    /// Checks every table of the current versions, each file once, and all value segments. Returns
    /// the bytes read.
    pub(crate) fn verify(&self) -> Result<u64> {
        self.check_open()?;
        let mut bytes = 0;
        for keyspace in self.keyspaces.all() {
            let view = keyspace.view.load_full();
            scheduling_point();
            let (segments, map) = (keyspace.tables.segments(), &view.version.segments);
            let mut checked = HashSet::new();
            for table in view.version.tables() {
                if checked.insert(table.file.number) {
                    let open = keyspace.tables.get_owned(&table.file)?;
                    bytes += open.verify()?.bytes;
                    segments
                        .verify_references(keyspace.id, map, &open.references()?)
                        .map_err(|error| error.in_file(&self.names.table(table.file.number)))?;
                }
            }
            bytes += segments.verify(keyspace.id, map)?;
        }
        Ok(bytes)
    }

    /// Returns the sequence number at which a read sees a keyspace. The caller loads the view
    /// first. This call then fails if a drop of the keyspace emptied that view.
    ///
    /// A read of several keys, or of one key more than once, passes [`Core::pin`] for `now`. For
    /// one read of one key [`Core::published`] is enough (H2).
    pub(crate) fn read_seqno(
        &self,
        keyspace: &KeyspaceState,
        options: ReadSettings<'_>,
        now: impl FnOnce(&Core) -> Result<SeqNo>,
    ) -> Result<SeqNo> {
        keyspace.check_exists()?;
        match options.snapshot {
            None => now(self),
            Some(snapshot) if std::ptr::eq(snapshot.core, self) => snapshot.seqno_to_read(),
            Some(_) => Err(Error::invalid_argument("the snapshot belongs to another database")),
        }
    }
}

impl KeyspaceState {
    /// Returns the range tombstones of a view for a reader; `None` if the view has none.
    pub(crate) fn covers(&self, view: &View, seqno: SeqNo) -> Option<Covers> {
        let comparator = &self.comparator;
        let sets = view.memtables().filter_map(|memtable| memtable.range_tombstones());
        let everything = KeyRange::all();
        let runs = view.version.runs().filter_map(|(_, run)| {
            CoverSource::of_run(run, &everything, &self.tables, &**comparator)
        });
        Covers::new(sets.map(CoverSource::Memtable).chain(runs).collect(), [seqno], comparator)
    }
}
