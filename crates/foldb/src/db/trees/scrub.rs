//! Reads files again in the background, to find damage before a reader or a compaction needs them.
//!
//! A worker that finds nothing else to do checks a file: a table with all its records, or a value
//! segment. Then the scrub rests until [`crate::Options::scrub_io_budget`] has paid for the bytes.
//! So it goes round all files, and begins again:
//!
//! ```text
//! budget 4 MiB/s     table of 8 MiB   ─ 2 s ─   table of 2 MiB   ─ 0.5 s ─   ...
//! ```
//!
//! A round begins at the earliest an hour after the last one, so that a small database rests.
//!
//! The damaged keys of a table are told once, and set aside as after a compaction that met them
//! ([`crate::db::trees::damage`]). Other damage is a background error of each round.
//!
//! Invariant: the scrub changes no file and no version, and no caller waits for it.

use std::sync::Arc;
use std::time::Duration;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::scrub::{FileKind, Place};
use crate::db::throttle::give_way::Courtesy;
use crate::db::trees::gc::time_at;
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::version::Version;

/// Records between two looks whether the scrub should give way, or end.
const RECORDS_BETWEEN_LOOKS: u64 = 4096;

/// How long a worker begins further files before it looks for other work.
const LONGEST_STEP: Duration = Duration::from_millis(100);

/// Bytes that a file costs at least.
const SMALLEST_READ: u64 = 4096;

/// Least time from the begin of a round to the begin of the next.
const SHORTEST_ROUND: Duration = Duration::from_secs(60 * 60);

impl Core {
    /// Checks the next files, as far as the budget has paid for the ones before.
    pub(crate) fn scrub_work(&self) {
        if self.settings.scrub_io_budget == 0 {
            return;
        }
        let begun = self.options.env.clock.now();
        while !self.stopping() && self.scrub_next() {
            if self.options.env.clock.now().saturating_sub(begun) >= LONGEST_STEP {
                return;
            }
        }
    }

    /// Checks the next file, if one is due. Returns whether it did.
    fn scrub_next(&self) -> bool {
        let now = self.options.env.clock.now();
        let Some(mut step) = self.background.scrub.begin(now) else { return false };
        let Some((keyspace, version, place)) = self.next_to_scrub(step.last()) else {
            step.end_round(SHORTEST_ROUND);
            return false;
        };
        let checked = self.scrub(&keyspace, &version, place);
        if self.stopping() {
            return false;
        }
        let bytes = checked.unwrap_or_else(|error| {
            self.tell_scrub_error(&keyspace, &version, place, error);
            0
        });
        self.totals.add(Total::BytesScrubbed, bytes);
        // A file without bytes costs a block, so that a round of such files ends.
        let paid = time_at(bytes.max(SMALLEST_READ), self.settings.scrub_io_budget);
        step.checked(place, now, paid);
        true
    }

    /// Returns the next file of the round; `None` at its end.
    fn next_to_scrub(
        &self,
        last: Option<Place>,
    ) -> Option<(Arc<KeyspaceState>, Arc<Version>, Place)> {
        let mut keyspaces = self.keyspaces.all();
        keyspaces.retain(|own| !own.has_failed());
        keyspaces.sort_unstable_by_key(|own| own.id);
        let from = keyspaces.partition_point(|own| last.is_some_and(|at| own.id < at.keyspace));
        keyspaces[from..].iter().find_map(|own| {
            let version = Arc::clone(&own.view.load().version);
            let tables = version.tables().map(|table| (FileKind::Table, table.file.number));
            let segments =
                version.segments.iter().map(|one| (FileKind::Segment, one.placement.segment));
            let places = tables.chain(segments);
            let places = places.map(|(kind, number)| Place { keyspace: own.id, kind, number });
            let place = places.filter(|place| last.is_none_or(|last| *place > last)).min()?;
            Some((Arc::clone(own), version, place))
        })
    }

    /// Checks a file. Returns its bytes.
    fn scrub(&self, keyspace: &KeyspaceState, version: &Version, place: Place) -> Result<u64> {
        match place.kind {
            FileKind::Table => self.scrub_table(keyspace, version, place.number),
            FileKind::Segment => {
                let Some(segment) = version.segments.get(place.number) else { return Ok(0) };
                keyspace.tables.segments().verify_segment(keyspace.id, segment)?;
                Ok(segment.placement.len)
            }
        }
    }

    fn scrub_table(&self, keyspace: &KeyspaceState, version: &Version, number: u64) -> Result<u64> {
        let Some(table) = version.tables().find(|table| table.file.number == number) else {
            return Ok(0);
        };
        let open = keyspace.tables.get_owned(&table.file)?;
        let courtesy = Courtesy::new(self);
        let mut records = 0u64;
        let checked = keyspace.guarded("a scrub", || {
            open.verify_with(&mut |_, _, _| {
                records += 1;
                if records.is_multiple_of(RECORDS_BETWEEN_LOOKS) {
                    courtesy.give_way();
                    self.compact_for_writers();
                    courtesy.resume();
                    if self.stopping() {
                        return Err(Error::new(ErrorKind::Closed, "the database closes"));
                    }
                }
                Ok(())
            })
        });
        Ok(checked?.bytes)
    }

    /// Sets a table's damage aside. Tells listeners what cannot be set aside.
    fn tell_scrub_error(
        &self,
        keyspace: &Arc<KeyspaceState>,
        version: &Version,
        place: Place,
        error: Error,
    ) {
        let is_damage = error.kind() == ErrorKind::Corruption;
        if is_damage && place.kind == FileKind::Table {
            let tables = version.tables().filter(|table| table.file.number == place.number);
            let aside = keyspace.guarded("a search for damage", || {
                let mut found = false;
                for table in tables {
                    found |= !self.set_table_aside(keyspace, table, version, &error)?.is_empty();
                }
                Ok(found)
            });
            if aside.unwrap_or(false) {
                self.plan_round_damage(keyspace);
            }
            if keyspace.damage.list().iter().any(|part| part.file == place.number) {
                return;
            }
        }
        self.events.tell(&Event::BackgroundError { error });
    }
}
