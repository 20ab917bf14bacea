//! Verification of the logs that the change feed keeps.
//!
//! ```text
//! 000004.arc <- 000007.arc <- 000009.log    each names the frames of the log before it, and the
//!               manifest: needed from 9 on, after 7    manifest names those of the newest archive
//! ```
//!
//! A log that an open replays may end in a torn tail. An archived log may not: it was synced before
//! it got its name, and the log after it says how many frames it must have. The bytes after them
//! are no part of it: a power loss may bring back space that was reserved there.
//!
//! Archived logs outside this chain are remains of a crash or of another history. The next open
//! removes them.

use std::path::Path;

use crate::db::lifecycle::open::files::{archives_in, logs_in};
use crate::db::lifecycle::open::kept_logs::{MISSING_ARCHIVE, lineage_of, read_lineage};
use crate::db::lifecycle::open::verify::{Checked, Recorded, Verification};
use crate::error::{Error, Result};
use crate::fold::Registry;
use crate::wal::{LogReader, Predecessor};

/// What is known of the log before a place in the history.
#[derive(Clone, Copy)]
enum Before {
    /// There is none.
    Nothing,
    /// The file that names it cannot be read.
    Unknown,
    Known(Predecessor),
}

impl Before {
    fn named(before: Option<Predecessor>) -> Before {
        before.map_or(Before::Nothing, Before::Known)
    }
}

impl Verification<'_> {
    /// Checks the logs of the feed, newest first. Without a manifest, it checks each archived log
    /// whose log was removed.
    pub(super) fn archives(&mut self, recorded: Option<&Recorded>) {
        let (archives, logs) = (archives_in(&self.present), logs_in(&self.present));
        let mut left: Vec<u64> = archives.iter().chain(&logs).copied().collect();
        match recorded {
            Some(recorded) => left.retain(|number| *number < recorded.stored.log),
            // A log beside its copy may be needed.
            None => left.retain(|number| !logs.contains(number)),
        }
        left.sort_unstable();
        left.dedup();
        let registry = recorded.map(|recorded| &*recorded.stored.registry);
        let mut before =
            recorded.map_or(Before::Unknown, |recorded| Before::named(recorded.stored.feed_end));
        while let Some(number) = left.pop() {
            let end = match before {
                Before::Nothing => return,
                Before::Unknown => None,
                Before::Known(end) if end.log < number => continue,
                Before::Known(end) if end.log == number => Some(end),
                Before::Known(end) => {
                    let missing = Error::corruption(MISSING_ARCHIVE);
                    self.fault(missing.in_file(&self.names.archive(end.log)));
                    None
                }
            };
            let path = match archives.contains(&number) {
                true => self.names.archive(number),
                // The rename failed. The feed reads the log under its old name.
                false => self.names.log(number),
            };
            self.of_feed.insert(number);
            before = match read_lineage(&*self.fs, path.clone(), number) {
                Ok(Some(own)) if end.is_none_or(|end| end.id == own.id) => {
                    Before::named(own.predecessor)
                }
                // It is damaged, or the log of another history.
                _ => Before::Unknown,
            };
            let len = self.fs.len(&path).unwrap_or(0);
            let checked = self.archive(&path, number, end, registry);
            self.finished(path, len, checked);
        }
    }

    fn archive(
        &mut self,
        path: &Path,
        number: u64,
        end: Option<Predecessor>,
        registry: Option<&Registry>,
    ) -> Result<Checked> {
        let mut log = LogReader::open(&*self.fs, path, number)?;
        let records = self.records(&mut log, registry)?;
        let (bytes, frames) = (log.offset(), log.frames());
        let Some(end) = end else {
            log.end()?;
            return Ok(Checked { bytes, records });
        };
        if frames != end.frames {
            return Err(Error::corruption(format!(
                "expected {} frames, which the log after it names, found {frames}",
                end.frames
            ))
            .at(path, bytes));
        }
        lineage_of(&*self.fs, path, end)?;
        Ok(Checked { bytes, records })
    }
}
