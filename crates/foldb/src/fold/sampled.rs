//! Folds that are done again in another grouping, to find operators that break their laws.
//!
//! Only builds with debug assertions do so, for one of [`EACH`] folds of several operands. The
//! result of the fold never changes. An operator runs under locks of the engine, so a difference
//! waits here until a read, flush or compaction has released them and tells listeners.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;

use crate::events::DifferingFold;
use crate::fold::laws;
use crate::fold::operator::MergeOperator;

/// The engine repeats one fold in this number.
const EACH: u64 = 1000;

/// Most bytes of a history that is folded again.
const LARGEST: usize = 1 << 16;

/// The sampled folds of a database.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// `Relaxed`: the addition gives each count to one fold, which is all that decides its turn.
    folds: AtomicU64,
    /// A difference that listeners have not been told. A newer one takes its place.
    found: ArcSwapOption<DifferingFold>,
}

impl Samples {
    /// Counts a fold, and does it again if its turn has come.
    pub(super) fn look(
        &self,
        operator: &dyn MergeOperator,
        name: impl FnOnce() -> String,
        key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
    ) {
        let count = self.folds.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes: usize = base.iter().chain(operands).map(|piece| piece.len()).sum();
        if !count.is_multiple_of(EACH) || bytes > LARGEST {
            return;
        }
        if let Some(case) = laws::difference(operator, key, base, operands, count) {
            let found = DifferingFold { key: key.to_vec(), operator: name(), case };
            self.found.store(Some(Arc::new(found)));
        }
    }

    /// Takes the difference that listeners have not been told.
    pub(super) fn take(&self) -> Option<Arc<DifferingFold>> {
        // A load costs less than a swap, and there is almost never a difference.
        self.found.load().as_ref()?;
        self.found.swap(None)
    }
}
