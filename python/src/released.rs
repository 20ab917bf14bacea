//! Handles whose end may wait: for a lock that a fold holds, or for the threads of a database.

use std::ops::{Deref, DerefMut};

use pyo3::prelude::*;

use crate::ending::Unlocked;
use crate::ending::is_stuck;

/// A handle of the engine that is dropped without the GIL: the last handle of a database closes it,
/// and waits for its threads.
pub(crate) struct Released<T: Send>(Option<T>);

impl<T: Send> Released<T> {
    pub(crate) fn new(handle: T) -> Released<T> {
        Released(Some(handle))
    }

    pub(crate) fn into_inner(mut self) -> T {
        self.0.take().expect("only the drop takes the handle")
    }
}

impl<T: Send> Deref for Released<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_ref().expect("only the drop takes the handle")
    }
}

impl<T: Send> DerefMut for Released<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("only the drop takes the handle")
    }
}

impl<T: Send> Drop for Released<T> {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take() {
            release(handle);
        }
    }
}

/// Drops what may wait for the engine, without the GIL.
pub(crate) fn release<T: Send>(handle: T) {
    if is_stuck() {
        // The process ends soon, and has lost nothing then.
        std::mem::forget(handle);
        return;
    }
    Python::attach(|py| py.unlocked(|| drop(handle)));
}
