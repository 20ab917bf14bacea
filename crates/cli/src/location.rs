//! Looks at the path of a database without changing anything there.
//!
//! A database is a directory with a file `CURRENT`. Only `put`, `merge`, `count`, `load`,
//! `keyspaces --create` and `demo --keep` create one, where nothing exists or in an empty
//! directory. Commands refuse everything else and leave it unchanged. A creation that was killed
//! before it wrote `CURRENT` left no data, so its directory counts as empty.

use std::fs::{self, DirEntry, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

use foldb::events::{Event, EventListener};
use foldb::{Db, ErrorKind, Options, ReadOnlyDb};

use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::reverse::ReverseBytewise;

/// The file that makes a directory a database.
const CURRENT: &str = "CURRENT";
/// The magic bytes of every log and of every manifest, and their offset (`docs/format/log.md`).
const LOG_MAGIC: &[u8] = b"log/fold";
const MANIFEST_MAGIC: &[u8] = b"man/fold";
const MAGIC_AT: usize = 33;
/// More bytes than all logs of a database have.
const ALL_LOGS: u64 = 1 << 50;
/// Length of the header of a log.
const LOG_HEADER_LEN: u64 = 85;

/// A path that a command may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// Nothing, an empty directory, or the rest of an unfinished creation: a database can be
    /// created.
    Free,
    /// A database.
    Database,
}

impl Location {
    /// Looks at `path`.
    ///
    /// # Errors
    /// Fails for a file, or a directory with other files in it.
    pub(crate) fn of(path: &Path) -> Outcome<Location> {
        let name = shown(path);
        let look_failed =
            |error: io::Error| Exit::failed(format!("cannot look at {name}: {error}"));
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if path.as_os_str().is_empty() {
                    return Err(Exit::failed("the path of the database is empty"));
                }
                if fs::symlink_metadata(path).is_ok() {
                    return Err(Exit::failed(format!("{name} is a link to a missing file")));
                }
                return Ok(Location::Free);
            }
            Err(error) => return Err(look_failed(error)),
            Ok(found) if !found.is_dir() => {
                return Err(Exit::failed(format!(
                    "{name} is not a database: it is a file, not a directory"
                )));
            }
            Ok(_) => {}
        }
        if path.join(CURRENT).is_file() {
            return Ok(Location::Database);
        }
        for entry in fs::read_dir(path).map_err(look_failed)? {
            if !left_by_a_creation(&entry.map_err(look_failed)?).map_err(look_failed)? {
                refuse_foreign(path)?;
                let hint = match has_a_manifest(path).map_err(look_failed)? {
                    true => ", a manifest of foldb among them, but no CURRENT: see foldb repair",
                    false => "",
                };
                return Err(Exit::failed(format!(
                    "{name} is not a database: it is a directory with other files in it{hint}"
                )));
            }
        }
        Ok(Location::Free)
    }
}

/// # Errors
/// Fails if the directory holds what is left of a database of LevelDB or RocksDB.
fn refuse_foreign(path: &Path) -> Outcome {
    match Db::open_read_only(path, Options::default()) {
        Err(error) if error.kind() == ErrorKind::ForeignDatabase => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether the directory has a manifest of foldb.
fn has_a_manifest(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let is_one = entry.file_name().as_encoded_bytes().starts_with(b"MANIFEST-");
        if is_one && has_magic(&header_of(&mut File::open(entry.path())?)?, MANIFEST_MAGIC) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an unfinished creation can have left this file: a lock, a log without writes, a
/// manifest, or the temporary file of `CURRENT`. Other engines use the same names, so this also
/// looks at the contents.
fn left_by_a_creation(entry: &DirEntry) -> io::Result<bool> {
    let found = entry.metadata()?;
    let name = entry.file_name();
    let name = name.as_encoded_bytes();
    if !found.is_file() {
        return Ok(false);
    }
    match name {
        b"LOCK" => Ok(found.len() == 0),
        b"CURRENT.tmp" => Ok(found.len() <= "MANIFEST-000002\n".len() as u64),
        _ if name.ends_with(b".log") => is_empty_log(&entry.path()),
        _ if name.starts_with(b"MANIFEST-") => {
            begins_as(MANIFEST_MAGIC, &mut File::open(entry.path())?)
        }
        _ => Ok(false),
    }
}

/// Whether a log of foldb holds no write. Zeros after its header are reserved space that a killed
/// process did not give back.
fn is_empty_log(path: &Path) -> io::Result<bool> {
    let mut log = BufReader::new(File::open(path)?);
    Ok(begins_as(LOG_MAGIC, &mut log)? && is_zero_to_the_end(&mut log)?)
}

/// Whether a file begins with a header of this magic, or its first bytes were never written. Reads
/// the header.
fn begins_as(magic: &[u8], log: &mut impl Read) -> io::Result<bool> {
    let header = header_of(log)?;
    Ok(has_magic(&header, magic) || header.iter().all(|&byte| byte == 0))
}

fn header_of(log: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut header = Vec::new();
    log.take(LOG_HEADER_LEN).read_to_end(&mut header)?;
    Ok(header)
}

fn has_magic(header: &[u8], magic: &[u8]) -> bool {
    header.get(MAGIC_AT..MAGIC_AT + magic.len()) == Some(magic)
}

fn is_zero_to_the_end(log: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = log.fill_buf()?;
        if bytes.is_empty() || bytes.iter().any(|&byte| byte != 0) {
            return Ok(bytes.is_empty());
        }
        let len = bytes.len();
        log.consume(len);
    }
}

/// Opens the database at `path`.
///
/// # Errors
/// Fails if `path` holds no database.
///
/// The open keeps the logs of a program that follows the database, and so its change feed.
pub(crate) fn open(path: &Path, options: Options) -> Outcome<Db> {
    let mut options = options;
    if matches!(Location::of(path), Ok(Location::Database)) && Db::has_feed(path, &options)? {
        // The program's next open removes what is beyond its own bound.
        options.wal_retention_bytes = ALL_LOGS;
    }
    open_by(path, options, Db::open)
}

/// Opens the database at `path` read-only: the open writes nothing, and another process may have
/// the database open.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_to_read(path: &Path, options: Options) -> Outcome<ReadOnlyDb> {
    open_by(path, options, ReadOnlyDb::open)
}

/// Prints on standard error what an open left out: unsynced bytes at the end of a log, and archived
/// logs that it could not read.
#[derive(Debug)]
struct TellsOfLosses;

impl EventListener for TellsOfLosses {
    fn on_event(&self, event: &Event) {
        if let Event::FeedShortened { .. } = event {
            let _best_effort = writeln!(io::stderr(), "{event}");
        }
        let Event::TailDropped(tail) = event else { return };
        let _best_effort = writeln!(
            io::stderr(),
            "{}: {} bytes after offset {}, with {} whole frames, were never synced and are left out; the \
             last sequence number kept is {}",
            shown(&tail.file),
            tail.bytes,
            tail.offset,
            tail.frames,
            tail.last_seqno
        );
    }
}

fn open_by<'a, D>(
    path: &'a Path,
    options: Options,
    open: fn(&'a Path, Options) -> foldb::Result<D>,
) -> Outcome<D> {
    match Location::of(path)? {
        Location::Database => {
            let mut options = options;
            options.listeners.push(Arc::new(TellsOfLosses));
            let mut reverse = options.clone();
            open(path, options).or_else(|error| {
                // The keyspace `default` takes its order from the options of each open.
                if !error.to_string().contains(ReverseBytewise::NAME) {
                    return Err(error.into());
                }
                reverse.default.comparator = Some(Arc::new(ReverseBytewise));
                Ok(open(path, reverse)?)
            })
        }
        Location::Free => Err(Exit::failed(format!("there is no database at {}", shown(path)))),
    }
}

/// Creates a database at a free `path`, in a directory that exists: a path with a slip of the pen
/// makes no directories.
pub(crate) fn create(path: &Path, options: Options) -> Outcome<Db> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent.filter(|parent| !parent.exists()) {
        return Err(Exit::failed(format!(
            "there is no directory {}: create it first, or correct the path",
            shown(parent)
        )));
    }
    Ok(Db::open(path, Options { create_if_missing: true, error_if_exists: true, ..options })?)
}

/// A path in a message.
pub(crate) fn shown(path: &Path) -> String {
    quoted(path.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        match Location::of(path) {
            Err(Exit::Failed(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_and_an_empty_directory_are_free() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Location::of(dir.path()), Ok(Location::Free));
        assert_eq!(Location::of(&dir.path().join("new")), Ok(Location::Free));
        assert_eq!(Location::of(&dir.path().join("new/deep")), Ok(Location::Free));
    }

    #[test]
    fn a_directory_with_current_is_a_database() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("CURRENT"), "MANIFEST-000001\n").unwrap();
        assert_eq!(Location::of(dir.path()), Ok(Location::Database));
    }

    #[test]
    fn everything_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "text").unwrap();
        assert!(refusal(&file).contains("it is a file"));
        assert!(refusal(dir.path()).contains("other files in it"));
        assert!(refusal(&file.join("below")).contains("cannot look at"));
        assert!(refusal(Path::new("")).contains("is empty"));
        // A directory with the name CURRENT is not the file CURRENT.
        fs::create_dir(dir.path().join("CURRENT")).unwrap();
        assert!(refusal(dir.path()).contains("other files in it"));
    }

    /// Returns the directory of a database without writes, just before `CURRENT` exists.
    fn unfinished() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let db = create(dir.path(), Options::default()).unwrap();
        db.close().unwrap();
        // An unfinished creation has no record of a close.
        fs::remove_file(dir.path().join("CLOSED")).unwrap();
        fs::rename(dir.path().join("CURRENT"), dir.path().join("CURRENT.tmp")).unwrap();
        dir
    }

    #[test]
    fn what_an_unfinished_creation_left_is_free() {
        let dir = unfinished();
        let steps = ["none", "CURRENT.tmp", "MANIFEST-000002", "000001.log", "LOCK"];
        for gone in steps {
            let _ = fs::remove_file(dir.path().join(gone));
            assert_eq!(Location::of(dir.path()), Ok(Location::Free), "without {gone}");
        }
        let dir = unfinished();
        for never_written in ["CURRENT.tmp", "MANIFEST-000002", "000001.log"] {
            File::create(dir.path().join(never_written)).unwrap();
            assert_eq!(Location::of(dir.path()), Ok(Location::Free), "{never_written} empty");
        }
        fs::write(dir.path().join("000001.log"), [0; 85]).unwrap();
        assert_eq!(Location::of(dir.path()), Ok(Location::Free), "a log of zeros");
        let dir = unfinished();
        for name in ["MANIFEST-000002", "000001.log"] {
            let file = File::options().write(true).open(dir.path().join(name)).unwrap();
            file.set_len(4 << 20).unwrap();
            assert_eq!(Location::of(dir.path()), Ok(Location::Free), "{name} with reserved space");
        }
        // A second attempt that is cut short uses the next numbers.
        fs::write(dir.path().join("000003.log"), [0; 85]).unwrap();
        assert_eq!(Location::of(dir.path()), Ok(Location::Free));
        create(dir.path(), Options::default()).unwrap().put("k", "v").unwrap();
        assert_eq!(Location::of(dir.path()), Ok(Location::Database));
    }

    #[test]
    fn writes_and_the_files_of_other_engines_are_not_taken_for_an_unfinished_creation() {
        let dir = tempfile::tempdir().unwrap();
        let db = create(dir.path(), Options::default()).unwrap();
        db.put("", "").unwrap();
        db.close().unwrap();
        fs::remove_file(dir.path().join("CURRENT")).unwrap();
        assert!(refusal(dir.path()).contains("other files in it"), "a log with a write");

        for (name, bytes) in [
            ("000003.log", &b"levels"[..]),
            ("MANIFEST-000002", b"\x56\xf9\xb8\xf8\x1c\0\x01\x01\x1aleveldb.BytewiseComparator"),
            ("000004.tbl", b""),
            ("LOCK", b"pid 7"),
            ("CURRENT.tmp", b"something that a user may want"),
        ] {
            let dir = unfinished();
            fs::write(dir.path().join(name), bytes).unwrap();
            assert!(refusal(dir.path()).contains("other files in it"), "{name}");
        }
        let dir = tempfile::tempdir().unwrap();
        let manifest = b"\x56\xf9\xb8\xf8\x1c\0\x01\x01\x1aleveldb.BytewiseComparator";
        fs::write(dir.path().join("MANIFEST-000002"), manifest).unwrap();
        assert!(refusal(dir.path()).contains("a LevelDB database"));
        let dir = unfinished();
        fs::create_dir(dir.path().join("000009.log")).unwrap();
        assert!(refusal(dir.path()).contains("other files in it"), "a directory");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(refusal(&link).contains("a link to a missing file"));
    }
}
