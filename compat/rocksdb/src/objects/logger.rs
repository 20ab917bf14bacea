//! Loggers of the program. The engine tells them its events: opens, flushes, compactions, errors.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use foldb::events::{Event, EventListener};

use crate::boundary::{State, free, handle, text};

/// Receives a line: its level, its text and the length of that.
pub type LogLine = Option<unsafe extern "C" fn(*mut c_void, c_uint, *mut c_char, usize)>;

/// RocksDB: `Logger`.
pub struct rocksdb_logger_t(pub(crate) Arc<Logger>);

/// Where lines go, from a level on.
#[derive(Debug)]
pub(crate) struct Logger {
    level: c_int,
    to: Destination,
}

#[derive(Debug)]
enum Destination {
    StandardError { prefix: String },
    Callback { line: LogLine, state: State },
}

/// RocksDB: `InfoLogLevel::INFO_LEVEL`.
const INFO: c_int = 1;

/// RocksDB: `InfoLogLevel::WARN_LEVEL`.
const WARNING: c_int = 2;

/// RocksDB: `InfoLogLevel::ERROR_LEVEL`.
const ERROR: c_int = 3;

/// Returns how important an event is.
pub(crate) fn level_of(event: &Event) -> c_int {
    match event {
        Event::BackgroundError { .. } | Event::TableDamaged { .. } | Event::FoldDiffers(_) => ERROR,
        Event::Stall { .. }
        | Event::MergeFailed(_)
        | Event::TailDropped(_)
        | Event::FeedShortened { .. }
        | Event::ClockJumped(_)
        | Event::DiskFull { .. } => WARNING,
        _ => INFO,
    }
}

impl Logger {
    /// Tells a line, if it is important enough.
    fn log(&self, level: c_int, line: &str) {
        if level < self.level {
            return;
        }
        match &self.to {
            Destination::StandardError { prefix } => eprintln!("{prefix} {line}"),
            Destination::Callback { line: Some(callback), state } => {
                let mut copy = line.as_bytes().to_vec();
                copy.push(0);
                // SAFETY: the program's function keeps the rules of the header; the text lives.
                unsafe {
                    let start = copy.as_mut_ptr().cast::<c_char>();
                    callback(state.pointer, level as c_uint, start, line.len());
                }
            }
            Destination::Callback { line: None, .. } => {}
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_logger_create_stderr_logger(
    level: c_int,
    prefix: *const c_char,
) -> *mut rocksdb_logger_t {
    let prefix = text(prefix, "prefix").unwrap_or_default().to_owned();
    handle(rocksdb_logger_t(Arc::new(Logger { level, to: Destination::StandardError { prefix } })))
}

#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_logger_create_callback_logger(
    level: c_int,
    line: LogLine,
    state: *mut c_void,
) -> *mut rocksdb_logger_t {
    let to = Destination::Callback { line, state: State::new(state, None) };
    handle(rocksdb_logger_t(Arc::new(Logger { level, to })))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_logger_destroy(logger: *mut rocksdb_logger_t) {
    free(logger);
}

impl EventListener for Logger {
    fn on_event(&self, event: &Event) {
        self.log(level_of(event), &event.to_string());
    }
}
