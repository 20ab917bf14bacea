//! How many jobs are in which state: counted by transitions.
//!
//! ```text
//!   push ──────────────> ready ──claim──> leased ──ack──> done
//!     └──> delayed ──woken──^ ^───returned───┤
//!             ^───────postponed──────────────┤
//!                             ^──revived── dead ──discarded──>
//! ```
//!
//! Each commit merges 1 into the counter of its transition, and never changes another one. So the
//! counters only grow, and the jobs in a state are those that came without those that left.

use crate::error::Result;
use crate::layout::{self, COUNT};
use crate::queue::Queue;

/// A change of the state of a job. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Transition {
    PushedReady = 0,
    PushedDelayed = 1,
    /// From delayed to ready.
    Woken = 2,
    Claimed = 3,
    Acked = 4,
    /// From leased to ready.
    Returned = 5,
    /// From leased to delayed.
    Postponed = 6,
    Died = 7,
    Revived = 8,
    Discarded = 9,
}

use Transition::*;

impl Transition {
    const ALL: [Transition; 10] = [
        PushedReady,
        PushedDelayed,
        Woken,
        Claimed,
        Acked,
        Returned,
        Postponed,
        Died,
        Revived,
        Discarded,
    ];

    pub(crate) fn key(self) -> [u8; 2] {
        [COUNT, self as u8]
    }
}

/// How many jobs are in each state.
///
/// A job whose delay or lease has ended counts as delayed or leased until the next claim looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Depth {
    /// Jobs that can be claimed.
    pub ready: u64,
    /// Jobs that wait for their time.
    pub delayed: u64,
    /// Jobs in the hands of workers.
    pub leased: u64,
    /// Dead letters.
    pub dead: u64,
    /// Jobs that were done since the queue was created.
    pub done: u64,
}

impl Queue {
    /// Returns how many jobs are in each state, at one moment. The call takes as long however many
    /// jobs there are.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine): as [`foldb::Keyspace::get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{PushOptions, Queue, QueueOptions};
    ///
    /// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
    /// let later = PushOptions { delay: Duration::from_secs(60), ..PushOptions::default() };
    /// jobs.push_with("later", later)?;
    /// jobs.push("now")?;
    /// jobs.push("next")?;
    /// jobs.claim("worker 1", Duration::from_secs(60))?;
    /// let depth = jobs.depth()?;
    /// assert_eq!((depth.ready, depth.delayed, depth.leased), (1, 1, 1));
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn depth(&self) -> Result<Depth> {
        let mut counts = [0; Transition::ALL.len()];
        let keys = Transition::ALL.map(Transition::key);
        for ((key, value), count) in keys.iter().zip(self.own().multi_get(keys)?).zip(&mut counts) {
            if let Some(value) = value? {
                *count = layout::number(key, &value)?;
            }
        }
        let sum = |of: &[Transition]| of.iter().map(|&it| counts[it as usize]).sum::<u64>();
        let left = |came: &[Transition], went: &[Transition]| sum(came).saturating_sub(sum(went));
        Ok(Depth {
            ready: left(&[PushedReady, Woken, Returned, Revived], &[Claimed]),
            delayed: left(&[PushedDelayed, Postponed], &[Woken]),
            leased: left(&[Claimed], &[Acked, Returned, Postponed, Died]),
            dead: left(&[Died], &[Revived, Discarded]),
            done: sum(&[Acked]),
        })
    }
}
