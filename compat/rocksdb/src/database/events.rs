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

use crate::database::open::{DEFAULT_WITH_TTL, PREPARED};
use crate::database::{DEFAULT_FAMILY, Database};
use crate::objects::listener::Listener;
use crate::objects::statistics::{Count, Measure, Statistics};
use crate::options::rocksdb_options_t;

/// Hears the events of a database.
#[derive(Debug)]
pub(crate) struct DatabaseEvents {
    listeners: Vec<Arc<Listener>>,
    statistics: Option<Arc<Statistics>>,
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
            database: OnceLock::new(),
            early: Mutex::default(),
            background_errors: AtomicU64::new(0),
        })
    }

    /// Tells the program's listeners of this database from now on.
    pub(crate) fn attach(&self, database: &Arc<Database>) {
        let early = {
            let mut early = self.early.lock();
            // An open attaches once.
            let _ = self.database.set(Arc::downgrade(database));
            std::mem::take(&mut *early)
        };
        early.iter().for_each(|event| self.tell(database, event));
    }

    /// Returns how often background work failed since the open.
    pub(crate) fn background_errors(&self) -> u64 {
        self.background_errors.load(Ordering::Relaxed)
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
        self.listeners.iter().for_each(|listener| listener.tell(database, event));
    }
}

impl EventListener for DatabaseEvents {
    fn on_event(&self, event: &Event) {
        self.count(event);
        if self.listeners.is_empty() {
            return;
        }
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

/// Returns the name of the family that has a keyspace. `None` for the library's own keyspaces.
pub(crate) fn family_name(keyspace: &str) -> Option<&str> {
    match keyspace {
        DEFAULT_WITH_TTL => Some(DEFAULT_FAMILY),
        PREPARED => None,
        family => Some(family),
    }
}
