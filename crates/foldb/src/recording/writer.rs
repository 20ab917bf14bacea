//! The recorder of one database: it takes events and timed calls, and writes them once a second.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use foldb_env::{Clock, FileSystem, Process};

use crate::error::Result;
use crate::events::{Event, EventListener};
use crate::files::FileNames;
use crate::locks::Lock;
use crate::locks::rank::{RECORDER, RING};
use crate::recording::floors::Floors;
use crate::recording::format::Record;
use crate::recording::pending::Pending;
use crate::recording::ring::Ring;
use crate::recording::sampling::Known;
use crate::runtime::Ticker;
use crate::stats::Stats;

/// A read that takes at least this long is recorded as slow.
const SLOW_READ: Duration = Duration::from_millis(10);

/// Keys that stood out are written once in so many ticks.
const TICKS_OF_KEYS: u64 = 10;

/// After a failure, so many ticks pass before the recorder tries again.
const TICKS_OF_REST: u64 = 60;

/// Where a recorder writes.
pub(crate) struct RecorderOptions {
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) names: FileNames,
    /// Bytes of all files.
    pub(crate) budget: u64,
}

/// Records what a database does.
pub(crate) struct Recorder {
    options: RecorderOptions,
    /// The ticker, and the number of the database there.
    ticker: OnceLock<(Arc<Ticker>, u64)>,
    /// Whether a tick is due within a second. A tick lowers it before it takes the lock of
    /// `pending`. So a thread that added something behind that tick sees it down, by that lock,
    /// even with a `Relaxed` load. A call that adds nothing may miss it: its counts are in the
    /// sample that follows the next event.
    is_awake: AtomicBool,
    floors: Floors,
    pending: Lock<Pending, RECORDER>,
    files: Lock<Files, RING>,
}

#[derive(Default)]
struct Files {
    ring: Option<Ring>,
    known: Known,
    ticks: u64,
    /// The tick before which nothing is written, because writing failed.
    rests_until: u64,
    is_ended: bool,
}

impl Recorder {
    pub(crate) fn new(options: RecorderOptions) -> Recorder {
        Recorder {
            options,
            ticker: OnceLock::new(),
            is_awake: AtomicBool::new(false),
            floors: Floors::default(),
            pending: Lock::default(),
            files: Lock::default(),
        }
    }

    /// Begins to record with the ticker, which knows the database by a number.
    pub(crate) fn join(&self, ticker: &Arc<Ticker>, database: u64) {
        let _first = self.ticker.set((Arc::clone(ticker), database));
        if !self.pending.lock().is_empty() {
            self.wake();
        }
    }

    /// Asks for a tick.
    #[inline]
    fn wake(&self) {
        if !self.is_awake.load(Ordering::Relaxed) && !self.is_awake.swap(true, Ordering::SeqCst) {
            self.wake_ticker();
        }
    }

    #[cold]
    fn wake_ticker(&self) {
        let ticks = self.ticker.get().is_some_and(|(ticker, database)| ticker.wake(*database));
        if !ticks {
            // The next event or timed call tries again.
            self.is_awake.store(false, Ordering::SeqCst);
        }
    }

    /// Notes a timed call for a key, which read or wrote so many bytes.
    pub(crate) fn called(&self, keyspace: &Arc<str>, key: &[u8], took: Duration, bytes: usize) {
        let (nanos, bytes) = (u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), bytes as u64);
        let stands_for = self.floors.calls_of_next();
        // If another thread notes a call, this one is left out.
        if (stands_for > 0 || self.floors.are_below(nanos, bytes))
            && let Some(mut pending) = self.pending.try_lock()
        {
            pending.called(keyspace, key, stands_for, nanos, bytes);
            self.floors.set(pending.slowest_floor(), pending.largest_floor());
        }
        self.wake();
    }

    /// Notes how long a timed read took, if it was long.
    pub(crate) fn read_took(&self, keyspace: &Arc<str>, key: &[u8], took: Duration) {
        if took >= SLOW_READ
            && let Some(mut pending) = self.pending.try_lock()
        {
            pending.slow_read(keyspace, key, took);
        }
    }

    /// Notes that a read folded a long chain.
    pub(crate) fn folded_long_chain(&self, keyspace: &Arc<str>, key: &[u8], operands: usize) {
        if let Some(mut pending) = self.pending.try_lock() {
            pending.long_chain(keyspace, key, operands);
        }
        self.wake();
    }

    /// Writes a sample and what happened since the last one. Returns whether to write another in a
    /// second: if nothing changed, the recorder sleeps until the next event or timed call.
    pub(crate) fn tick(&self, stats: &Stats) -> bool {
        // What wakes the recorder from here on asks for the next tick.
        self.is_awake.store(false, Ordering::SeqCst);
        let mut files = self.files.lock();
        files.ticks += 1;
        if files.is_ended || files.ticks < files.rests_until {
            return !files.is_ended;
        }
        match self.write(&mut files, stats, false) {
            Ok(changed) => changed,
            Err(error) => {
                tracing::debug!(%error, "the flight recorder rests");
                let rests_until = files.ticks + TICKS_OF_REST;
                *files = Files { ticks: files.ticks, rests_until, ..Files::default() };
                true
            }
        }
    }

    /// Writes the last sample and the end. A recording that never began stays so.
    pub(crate) fn end(&self, stats: &Stats) {
        let mut files = self.files.lock();
        if files.ring.is_some() {
            // A recording without its end is one of a process that died: nothing worse.
            let _best_effort = self.write(&mut files, stats, true);
        }
        *files = Files { is_ended: true, ..Files::default() };
    }

    fn write(&self, files: &mut Files, stats: &Stats, is_end: bool) -> Result<bool> {
        let micros = self.now();
        let mut records = Vec::new();
        let begins = match &mut files.ring {
            Some(ring) if ring.is_full() => ring.turn().map(|()| true)?,
            Some(_) => false,
            None => {
                let RecorderOptions { fs, names, budget, .. } = &self.options;
                files.ring = Some(Ring::begin(fs, names, *budget)?);
                true
            }
        };
        if begins {
            files.known = std::mem::take(&mut files.known).of_next_file();
            let version = env!("CARGO_PKG_VERSION");
            let process = Process::id();
            Record::Session { micros, process, version }.encode(&mut records);
        }
        let mut changed = files.known.sample(micros, stats, &mut records);
        {
            let mut pending = self.pending.lock();
            changed |= !pending.is_empty();
            pending.take_events(|event| Record::Event { micros, event }.encode(&mut records));
            if files.ticks.is_multiple_of(TICKS_OF_KEYS) || is_end {
                pending.take_keys(|key| Record::Key { micros, key }.encode(&mut records));
                self.floors.reset();
            }
        }
        if is_end {
            Record::End { micros }.encode(&mut records);
        }
        if let Some(ring) = &mut files.ring
            && !records.is_empty()
        {
            ring.append(&records)?;
        }
        Ok(changed)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.options.clock.time_of_day().as_micros()).unwrap_or(u64::MAX)
    }
}

/// The engine tells the recorder of events as it tells listeners.
impl EventListener for Recorder {
    fn on_event(&self, event: &Event) {
        self.pending.lock().event(event);
        self.wake();
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({} bytes)", self.options.budget)
    }
}
