//! The flight recorder: a ring of small files with what the database did, for those who ask later.
//!
//! Each second in which something happened, the ticker of the runtime samples all figures of
//! [`Stats`](crate::stats::Stats) and the times of calls. Events are added as they happen: flushes
//! and compactions with their reasons, stalls, slow reads, failures. The files are written without
//! sync. Any program reads them ([`Recording`]), while the process runs and after it died. A
//! recording begins a second after the first event or timed call, so short programs write none.
//!
//! ```text
//!   calls, events  ──►  pending  ──►  ticker, once a second  ──►  FLIGHT-000007, FLIGHT-000008
//!                    bounded, in memory     figures, as changes      oldest files are removed
//! ```
//!
//! Invariants: no caller waits for a file of the recorder. A recorder that cannot write harms
//! nothing else. The files never take more than their budget.

mod floors;
mod format;
mod pending;
mod reading;
mod ring;
mod sampling;
mod writer;

#[cfg(any(test, feature = "internals"))]
pub(crate) use reading::decode_any;
pub use reading::{
    RecordedCalls, RecordedEvent, RecordedKey, RecordedSample, RecordedSession, Recording,
    Remarkable,
};
pub(crate) use writer::{Recorder, RecorderOptions};
