//! Memory of the program's own that counts in the budget of a runtime.

use std::sync::Arc;

use crate::memory::{Charge, Gauge};

/// Memory that the program holds beside its databases, and counts in the budget of their
/// [`Runtime`](crate::Runtime). It is for buffers that grow and shrink with the writes, such as the
/// keys of a cache above the database. The memory counts until the reservation is dropped.
#[derive(Debug)]
pub struct Reservation(Charge);

impl Reservation {
    pub(crate) fn new(gauge: &Arc<Gauge>) -> Reservation {
        Reservation(Charge::new(gauge, 0))
    }

    /// Replaces the reserved bytes. The next writes make room for them: the call itself neither
    /// waits nor fails.
    pub fn set(&mut self, bytes: usize) {
        self.0.set(bytes);
    }
}
