//! Runs calls on Tokio's blocking threads, at most so many at a time.
//!
//! Invariant: the permit of a call belongs to its blocking task. So it counts until the call has
//! ended, even if the future that waits for it is dropped.

use std::panic::resume_unwind;
use std::sync::Arc;

use foldb::{Error, Result};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// Bounds the calls that run at the same time.
#[derive(Clone, Debug)]
pub(crate) struct Pool(Arc<Semaphore>);

impl Pool {
    pub(crate) fn new(most: usize) -> Pool {
        Pool(Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Runs a call when one of the places is free. Nothing has run if the future is dropped before
    /// that; afterwards the call runs to its end.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.0).acquire_owned().await.map_err(|_| shut_down())?;
        let task = spawn_blocking(move || {
            let _permit = permit;
            call()
        });
        ended(task.await)?
    }
}

/// Returns the outcome of a blocking task. A panic of the task goes on here.
pub(crate) fn ended<T>(outcome: Result<T, JoinError>) -> Result<T> {
    outcome.map_err(|error| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(_) => shut_down(),
    })
}

fn shut_down() -> Error {
    Error::aborted("the runtime shuts down, and the call did not begin")
}
