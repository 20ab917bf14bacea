//! Segment files in use, and what happens when no version needs one any more.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arc_swap::ArcSwapOption;

use crate::files::{FileKind, InUse, PooledFile, Trash};
use crate::segment::open::OpenFile;

/// Times that collections fail to read a file before they leave it alone.
const MOST_FAILURES: u32 = 3;

/// A segment file. There is one of these per file, shared by every version with a segment in it and
/// by its writer: see [`SegmentFiles::get`].
pub(crate) struct SegmentFile {
    number: u64,
    /// The open file, while it is open.
    pub(crate) open: ArcSwapOption<OpenFile>,
    /// Set at each use, cleared as the eviction hand passes.
    pub(crate) used: AtomicBool,
    /// Whether segments may still be appended. Once it is not it never is again.
    growing: AtomicBool,
    /// Whether it is a log. Once it is it always is.
    adopted: AtomicBool,
    /// Whether it, or what tells of its values, was found damaged: collections leave it alone.
    damaged: AtomicBool,
    /// How often a collection failed to read it.
    failures: AtomicU32,
    /// Set while the current version has no segment in it.
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

    /// Whether segments may still be appended: then it must be copied, never linked (H12).
    pub(crate) fn is_growing(&self) -> bool {
        self.growing.load(Ordering::Acquire)
    }

    pub(crate) fn set_growing(&self, growing: bool) {
        self.growing.store(growing, Ordering::Release);
    }

    /// Whether it is a log that became a segment.
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

    /// A collection failed to read it. After some times they leave it alone.
    pub(crate) fn note_failure(&self) {
        if self.failures.fetch_add(1, Ordering::AcqRel) + 1 >= MOST_FAILURES {
            self.mark_damaged();
        }
    }

    /// Says whether the current version has no segment in it: then it is removed as soon as the
    /// last reader, and who appends to it, lets go. Called with the tree locked.
    pub(crate) fn set_obsolete(&self, obsolete: bool) {
        self.obsolete.store(obsolete, Ordering::Release);
    }

    /// Whether nothing will ever be in it again.
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

/// The segment files in use, so that there is one [`SegmentFile`] of each.
#[derive(Debug, Default)]
pub(crate) struct SegmentFiles {
    files: Mutex<HashMap<u64, Weak<SegmentFile>>>,
    trash: Arc<Trash>,
}

impl SegmentFiles {
    /// Where files go that no version needs.
    pub(crate) fn trash(&self) -> &Arc<Trash> {
        &self.trash
    }

    /// The segment file of this number: the one that is in use, or a new one.
    pub(crate) fn get(&self, number: u64) -> Arc<SegmentFile> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(&number).and_then(Weak::upgrade) {
            return file;
        }
        files.retain(|_, file| file.strong_count() > 0);
        let file = Arc::new(SegmentFile::new(number, &self.trash));
        files.insert(number, Arc::downgrade(&file));
        file
    }

    /// Whether a reader still holds a segment file that no current version needs.
    pub(crate) fn awaits_readers(&self) -> bool {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let files_in_use: Vec<_> = files.values().filter_map(Weak::upgrade).collect();
        // Let go of without the lock: this thread may be the last holder.
        drop(files);
        files_in_use.iter().any(|file| file.is_replaced())
    }

    /// Whether a file waits to be unlinked, or will once its readers let go of it.
    pub(crate) fn expects_trash(&self) -> bool {
        self.trash.is_expected() || self.awaits_readers()
    }
}
