//! The data that the writer lock guards: the memtables being filled, the log, and facts about both.

use std::time::Duration;

use crate::db::state::announced::Announced;
use crate::db::state::buffers::Buffers;
use crate::db::state::recent_writes::RecentWrites;
use crate::db::state::transactions::Turn;
use crate::fold::CachedResolver;
use crate::wal::{LogWriter, SeparableValues};

/// State that only the current writer touches. It has a cache line of its own, because waiters read
/// the lock around it.
#[repr(align(128))]
pub(crate) struct WriterState {
    pub(crate) buffers: Buffers,
    pub(crate) log: LogWriter,
    /// Whether the log holds a batch.
    pub(crate) log_used: bool,
    /// The keyspaces that the log has announced, if those that exist are others. Then the log
    /// *owes* records of what was created and dropped, and takes no batch before them. If it ends
    /// without them, the next log owes them.
    pub(crate) owed: Option<Announced>,
    /// Positions of the values in the log that a flush may adopt.
    pub(crate) separable: SeparableValues,
    /// Whether the memtables hold writes that are in no log.
    pub(crate) unlogged: bool,
    /// When the first memtable was begun after the last seal.
    pub(crate) filling_since: Option<Duration>,
    /// Bytes applied since a writer last checked the memory budget.
    pub(crate) since_look: u64,
    /// Number of operators that the log defines. Built-in operators need no definition.
    pub(crate) defined: usize,
    pub(crate) operators: CachedResolver,
    /// The writes that open transactions may conflict with.
    pub(crate) recent: RecentWrites,
    /// The thread whose writes alone pass for now, if one has a turn.
    pub(crate) turn: Option<Turn>,
}

impl WriterState {
    pub(crate) fn new(buffers: Buffers, log: LogWriter, operators: CachedResolver) -> WriterState {
        let (log_used, unlogged, since_look) = (false, false, 0);
        let (filling_since, separable) = (None, SeparableValues::default());
        WriterState {
            buffers,
            log,
            log_used,
            owed: None,
            separable,
            unlogged,
            filling_since,
            since_look,
            defined: 0,
            operators,
            recent: RecentWrites::new(),
            turn: None,
        }
    }
}
