//! The files of a database and their names.
//!
//! ```text
//! CURRENT           name of the manifest in force, and a newline
//! CLOSED            what manifest and logs hold, after a clean close
//! LOCK              locked by the process that has the database open
//! RESTORING         a restore makes the database, which is incomplete
//! RESERVE           zeroes, whose space the database uses when the disk is full
//! MANIFEST-000001   the edits that led to the current version
//! 000002.log        a log
//! 000002.arc        an archived log: tables hold its writes, and the change feed reads it
//! 000003.tbl        a table
//! 000004.seg        a file of value segments
//! FLIGHT-000001     a file of the flight recorder; its numbers are its own
//! *.tmp             a file that was never finished
//! ```

use std::path::{Path, PathBuf};

use foldb_env::{FileSystem, SCRATCH_NAME};

use crate::error::{Error, Result};

/// Largest number that a manifest may give as the next file's: at a file per nanosecond, reaching
/// it takes a century. A larger number is refused, so that numbers never run out.
pub(crate) const MAX_FILE_NUMBER: u64 = 1 << 62;

/// A file of a database, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Current,
    Closed,
    Lock,
    Restoring,
    Reserve,
    Manifest(u64),
    Log(u64),
    Archive(u64),
    Table(u64),
    Segment(u64),
    Flight(u64),
    Temporary,
}

impl FileKind {
    /// Returns the file's number, if its kind takes numbers from the manifest.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            FileKind::Manifest(number)
            | FileKind::Log(number)
            | FileKind::Archive(number)
            | FileKind::Table(number)
            | FileKind::Segment(number) => Some(number),
            FileKind::Current
            | FileKind::Closed
            | FileKind::Lock
            | FileKind::Restoring
            | FileKind::Reserve
            | FileKind::Flight(_)
            | FileKind::Temporary => None,
        }
    }

    /// Parses a name in the database's directory; `None` for a file that foldb did not make.
    pub(crate) fn parse(name: &str) -> Option<FileKind> {
        match name {
            "CURRENT" => return Some(FileKind::Current),
            "CLOSED" => return Some(FileKind::Closed),
            "LOCK" => return Some(FileKind::Lock),
            "RESTORING" => return Some(FileKind::Restoring),
            "RESERVE" => return Some(FileKind::Reserve),
            "CURRENT.tmp" | "CLOSED.tmp" | SCRATCH_NAME => return Some(FileKind::Temporary),
            _ => {}
        }
        // Accept only names that foldb gives: another spelling may mean a number whose file is
        // absent.
        let number = |digits: &str| {
            let canonical = digits.bytes().all(|byte| byte.is_ascii_digit())
                && (digits.len() == 6 || (digits.len() > 6 && !digits.starts_with('0')));
            canonical.then(|| digits.parse::<u64>().ok()).flatten()
        };
        if let Some(digits) = name.strip_prefix("MANIFEST-") {
            return number(digits).map(FileKind::Manifest);
        }
        if let Some(digits) = name.strip_prefix("FLIGHT-") {
            return number(digits).map(FileKind::Flight);
        }
        let (stem, extension) = name.split_once('.')?;
        match extension {
            "log" => number(stem).map(FileKind::Log),
            "arc" => number(stem).map(FileKind::Archive),
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

    /// Names the files of a database that a program opens by `directory`. The paths stay right
    /// when the program changes its working directory.
    pub(crate) fn at(fs: &dyn FileSystem, directory: &Path) -> Result<FileNames> {
        let absolute = fs.absolute(directory);
        let absolute =
            absolute.map_err(|error| Error::io(directory, "find the directory", &error))?;
        Ok(FileNames { directory: absolute })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of a file. The temporary file is the next `CURRENT`.
    pub(crate) fn of(&self, kind: FileKind) -> PathBuf {
        match kind {
            FileKind::Current => self.current(),
            FileKind::Closed => self.closed(),
            FileKind::Lock => self.lock(),
            FileKind::Restoring => self.restoring(),
            FileKind::Reserve => self.reserve(),
            FileKind::Manifest(number) => self.manifest(number),
            FileKind::Log(number) => self.log(number),
            FileKind::Archive(number) => self.archive(number),
            FileKind::Table(number) => self.table(number),
            FileKind::Segment(number) => self.segment(number),
            FileKind::Flight(number) => self.flight(number),
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

    /// Returns the files that may be unfinished.
    pub(crate) fn temporaries(&self) -> [PathBuf; 3] {
        let scratch = self.directory.join(SCRATCH_NAME);
        [self.current_temporary(), self.closed_temporary(), scratch]
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.directory.join("LOCK")
    }

    pub(crate) fn restoring(&self) -> PathBuf {
        self.directory.join("RESTORING")
    }

    pub(crate) fn reserve(&self) -> PathBuf {
        self.directory.join("RESERVE")
    }

    pub(crate) fn manifest(&self, number: u64) -> PathBuf {
        self.directory.join(manifest_name(number))
    }

    pub(crate) fn log(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number:06}.log"))
    }

    pub(crate) fn archive(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number:06}.arc"))
    }

    pub(crate) fn table(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number:06}.tbl"))
    }

    pub(crate) fn flight(&self, number: u64) -> PathBuf {
        self.directory.join(format!("FLIGHT-{number:06}"))
    }

    pub(crate) fn segment(&self, number: u64) -> PathBuf {
        self.directory.join(format!("{number:06}.seg"))
    }
}

/// Returns the name of a manifest, as `CURRENT` holds it.
pub(crate) fn manifest_name(number: u64) -> String {
    format!("MANIFEST-{number:06}")
}
