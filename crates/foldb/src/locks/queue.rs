//! A queue of threads: the first goes on, the others sleep until they are first.
//!
//! A mutex that is passed on in the order of arrival would serve. That of parking_lot keeps its
//! sleepers in a table of the whole process. A thread of a parent may hold that table at a fork.
//! The child's writers then wait for ever.
//!
//! Invariant: the queue has a first thread whenever threads wait in it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::{Condition, Lock};

/// A queue whose own lock has this rank. A thread may be first while it waits for any other lock.
pub(crate) struct Queue<const RANK: u8>(Lock<Line, RANK>);

#[derive(Default)]
struct Line {
    has_first: bool,
    /// The threads behind the first one. Each sleeps at a condition of its own.
    others: VecDeque<Arc<Condition>>,
}

impl Line {
    fn position(&self, thread: &Arc<Condition>) -> Option<usize> {
        self.others.iter().position(|other| Arc::ptr_eq(other, thread))
    }
}

/// The thread is the first in the queue while this value lives.
pub(crate) struct First<'a, const RANK: u8>(&'a Queue<RANK>);

impl<const RANK: u8> Queue<RANK> {
    pub(crate) fn new() -> Queue<RANK> {
        Queue(Lock::new(Line::default()))
    }

    /// Waits until this thread is first, but no longer than until `end`.
    pub(crate) fn enter(&self, end: Option<Instant>) -> Option<First<'_, RANK>> {
        let mut line = self.0.lock();
        if !line.has_first {
            line.has_first = true;
            return Some(First(self));
        }
        let thread = Arc::new(Condition::default());
        line.others.push_back(Arc::clone(&thread));
        let waits = |line: &mut Line| line.position(&thread).is_some();
        let mut line = match end {
            None => thread.wait_while(line, waits),
            Some(end) => {
                let time = end.saturating_duration_since(Instant::now());
                thread.wait_while_for(line, waits, time)
            }
        };
        match line.position(&thread) {
            Some(at) => {
                line.others.remove(at);
                None
            }
            None => Some(First(self)),
        }
    }
}

impl<const RANK: u8> Drop for First<'_, RANK> {
    fn drop(&mut self) {
        let next = {
            let mut line = self.0.0.lock();
            debug_assert!(line.has_first, "the first thread leaves the queue");
            let next = line.others.pop_front();
            line.has_first = next.is_some();
            next
        };
        if let Some(next) = next {
            next.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rank::TRASH;
    use super::*;
    use std::sync::Mutex;
    use std::thread;
    use std::time::Duration;

    fn wait_for_others(queue: &Queue<TRASH>, number: usize) {
        while queue.0.lock().others.len() != number {
            thread::yield_now();
        }
    }

    #[test]
    fn threads_go_on_in_the_order_in_which_they_came() {
        let (queue, order) = (Queue::<TRASH>::new(), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            let first = queue.enter(None).expect("the queue is empty");
            for n in 0..20 {
                let (queue, order) = (&queue, &order);
                scope.spawn(move || {
                    let _first = queue.enter(None).expect("there is no deadline");
                    order.lock().unwrap().push(n);
                });
                wait_for_others(queue, n + 1);
            }
            drop(first);
        });
        assert_eq!(order.into_inner().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_thread_that_gives_up_leaves_the_queue() {
        let queue = Queue::<TRASH>::new();
        let first = queue.enter(None).expect("the queue is empty");
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(queue.enter(Some(Instant::now() + Duration::from_millis(5))).is_none());
            });
        });
        wait_for_others(&queue, 0);
        drop(first);
        assert!(queue.enter(Some(Instant::now())).is_some());
    }

    #[test]
    fn a_panic_of_the_first_thread_lets_the_next_one_go_on() {
        let queue = Queue::<TRASH>::new();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _first = queue.enter(None);
            panic!("as the test asks");
        }));
        assert!(panicked.is_err());
        assert!(queue.enter(Some(Instant::now())).is_some());
    }

    /// Threads come, give up and leave all the time.
    #[test]
    fn one_thread_at_a_time_is_first() {
        let queue = Queue::<TRASH>::new();
        let inside = Mutex::new(());
        thread::scope(|scope| {
            for thread in 0..4u64 {
                let (queue, inside) = (&queue, &inside);
                scope.spawn(move || {
                    for n in 0..500 {
                        let patience = Duration::from_micros((thread * 7 + n) % 60);
                        let end = (thread > 0).then(|| Instant::now() + patience);
                        if let Some(_first) = queue.enter(end) {
                            drop(inside.try_lock().expect("no other thread is first"));
                        }
                    }
                });
            }
        });
        assert!(!queue.0.lock().has_first);
    }
}
