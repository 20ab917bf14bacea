//! The kernel's figures of a process: bytes read and written, and peak memory.

use std::fs;
use std::process;

use rustix::time::{ClockId, clock_gettime};

use crate::failure::{Failure, Result};

/// Bytes that a process read and wrote so far (`/proc/PID/io`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Passed to write calls (`wchar`).
    pub calls: u64,
    /// Sent to the device (`write_bytes`).
    pub device: u64,
    /// Fetched from the device (`read_bytes`).
    pub read: u64,
}

impl Written {
    /// Returns the current figures of this process.
    ///
    /// # Errors
    /// Fails if the system has no `/proc`.
    pub fn now() -> Result<Written> {
        Written::of(process::id())
    }

    /// Returns the current figures of a running process.
    ///
    /// # Errors
    /// Fails if the system has no `/proc`, or if the process has ended.
    pub fn of(pid: u32) -> Result<Written> {
        let path = format!("/proc/{pid}/io");
        let text = fs::read_to_string(&path)
            .map_err(|error| Failure::new(format!("cannot read {path}: {error}")))?;
        Ok(parse(&text))
    }

    /// Returns the increase since `before`.
    pub fn since(self, before: Written) -> Written {
        Written {
            calls: self.calls.saturating_sub(before.calls),
            device: self.device.saturating_sub(before.device),
            read: self.read.saturating_sub(before.read),
        }
    }
}

/// Processor time, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Processor;

impl Processor {
    /// Returns the time of all threads of this process.
    pub fn of_process() -> f64 {
        seconds(ClockId::ProcessCPUTime)
    }

    /// Returns the time of this thread.
    pub fn of_thread() -> f64 {
        seconds(ClockId::ThreadCPUTime)
    }
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn parse(text: &str) -> Written {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    Written { calls: field("wchar"), device: field("write_bytes"), read: field("read_bytes") }
}

/// Returns the peak memory of a running process, in bytes (`VmHWM`).
pub fn peak_memory_of(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n\
                    cancelled_write_bytes: 7\n";
        assert_eq!(parse(text), Written { calls: 2, device: 6, read: 5 });
    }

    #[test]
    fn the_time_of_a_thread_is_part_of_its_process() {
        let before = Processor::of_process();
        let own = Processor::of_thread();
        while Processor::of_thread() - own < 0.01 {}
        assert!(Processor::of_process() - before >= 0.01);
    }

    #[test]
    fn what_this_process_writes_is_counted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let before = Written::now().unwrap();
        fs::write(file.path(), vec![0; 100_000]).unwrap();
        assert!(Written::now().unwrap().since(before).calls >= 100_000);
        assert!(peak_memory_of(process::id()).unwrap() > 1 << 20);
    }
}
