//! The disk of the machine: files in memory, calls that take time or fail, and a power cut.
//!
//! Invariant: after the power cut, no call reaches the files. So the next life finds the files as
//! the power cut left them.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use foldb_env::mem::{Fault, Operation};
use foldb_env::{MemFs, Watch, WritableFile};

/// What a stop leaves of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The process is killed: every write to a file survives.
    Kill,
    /// The power fails, and every unsynced write is lost.
    Forgetful,
    /// The power fails, and a drawn part of the unsynced writes is lost.
    Torn,
}

/// How a disk behaves. Drawn from the seed.
#[derive(Clone, Debug)]
pub struct Temper {
    /// Longest time of a call that reads or writes, in microseconds.
    pub call_micros: u64,
    /// Longest time of a sync, in microseconds.
    pub sync_micros: u64,
    /// How many of 100 000 calls fail.
    pub failures: u32,
    /// How many more of 100 000 writes to logs fail.
    pub log_failures: u32,
    /// How many of 100 000 calls take ten seconds.
    pub hangs: u32,
}

impl Temper {
    /// Quick, and never fails.
    pub const CALM: Temper =
        Temper { call_micros: 10, sync_micros: 100, failures: 0, log_failures: 0, hangs: 0 };
}

/// The disk, as [`foldb_env::WatchedFs`] calls it.
#[derive(Debug)]
pub struct Disk {
    fs: MemFs,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    rng: fastrand::Rng,
    temper: Temper,
    stop: Stop,
    /// Changes until the power fails; `None`: no power cut.
    fuse: Option<u64>,
    /// The files that the power cut left.
    left: Option<MemFs>,
    failures: u64,
    failed_syncs: u64,
}

/// The events on a disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct Happened {
    /// Calls that failed at random, failed syncs included.
    pub failures: u64,
    /// Syncs that failed.
    pub failed_syncs: u64,
}

impl Disk {
    /// Makes a disk with these files. Its power fails at the `fuse`-th change from now.
    pub fn new(fs: MemFs, temper: Temper, stop: Stop, fuse: Option<u64>, seed: u64) -> Disk {
        let rng = fastrand::Rng::with_seed(seed);
        let (left, failures, failed_syncs) = (None, 0, 0);
        let state = State { rng, temper, stop, fuse, left, failures, failed_syncs };
        Disk { fs, state: Mutex::new(state) }
    }

    /// Returns whether the power has failed.
    pub fn is_dead(&self) -> bool {
        self.state().left.is_some()
    }

    /// Cuts the power, unless it has already failed, and returns the files that are left.
    pub fn cut(&self) -> MemFs {
        let mut state = self.state();
        if state.left.is_none() {
            state.left = Some(self.image(&mut state));
        }
        state.left.clone().unwrap_or_default()
    }

    /// Ends all drawn failures and hangs.
    pub fn calm(&self) {
        self.state().temper = Temper::CALM;
    }

    /// Returns the events so far.
    pub fn happened(&self) -> Happened {
        let state = self.state();
        Happened { failures: state.failures, failed_syncs: state.failed_syncs }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn image(&self, state: &mut State) -> MemFs {
        match state.stop {
            Stop::Kill => self.fs.kill(),
            Stop::Forgetful => self.fs.crash(),
            Stop::Torn => self.fs.crash_with(state.rng.u64(..)),
        }
    }

    /// Draws the outcome of a call: its time, and whether it fails.
    fn draw(
        &self,
        state: &mut State,
        operation: Operation,
        path: &Path,
    ) -> (Duration, io::Result<()>) {
        let Temper { call_micros, sync_micros, mut failures, log_failures, hangs } = state.temper;
        if operation == Operation::Write && path.extension().is_some_and(|name| name == "log") {
            failures += log_failures;
        }
        let is_sync = matches!(operation, Operation::Sync | Operation::SyncDir);
        let longest = if is_sync { sync_micros } else { call_micros };
        let mut time = Duration::from_micros(state.rng.u64(..=longest));
        if state.rng.u32(..100_000) < hangs {
            time = Duration::from_secs(10);
        }
        if state.rng.u32(..100_000) >= failures {
            return (time, Ok(()));
        }
        state.failures += 1;
        if operation == Operation::Sync {
            // Tells the files that unsynced data may be lost from now on.
            state.failed_syncs += 1;
            self.fs.inject(Fault::on(Operation::Sync));
            return (time, Ok(()));
        }
        let kinds = [io::ErrorKind::Other, io::ErrorKind::StorageFull];
        let kind = kinds[usize::from(state.rng.bool() && operation.is_mutation())];
        (time, Err(io::Error::new(kind, format!("drawn: {operation:?} failed"))))
    }

    fn call(
        &self,
        operation: Operation,
        path: &Path,
        torn: impl FnOnce(&mut fastrand::Rng) -> io::Result<()>,
    ) -> io::Result<()> {
        let (time, outcome) = {
            let mut state = self.state();
            if state.left.is_some() {
                return Err(gone());
            }
            if operation.is_mutation()
                && let Some(fuse) = &mut state.fuse
            {
                *fuse = fuse.saturating_sub(1);
                if *fuse == 0 {
                    torn(&mut state.rng)?;
                    state.left = Some(self.image(&mut state));
                    return Err(gone());
                }
            }
            self.draw(&mut state, operation, path)
        };
        if !time.is_zero() {
            thread::sleep(time);
        }
        if self.is_dead() {
            return Err(gone());
        }
        outcome
    }
}

fn gone() -> io::Error {
    io::Error::other("the power is gone")
}

impl Watch for Disk {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        self.call(operation, path, |_| Ok(()))
    }

    fn before_write(
        &self,
        path: &Path,
        file: &dyn WritableFile,
        bytes: &[u8],
        offset: u64,
    ) -> io::Result<()> {
        // Some sectors of the write that the power cut interrupts.
        self.call(Operation::Write, path, |rng| {
            let torn = (rng.usize(..=bytes.len()) / 512 * 512).min(bytes.len());
            let torn = if rng.bool() { torn } else { rng.usize(..=bytes.len()) };
            file.write_at(&bytes[..torn], offset)
        })
    }
}

/// Returns a file system watched by a disk.
pub fn watched(disk: &Arc<Disk>) -> foldb_env::WatchedFs {
    foldb_env::WatchedFs::new(Arc::new(disk.fs.clone()), Arc::clone(disk) as _)
}
