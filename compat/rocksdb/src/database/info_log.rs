//! The text file `LOG`: the options of an open, and then the engine's events.
//!
//! People read it, and some tools. A database that is open for writing has one, unless the program
//! has a logger of its own. An open renames the file of the open before to `LOG.old.MICROSECONDS`.
//!
//! Invariant: the file is a help only. If it cannot be written, the database works without it. A
//! file that does not begin as those of this library do is neither renamed nor removed.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use foldb::env::{FileSystem, WritableFile};
use foldb::events::Event;
use parking_lot::Mutex;

use crate::objects::logger::level_of;

/// What follows the name of the file when an open has renamed it.
const OLD: &str = ".old.";

/// What the first line of each file has, behind its time.
const MARK: &str = "RocksDB version: 10.4.2, as foldb has it";

/// What the options of an open say of the file.
#[derive(Debug)]
pub(crate) struct LogSettings {
    pub(crate) fs: Arc<dyn FileSystem>,
    /// Where the file is, if not beside the database's files.
    pub(crate) directory: Option<PathBuf>,
    /// The least important events that are told, as RocksDB numbers them.
    pub(crate) level: i32,
    /// The bytes after which the file is renamed and begun anew; 0: never.
    pub(crate) limit: u64,
    /// How many files there are at most, with the older ones.
    pub(crate) most_files: usize,
    /// What the file begins with.
    pub(crate) head: String,
}

/// The file of one open.
#[derive(Debug)]
pub(crate) struct InfoLog {
    settings: LogSettings,
    path: PathBuf,
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    file: Arc<dyn WritableFile>,
    len: u64,
}

impl InfoLog {
    /// Begins the file of an open. `None` if it cannot be written.
    pub(crate) fn begin(database: &Path, settings: LogSettings) -> Option<InfoLog> {
        let path = path_of(database, settings.directory.as_deref());
        let log = InfoLog { settings, path, open: Mutex::new(None) };
        *log.open.lock() = Some(log.create().ok()?);
        log.settings.head.lines().for_each(|line| log.add(line));
        Some(log)
    }

    /// Adds an event, if it is important enough.
    pub(crate) fn event(&self, event: &Event) {
        if level_of(event) >= self.settings.level {
            self.add(&event.to_string());
        }
    }

    /// Adds a line.
    pub(crate) fn add(&self, line: &str) {
        let mut open = self.open.lock();
        // After a failure the file ends where it is.
        if let Some(file) = open.take() {
            *open = self.append(file, line).ok();
        }
    }

    fn append(&self, mut open: Open, line: &str) -> io::Result<Open> {
        if self.settings.limit > 0 && open.len >= self.settings.limit {
            open = self.create()?;
        }
        let line = line_of(line);
        open.file.write_at(line.as_bytes(), open.len)?;
        open.len += line.len() as u64;
        Ok(open)
    }

    /// Renames the file that is there, and begins a new one.
    ///
    /// # Errors
    /// Fails if the file system does, and if the file there is not one of this library.
    fn create(&self) -> io::Result<Open> {
        if let Some(logs) = &self.settings.directory {
            self.settings.fs.create_dir_all(logs)?;
        }
        let fs = &*self.settings.fs;
        if fs.exists(&self.path) {
            if !is_own(fs, &self.path) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let name = format!("{}{OLD}{}", name(&self.path), since.as_micros());
            fs.rename(&self.path, &self.path.with_file_name(name))?;
            self.remove_oldest()?;
        }
        let head = line_of(MARK);
        let file = fs.create(&self.path)?;
        file.write_at(head.as_bytes(), 0)?;
        Ok(Open { file, len: head.len() as u64 })
    }

    fn remove_oldest(&self) -> io::Result<()> {
        let older = older(&*self.settings.fs, &self.path)?;
        let superfluous = (older.len() + 1).saturating_sub(self.settings.most_files);
        older.iter().take(superfluous).try_for_each(|path| self.settings.fs.remove(path))
    }
}

/// Returns a line of the file.
fn line_of(text: &str) -> String {
    format!("{} {text}\n", stamp(SystemTime::now()))
}

/// Returns whether a file begins as those of this library do.
fn is_own(fs: &dyn FileSystem, path: &Path) -> bool {
    let first_line = || -> io::Result<bool> {
        let file = fs.open(path)?;
        let mut head = vec![0; line_of(MARK).len()];
        file.read_exact_at(&mut head, 0)?;
        Ok(head.trim_ascii_end().ends_with(MARK.as_bytes()))
    };
    first_line().unwrap_or(false)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the older files of this library, the oldest first.
fn older(fs: &dyn FileSystem, path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(parent) = path.parent() else { return Ok(Vec::new()) };
    let begin = name(path) + OLD;
    let number = |name: &str| name.strip_prefix(&begin)?.parse::<u64>().ok();
    let names = match fs.list(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        listed => listed?,
    };
    let found = names.iter().filter_map(|name| Some((number(name)?, parent.join(name))));
    let found = found.filter(|(_, path)| is_own(fs, path));
    let mut found: Vec<_> = found.collect();
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Returns the path of the file. In a directory of logs, its name tells the database.
fn path_of(directory: &Path, logs: Option<&Path>) -> PathBuf {
    let Some(logs) = logs else { return directory.join("LOG") };
    let whole = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let flat = |c: char| if is_kept(c) { c } else { '_' };
    let flat: String = whole.to_string_lossy().trim_start_matches('/').chars().map(flat).collect();
    logs.join(flat + "_LOG")
}

/// Removes the files of a database, as far as they are in its directory.
///
/// # Errors
/// Fails if the file system does.
pub(crate) fn remove_all(fs: &dyn FileSystem, directory: &Path) -> io::Result<()> {
    let path = path_of(directory, None);
    older(fs, &path)?.iter().try_for_each(|old| fs.remove(old))?;
    if is_own(fs, &path) { fs.remove(&path) } else { Ok(()) }
}

/// Returns a time as RocksDB writes it: `2026/11/28-09:40:00.000000`, in UTC.
fn stamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = libc::time_t::try_from(since.as_secs()).unwrap_or(libc::time_t::MAX);
    // SAFETY: zeroes are a value of the structure, and the call fills it.
    let parts = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&seconds, &mut parts);
        parts
    };
    let mut text = String::new();
    // A `String` takes every text.
    let _ = write!(
        text,
        "{:04}/{:02}/{:02}-{:02}:{:02}:{:02}.{:06}",
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec,
        since.subsec_micros()
    );
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_stamp_is_a_date_and_a_time() {
        let time = UNIX_EPOCH + Duration::from_micros(1_795_858_800_000_007);
        assert_eq!(stamp(time), "2026/11/28-09:40:00.000007");
    }

    #[test]
    fn in_a_directory_of_logs_the_name_tells_the_database() {
        let path = path_of(Path::new("/data/shop.db"), Some(Path::new("/logs")));
        assert_eq!(path, Path::new("/logs/data_shop_db_LOG"));
    }
}
