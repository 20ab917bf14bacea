//! Leases as text, for workers that are not one process.
//!
//! ```text
//! 2.18c5d1a3b2c40000.9f3ac0de12345678
//! attempt | end of the lease | random number of the claim
//! ```
//!
//! A shell claims a job in one process and ends it in another. The text has what finds the lease
//! and proves that the claim holds it, so nothing of a claim must stay in memory.

use std::str::FromStr;

use crate::claim::Claimed;
use crate::error::{Error, Result};
use crate::layout::{self, Lease};
use crate::queue::Queue;

/// A lease, as its text says it.
struct Token {
    attempt: u32,
    end: u64,
    random: u64,
}

impl FromStr for Token {
    type Err = Error;

    fn from_str(text: &str) -> Result<Token> {
        let parse = || {
            let (attempt, rest) = text.split_once('.')?;
            let (end, random) = rest.split_once('.')?;
            let hex = |digits: &str| {
                let are_hex = digits.len() == 16 && digits.bytes().all(|it| it.is_ascii_hexdigit());
                are_hex.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
            };
            Some(Token { attempt: attempt.parse().ok()?, end: hex(end)?, random: hex(random)? })
        };
        parse().ok_or_else(|| {
            let text = format!(
                "'{text}' is no token of a lease: a token is as in 1.18c5d1a3b2c40000.9f3ac0de12345678"
            );
            foldb::Error::invalid_argument(text).into()
        })
    }
}

impl Claimed {
    /// Returns the lease as text, with which another process goes on: see [`Queue::resume`]. After
    /// [`Queue::extend`] the text is another one.
    pub fn token(&self) -> String {
        format!("{}.{:016x}.{:016x}", self.attempt, self.end, self.token)
    }
}

impl Queue {
    /// Returns a claim of another process by its id and [`Claimed::token`], if it still holds its
    /// job.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if no lease of the job has this token; [`Error::Engine`]:
    /// `InvalidArgument` if the text is no token; as [`foldb::Keyspace::get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb_queue::{Error, Queue, QueueOptions};
    ///
    /// let jobs = Queue::open(&db, "jobs", QueueOptions::default())?;
    /// jobs.push("job")?;
    /// let job = jobs.claim("worker 1", Duration::from_secs(60))?.unwrap();
    /// let (id, token) = (job.id, job.token());
    ///
    /// let resumed = jobs.resume(id, &token)?;
    /// assert_eq!(resumed, job);
    /// jobs.ack(&resumed)?;
    /// assert!(matches!(jobs.resume(id, &token), Err(Error::LeaseLost { is_gone: true, .. })));
    /// # Ok::<(), foldb_queue::Error>(())
    /// ```
    pub fn resume(&self, id: u64, token: &str) -> Result<Claimed> {
        let Token { attempt, end, random } = token.parse()?;
        let own = self.db().snapshot().keyspace(self.own());
        let lost = |is_gone| Error::LeaseLost { id, attempt, is_gone };
        let body = own.get(layout::body(id))?.ok_or_else(|| lost(true))?;
        let key = layout::leased(end, id);
        let value = own.get(key)?.ok_or_else(|| lost(false))?;
        let Lease { job, token, worker } = Lease::decode(&key, &value)?;
        if token != random {
            return Err(lost(false));
        }
        Ok(Claimed {
            id,
            body: body.into_owned(),
            attempt: job.attempts,
            priority: job.priority,
            worker,
            end,
            token,
        })
    }
}
