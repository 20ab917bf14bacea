//! A storm of signals: each interrupts the system call that a thread is in.

use std::time::Duration;
use std::{fs, io, thread};

use super::calls;

/// Between two rounds over all threads.
const PAUSE: Duration = Duration::from_micros(500);

/// Names the threads of this process.
#[cfg(target_os = "linux")]
const THREADS: &str = "/proc/self/task";
/// Any directory with a number in it.
#[cfg(not(target_os = "linux"))]
const THREADS: &str = "/dev/fd";

/// Sends signals to all threads of this process, workers of the engine included, until it ends.
pub(super) fn begin() -> io::Result<()> {
    calls::interrupt_calls()?;
    thread::Builder::new().name("signals".to_owned()).spawn(storm).map(drop)
}

fn storm() {
    for round in 0usize.. {
        let signal = calls::SIGNALS[round % calls::SIGNALS.len()];
        // Without a free handle this round sends nothing.
        let threads = fs::read_dir(THREADS).into_iter().flatten().flatten();
        let numbers = threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok());
        numbers.for_each(|thread| calls::signal_thread(thread, signal));
        thread::sleep(PAUSE);
    }
}
