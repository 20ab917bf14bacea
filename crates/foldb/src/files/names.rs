//! What files a database has and what they are called.
//!
//! ```text
//! CURRENT           name of the manifest in force, and a newline
//! CLOSED            what manifest and logs hold, after a clean close
//! LOCK              locked by the process that has the database open
//! MANIFEST-000001   the edits that led to the current version
//! 000002.log        a log
//! 000003.tbl        a table
//! 000004.seg        a file of value segments
//! *.tmp             a file that was never finished
//! ```

use std::path::{Path, PathBuf};

/// No manifest says of a larger number that it is the next file's: a file each nanosecond takes a
/// century to get there. A larger one is refused, so that numbers never run out.
pub(crate) const MAX_FILE_NUMBER: u64 = 1 << 62;

/// A file of a database, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Current,
    Closed,
    Lock,
    Manifest(u64),
    Log(u64),
    Table(u64),
    Segment(u64),
    Temporary,
}

impl FileKind {
    /// Its number, where it has one.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            FileKind::Manifest(number)
            | FileKind::Log(number)
            | FileKind::Table(number)
            | FileKind::Segment(number) => Some(number),
            FileKind::Current | FileKind::Closed | FileKind::Lock | FileKind::Temporary => None,
        }
    }

    /// What a name in the database's directory stands for; `None` for files that are not ours.
    pub(crate) fn parse(name: &str) -> Option<FileKind> {
        match name {
            "CURRENT" => return Some(FileKind::Current),
            "CLOSED" => return Some(FileKind::Closed),
            "LOCK" => return Some(FileKind::Lock),
            "CURRENT.tmp" | "CLOSED.tmp" => return Some(FileKind::Temporary),
            _ => {}
        }
        // Only names that we would give: another one may mean a number whose file is not there.
        let number = |digits: &str| {
            let canonical = digits.bytes().all(|byte| byte.is_ascii_digit())
                && (digits.len() == 6 || (digits.len() > 6 && !digits.starts_with('0')));
            canonical.then(|| digits.parse::<u64>().ok()).flatten()
        };
        if let Some(digits) = name.strip_prefix("MANIFEST-") {
            return number(digits).map(FileKind::Manifest);
        }
        let (stem, extension) = name.split_once('.')?;
        match extension {
            "log" => number(stem).map(FileKind::Log),
            "tbl" => number(stem).map(FileKind::Table),
            "seg" => number(stem).map(FileKind::Segment),
            _ => None,
        }
    }
}

/// Paths of a database's files.
#[derive(Clone, Debug)]
pub(crate) struct FileNames {
    directory: PathBuf,
}

impl FileNames {
    pub(crate) fn new(directory: &Path) -> FileNames {
        FileNames { directory: directory.to_owned() }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Path of a file. A temporary one is the next `CURRENT`.
    pub(crate) fn of(&self, kind: FileKind) -> PathBuf {
        match kind {
            FileKind::Current => self.current(),
            FileKind::Closed => self.closed(),
            FileKind::Lock => self.lock(),
            FileKind::Manifest(number) => self.manifest(number),
            FileKind::Log(number) => self.log(number),
            FileKind::Table(number) => self.table(number),
            FileKind::Segment(number) => self.segment(number),
            FileKind::Temporary => self.current_temporary(),
        }
    }

    pub(crate) fn current(&self) -> PathBuf {
        self.directory.join("CURRENT")
    }

    pub(crate) fn current_temporary(&self) -> PathBuf {
        self.directory.join("CURRENT.tmp")
    }

    pub(crate) fn closed(&self) -> PathBuf {
        self.directory.join("CLOSED")
    }

    pub(crate) fn closed_temporary(&self) -> PathBuf {
        self.directory.join("CLOSED.tmp")
    }

    /// The files that may never have been finished.
    pub(crate) fn temporaries(&self) -> [PathBuf; 2] {
        [self.current_temporary(), self.closed_temporary()]
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.directory.join("LOCK")
    }

    pub(crate) fn manifest(&self, number: u64) -> PathBuf {
        self.directory.join(manifest_name(number))
    }

    pub(crate) fn log(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number:06}.log"))
    }

    pub(crate) fn table(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number:06}.tbl"))
    }

    pub(crate) fn segment(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number:06}.seg"))
    }
}

/// Name of a manifest, as `CURRENT` holds it.
pub(crate) fn manifest_name(number: u64) -> String {
    format!("MANIFEST-{number:06}")
}
