//! Listeners of the program.

use std::sync::Arc;

/// RocksDB: `EventListener`.
pub struct rocksdb_eventlistener_t(pub(crate) Arc<Listener>);

/// A listener of the program.
#[derive(Debug)]
pub(crate) struct Listener {}
