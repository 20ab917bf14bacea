//! Table files: what the manifest knows of one, and what happens when nobody needs it any more.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::key::SeqNo;
use crate::segment::{SegmentFile, SegmentId};
use crate::version::bounds::{Key, Upper};
use crate::version::file_names::FileKind;
use crate::version::open_tables::TableSlot;

/// What the manifest knows about a table file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) number: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    pub(crate) entries: u64,
    pub(crate) deletes: u64,
    pub(crate) merges: u64,
    /// Range tombstones.
    pub(crate) range_deletes: u64,
    /// About how many older records they deleted when the file was written.
    pub(crate) range_deleted: u64,
    /// Where its records and range tombstones begin.
    pub(crate) smallest: Key,
    /// Where they end.
    pub(crate) end: Upper,
    /// Of records and range tombstones.
    pub(crate) smallest_seqno: SeqNo,
    pub(crate) largest_seqno: SeqNo,
    /// The newest snapshot that kept records of it from being folded; 0 for none. Once it is gone
    /// the file is worth rewriting.
    pub(crate) kept_apart: SeqNo,
    /// Keys evenly spaced by bytes, to estimate how much of the file lies in a range. Of a file
    /// with nothing but range tombstones: of what they delete.
    pub(crate) samples: Arc<[Key]>,
    /// The value segments that its records refer to, and bytes of the records there.
    pub(crate) references: Arc<[(SegmentId, u64)]>,
}

/// A table file in use. Shared by every version that refers to it.
pub(crate) struct FileMeta {
    facts: FileFacts,
    /// The open table, while it is open.
    pub(crate) slot: TableSlot,
    /// Set when the current version no longer refers to the file.
    obsolete: AtomicBool,
    trash: Arc<Trash>,
}

impl FileMeta {
    pub(crate) fn new(facts: FileFacts, trash: &Arc<Trash>) -> FileMeta {
        let trash = Arc::clone(trash);
        FileMeta { facts, slot: TableSlot::default(), obsolete: AtomicBool::new(false), trash }
    }

    pub(crate) fn facts(&self) -> &FileFacts {
        &self.facts
    }

    /// The file is to be removed as soon as the last reader lets go of it.
    pub(crate) fn mark_obsolete(&self) {
        if !self.obsolete.swap(true, Ordering::AcqRel) {
            self.trash.tables.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl std::ops::Deref for FileMeta {
    type Target = FileFacts;

    fn deref(&self) -> &FileFacts {
        &self.facts
    }
}

impl fmt::Debug for FileMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}.tbl", self.facts.number)
    }
}

impl Drop for FileMeta {
    fn drop(&mut self) {
        if *self.obsolete.get_mut() {
            self.trash.tables.fetch_sub(1, Ordering::Relaxed);
            self.trash.throw(FileKind::Table(self.facts.number));
        }
    }
}

/// Files that nobody refers to any more, waiting to be unlinked. Readers only note the file here,
/// and somebody who unlinks files is told: no reader ever does.
#[derive(Default)]
pub(crate) struct Trash {
    files: Mutex<Vec<FileKind>>,
    /// The segment files in use, so that there is one of each.
    segments: Mutex<HashMap<u64, Weak<SegmentFile>>>,
    /// Tables that the current version does not refer to, but somebody does.
    tables: AtomicUsize,
    /// Told of each file, by whoever let go of it last, whatever locks he holds.
    listener: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Trash {
    /// Has this called for each file that is thrown away. It must not wait for a lock.
    pub(crate) fn listen(&self, listener: impl Fn() + Send + Sync + 'static) {
        let _only_one = self.listener.set(Box::new(listener));
    }

    pub(crate) fn throw(&self, file: FileKind) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(file);
        if let Some(listener) = self.listener.get() {
            listener();
        }
    }

    /// Takes what is there.
    pub(crate) fn empty(&self) -> Vec<FileKind> {
        std::mem::take(&mut *self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a file that no current version needs is still in somebody's hands, or was just let
    /// go of.
    pub(crate) fn is_expected(&self) -> bool {
        let is_thrown = !self.files.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        is_thrown || self.tables.load(Ordering::Relaxed) > 0 || self.awaits_readers()
    }

    /// Whether a segment file that no current version needs is still in somebody's hands.
    pub(crate) fn awaits_readers(&self) -> bool {
        let segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let files: Vec<_> = segments.values().filter_map(Weak::upgrade).collect();
        // Let go of without the lock: the last one to do so may be here.
        drop(segments);
        files.iter().any(|file| file.is_replaced())
    }

    /// The segment file of this number: the one that is in use, or a new one.
    pub(crate) fn segment_file(self: &Arc<Trash>, number: u64) -> Arc<SegmentFile> {
        let mut segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = segments.get(&number).and_then(Weak::upgrade) {
            return file;
        }
        segments.retain(|_, file| file.strong_count() > 0);
        let file = Arc::new(SegmentFile::new(number, self));
        segments.insert(number, Arc::downgrade(&file));
        file
    }
}

impl fmt::Debug for Trash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("Trash").field("files", &*files).finish_non_exhaustive()
    }
}
