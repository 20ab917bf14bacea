//! The database as its flight recorder sees it.

use crate::db::core::Core;
use crate::db::lifecycle::stats::stats_of;
use crate::runtime::Ticked;

impl Ticked for Core {
    fn tick(&self) -> bool {
        let Some(recorder) = &self.recorder else { return false };
        // The files belong to this open only while it holds the directory, and only there.
        let Some(owned) = self.ownership.hold() else { return false };
        if owned.check_place().is_err() {
            return false;
        }
        drop(owned);
        recorder.tick(&stats_of(self))
    }
}

/// Ends the recording. The caller still owns the directory.
pub(super) fn end_recording(core: &Core) {
    if let Some(recorder) = &core.recorder {
        recorder.end(&stats_of(core));
    }
}
