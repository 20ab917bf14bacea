//! Threads for background work: real threads, or none. Without threads the owner of the database
//! runs the work one step at a time.

use std::fmt::Debug;
use std::io;
use std::thread::JoinHandle;

/// Starts the engine's background workers.
pub trait Threads: Debug + Send + Sync {
    /// Starts a named thread running `body`, or returns `None`. With `None` the owner of the
    /// database steps background work on its own thread.
    fn spawn(
        &self,
        name: &str,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<Option<JoinHandle<()>>>;
}

/// Real threads of the operating system.
#[derive(Debug, Default)]
pub struct SystemThreads;

impl Threads for SystemThreads {
    fn spawn(
        &self,
        name: &str,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<Option<JoinHandle<()>>> {
        start(name, body).map(Some)
    }
}

/// Starts a thread of the operating system. No other code does.
pub(crate) fn start(
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body)
}

/// No threads: background work waits until it is stepped.
#[derive(Debug, Default)]
pub struct Stepped;

impl Threads for Stepped {
    fn spawn(
        &self,
        _name: &str,
        _body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<Option<JoinHandle<()>>> {
        Ok(None)
    }
}
