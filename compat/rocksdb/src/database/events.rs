//! What the engine tells of a database: it goes to the program's listeners and statistics.
//!
//! Callbacks get the database as a handle, which exists when the open is done. So events that come
//! before that wait for it.
//!
//! Invariant: a handle in a callback is valid until the callback returns. Events of the library's
//! own keyspaces reach no listener.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use foldb::events::{Event, EventListener};
use parking_lot::Mutex;

use crate::database::Database;
use crate::database::info_log::InfoLog;
use crate::objects::listener::Listener;
use crate::objects::listener_info::rocksdb_externalfileingestioninfo_t;
use crate::objects::statistics::{Count, Measure, Statistics};
use crate::options::rocksdb_options_t;

/// Hears the events of a database.
#[derive(Debug)]
pub(crate) struct DatabaseEvents {
    listeners: Vec<Arc<Listener>>,
    statistics: Option<Arc<Statistics>>,
    /// The file of events, if there is one.
    log: OnceLock<InfoLog>,
    database: OnceLock<Weak<Database>>,
    /// Events from before the database had a handle.
    early: Mutex<Vec<Event>>,
    background_errors: AtomicU64,
}

impl DatabaseEvents {
    /// Makes the listener of a database that will be opened with these options.
    pub(crate) fn of(options: &rocksdb_options_t) -> Arc<DatabaseEvents> {
        Arc::new(DatabaseEvents {
            listeners: options.listeners.clone(),
            statistics: options.statistics.clone(),
            log: OnceLock::new(),
            database: OnceLock::new(),
            early: Mutex::default(),
            background_errors: AtomicU64::new(0),
        })
    }

    /// Tells the program's listeners of this database from now on, and its file of events.
    pub(crate) fn attach(&self, database: &Arc<Database>, log: Option<InfoLog>) {
        if let Some(log) = log {
            // An open attaches once.
            let _ = self.log.set(log);
        }
        let early = {
            let mut early = self.early.lock();
            let _ = self.database.set(Arc::downgrade(database));
            std::mem::take(&mut *early)
        };
        early.iter().for_each(|event| self.tell(database, event));
    }

    /// Adds a line to the file of events.
    pub(crate) fn note(&self, line: &str) {
        if let Some(log) = self.log.get() {
            log.add(line);
        }
    }

    /// Returns how often background work failed since the open.
    pub(crate) fn background_errors(&self) -> u64 {
        self.background_errors.load(Ordering::Relaxed)
    }

    /// Tells the program's listeners of a file that was ingested.
    pub(crate) fn tell_ingestion(&self, info: &rocksdb_externalfileingestioninfo_t) {
        let Some(database) = self.database.get().and_then(Weak::upgrade) else { return };
        self.listeners.iter().for_each(|listener| listener.tell_ingestion(&database, info));
    }

    fn count(&self, event: &Event) {
        let time = match event {
            Event::Flush { duration, .. } => (Measure::Flush, *duration),
            Event::Compaction { duration, .. } => (Measure::Compaction, *duration),
            Event::Stall { duration, .. } => (Measure::Stall, *duration),
            Event::BackgroundError { .. } => {
                self.background_errors.fetch_add(1, Ordering::Relaxed);
                if let Some(statistics) = &self.statistics {
                    statistics.count(Count::BackgroundErrors, 1);
                }
                return;
            }
            _ => return,
        };
        if let Some(statistics) = &self.statistics {
            statistics.measure_time(time.0, time.1);
        }
    }

    fn tell(&self, database: &Arc<Database>, event: &Event) {
        if let Some(log) = self.log.get() {
            log.event(event);
        }
        self.listeners.iter().for_each(|listener| listener.tell(database, event));
    }
}

impl EventListener for DatabaseEvents {
    fn on_event(&self, event: &Event) {
        self.count(event);
        let mut early = self.early.lock();
        match self.database.get() {
            None => early.push(event.clone()),
            Some(database) => {
                drop(early);
                if let Some(database) = database.upgrade() {
                    self.tell(&database, event);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_void};
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use foldb::events::StallReason;

    use super::*;
    use crate::database::open::{Mode, Wanted, open};
    use crate::database::rocksdb_t;
    use crate::keyspaces::{DEFAULT_FAMILY, PREPARED};
    use crate::objects::listener::{rocksdb_eventlistener_create, rocksdb_status_ptr_t};
    use crate::objects::listener_info::{
        rocksdb_flushjobinfo_t, rocksdb_writestallinfo_cur, rocksdb_writestallinfo_t,
    };
    use crate::options::rocksdb_options_add_eventlistener;

    /// What the callbacks counted.
    #[derive(Default)]
    struct Heard {
        flushes: AtomicUsize,
        errors: AtomicUsize,
        stalls: Mutex<Vec<c_int>>,
    }

    unsafe extern "C" fn flushed(
        state: *mut c_void,
        db: *mut rocksdb_t,
        _: *const rocksdb_flushjobinfo_t,
    ) {
        assert!(!db.is_null());
        (*state.cast::<Heard>()).flushes.fetch_add(1, Ordering::Relaxed);
    }

    unsafe extern "C" fn failed(state: *mut c_void, _: u32, status: *mut rocksdb_status_ptr_t) {
        assert!(!status.is_null());
        (*state.cast::<Heard>()).errors.fetch_add(1, Ordering::Relaxed);
    }

    unsafe extern "C" fn stalled(state: *mut c_void, info: *const rocksdb_writestallinfo_t) {
        let condition = *rocksdb_writestallinfo_cur(info).cast::<c_int>();
        let heard = &*state.cast::<Heard>();
        heard.stalls.lock().push(condition);
    }

    fn flush_of(keyspace: &str) -> Event {
        Event::Flush {
            keyspace: keyspace.into(),
            memtables: 1,
            records_in: 1,
            records_out: 1,
            bytes_written: 1,
            bytes_adopted: 0,
            files: Vec::new(),
            seqnos: (0, 0),
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn events_before_the_handle_wait_for_it_and_own_keyspaces_are_not_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = rocksdb_options_t::default();
        options.values.create_if_missing = 1;
        let families = [Wanted { name: DEFAULT_FAMILY, options: &options, ttl: None }];
        let database =
            open(&options, dir.path().join("db"), &families, Mode::Writable).ok().unwrap();
        let heard = Heard::default();
        let state = std::ptr::from_ref(&heard).cast_mut().cast::<c_void>();
        let listener = rocksdb_eventlistener_create(
            state,
            None,
            None,
            Some(flushed),
            None,
            None,
            None,
            None,
            None,
            Some(failed),
            Some(stalled),
            None,
        );
        let mut listening = options.clone();
        unsafe { rocksdb_options_add_eventlistener(&mut listening, listener) };
        let events = DatabaseEvents::of(&listening);

        events.on_event(&flush_of("default"));
        assert_eq!(heard.flushes.load(Ordering::Relaxed), 0, "there is no handle yet");
        events.attach(&database, None);
        assert_eq!(heard.flushes.load(Ordering::Relaxed), 1);
        events.on_event(&flush_of(PREPARED));
        assert_eq!(heard.flushes.load(Ordering::Relaxed), 1, "no family of the program");

        let reason = StallReason::Memtables;
        events.on_event(&Event::Stall { reason, duration: Duration::ZERO });
        assert_eq!(*heard.stalls.lock(), [1, 2], "stopped, then normal");
        let missing = foldb::Db::open(dir.path().join("none"), foldb::Options::default());
        events.on_event(&Event::BackgroundError { error: missing.unwrap_err() });
        assert_eq!((heard.errors.load(Ordering::Relaxed), events.background_errors()), (1, 1));
        database.close().unwrap();
    }
}
