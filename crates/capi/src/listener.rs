//! Listeners that C programs implement. They get each event as a name and a line of text.

use std::ffi::{c_char, c_void};
use std::fmt;

use foldb::events::{Event, EventListener};
use foldb::{Error, Result};

use crate::boundary::Functions;
use crate::error::c_string;
use crate::operator::destroy;

/// Gets an event: its name, for example `flush`, and a line that describes it. Both live during the
/// call.
pub type foldb_event_fn =
    Option<unsafe extern "C" fn(state: *mut c_void, name: *const c_char, text: *const c_char)>;

/// A listener for the events of databases. The names are `flush`, `compaction`,
/// `garbage_collection`, `stall`, `merge_failed`, `tail_dropped`, `table_damaged`, `clock_jumped`,
/// `disk_full`, `disk_has_space` and `background_error`; later versions may add more.
///
/// Any thread may call the function, several at the same time, and the database waits for it. It
/// may read from the database. It must not call `foldb_flush`, `foldb_compact` or another function
/// that waits for background work; they fail with `FOLDB_REENTRANT`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct foldb_listener_t {
    /// `sizeof` of this struct. It tells the library which fields the program's header has.
    pub size: usize,
    /// Passed to all functions. May be NULL.
    pub state: *mut c_void,
    /// Frees `state`. May be NULL.
    pub destructor: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// Gets an event.
    pub on_event: foldb_event_fn,
}

// SAFETY: the size comes first, and zero bytes are NULL, 0 and false.
unsafe impl Functions for foldb_listener_t {}

/// A [`foldb_listener_t`] in the engine.
pub(crate) struct ForeignListener(foldb_listener_t);

// SAFETY: any thread may call the functions with `state`, several at the same time, and any thread
// may call the destructor; the header demands that of the program.
unsafe impl Send for ForeignListener {}
// SAFETY: as above.
unsafe impl Sync for ForeignListener {}

impl ForeignListener {
    /// Takes a listener of the program, with its state.
    ///
    /// # Safety
    /// The struct keeps the rules of the header.
    ///
    /// # Errors
    /// `InvalidArgument` without `on_event`. The state is freed then too.
    pub(crate) unsafe fn take(own: &foldb_listener_t) -> Result<ForeignListener> {
        let listener = ForeignListener(*own);
        match own.on_event {
            Some(_) => Ok(listener),
            None => Err(Error::invalid_argument("listener.on_event is NULL")),
        }
    }
}

impl Drop for ForeignListener {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the state, and drops once.
        unsafe { destroy(self.0.state, self.0.destructor) };
    }
}

impl fmt::Debug for ForeignListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignListener({:?})", self.0.state)
    }
}

impl EventListener for ForeignListener {
    fn on_event(&self, event: &Event) {
        let Some(on_event) = self.0.on_event else { return };
        let text = c_string(&event.to_string());
        let name = c_string(event.name());
        // SAFETY: the program's function keeps the rules of the header; both texts live.
        unsafe { on_event(self.0.state, name.as_ptr(), text.as_ptr()) };
    }
}
