//! A thread that maps and unmaps, reserves blocks and brings pages in. Each of these may take the
//! file system milliseconds, and appends do not wait for it. The thread exists while there is work.
//! If no thread can be started, windows are mapped when they are needed.
//!
//! It works for all files of the process, so one slow disk may hold it up. Its queue is bounded. If
//! [`MOST_WAITING`] tasks wait, a thread that leaves a window unmaps the window itself, and no
//! window is made ready.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::Shared;
use super::window::Window;
use crate::posix::forks::OfProcess;

/// How long it waits for more tasks.
const PATIENCE: Duration = Duration::from_millis(500);

/// Tasks that may wait. A process may have some 65 000 mappings in all.
const MOST_WAITING: usize = 64;

enum Task {
    Prepare(Weak<Shared>, u64, u64),
    Drop(Window),
}

#[derive(Default)]
struct Tasks {
    waiting: VecDeque<Task>,
    is_running: bool,
}

#[derive(Default)]
struct Helper {
    tasks: Mutex<Tasks>,
    more: Condvar,
}

/// A forked child has no helper thread, so it starts its own.
static HELPER: OfProcess<Helper> = OfProcess::new(|_| Helper::default());

fn lock() -> MutexGuard<'static, Tasks> {
    HELPER.get().tasks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Requests that the window of a file from `start` is made ready.
pub(super) fn prepare(shared: &Arc<Shared>, start: u64, epoch: u64) {
    give(Task::Prepare(Arc::downgrade(shared), start, epoch));
}

/// Unmaps windows, later.
pub(super) fn drop_later(windows: impl Iterator<Item = Window>) {
    windows.for_each(|window| give(Task::Drop(window)));
}

fn give(task: Task) {
    let mut tasks = lock();
    if tasks.waiting.len() >= MOST_WAITING {
        drop(tasks);
        // Dropped here: the drop unmaps a window.
        return drop(task);
    }
    tasks.waiting.push_back(task);
    if !tasks.is_running {
        let started = crate::threads::start("foldb-log", run);
        tasks.is_running = started.is_ok();
    }
    let left = if tasks.is_running { VecDeque::new() } else { std::mem::take(&mut tasks.waiting) };
    drop(tasks);
    HELPER.get().more.notify_one();
    drop(left);
}

fn run() {
    let mut tasks = lock();
    loop {
        while let Some(task) = tasks.waiting.pop_front() {
            drop(tasks);
            match task {
                Task::Drop(window) => drop(window),
                Task::Prepare(shared, start, epoch) => {
                    if let Some(shared) = shared.upgrade() {
                        shared.prepare(start, epoch);
                    }
                }
            }
            tasks = lock();
        }
        let waited = HELPER.get().more.wait_timeout(tasks, PATIENCE);
        let (locked, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        tasks = locked;
        if waited.timed_out() && tasks.waiting.is_empty() {
            tasks.is_running = false;
            return;
        }
    }
}
