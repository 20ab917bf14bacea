//! Listeners of the program.
//!
//! The engine tells of work when it is done. So the callbacks of a beginning come with those of its
//! end, directly before them, and those of a change of stalls come when a write has waited.
//! Programs that count beginnings and ends find them in pairs.
//!
//! Invariant: what a callback gets is valid until it returns.

use std::ffi::c_void;
use std::sync::Arc;

use foldb::events::Event;

use crate::boundary::{Destructor, State, free, handle};
use crate::database::{Database, rocksdb_t};
use crate::objects::listener_info::{
    rocksdb_compactionjobinfo_t, rocksdb_externalfileingestioninfo_t, rocksdb_flushjobinfo_t,
    rocksdb_memtableinfo_t, rocksdb_subcompactionjobinfo_t, rocksdb_writestallinfo_t,
};

/// Tells of a flush.
type FlushEvent =
    Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_flushjobinfo_t)>;

/// Tells of a compaction.
type CompactionEvent =
    Option<unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_compactionjobinfo_t)>;

/// Tells of a part of a compaction.
type SubcompactionEvent =
    Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_subcompactionjobinfo_t)>;

/// Tells of an ingestion.
type IngestionEvent = Option<
    unsafe extern "C" fn(*mut c_void, *mut rocksdb_t, *const rocksdb_externalfileingestioninfo_t),
>;

/// Tells of failed background work.
type ErrorEvent = Option<unsafe extern "C" fn(*mut c_void, u32, *mut rocksdb_status_ptr_t)>;

/// Tells of writes that stall.
type StallEvent = Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_writestallinfo_t)>;

/// Tells of a memtable that takes no more writes.
type MemtableEvent = Option<unsafe extern "C" fn(*mut c_void, *const rocksdb_memtableinfo_t)>;

/// RocksDB: `EventListener`.
pub struct rocksdb_eventlistener_t(pub(crate) Arc<Listener>);

/// A listener of the program.
#[derive(Debug)]
pub(crate) struct Listener {
    state: State,
    on_flush_begin: FlushEvent,
    on_flush_completed: FlushEvent,
    on_compaction_begin: CompactionEvent,
    on_compaction_completed: CompactionEvent,
    on_subcompaction_begin: SubcompactionEvent,
    on_subcompaction_completed: SubcompactionEvent,
    on_external_file_ingested: IngestionEvent,
    on_background_error: ErrorEvent,
    on_stall_conditions_changed: StallEvent,
}

/// RocksDB: a pointer to a `Status`.
pub struct rocksdb_status_ptr_t {
    _private: (),
}

/// RocksDB: `BackgroundErrorReason::kCompaction`. The engine does not tell which work failed.
const OF_A_COMPACTION: u32 = 1;

impl Listener {
    /// Tells the program of an event.
    pub(crate) fn tell(&self, database: &Arc<Database>, event: &Event) {
        if let Some(info) = rocksdb_flushjobinfo_t::of(event) {
            self.tell_flush(database, &info);
        } else if let Some(info) = rocksdb_compactionjobinfo_t::of(event) {
            self.tell_compaction(database, info);
        } else if let Event::Stall { reason, .. } = event {
            rocksdb_writestallinfo_t::changes(*reason)
                .iter()
                .for_each(|info| self.tell_stall(info));
        } else if let Event::BackgroundError { .. } = event {
            self.tell_error();
        }
    }

    /// Tells the program of a file that was ingested.
    pub(crate) fn tell_ingestion(
        &self,
        database: &Arc<Database>,
        info: &rocksdb_externalfileingestioninfo_t,
    ) {
        let Some(told) = self.on_external_file_ingested else { return };
        let mut db = rocksdb_t { database: database.clone() };
        // SAFETY: the program's function keeps the rules of the header; the objects live.
        unsafe { told(self.state.pointer, &mut db, info) };
    }

    fn tell_flush(&self, database: &Arc<Database>, info: &rocksdb_flushjobinfo_t) {
        let mut db = rocksdb_t { database: database.clone() };
        for told in [self.on_flush_begin, self.on_flush_completed].into_iter().flatten() {
            // SAFETY: the program's function keeps the rules of the header; the objects live.
            unsafe { told(self.state.pointer, &mut db, info) };
        }
    }

    fn tell_compaction(&self, database: &Arc<Database>, info: rocksdb_compactionjobinfo_t) {
        let mut db = rocksdb_t { database: database.clone() };
        let (state, part) = (self.state.pointer, rocksdb_subcompactionjobinfo_t(info));
        // SAFETY: the program's functions keep the rules of the header; the objects live.
        unsafe {
            if let Some(told) = self.on_compaction_begin {
                told(state, &mut db, &part.0);
            }
            if let Some(told) = self.on_subcompaction_begin {
                told(state, &part);
            }
            if let Some(told) = self.on_subcompaction_completed {
                told(state, &part);
            }
            if let Some(told) = self.on_compaction_completed {
                told(state, &mut db, &part.0);
            }
        }
    }

    fn tell_stall(&self, info: &rocksdb_writestallinfo_t) {
        if let Some(told) = self.on_stall_conditions_changed {
            // SAFETY: the program's function keeps the rules of the header; the object lives.
            unsafe { told(self.state.pointer, info) };
        }
    }

    fn tell_error(&self) {
        let Some(told) = self.on_background_error else { return };
        let mut status = rocksdb_status_ptr_t { _private: () };
        // SAFETY: the program's function keeps the rules of the header; the object lives.
        unsafe { told(self.state.pointer, OF_A_COMPACTION, &mut status) };
    }
}

/// Makes a listener. That of sealed memtables is never called: the engine has no such event.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_eventlistener_create(
    state: *mut c_void,
    destructor: Destructor,
    on_flush_begin: FlushEvent,
    on_flush_completed: FlushEvent,
    on_compaction_begin: CompactionEvent,
    on_compaction_completed: CompactionEvent,
    on_subcompaction_begin: SubcompactionEvent,
    on_subcompaction_completed: SubcompactionEvent,
    on_external_file_ingested: IngestionEvent,
    on_background_error: ErrorEvent,
    on_stall_conditions_changed: StallEvent,
    _on_memtable_sealed: MemtableEvent,
) -> *mut rocksdb_eventlistener_t {
    handle(rocksdb_eventlistener_t(Arc::new(Listener {
        state: State::new(state, destructor),
        on_flush_begin,
        on_flush_completed,
        on_compaction_begin,
        on_compaction_completed,
        on_subcompaction_begin,
        on_subcompaction_completed,
        on_external_file_ingested,
        on_background_error,
        on_stall_conditions_changed,
    })))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_eventlistener_destroy(listener: *mut rocksdb_eventlistener_t) {
    free(listener);
}

/// The engine tries failed work again by itself, and decides by itself when writes stop.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_reset_status(_status: *mut rocksdb_status_ptr_t) {}
