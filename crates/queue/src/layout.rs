//! Keys and values of a queue.
//!
//! Numbers in keys are big-endian, so that their order is that of the bytes. Numbers in values are
//! little-endian. Times are nanoseconds since 1970.
//!
//! ```text
//! key             value
//! c TRANSITION    a number: how often the transition happened      merged with uint64add
//! d TIME ID       priority, attempts                               delayed until TIME
//! f               the version of this layout
//! j ID            the body of a job
//! l TIME ID       priority, attempts, token, worker                leased until TIME
//! n               the smallest id that no handle has reserved
//! r PLACE ID      priority, attempts                               ready
//! x ID            priority, attempts, time of death, reason        a dead letter
//!
//! PLACE: the priority, turned so that larger ones come first
//! ```
//!
//! Invariant: a job that is not done has one entry `j` and one of `d`, `l`, `r` and `x`.

use std::ops::Range;
use std::time::Duration;

use crate::error::{Error, Result};

pub(crate) const COUNT: u8 = b'c';
pub(crate) const DELAYED: u8 = b'd';
pub(crate) const LEASED: u8 = b'l';
pub(crate) const READY: u8 = b'r';
pub(crate) const DEAD: u8 = b'x';
const BODY: u8 = b'j';

/// The key of the version.
pub(crate) const FORMAT: &[u8] = b"f";
/// The version that this code writes.
pub(crate) const VERSION: &[u8] = &[1];
/// The key of the smallest id that no handle has reserved.
pub(crate) const NEXT_ID: &[u8] = b"n";

/// Returns the nanoseconds of a duration. What is longer than 584 years counts as that long.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the key of a body.
pub(crate) fn body(id: u64) -> [u8; 9] {
    numbered(BODY, id)
}

/// Returns the key of a dead letter.
pub(crate) fn dead(id: u64) -> [u8; 9] {
    numbered(DEAD, id)
}

/// Returns the key of a delayed job.
pub(crate) fn delayed(until: u64, id: u64) -> [u8; 17] {
    timed(DELAYED, until, id)
}

/// Returns the key of a leased job.
pub(crate) fn leased(until: u64, id: u64) -> [u8; 17] {
    timed(LEASED, until, id)
}

/// Returns the range of all entries with this first byte.
pub(crate) fn all(tag: u8) -> Range<[u8; 1]> {
    [tag]..[tag + 1]
}

/// Returns the range of the delayed or leased jobs whose time has come. The largest time never
/// comes.
pub(crate) fn due(tag: u8, now: u64) -> Range<[u8; 9]> {
    numbered(tag, 0)..numbered(tag, now.saturating_add(1))
}

/// Returns the time in the key of a delayed or leased job.
pub(crate) fn time_of(key: &[u8]) -> Result<u64> {
    let time = key.get(1..9).and_then(|time| time.try_into().ok());
    time.map(u64::from_be_bytes).ok_or_else(|| damaged(key))
}

fn numbered(tag: u8, number: u64) -> [u8; 9] {
    let mut key = [tag; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

fn timed(tag: u8, time: u64, id: u64) -> [u8; 17] {
    let mut key = [tag; 17];
    key[1..9].copy_from_slice(&time.to_be_bytes());
    key[9..].copy_from_slice(&id.to_be_bytes());
    key
}

/// Returns the number that a value of 8 bytes is.
pub(crate) fn number(key: &[u8], value: &[u8]) -> Result<u64> {
    Ok(u64::from_le_bytes(value.try_into().map_err(|_| damaged(key))?))
}

/// Makes the error for an entry that no queue writes.
pub(crate) fn damaged(key: &[u8]) -> Error {
    let text = format!("the entry {} of the queue is not one that a queue writes", hex(key));
    foldb::Error::corruption(text).into()
}

fn hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The rest of a value while it is decoded.
struct Fields<'a> {
    key: &'a [u8],
    rest: &'a [u8],
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(|| damaged(self.key))?;
        self.rest = rest;
        Ok(*taken)
    }

    fn text(&self) -> Result<String> {
        String::from_utf8(self.rest.to_vec()).map_err(|_| damaged(self.key))
    }
}

/// What every state of a job has: the value of a ready or delayed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) priority: i32,
    /// How often the job was claimed.
    pub(crate) attempts: u32,
}

impl Job {
    pub(crate) fn ready_key(&self) -> [u8; 13] {
        let mut key = [READY; 13];
        // The sign bit turned: the order of the numbers. All bits turned: the largest first.
        let place = !(self.priority.cast_unsigned() ^ (1 << 31));
        key[1..5].copy_from_slice(&place.to_be_bytes());
        key[5..].copy_from_slice(&self.id.to_be_bytes());
        key
    }

    pub(crate) fn value(&self) -> Vec<u8> {
        [self.priority.to_le_bytes(), self.attempts.to_le_bytes()].concat()
    }

    /// Reads a ready or delayed job.
    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Job> {
        let mut fields = Fields { key, rest: value };
        let job = Job::of_fields(&mut fields)?;
        if fields.rest.is_empty() { Ok(job) } else { Err(damaged(key)) }
    }

    fn of_fields(fields: &mut Fields<'_>) -> Result<Job> {
        let id = fields.key.last_chunk().ok_or_else(|| damaged(fields.key))?;
        Ok(Job {
            id: u64::from_be_bytes(*id),
            priority: i32::from_le_bytes(fields.take()?),
            attempts: u32::from_le_bytes(fields.take()?),
        })
    }
}

/// A leased job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) job: Job,
    /// What distinguishes this claim of the job from all others.
    pub(crate) token: u64,
    pub(crate) worker: String,
}

impl Lease {
    pub(crate) fn value(&self) -> Vec<u8> {
        [&self.job.value()[..], &self.token.to_le_bytes(), self.worker.as_bytes()].concat()
    }

    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Lease> {
        let mut fields = Fields { key, rest: value };
        let job = Job::of_fields(&mut fields)?;
        let token = u64::from_le_bytes(fields.take()?);
        Ok(Lease { job, token, worker: fields.text()? })
    }
}

/// A dead letter without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grave {
    pub(crate) job: Job,
    pub(crate) died_at: u64,
    pub(crate) reason: String,
}

impl Grave {
    pub(crate) fn value(&self) -> Vec<u8> {
        [&self.job.value()[..], &self.died_at.to_le_bytes(), self.reason.as_bytes()].concat()
    }

    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Grave> {
        let mut fields = Fields { key, rest: value };
        let job = Job::of_fields(&mut fields)?;
        let died_at = u64::from_le_bytes(fields.take()?);
        Ok(Grave { job, died_at, reason: fields.text()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: u64, priority: i32) -> Job {
        Job { id, priority, attempts: 3 }
    }

    #[test]
    fn ready_jobs_are_in_the_order_of_priority_and_push() {
        let order = [(9, i32::MAX), (4, 7), (5, 7), (1, 0), (u64::MAX, 0), (2, -1), (0, i32::MIN)];
        let keys = order.map(|(id, priority)| job(id, priority).ready_key());
        assert!(keys.is_sorted());
        assert!(keys.iter().all(|key| all(READY).contains(&[key[0]])));
    }

    #[test]
    fn what_is_due_is_the_begin_of_a_range() {
        let is_due = |until, now| {
            let Range { start, end } = due(LEASED, now);
            let key = leased(until, u64::MAX);
            start[..] <= key[..] && key[..] < end[..]
        };
        assert!(is_due(0, 0) && is_due(7, 7) && is_due(7, 8) && !is_due(8, 7));
        assert!(!is_due(u64::MAX, u64::MAX), "what never ends is never due");
        assert_eq!(time_of(&delayed(77, 5)).unwrap(), 77);
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        let job = job(300, -5);
        assert_eq!(Job::decode(&job.ready_key(), &job.value()).unwrap(), job);
        let lease = Lease { job, token: u64::MAX - 1, worker: "ann".to_owned() };
        assert_eq!(Lease::decode(&leased(1, 300), &lease.value()).unwrap(), lease);
        let grave = Grave { job, died_at: 12, reason: String::new() };
        assert_eq!(Grave::decode(&dead(300), &grave.value()).unwrap(), grave);
    }

    #[test]
    fn a_value_that_no_queue_writes_is_an_error() {
        let job = job(1, 0);
        let (key, value) = (job.ready_key(), job.value());
        assert!(Job::decode(&key, &value[1..]).is_err());
        assert!(Job::decode(&key, &[&value[..], b"x"].concat()).is_err());
        assert!(Job::decode(b"r", &value).is_err());
        assert!(Lease::decode(&leased(1, 1), &value).is_err());
        let token_and_worker = [&value[..], &[0; 8], &[0xff]].concat();
        assert!(Lease::decode(&leased(1, 1), &token_and_worker).is_err());
        let error = number(b"n", b"short").unwrap_err().to_string();
        assert_eq!(error, "corruption: the entry 6e of the queue is not one that a queue writes");
    }
}
