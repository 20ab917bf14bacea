//! Threads for background work: real threads, or none. Without threads the owner of the database
//! runs the work one step at a time.

use std::fmt::Debug;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};

/// The code that a thread runs.
pub type ThreadBody = Box<dyn FnOnce() + Send>;

/// Starts the engine's background workers.
pub trait Threads: Debug + Send + Sync {
    /// Starts a named thread running `body`, or returns `None`. With `None` the owner of the
    /// database steps background work on its own thread.
    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<Option<Thread>>;

    /// Returns whether [`Threads::spawn`] starts threads. The engine asks before there is work for
    /// one.
    fn has_threads(&self) -> bool {
        true
    }

    /// Returns how many threads can run at the same time.
    fn processors(&self) -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }
}

/// A thread that was started.
#[derive(Debug)]
pub struct Thread(Handle);

#[derive(Debug)]
enum Handle {
    Own(JoinHandle<()>),
    Foreign(Arc<Progress>),
}

/// The state of a thread that other code started.
#[derive(Debug, Default)]
struct Progress {
    state: Mutex<Stage>,
    ended: Condvar,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Waiting,
    Running(ThreadId),
    Ended(thread::Result<()>),
}

impl Progress {
    fn set(&self, stage: Stage) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        self.ended.notify_all();
    }
}

impl Thread {
    /// Starts a thread with code other than that of the standard library. `start` gets a body that
    /// never unwinds. It must arrange for another thread to run it, or return an error and drop it.
    pub fn started_by(
        body: ThreadBody,
        start: impl FnOnce(ThreadBody) -> io::Result<()>,
    ) -> io::Result<Thread> {
        let progress = Arc::new(Progress::default());
        let own = Arc::clone(&progress);
        start(Box::new(move || {
            own.set(Stage::Running(thread::current().id()));
            own.set(Stage::Ended(catch_unwind(AssertUnwindSafe(body))));
        }))?;
        Ok(Thread(Handle::Foreign(progress)))
    }

    /// Returns whether the caller runs on this thread.
    pub fn is_current(&self) -> bool {
        let current = thread::current().id();
        match &self.0 {
            Handle::Own(handle) => handle.thread().id() == current,
            Handle::Foreign(progress) => {
                let stage = progress.state.lock().unwrap_or_else(PoisonError::into_inner);
                matches!(&*stage, Stage::Running(running) if *running == current)
            }
        }
    }

    /// Waits until the body has ended. Returns the panic if it panicked.
    pub fn join(self) -> thread::Result<()> {
        match self.0 {
            Handle::Own(handle) => handle.join(),
            Handle::Foreign(progress) => {
                let stage = progress.state.lock().unwrap_or_else(PoisonError::into_inner);
                let runs = |stage: &mut Stage| !matches!(stage, Stage::Ended(_));
                let ended = progress.ended.wait_while(stage, runs);
                let mut stage = ended.unwrap_or_else(PoisonError::into_inner);
                match std::mem::take(&mut *stage) {
                    Stage::Ended(result) => result,
                    Stage::Waiting | Stage::Running(_) => Ok(()),
                }
            }
        }
    }
}

/// Real threads of the operating system.
#[derive(Debug, Default)]
pub struct SystemThreads;

impl Threads for SystemThreads {
    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<Option<Thread>> {
        Ok(Some(Thread(Handle::Own(start(name, body)?))))
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
    fn spawn(&self, _name: &str, _body: ThreadBody) -> io::Result<Option<Thread>> {
        Ok(None)
    }

    fn has_threads(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign(body: ThreadBody) -> Thread {
        let start = |body: ThreadBody| start("foreign", body).map(drop);
        Thread::started_by(body, start).unwrap()
    }

    #[test]
    fn a_foreign_thread_is_joined_like_an_own_one() {
        let done = Arc::new(Mutex::new(false));
        let own = Arc::clone(&done);
        let thread = foreign(Box::new(move || *own.lock().unwrap() = true));
        assert!(!thread.is_current());
        thread.join().unwrap();
        assert!(*done.lock().unwrap());
        let panicked = foreign(Box::new(|| panic!("as planned"))).join().unwrap_err();
        assert_eq!(panicked.downcast_ref::<&str>(), Some(&"as planned"));
    }

    #[test]
    fn a_thread_knows_itself() {
        let (send, receive) = std::sync::mpsc::channel::<Thread>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = foreign(Box::new(move || {
            let own = receive.recv().unwrap();
            tell.send(own.is_current()).unwrap();
        }));
        send.send(thread).unwrap();
        assert!(told.recv().unwrap());
    }

    #[test]
    fn a_thread_that_does_not_start_is_an_error() {
        let start = |body| {
            drop(body);
            Err(io::ErrorKind::WouldBlock.into())
        };
        let error = Thread::started_by(Box::new(|| {}), start).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
