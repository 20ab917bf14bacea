//! Wakes the readers of the change feed that wait for the next update.
//!
//! A [`Signal`] is one word: how often something happened, and whether a reader sleeps until it
//! happens again. A writer adds to the word, and looks at the bit of the word before:
//!
//! ```text
//! writer   the frame is settled | add 2 to the word; was the bit set? | lock, clear the bit, wake
//! reader   look at the word | read the feed | lock, set the bit; is the count as seen? | sleep
//! ```
//!
//! All changes of the word are atomic, so they have one order. If the reader sets its bit first,
//! the writer sees the bit and wakes it. If the writer adds first, the reader sees another count,
//! does not sleep, and reads the frame. A reader sets its bit only with the lock, and does so again
//! after each wake. So a writer that clears the bit for one reader takes it from no other.
//!
//! The changes are `AcqRel`, and looks are `Acquire`: a reader that has an event in its count also
//! sees what happened before it was announced. Otherwise it could count a frame and not find it.
//!
//! There are two signals, because a write that is not synced is no news to a reader of durable
//! updates. An update is durable when its frame is settled *and* synced, in either order:
//!
//! ```text
//! settle the frame | add to `written` | is it synced?   yes: add to `durable`
//! sync the frame   | add to `written`                 | add to `durable`
//! ```
//!
//! The second of the two to add to `written` sees what the first did before, and its reader too:
//! it reads the sum that the first one released. So the look whether it is synced comes behind the
//! addition, which acquires.
//!
//! Invariant: what a signal announces was stored before it is announced. Without a reader that
//! sleeps, an announcement takes no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::locks::rank::NEWS;
use crate::locks::{Condition, Lock};

/// Announces that a reader of the feed may find more.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// A frame is settled, or anything of `durable` happened.
    written: Signal,
    /// An update that survives a power loss may be there, or the database is closed.
    durable: Signal,
}

impl News {
    /// Announces a settled frame. `is_synced` tells whether it is synced too.
    #[inline]
    pub(crate) fn settled(&self, is_synced: impl FnOnce() -> bool) {
        self.written.announce();
        if is_synced() {
            self.durable.announce();
        }
    }

    /// Announces any other change: more frames are synced, a log follows, the database is closed.
    pub(crate) fn changed(&self) {
        self.written.announce();
        self.durable.announce();
    }

    /// Returns the signal of durable updates, or of all updates.
    pub(crate) fn of(&self, durable: bool) -> &Signal {
        if durable { &self.durable } else { &self.written }
    }
}

/// Counts events, and wakes the threads that wait for the next one.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    /// Twice the number of events, and [`SLEEPS`].
    word: AtomicU64,
    asleep: Lock<(), NEWS>,
    woken: Condition,
}

/// A thread sleeps until the next event.
const SLEEPS: u64 = 1;
const EVENT: u64 = 2;

impl Signal {
    #[inline]
    pub(crate) fn announce(&self) {
        if self.word.fetch_add(EVENT, Ordering::AcqRel) & SLEEPS != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let _asleep = self.asleep.lock();
        self.word.fetch_and(!SLEEPS, Ordering::AcqRel);
        self.woken.notify_all();
    }

    /// Returns the number of events so far.
    pub(crate) fn events(&self) -> u64 {
        self.word.load(Ordering::Acquire) / EVENT
    }

    /// Waits until there were more events than `seen`, for at most this long. It may return sooner.
    pub(crate) fn wait(&self, seen: u64, at_most: Duration) {
        let asleep = self.asleep.lock();
        if self.word.fetch_or(SLEEPS, Ordering::AcqRel) / EVENT == seen {
            drop(self.woken.wait_for(asleep, at_most));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    const LONG: Duration = Duration::from_secs(60);

    /// Waits until `cell` holds `wanted`, as a reader of the feed does.
    fn wait_until(signal: &Signal, cell: &AtomicU64, wanted: u64) {
        let begin = Instant::now();
        loop {
            let seen = signal.events();
            if cell.load(Ordering::Relaxed) >= wanted {
                return;
            }
            signal.wait(seen, LONG);
            assert!(begin.elapsed() < LONG, "a wake-up was lost before {wanted}");
        }
    }

    #[test]
    fn an_event_before_the_sleep_ends_the_wait() {
        let signal = Signal::default();
        let seen = signal.events();
        signal.announce();
        signal.wait(seen, LONG);
    }

    #[test]
    fn without_an_event_the_time_ends_the_wait() {
        let signal = Signal::default();
        signal.wait(signal.events(), Duration::from_millis(2));
        assert_eq!(signal.word.load(Ordering::Relaxed), SLEEPS);
        signal.announce();
        assert_eq!(signal.word.load(Ordering::Relaxed), EVENT, "the event clears the bit");
    }

    /// One value goes to two readers, and comes back from each: no thread can go on without the
    /// wake-up of each round.
    #[test]
    fn no_wake_up_is_lost_between_two_readers_and_a_writer() {
        const ROUNDS: u64 = 20_000;
        let (there, back) = (Signal::default(), Signal::default());
        let (sent, returned) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for round in 1..=ROUNDS {
                        wait_until(&there, &sent, round);
                        returned.fetch_add(1, Ordering::Relaxed);
                        back.announce();
                    }
                });
            }
            for round in 1..=ROUNDS {
                sent.store(round, Ordering::Relaxed);
                there.announce();
                wait_until(&back, &returned, 2 * round);
            }
        });
    }

    /// A frame is settled by one thread and synced by another. Whatever comes last, a reader of
    /// durable updates learns of it.
    #[test]
    fn the_last_of_settled_and_synced_wakes_a_reader_of_durable_updates() {
        const ROUNDS: u64 = 20_000;
        let news = News::default();
        let [settled, synced, done] = [0; 3].map(AtomicU64::new);
        let ready = Signal::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    wait_until(&ready, &done, round - 1);
                    settled.store(round, Ordering::Relaxed);
                    news.settled(|| synced.load(Ordering::Relaxed) >= round);
                }
            });
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    wait_until(&ready, &done, round - 1);
                    synced.store(round, Ordering::Relaxed);
                    news.changed();
                }
            });
            for round in 1..=ROUNDS {
                let begin = Instant::now();
                loop {
                    let seen = news.of(true).events();
                    let least = settled.load(Ordering::Relaxed).min(synced.load(Ordering::Relaxed));
                    if least >= round {
                        break;
                    }
                    news.of(true).wait(seen, LONG);
                    assert!(begin.elapsed() < LONG, "a wake-up was lost in round {round}");
                }
                done.store(round, Ordering::Relaxed);
                ready.announce();
            }
        });
    }
}
