//! Locks on keys, as pessimistic transactions take them.
//!
//! A lock is exclusive, or shared by several transactions. A transaction waits for a lock until its
//! time is over. With deadlock detection it follows the waits of the holders before it waits: a
//! way back to itself is a deadlock.
//!
//! ```text
//! 1 holds a, waits for b     2 holds b, asks for a:  2 -> 1 -> 2, a deadlock
//! ```
//!
//! A lock of a transaction whose expiration has passed may be taken from it. Invariant: a key
//! without a holder is not in the table.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::status::{Code, Outcome, Status};

/// A transaction, as the locks know it.
pub(crate) type Owner = u64;

/// A key of a family.
pub(crate) type LockedKey = (u32, Vec<u8>);

/// Who wants a lock, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) owner: Owner,
    pub(crate) is_exclusive: bool,
    /// How long to wait; `None`: for ever.
    pub(crate) timeout: Option<Duration>,
    pub(crate) detects_deadlocks: bool,
    /// How many waits the detection follows.
    pub(crate) depth: usize,
    /// When others may take the lock.
    pub(crate) expires: Option<Instant>,
}

/// The locks of a database.
#[derive(Debug)]
pub(crate) struct Locks {
    table: Mutex<Table>,
    released: Condvar,
    /// The most locked keys; `None`: no limit.
    most: Option<usize>,
}

#[derive(Debug, Default)]
struct Table {
    keys: HashMap<LockedKey, Holders>,
    /// For each transaction that waits: those that it waits for.
    waits: HashMap<Owner, HashSet<Owner>>,
}

#[derive(Debug)]
struct Holders {
    is_exclusive: bool,
    owners: Vec<(Owner, Option<Instant>)>,
}

impl Holders {
    /// Returns those that a request must wait for.
    fn in_the_way(&self, request: &Request, now: Instant) -> HashSet<Owner> {
        let others = self.owners.iter().filter(|(owner, _)| *owner != request.owner);
        let alive = others.filter(|(_, expires)| expires.is_none_or(|end| end > now));
        let conflicts = self.is_exclusive || request.is_exclusive;
        alive.filter(|_| conflicts).map(|(owner, _)| *owner).collect()
    }

    /// Gives the lock to a request that no holder is in the way of.
    fn grant(&mut self, request: &Request, now: Instant) {
        self.owners.retain(|(owner, expires)| {
            *owner == request.owner || expires.is_none_or(|end| end > now)
        });
        if !self.owners.iter().any(|(owner, _)| *owner == request.owner) {
            self.owners.push((request.owner, request.expires));
        }
        // A transaction alone may raise its shared lock. It never lowers an exclusive one.
        self.is_exclusive = request.is_exclusive || self.is_exclusive && self.owners.len() == 1;
    }
}

impl Table {
    /// Returns whether a wait for `holders` leads back to the one who would wait.
    fn is_deadlock(&self, request: &Request, holders: &HashSet<Owner>) -> bool {
        let mut seen: HashSet<Owner> = HashSet::new();
        let mut next: Vec<Owner> = holders.iter().copied().collect();
        for _ in 0..request.depth {
            let Some(owner) = next.pop() else { return false };
            if owner == request.owner {
                return true;
            }
            if seen.insert(owner) {
                next.extend(self.waits.get(&owner).into_iter().flatten());
            }
        }
        // RocksDB takes a chain that is too long for a deadlock, too.
        !next.is_empty()
    }
}

impl Locks {
    /// Makes locks for at most this many keys; `None`: no limit.
    pub(crate) fn new(most: Option<usize>) -> Locks {
        Locks { table: Mutex::default(), released: Condvar::new(), most }
    }

    /// Takes a lock. Returns whether the transaction has it only since now.
    ///
    /// # Errors
    /// `Operation timed out` when the time is over, `Resource busy` for a deadlock and beyond the
    /// limit of locked keys.
    pub(crate) fn lock(&self, key: &LockedKey, request: &Request) -> Outcome<bool> {
        let end = request.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut table = self.table.lock();
        loop {
            let now = Instant::now();
            let in_the_way = match table.keys.get_mut(key) {
                None => {
                    if self.most.is_some_and(|most| table.keys.len() >= most) {
                        return Err(limit_reached());
                    }
                    let owners = vec![(request.owner, request.expires)];
                    let holders = Holders { is_exclusive: request.is_exclusive, owners };
                    table.keys.insert(key.clone(), holders);
                    return Ok(true);
                }
                Some(holders) => {
                    let in_the_way = holders.in_the_way(request, now);
                    if in_the_way.is_empty() {
                        let is_new = !holders.owners.iter().any(|(own, _)| *own == request.owner);
                        holders.grant(request, now);
                        return Ok(is_new);
                    }
                    in_the_way
                }
            };
            if request.detects_deadlocks && table.is_deadlock(request, &in_the_way) {
                return Err(Status::new(Code::Busy, "Deadlock"));
            }
            if end.is_some_and(|end| end <= now) || request.timeout == Some(Duration::ZERO) {
                return Err(Status::new(Code::TimedOut, "Timeout waiting to lock key"));
            }
            table.waits.insert(request.owner, in_the_way);
            // A holder may expire without a release, so a wait ends from time to time.
            let soon = now + LONGEST_WAIT;
            self.released.wait_until(&mut table, end.map_or(soon, |end| end.min(soon)));
            table.waits.remove(&request.owner);
        }
    }

    /// Releases a lock, if the transaction holds it.
    pub(crate) fn unlock(&self, key: &LockedKey, owner: Owner) {
        let mut table = self.table.lock();
        if let Some(holders) = table.keys.get_mut(key) {
            holders.owners.retain(|(own, _)| *own != owner);
            if holders.owners.is_empty() {
                table.keys.remove(key);
            }
        }
        drop(table);
        self.released.notify_all();
    }
}

/// After this time a wait looks again whether a holder has expired.
const LONGEST_WAIT: Duration = Duration::from_millis(50);

fn limit_reached() -> Status {
    Status::new(Code::Busy, "Failed to acquire lock due to max_num_locks limit")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    impl Locks {
        fn holds(&self, key: &LockedKey, owner: Owner) -> bool {
            let table = self.table.lock();
            let holders = table.keys.get(key);
            holders.is_some_and(|holders| holders.owners.iter().any(|(own, _)| *own == owner))
        }
    }

    fn request(owner: Owner) -> Request {
        Request {
            owner,
            is_exclusive: true,
            timeout: Some(Duration::ZERO),
            detects_deadlocks: false,
            depth: 50,
            expires: None,
        }
    }

    fn key(name: &str) -> LockedKey {
        (0, name.as_bytes().to_vec())
    }

    #[test]
    fn an_exclusive_lock_keeps_others_out_until_it_is_released() {
        let locks = Locks::new(None);
        assert_eq!(locks.lock(&key("a"), &request(1)), Ok(true));
        assert_eq!(locks.lock(&key("a"), &request(1)), Ok(false));
        let refused = locks.lock(&key("a"), &request(2)).unwrap_err();
        assert_eq!(refused.to_string(), "Operation timed out: Timeout waiting to lock key");
        locks.unlock(&key("a"), 1);
        assert_eq!(locks.lock(&key("a"), &request(2)), Ok(true));
        assert!(locks.holds(&key("a"), 2) && !locks.holds(&key("a"), 1));
    }

    #[test]
    fn a_shared_lock_is_shared_and_raised_by_its_only_holder() {
        let locks = Locks::new(None);
        let shared = |owner| Request { is_exclusive: false, ..request(owner) };
        locks.lock(&key("a"), &shared(1)).unwrap();
        locks.lock(&key("a"), &shared(2)).unwrap();
        assert!(locks.lock(&key("a"), &request(1)).is_err());
        locks.unlock(&key("a"), 2);
        assert_eq!(locks.lock(&key("a"), &request(1)), Ok(false));
        assert!(locks.lock(&key("a"), &shared(2)).is_err());
        assert_eq!(locks.lock(&key("a"), &shared(1)), Ok(false));
        assert!(locks.lock(&key("a"), &shared(2)).is_err(), "the lock is not lowered");
    }

    #[test]
    fn a_waiter_gets_the_lock_when_it_is_released() {
        let locks = Arc::new(Locks::new(None));
        locks.lock(&key("a"), &request(1)).unwrap();
        let waiting = Arc::clone(&locks);
        let waiter = std::thread::spawn(move || {
            waiting.lock(&key("a"), &Request { timeout: None, ..request(2) })
        });
        std::thread::sleep(Duration::from_millis(20));
        locks.unlock(&key("a"), 1);
        assert_eq!(waiter.join().unwrap(), Ok(true));
    }

    #[test]
    fn a_circle_of_waits_is_a_deadlock() {
        let locks = Arc::new(Locks::new(None));
        let waits = |owner| Request { timeout: None, detects_deadlocks: true, ..request(owner) };
        locks.lock(&key("a"), &waits(1)).unwrap();
        locks.lock(&key("b"), &waits(2)).unwrap();
        let waiting = Arc::clone(&locks);
        let first = std::thread::spawn(move || waiting.lock(&key("b"), &waits(1)));
        std::thread::sleep(Duration::from_millis(50));
        let refused = locks.lock(&key("a"), &waits(2)).unwrap_err();
        assert_eq!(refused.to_string(), "Resource busy: Deadlock");
        locks.unlock(&key("b"), 2);
        assert_eq!(first.join().unwrap(), Ok(true));
    }

    #[test]
    fn an_expired_holder_loses_its_lock() {
        let locks = Locks::new(None);
        let soon = Instant::now() + Duration::from_millis(20);
        locks.lock(&key("a"), &Request { expires: Some(soon), ..request(1) }).unwrap();
        assert!(locks.lock(&key("a"), &request(2)).is_err());
        let patient = Request { timeout: Some(Duration::from_secs(10)), ..request(2) };
        assert_eq!(locks.lock(&key("a"), &patient), Ok(true));
        assert!(!locks.holds(&key("a"), 1));
    }

    #[test]
    fn there_are_no_more_locked_keys_than_the_limit() {
        let locks = Locks::new(Some(1));
        locks.lock(&key("a"), &request(1)).unwrap();
        let refused = locks.lock(&key("b"), &request(1)).unwrap_err();
        assert!(refused.to_string().contains("max_num_locks"), "{refused}");
    }
}
