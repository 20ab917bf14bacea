//! Segment files in use, and what happens when nobody needs one any more.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use arc_swap::ArcSwapOption;

use super::open::OpenFile;
use crate::version::{FileKind, Trash};

/// Times that merges fail to read a file before they leave it alone.
const MOST_FAILURES: u32 = 3;

/// A segment file. There is one of these per file, shared by every version with a segment in it and
/// by who appends to it: see [`Trash::segment_file`].
pub(crate) struct SegmentFile {
    number: u64,
    /// The open file, while it is open.
    pub(super) open: ArcSwapOption<OpenFile>,
    /// Set at each use, cleared as the eviction hand passes.
    pub(super) used: AtomicBool,
    /// Whether segments may still be appended. Once it is not it never is again.
    growing: AtomicBool,
    /// Whether it is a log. Once it is it always is.
    adopted: AtomicBool,
    /// Whether it, or what tells of its values, was found damaged: merges leave it alone.
    damaged: AtomicBool,
    /// How often a merge failed to read it.
    failures: AtomicU32,
    /// Set while the current version has no segment in it.
    obsolete: AtomicBool,
    trash: Arc<Trash>,
}

/// The file was used since somebody asked.
#[derive(Debug)]
pub(crate) struct InUse;

impl SegmentFile {
    /// To be made by [`Trash::segment_file`] alone.
    pub(crate) fn new(number: u64, trash: &Arc<Trash>) -> SegmentFile {
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

    /// Keeps it open no longer, unless it was used since the last time this was asked. What is let
    /// go of is closed when the caller drops it.
    ///
    /// # Errors
    /// It was used.
    pub(crate) fn let_go_if_unused(&self) -> std::result::Result<Option<Arc<OpenFile>>, InUse> {
        match self.used.swap(false, Ordering::Relaxed) {
            true => Err(InUse),
            false => Ok(self.open.swap(None)),
        }
    }

    /// Whether segments may still be appended: then it must be copied, never linked (H12).
    pub(crate) fn is_growing(&self) -> bool {
        self.growing.load(Ordering::Acquire)
    }

    pub(super) fn set_growing(&self, growing: bool) {
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

    /// A merge failed to read it. After some times they leave it alone.
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

    pub(super) fn is_obsolete(&self) -> bool {
        self.obsolete.load(Ordering::Acquire)
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
