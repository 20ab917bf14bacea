//! Options of queues and of pushes.

use std::sync::Arc;
use std::time::Duration;

use foldb::env::{Clock, SystemClock};

/// How a handle of a queue works. The options belong to the handle and are not stored, so another
/// open may give others.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb::Db::create(dir.path().join("db"))?;
/// use foldb_queue::{Queue, QueueOptions};
///
/// let careful = QueueOptions { max_attempts: 3, sync: true, ..QueueOptions::default() };
/// let payments = Queue::open(&db, "payments", careful)?;
/// # Ok::<(), foldb_queue::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct QueueOptions {
    /// How often a job is claimed before it becomes a dead letter. At least 1. Default: 5.
    pub max_attempts: u32,
    /// How long a job waits after [`Queue::fail`](crate::Queue::fail). Default: 1 second.
    pub retry_delay: Duration,
    /// Whether pushes and ends of jobs return only when they are on the medium. A claim never waits
    /// for that: power loss takes a claim back only together with all later writes. Default: false.
    pub sync: bool,
    /// The clock for delays and leases, by its time of day. Give it the clock of
    /// [`foldb::Options::env`] if that one was replaced. Default: the machine's.
    pub clock: Arc<dyn Clock>,
}

impl Default for QueueOptions {
    fn default() -> QueueOptions {
        QueueOptions {
            max_attempts: 5,
            retry_delay: Duration::from_secs(1),
            sync: false,
            clock: Arc::new(SystemClock::default()),
        }
    }
}

/// When a job is claimed.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb::Db::create(dir.path().join("db"))?;
/// use std::time::Duration;
/// use foldb_queue::{PushOptions, Queue, QueueOptions};
///
/// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
/// let tomorrow = PushOptions { delay: Duration::from_secs(86_400), ..PushOptions::default() };
/// jobs.push_with("report", tomorrow)?;
/// assert!(jobs.claim("worker 1", Duration::from_secs(60))?.is_none());
/// # Ok::<(), foldb_queue::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushOptions {
    /// Jobs of a larger priority are claimed first. Default: 0.
    pub priority: i32,
    /// How long the job waits before it can be claimed. Default: zero.
    pub delay: Duration,
}
