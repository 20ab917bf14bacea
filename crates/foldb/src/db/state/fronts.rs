//! The fronts of queues: keys before which a range was seen to be empty.
//!
//! A front is a hint. Its user checks that nothing was written before it since.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::key::{KeyspaceId, SeqNo};
use crate::range_tombstone::{Edge, Key};

/// Most fronts kept. Beyond it, the one unused for longest goes.
const MOST: usize = 64;

/// Bytes of keys beyond which no front is kept.
const LONGEST: usize = 4 << 10;

/// The key up to which a range had no entry, and when.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    pub(crate) key: Key,
    pub(crate) seqno: SeqNo,
}

#[derive(Debug)]
struct Queue {
    keyspace: KeyspaceId,
    /// Where the range begins.
    start: Edge,
    front: Front,
}

/// The fronts of all keyspaces.
#[derive(Debug, Default)]
pub(crate) struct Fronts(Mutex<Queues>);

#[derive(Debug, Default)]
struct Queues {
    /// The one used last at the end.
    list: Vec<Queue>,
    /// No front was seen at or before this number.
    after: SeqNo,
}

impl Fronts {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets all fronts, and those up to this number that a thread has not set yet. Entries
    /// before them may be back.
    pub(crate) fn forget_all(&self, through: SeqNo) {
        *self.lock() = Queues { list: Vec::new(), after: through };
    }

    pub(crate) fn find(&self, keyspace: KeyspaceId, start: &Edge) -> Option<Front> {
        let queues = self.lock();
        let own = queues.list.iter().find(|queue| queue.is(keyspace, start))?;
        Some(own.front.clone())
    }

    /// Removes a front, unless another thread has set a newer one.
    pub(crate) fn forget(&self, keyspace: KeyspaceId, start: &Edge, front: &Front) {
        let is_stale = |queue: &Queue| queue.front.seqno <= front.seqno;
        self.lock().list.retain(|queue| !(queue.is(keyspace, start) && is_stale(queue)));
    }

    /// Sets the front, unless another thread has set a newer one.
    pub(crate) fn set(&self, keyspace: KeyspaceId, start: &Edge, front: Front) {
        if start.key_len() + front.key.len() > LONGEST {
            return;
        }
        let Queues { list: queues, after } = &mut *self.lock();
        if front.seqno <= *after {
            return;
        }
        let known = queues.iter().position(|queue| queue.is(keyspace, start));
        let known = known.map(|at| queues.remove(at).front);
        if known.is_none() && queues.len() >= MOST {
            queues.remove(0);
        }
        let front = known.filter(|known| known.seqno > front.seqno).unwrap_or(front);
        queues.push(Queue { keyspace, start: start.clone(), front });
    }
}

impl Queue {
    fn is(&self, keyspace: KeyspaceId, start: &Edge) -> bool {
        self.keyspace == keyspace && self.start == *start
    }
}
