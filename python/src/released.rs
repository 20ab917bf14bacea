//! Handles whose end may wait.

use std::ops::Deref;

use pyo3::prelude::*;

/// A handle of the engine that is dropped without the GIL: the last handle of a database closes it,
/// and waits for its threads.
pub(crate) struct Released<T: Send>(Option<T>);

impl<T: Send> Released<T> {
    pub(crate) fn new(handle: T) -> Released<T> {
        Released(Some(handle))
    }
}

impl<T: Send> Deref for Released<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_ref().expect("only the drop takes the handle")
    }
}

impl<T: Send> Drop for Released<T> {
    fn drop(&mut self) {
        let handle = self.0.take();
        Python::attach(|py| py.detach(|| drop(handle)));
    }
}
