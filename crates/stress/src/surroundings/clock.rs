//! A clock whose time of day jumps both ways, and entries that may live for long or for an hour.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use foldb::env::{Clock, SystemClock};
use foldb::expiry::Expires;
use foldb::{Keyspace, WriteOptions};

use crate::check::{Wrong, told};
use crate::stage::Stage;

/// The keyspace with entries that live for an hour.
pub(crate) const LEASE_KEYSPACE: &str = "leases";
/// The lifetime of entries that must outlive all jumps.
pub(crate) const LONG_LIFE: Duration = Duration::from_secs(20 * 365 * 86_400);
/// The lifetime of a lease.
const LEASE: Duration = Duration::from_secs(3600);
/// Another thread's write ends within this time, on a bad disk too.
const LONGEST_WRITE: Duration = Duration::from_secs(30);
/// The farthest jump from the right time, in seconds.
const FARTHEST: i64 = 30 * 86_400;

/// The machine's clock. Its time of day is off by some seconds.
#[derive(Debug, Default)]
pub(super) struct JumpingClock {
    system: SystemClock,
    off_by: AtomicI64,
    /// Held by a thread that expects the time of day to stay.
    jumps: Mutex<()>,
}

impl Clock for JumpingClock {
    fn now(&self) -> Duration {
        self.system.now()
    }

    fn time_of_day(&self) -> Duration {
        let off_by = self.off_by.load(Ordering::SeqCst);
        let distance = Duration::from_secs(off_by.unsigned_abs());
        let now = self.system.time_of_day();
        if off_by < 0 { now.saturating_sub(distance) } else { now.saturating_add(distance) }
    }

    fn sleep(&self, duration: Duration) {
        self.system.sleep(duration);
    }
}

impl JumpingClock {
    fn set_off_by(&self, seconds: i64) {
        self.off_by.store(seconds, Ordering::SeqCst);
    }

    /// Jumps to a moment, and a little beyond it.
    fn jump_behind(&self, moment: SystemTime) {
        let moment = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let ahead = moment.saturating_sub(self.system.time_of_day()).as_secs();
        self.set_off_by(i64::try_from(ahead).unwrap_or(i64::MAX / 4) + 2);
    }
}

/// Lets the clock jump. A lease lives until the clock jumps behind its end, and stays gone when the
/// clock jumps back. Returns whether the disk let it be checked.
pub(crate) fn jump(
    stage: &Stage,
    leases: &Keyspace,
    thread: u8,
    rng: &mut fastrand::Rng,
) -> Result<bool, Wrong> {
    let clock = &stage.around.clock;
    let _alone = clock.jumps.lock().unwrap_or_else(PoisonError::into_inner);
    clock.set_off_by(rng.i64(-FARTHEST..FARTHEST));
    let earliest = clock.time_of_day() + LEASE;
    let options = WriteOptions { expires: Some(Expires::After(LEASE)), ..Default::default() };
    match leases.with(&options).put([thread], b"lease") {
        Ok(()) => {}
        Err(error) if stage.is_excused(&error) => return Ok(false),
        Err(error) => return Err(told("a lease cannot be written")(error)),
    }
    let is_there = || leases.get([thread]).map(|found| found.is_some()).map_err(told("a lease"));
    let end = leases.expires_at([thread]).map_err(told("the end of a lease"))?;
    let Some(end) = end.filter(|_| is_there().unwrap_or(true)) else {
        return Err("a lease of an hour has ended at once".to_owned());
    };
    if end.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() < earliest {
        return Err("a lease of an hour ends early".to_owned());
    }
    clock.jump_behind(end);
    let begun = Instant::now();
    while is_there()? {
        // A write that began before the jump keeps readers at its moment until it ends.
        if begun.elapsed() > LONGEST_WRITE {
            return Err("a lease is there after its end".to_owned());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    clock.set_off_by(rng.i64(-FARTHEST..FARTHEST));
    if is_there()? {
        return Err("a lease came back when the clock went back".to_owned());
    }
    Ok(true)
}
