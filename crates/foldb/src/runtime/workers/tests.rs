//! Tests which tenant is served next, with tenants that only report an urgency.

use super::*;
use crate::error::{Error, ErrorKind};
use foldb_env::Stepped;

/// A tenant that reports the given urgencies.
struct Fake {
    flush: f64,
    compaction: f64,
    order: bool,
}

impl Tenant for Fake {
    fn step(&self, _: Work) -> Result<bool> {
        Ok(false)
    }
    fn step_beside(&self, _: Work) -> Result<bool> {
        Ok(false)
    }
    fn urgency(&self, work: Work) -> f64 {
        match work {
            Work::Flush => self.flush,
            Work::Order => 0.0,
            Work::Compaction => self.compaction,
        }
    }
    fn stepped(&self, _: Work, _: &Result<bool>) {}
    fn panicked(&self, _: Work, message: &str) -> Error {
        Error::new(ErrorKind::Poisoned, message)
    }
    fn max_compactions(&self) -> usize {
        1
    }
    fn works_when_idle(&self, _: Work) -> bool {
        false
    }
    fn wants_order(&self) -> bool {
        self.order
    }
    fn poke(&self) -> Arc<AtomicBool> {
        Arc::default()
    }
    fn request_seal(&self) {}
    fn has_work(&self) -> bool {
        true
    }
    fn log_bytes(&self) -> usize {
        0
    }
}

fn workers(threads: usize, tenants: &[(f64, f64)]) -> Arc<Workers> {
    let workers = Workers::new(threads, Arc::new(Stepped));
    for (id, &(flush, compaction)) in (1..).zip(tenants) {
        workers.add(id, Arc::new(Fake { flush, compaction, order: false }));
    }
    workers
}

#[test]
fn a_tenant_sorts_when_it_wants_to_after_flushes_and_before_compactions() {
    let workers = Workers::new(3, Arc::new(Stepped));
    let tenant = Fake { flush: 1.0, compaction: 1.0, order: true };
    workers.add(1, Arc::new(tenant));
    let steps = begun(&workers, 3);
    assert_eq!(steps, [(1, Work::Flush), (1, Work::Order), (1, Work::Compaction)]);
    for step in steps {
        done(&workers, step, Ok(false));
    }
    assert_eq!(begun(&workers, 3), [(1, Work::Order)], "it still wants to");
}

/// Begins all steps that may run now, without a limit on flushes and sorting. `threads` limits the
/// compactions.
fn begun(workers: &Workers, threads: usize) -> Vec<(u64, Work)> {
    let mut state = workers.lock();
    let next = || {
        let may_compact = state.may_compact(threads);
        state.take(Instant::now(), may_compact).map(|task| (task.id, task.work))
    };
    std::iter::from_fn(next).collect()
}

fn done(workers: &Workers, (id, work): (u64, Work), outcome: Result<bool>) {
    let news = workers.lock().entry(id).unwrap().news;
    drop(StepInHand { workers, id, work, news, found: outcome.ok(), looks_again: false });
}

#[test]
fn flushes_come_first_the_most_urgent_before_the_others() {
    let workers = workers(9, &[(0.5, 0.0), (1.0, 0.3), (0.7, 0.9)]);
    use Work::{Compaction, Flush};
    let expected = [(2, Flush), (3, Flush), (1, Flush), (3, Compaction), (2, Compaction)];
    assert_eq!(begun(&workers, 9), [&expected[..], &[(1, Compaction)]].concat());
}

/// Tests the check of debug builds that detects a write which waits although all workers are idle.
#[cfg(debug_assertions)]
#[test]
fn workers_are_idle_when_all_steps_found_nothing_to_do() {
    let workers = workers(2, &[(0.0, 0.0)]);
    workers.running.store(true, Ordering::Relaxed);
    let are_idle = |work| workers.are_idle(1, work);
    assert!(!are_idle(Work::Flush), "nothing was looked at yet");
    let steps = begun(&workers, 2);
    done(&workers, steps[0], Ok(false));
    assert!(!are_idle(Work::Flush), "a compaction may make work");
    done(&workers, steps[1], Ok(false));
    assert!(are_idle(Work::Flush) && are_idle(Work::Compaction));
    workers.wake(1);
    assert!(!are_idle(Work::Flush), "there may be work");
}

#[test]
fn one_thread_is_always_left_to_flush() {
    let workers = workers(2, &[(0.0, 0.0), (0.0, 0.0)]);
    let flushes = begun(&workers, 2);
    assert_eq!(flushes, [(1, Work::Flush), (2, Work::Flush), (1, Work::Compaction)]);
    done(&workers, flushes[0], Ok(false));
    assert_eq!(begun(&workers, 2), [], "a second compaction would take the last thread");
    workers.wake(1);
    assert_eq!(begun(&workers, 2), [(1, Work::Flush)]);
    done(&workers, flushes[2], Ok(false));
    assert_eq!(begun(&workers, 2), [(2, Work::Compaction)]);
}

#[test]
fn equally_urgent_tenants_are_served_in_rotation() {
    let workers = workers(1, &[(0.0, 0.0); 3]);
    for task in begun(&workers, 1).into_iter().filter(|task| task.1 == Work::Flush) {
        done(&workers, task, Ok(false));
    }
    let mut state = workers.lock();
    let mut served = Vec::new();
    for _ in 0..7 {
        // One slice each, and always more to do.
        state.tenants.iter_mut().for_each(|entry| {
            entry.flush.idle_at = Some(entry.news);
            entry.compaction.running = 0;
        });
        served.push(state.take(Instant::now(), true).unwrap().id);
    }
    assert_eq!(served, [1, 2, 3, 1, 2, 3, 1]);
}

#[test]
fn a_tenant_without_work_is_asked_again_when_woken() {
    let workers = workers(9, &[(0.0, 0.0)]);
    begun(&workers, 9).into_iter().for_each(|task| done(&workers, task, Ok(false)));
    assert_eq!(begun(&workers, 9), []);
    workers.wake(1);
    assert_eq!(begun(&workers, 9).len(), 2);
}

#[test]
fn failed_work_pauses_for_a_while_and_delays_no_other_work() {
    let workers = workers(9, &[(0.0, 0.0)]);
    for task in begun(&workers, 9) {
        let failed = Err(Error::new(ErrorKind::Io, "no"));
        done(&workers, task, if task.1 == Work::Flush { Ok(true) } else { failed });
    }
    workers.wake(1);
    assert_eq!(begun(&workers, 9), [(1, Work::Flush)]);
    let later = Instant::now() + RETRY;
    assert_eq!(workers.lock().take(later, true).map(|task| task.work), Some(Work::Compaction));
}
