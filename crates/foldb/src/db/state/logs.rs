//! The logs on disk, from the oldest one that tables do not hold whole to the active one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::locks::rank::LOGS;
use crate::locks::{Lock, LockGuard};
use crate::wal::{LogSync, LogWriter};

/// The number of a log, and the handle that syncs it. Logs from before a kill have no handle.
pub(crate) type KnownLog = (u64, Option<Arc<LogSync>>);

/// The logs of a database, ascending.
#[derive(Debug)]
pub(crate) struct Logs {
    known: Lock<Vec<KnownLog>, LOGS>,
    /// How often a thread waited for a log to be durable.
    waits: AtomicU64,
}

impl Logs {
    /// Begins with the logs of earlier opens.
    pub(crate) fn of(known: Vec<KnownLog>) -> Logs {
        Logs { known: Lock::new(known), waits: AtomicU64::new(0) }
    }

    fn lock(&self) -> LockGuard<'_, Vec<KnownLog>, LOGS> {
        self.known.lock()
    }

    /// Adds the log that takes the next writes.
    pub(crate) fn push(&self, log: &LogWriter) {
        let mut known = self.lock();
        let is_newest = known.last().is_none_or(|(last, _)| *last < log.number());
        assert!(is_newest, "logs begin in the order of their numbers");
        known.push((log.number(), Some(Arc::clone(log.sync_handle()))));
    }

    /// Takes the logs before `needed` out of the list.
    pub(crate) fn take_below(&self, needed: u64) -> Vec<KnownLog> {
        let mut known = self.lock();
        let taken = known.extract_if(.., |(log, _)| *log < needed).collect();
        assert!(!known.is_empty(), "the log that takes the writes is always needed");
        taken
    }

    /// Takes the logs from `first` on out of the list, before the first log of this open.
    pub(crate) fn take_from(&self, first: u64) -> Vec<KnownLog> {
        let taken: Vec<_> = self.lock().extract_if(.., |(log, _)| *log >= first).collect();
        assert!(taken.iter().all(|(_, sync)| sync.is_none()), "no log of this open is taken out");
        taken
    }

    /// Returns the logs from `first` on.
    pub(crate) fn since(&self, first: u64) -> Vec<KnownLog> {
        self.lock().iter().filter(|(log, _)| *log >= first).cloned().collect()
    }

    /// Returns the numbers of all logs.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.lock().iter().map(|(log, _)| *log).collect()
    }

    /// Returns whether the current log is written through a mapping. It does not wait for a write
    /// in progress, which may be a batch of many megabytes.
    pub(crate) fn is_mapped(&self) -> bool {
        self.active().is_some_and(|sync| sync.is_mapped())
    }

    /// Returns the handle that syncs the active log; `None` in a database that is only read.
    pub(crate) fn active(&self) -> Option<Arc<LogSync>> {
        self.lock().last().and_then(|(_, sync)| sync.clone())
    }

    /// Returns the bytes of memory that the logs' handles take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.lock().iter().flat_map(|(_, sync)| sync).map(|sync| sync.memory_bytes()).sum()
    }

    /// Notes that a thread waited for a log to be durable.
    pub(crate) fn note_wait(&self) {
        // Relaxed, as the load: nothing else depends on the count.
        self.waits.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often a thread waited for a log to be durable.
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }
}
