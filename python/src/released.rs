//! Handles whose end may wait: for a lock that a fold holds, or for the threads of a database.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use crate::ending::{is_inside, is_stuck, without_gil};

/// A handle of the engine that is dropped without the GIL: the last handle of a database closes it,
/// and waits for its threads.
pub(crate) struct Released<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> Released<T> {
    pub(crate) fn new(handle: T) -> Released<T> {
        Released(Some(handle))
    }

    pub(crate) fn into_inner(mut self) -> T {
        self.0.take().expect("only the drop takes the handle")
    }
}

impl<T: Send + 'static> Deref for Released<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_ref().expect("only the drop takes the handle")
    }
}

impl<T: Send + 'static> DerefMut for Released<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("only the drop takes the handle")
    }
}

impl<T: Send + 'static> Drop for Released<T> {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take() {
            release(handle);
        }
    }
}

/// Drops what may wait for the engine, without the GIL.
pub(crate) fn release<T: Send + 'static>(handle: T) {
    if is_stuck() {
        // The process ends soon, and has lost nothing then.
        std::mem::forget(handle);
        return;
    }
    if is_inside() {
        // The collector of garbage may run in a callback, around which the engine holds locks.
        let handle = ManuallyDrop::new(handle);
        let thread = std::thread::Builder::new().name("foldb-python".to_owned());
        // If the system starts no thread, the handle stays for good.
        let _ = thread.spawn(move || drop(ManuallyDrop::into_inner(handle)));
        return;
    }
    without_gil(|| drop(handle));
}
