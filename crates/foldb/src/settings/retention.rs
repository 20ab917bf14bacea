//! How long logs are kept for the change feed.

use std::time::Duration;

/// The bounds of archived logs. Both zero: no log is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WalRetention {
    /// Most bytes of archived logs; 0 for no bound.
    pub(crate) bytes: u64,
    /// Longest time that an archived log is kept, in seconds; 0 for no bound.
    pub(crate) seconds: u64,
}

impl WalRetention {
    /// Returns whether logs are kept.
    pub(crate) fn is_on(self) -> bool {
        self != WalRetention::default()
    }

    /// Returns whether the oldest archived log must go: all of them have `bytes`, and it is of this
    /// age.
    pub(crate) fn is_beyond(self, bytes: u64, age: Duration) -> bool {
        self.bytes > 0 && bytes > self.bytes || self.seconds > 0 && age.as_secs() >= self.seconds
    }
}
