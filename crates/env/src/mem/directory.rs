//! The entries of one directory: the current ones, and those on the medium.
//!
//! Invariant: the durable entries, with the pending changes applied in order, give the current
//! entries. Each change stores its whole result. So a change can survive a power loss even if the
//! changes before it are lost.

use std::collections::BTreeMap;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::content::{Content, Fate};

/// A file without its names. An open handle keeps the file after its last name is removed.
#[derive(Default)]
pub(super) struct File(Mutex<Content>);

impl File {
    pub(super) fn content(&self) -> MutexGuard<'_, Content> {
        // No code of a caller runs under this mutex, so a panic elsewhere leaves the content whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Content> for File {
    fn from(content: Content) -> File {
        File(Mutex::new(content))
    }
}

type Entries = BTreeMap<String, Arc<File>>;

/// A change of a directory that is not on the medium before `sync_dir`.
pub(super) enum Change {
    Link {
        name: String,
        file: Arc<File>,
    },
    /// Atomic: the file has the new name, and not the old one.
    Rename {
        from: String,
        to: String,
        file: Arc<File>,
    },
    Unlink {
        name: String,
    },
}

impl Change {
    fn apply(&self, entries: &mut Entries) {
        match self {
            Change::Link { name, file } => {
                entries.insert(name.clone(), Arc::clone(file));
            }
            Change::Rename { from, to, file } => {
                entries.remove(from);
                entries.insert(to.clone(), Arc::clone(file));
            }
            Change::Unlink { name } => {
                entries.remove(name);
            }
        }
    }
}

/// The files of one directory. The file system keeps its subdirectories.
#[derive(Default)]
pub(super) struct Directory {
    current: Entries,
    durable: Entries,
    pending: Vec<Change>,
}

impl Directory {
    pub(super) fn file(&self, name: &str) -> Option<&Arc<File>> {
        self.current.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.current.keys()
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<File>> {
        self.current.values()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.current.is_empty()
    }

    pub(super) fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.pending.push(change);
    }

    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Returns the directory after a power loss: the names as of the last `sync_dir`, and of each
    /// file the synced bytes.
    pub(super) fn crash(&self) -> Directory {
        Directory::settled(&self.durable, Content::crash)
    }

    /// Returns the directory after a power loss that a random part of the pending changes survived.
    /// A change may survive without the changes before it.
    pub(super) fn crash_with(&self, rng: &mut fastrand::Rng) -> Directory {
        let mut entries = self.durable.clone();
        let fate = Fate::draw(rng);
        for change in self.pending.iter().filter(|_| fate.survives(rng)) {
            change.apply(&mut entries);
        }
        Directory::settled(&entries, |content| content.crash_with(rng))
    }

    fn settled(entries: &Entries, mut survive: impl FnMut(&Content) -> Content) -> Directory {
        let copy = |(name, file): (&String, &Arc<File>)| {
            (name.clone(), Arc::new(File::from(survive(&file.content()))))
        };
        let durable: Entries = entries.iter().map(copy).collect();
        Directory { current: durable.clone(), durable, pending: Vec::new() }
    }

    /// Copies the directory. The copy shares no file with this one, and has the same durable state.
    pub(super) fn kill(&self) -> Directory {
        let mut copies = Copies::default();
        let durable: Entries =
            self.durable.iter().map(|(name, file)| (name.clone(), copies.of(file))).collect();
        let pending: Vec<Change> =
            self.pending.iter().map(|change| copies.of_change(change)).collect();
        let mut current = durable.clone();
        pending.iter().for_each(|change| change.apply(&mut current));
        Directory { current, durable, pending }
    }
}

/// One copy of each file, under any number of names and changes.
#[derive(Default)]
struct Copies(HashMap<*const File, Arc<File>>);

impl Copies {
    fn of(&mut self, file: &Arc<File>) -> Arc<File> {
        match self.0.entry(Arc::as_ptr(file)) {
            Entry::Occupied(copy) => Arc::clone(copy.get()),
            Entry::Vacant(vacant) => {
                Arc::clone(vacant.insert(Arc::new(File::from(file.content().clone()))))
            }
        }
    }

    fn of_change(&mut self, change: &Change) -> Change {
        match change {
            Change::Link { name, file } => Change::Link { name: name.clone(), file: self.of(file) },
            Change::Rename { from, to, file } => {
                Change::Rename { from: from.clone(), to: to.clone(), file: self.of(file) }
            }
            Change::Unlink { name } => Change::Unlink { name: name.clone() },
        }
    }
}
