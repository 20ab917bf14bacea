//! Segment files in use, and their removal when no version needs them.
//!
//! The flags of a file are stored with `Release` and read with `Acquire`. Two of them need that: a
//! checkpoint that sees that a file grows no more links it, with all bytes that its writer appended
//! before; and an opener that sees an adopted file reads a log that was sealed before. The others
//! are hints until a lock is taken. The mark of an obsolete file decides in the last holder, which
//! comes behind all others by the count of holders.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;

use crate::files::{FileKind, InUse, PooledFile, Trash};
use crate::locks::Lock;
use crate::locks::rank::SEGMENT_FILES;
use crate::segment::open::OpenFile;

/// After this many failed reads, garbage collection no longer picks the file.
const MOST_FAILURES: u32 = 3;

/// A segment file. Its writer and every version with a segment in the file share one object: see
/// [`SegmentFiles::get`].
pub(crate) struct SegmentFile {
    number: u64,
    /// The open file, while it is open.
    pub(crate) open: ArcSwapOption<OpenFile>,
    /// Set at each use. The pool clears the flag when it looks for files to close, and closes files
    /// without it. `Relaxed`: a reader whose use is missed keeps its handle, and a later one opens
    /// the file again.
    pub(crate) used: AtomicBool,
    /// Whether segments may still be appended. Once false, it stays false.
    growing: AtomicBool,
    /// Whether the file is a log. Once true, it stays true.
    adopted: AtomicBool,
    /// Whether the file or its hints were found damaged. Garbage collection does not pick such a
    /// file.
    damaged: AtomicBool,
    /// How often a garbage collection failed to read the file.
    failures: AtomicU32,
    /// Set while the current version has no segment in the file.
    obsolete: AtomicBool,
    trash: Arc<Trash>,
}

impl SegmentFile {
    fn new(number: u64, trash: &Arc<Trash>) -> SegmentFile {
        SegmentFile {
            number,
            open: ArcSwapOption::empty(),
            used: AtomicBool::new(false),
            growing: AtomicBool::new(false),
            adopted: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            obsolete: AtomicBool::new(false),
            trash: Arc::clone(trash),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether segments may still be appended. A checkpoint copies such a file and never
    /// links it (H12).
    pub(crate) fn is_growing(&self) -> bool {
        self.growing.load(Ordering::Acquire)
    }

    pub(crate) fn set_growing(&self, growing: bool) {
        self.growing.store(growing, Ordering::Release);
    }

    /// Returns whether the file is a log that became a segment.
    pub(crate) fn is_adopted(&self) -> bool {
        self.adopted.load(Ordering::Acquire)
    }

    pub(crate) fn set_adopted(&self) {
        self.adopted.store(true, Ordering::Release);
    }

    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Acquire)
    }

    pub(crate) fn mark_damaged(&self) {
        self.damaged.store(true, Ordering::Release);
    }

    /// Notes that a garbage collection failed to read the file. After [`MOST_FAILURES`] failures,
    /// garbage collection no longer picks the file.
    pub(crate) fn note_failure(&self) {
        if self.failures.fetch_add(1, Ordering::AcqRel) + 1 >= MOST_FAILURES {
            self.mark_damaged();
        }
    }

    /// Sets whether the current version has no segment in the file. An obsolete file is removed
    /// when its last reader and its writer have dropped it. The caller holds the tree's lock.
    pub(crate) fn set_obsolete(&self, obsolete: bool) {
        self.obsolete.store(obsolete, Ordering::Release);
    }

    /// Returns whether the file is obsolete and takes no more segments.
    pub(crate) fn is_replaced(&self) -> bool {
        self.is_obsolete() && !self.is_growing()
    }

    pub(crate) fn is_obsolete(&self) -> bool {
        self.obsolete.load(Ordering::Acquire)
    }
}

impl PooledFile for SegmentFile {
    fn close_unless_used(&self) -> std::result::Result<Option<Arc<dyn Any + Send + Sync>>, InUse> {
        match self.used.swap(false, Ordering::Relaxed) {
            true => Err(InUse),
            false => Ok(self.open.swap(None).map(|open| open as Arc<dyn Any + Send + Sync>)),
        }
    }

    #[cfg(test)]
    fn is_open(&self) -> bool {
        self.open.load().is_some()
    }
}

impl fmt::Debug for SegmentFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}.seg", self.number)
    }
}

impl Drop for SegmentFile {
    fn drop(&mut self) {
        if *self.obsolete.get_mut() {
            self.trash.throw(FileKind::Segment(self.number));
        }
    }
}

/// The segment files in use, with one [`SegmentFile`] for each.
#[derive(Debug, Default)]
pub(crate) struct SegmentFiles {
    files: Lock<HashMap<u64, Weak<SegmentFile>>, SEGMENT_FILES>,
    trash: Arc<Trash>,
}

impl SegmentFiles {
    /// Returns the trash for files that no version needs.
    pub(crate) fn trash(&self) -> &Arc<Trash> {
        &self.trash
    }

    /// Returns the segment file of this number: the one in use, or a new one.
    pub(crate) fn get(&self, number: u64) -> Arc<SegmentFile> {
        let mut files = self.files.lock();
        if let Some(file) = files.get(&number).and_then(Weak::upgrade) {
            return file;
        }
        files.retain(|_, file| file.strong_count() > 0);
        let file = Arc::new(SegmentFile::new(number, &self.trash));
        files.insert(number, Arc::downgrade(&file));
        file
    }

    /// Returns whether a segment file of this number is in use.
    pub(crate) fn is_in_use(&self, number: u64) -> bool {
        self.files.lock().get(&number).is_some_and(|file| file.strong_count() > 0)
    }

    /// Returns whether a reader still holds a segment file that no current version needs.
    pub(crate) fn awaits_readers(&self) -> bool {
        let files = self.files.lock();
        let files_in_use: Vec<_> = files.values().filter_map(Weak::upgrade).collect();
        // Drop the files after the lock is released, because this thread may be the last holder of
        // one.
        drop(files);
        files_in_use.iter().any(|file| file.is_replaced())
    }

    /// Returns whether a file waits to be unlinked, now or after its readers drop it.
    pub(crate) fn expects_trash(&self) -> bool {
        self.trash.is_expected() || self.awaits_readers()
    }
}
