//! A machine made of one seed: it owns the threads, time and randomness of the code that it runs.
//!
//! The program itself defines the C library's calls for locks (`syscall` of a futex), clocks,
//! sleeps, randomness and threads (`calls`). The standard library and every crate reach the system
//! through these calls, so code needs no changes to run here. A thread outside a run gets the C
//! library's own calls (`real`).
//!
//! The machine does not reorder memory accesses between two calls. One thread runs at a time, so
//! all threads of a run see the accesses in one order. Loom and Miri check code that depends on
//! weaker orders.
//!
//! Invariant: two runs of one seed and one body make the same decisions ([`Trace::hash`]).

mod addresses;
mod calls;
mod real;
mod scheduler;

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

pub use addresses::fix_addresses;
pub use scheduler::{Pace, Trace};

/// The result of a run.
#[derive(Debug)]
pub struct Run<T> {
    /// The body's result; `Err` has the message of its panic.
    pub outcome: Result<T, String>,
    /// The decisions of the run.
    pub trace: Trace,
}

/// Runs `body` on a machine drawn from `seed`. Every thread that it starts, every lock, clock,
/// sleep and random number belongs to the run. Runs of other threads wait for it to end.
///
/// If every thread of a run waits without a deadline, the run cannot end. Then the process prints
/// `seed` on standard error and exits with code 3.
///
/// ```
/// use std::time::{Duration, Instant};
/// use foldb_simulation::machine;
///
/// let nap = || {
///     let begun = Instant::now();
///     std::thread::sleep(Duration::from_secs(3600));
///     begun.elapsed()
/// };
/// let (once, again) = (machine::run(7, nap), machine::run(7, nap));
/// assert!(once.outcome.unwrap() >= Duration::from_secs(3600)); // and no time has passed
/// assert_eq!(once.trace, again.trace);
/// ```
pub fn run<T: Send>(seed: u64, body: impl FnOnce() -> T + Send) -> Run<T> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _from_the_first_run_on = foldb_env::at_scheduling_points(calls::scheduling_point);
    calls::switch_on(seed);
    let outcome = std::thread::scope(|scope| {
        let body = AssertUnwindSafe(body);
        let first = calls::as_first_thread(|| scope.spawn(|| panic::catch_unwind(body)));
        first.join()
    });
    let outcome = outcome.and_then(|caught| caught).map_err(|panic| message_of(&*panic));
    Run { outcome, trace: calls::switch_off() }
}

/// Returns the message of a panic.
pub fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Condvar, Mutex, mpsc};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// Threads that lock, sleep, wait and hash: returns the order in which they came.
    fn crowd() -> Vec<u32> {
        let order = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let threads = (0..8_u32).map(|number| {
            let order = Arc::clone(&order);
            thread::spawn(move || {
                for _ in 0..5 {
                    thread::sleep(Duration::from_micros(10));
                    order.0.lock().unwrap().push(number);
                    order.1.notify_all();
                    thread::yield_now();
                }
            })
        });
        let threads: Vec<_> = threads.collect();
        let mut entries = order.0.lock().unwrap();
        while entries.len() < 40 {
            entries = order.1.wait(entries).unwrap();
        }
        drop(entries);
        for thread in threads {
            thread.join().unwrap();
        }
        let entries = order.0.lock().unwrap();
        entries.clone()
    }

    #[test]
    fn a_seed_is_a_run() {
        let runs: Vec<_> = (0..20).map(|seed| run(seed, crowd)).collect();
        for (seed, once) in (0..).zip(&runs) {
            let again = run(seed, crowd);
            assert_eq!(once.trace, again.trace, "seed {seed}");
            assert_eq!(once.outcome, again.outcome, "seed {seed}");
        }
        let first = runs[0].outcome.as_ref();
        assert!(runs.iter().any(|run| run.outcome.as_ref() != first), "all seeds are one run");
    }

    #[test]
    fn hash_maps_are_in_an_order_of_the_seed() {
        let keys = || (0..100).map(|n| (n, n)).collect::<HashMap<u32, u32>>();
        let order = move || keys().into_keys().collect::<Vec<_>>();
        assert_eq!(run(1, order).outcome, run(1, order).outcome);
        assert_ne!(run(1, order).outcome, run(2, order).outcome);
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let waited = run(3, || {
            let (_sender, receiver) = mpsc::channel::<()>();
            let begun = Instant::now();
            assert!(receiver.recv_timeout(Duration::from_secs(100)).is_err());
            begun.elapsed()
        });
        let waited = waited.outcome.unwrap();
        assert!((100..101).contains(&waited.as_secs()), "{waited:?}");
    }

    #[test]
    fn locks_of_other_crates_belong_to_the_run() {
        let sum = || {
            let total = AtomicU32::new(0);
            let (sender, receiver) = mpsc::sync_channel(1);
            thread::scope(|scope| {
                let total = &total;
                scope.spawn(move || {
                    for number in receiver {
                        total.fetch_add(number, Ordering::Relaxed);
                    }
                });
                (0..100).for_each(|n| sender.send(n).unwrap());
                drop(sender);
            });
            total.into_inner()
        };
        assert_eq!(run(5, sum).outcome, Ok(4950));
    }

    #[test]
    fn a_panic_is_an_answer() {
        let run = run(1, || panic!("on purpose"));
        let outcome: Result<(), String> = run.outcome;
        assert_eq!(outcome, Err("on purpose".to_owned()));
    }
}
