//! Errors of a queue: what happened, and what the program does next.

use std::fmt;

use foldb::ErrorKind;

/// The result of every fallible call of a queue.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. In a transaction of the program's own, `?` turns it into a [`foldb::Error`].
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb::Db::create(dir.path().join("db"))?;
/// use std::time::Duration;
/// use foldb_queue::{Error, Queue, QueueOptions};
///
/// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
/// let id = jobs.push("job")?;
/// let job = jobs.claim("worker 1", Duration::from_secs(60))?.unwrap();
/// jobs.ack(&job)?;
/// let error = jobs.ack(&job).unwrap_err();
/// assert!(matches!(error, Error::LeaseLost { id: lost, is_gone: true, .. } if lost == id));
/// # Ok::<(), foldb_queue::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The claim no longer holds its job, so nothing was written. Its lease ended and the queue
    /// gave the job back, or the job was ended before. Drop the result of this attempt: another
    /// claim does the job, or did it.
    LeaseLost {
        /// The job.
        id: u64,
        /// The attempt of the claim.
        attempt: u32,
        /// Whether the queue no longer has the job: it is done, or its dead letter was discarded.
        is_gone: bool,
    },
    /// No dead letter has this id. It was revived or discarded before, or the job never died.
    NotDead {
        /// The id.
        id: u64,
    },
    /// The keyspace holds entries that no queue wrote. Give the queue another name.
    NotAQueue {
        /// The keyspace.
        name: String,
    },
    /// The engine failed: see [`foldb::Error::kind`]. Nothing was written.
    Engine(foldb::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::LeaseLost { id, attempt, is_gone } => {
                let now = if *is_gone { "has ended" } else { "was given back" };
                write!(
                    f,
                    "attempt {attempt} of job {id} no longer holds its lease, and the job {now}: \
                     nothing was written, drop the result of this attempt"
                )
            }
            Error::NotDead { id } => {
                write!(f, "no dead letter has the id {id}: it was revived or discarded before")
            }
            Error::NotAQueue { name } => write!(
                f,
                "the keyspace '{name}' holds entries that no queue wrote: give the queue another \
                 name"
            ),
            Error::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Engine(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

impl From<foldb::Error> for Error {
    fn from(error: foldb::Error) -> Error {
        Error::Engine(error)
    }
}

impl From<Error> for foldb::Error {
    /// Ends a transaction of the program's own. A lost lease becomes [`ErrorKind::Aborted`].
    fn from(error: Error) -> foldb::Error {
        match error {
            Error::Engine(error) => error,
            Error::LeaseLost { .. } => foldb::Error::aborted(error.to_string()),
            _ => foldb::Error::new(ErrorKind::InvalidArgument, error.to_string()),
        }
    }
}
