//! Resolved settings: plain data without handles, which every module above may read.

mod choices;
mod expiry;
mod keyspace;
mod knobs;
mod log_adoption;
pub(crate) mod memory;
pub(crate) mod range;
mod resolved;
mod retention;
pub(crate) mod table;

pub(crate) use choices::codec_from_u8;
pub use choices::{CompactionPreset, Compression};
pub use expiry::{Expires, Expiry};
pub(crate) use expiry::{ExpiryRule, nanoseconds};
pub(crate) use keyspace::KeyspaceSettings;
pub use knobs::Knobs;
pub use log_adoption::LogAdoption;
pub(crate) use memory::{MemoryShares, Wanted};
pub(crate) use resolved::{SegmentSettings, Settings, TreeSettings, WriteBuffers};
pub(crate) use retention::WalRetention;

/// Most levels a tree may have.
pub(crate) const MAX_LEVELS: usize = 32;
