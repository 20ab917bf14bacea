//! Moments and durations, to the nanosecond.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldb::{Error, Result};

use crate::borrowed::AsKey;
use crate::key::{Key, take};

const NANOS: u32 = 1_000_000_000;

/// Takes nanoseconds below a second.
fn take_nanos(bytes: &mut &[u8], what: &str) -> Result<u32> {
    let nanos = u32::from_be_bytes(take(bytes, what)?);
    if nanos < NANOS {
        return Ok(nanos);
    }
    let message = format!("key of type {what}: expected nanoseconds below {NANOS}, found {nanos}");
    Err(Error::corruption(message))
}

impl AsKey<Duration> for Duration {
    fn encode_key(&self, out: &mut Vec<u8>) {
        self.as_secs().encode_key(out);
        self.subsec_nanos().encode_key(out);
    }
}

impl Key for Duration {
    fn schema() -> String {
        "duration".to_owned()
    }

    fn decode_key(bytes: &mut &[u8]) -> Result<Duration> {
        let seconds = u64::from_be_bytes(take(bytes, "duration")?);
        Ok(Duration::new(seconds, take_nanos(bytes, "duration")?))
    }
}

/// Returns the seconds since 1970, rounded down, and the nanoseconds after them. A second beyond
/// 64 bits, which no system has, counts as the last one.
pub(crate) fn parts(time: SystemTime) -> (i64, u32) {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (0_i64.saturating_add_unsigned(after.as_secs()), after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let seconds = 0_i64.saturating_sub_unsigned(before.as_secs());
            match before.subsec_nanos() {
                0 => (seconds, 0),
                nanos => (seconds.saturating_sub(1), NANOS - nanos),
            }
        }
    }
}

impl AsKey<SystemTime> for SystemTime {
    fn encode_key(&self, out: &mut Vec<u8>) {
        let (seconds, nanos) = parts(*self);
        seconds.encode_key(out);
        nanos.encode_key(out);
    }
}

impl Key for SystemTime {
    fn schema() -> String {
        "time".to_owned()
    }

    fn decode_key(bytes: &mut &[u8]) -> Result<SystemTime> {
        let seconds = i64::decode_key(bytes)?;
        let nanos = Duration::new(0, take_nanos(bytes, "time")?);
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let second = match seconds < 0 {
            true => UNIX_EPOCH.checked_sub(whole),
            false => UNIX_EPOCH.checked_add(whole),
        };
        second.and_then(|second| second.checked_add(nanos)).ok_or_else(|| {
            let found = format!("second {seconds}");
            Error::corruption(format!(
                "key of type time: expected a moment that this system has, found {found}"
            ))
        })
    }
}
