//! Reads files and standard input in chunks, on a separate thread.
//!
//! A commit therefore never waits for input, and input never waits for a commit.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

use crate::exit::{Exit, Outcome};
use crate::location::shown;

/// Bytes in a chunk.
const CHUNK_LEN: usize = 128 << 10;

/// One source of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard input.
    Stdin,
    /// A file that could be opened before the first write.
    File(PathBuf),
}

/// A message of the reading thread.
#[derive(Debug)]
pub(crate) enum Event {
    /// Another source begins: a file, or `None` for standard input.
    Begin(Option<PathBuf>),
    /// Some bytes of the source, at least one.
    Chunk(Vec<u8>),
    /// The source ended.
    End,
    /// The source failed with this message. No message follows.
    Failed(String),
}

/// Returns the sources that the arguments name, and checks each before anything is written.
///
/// # Errors
/// Fails for a file that cannot be read.
pub(crate) fn sources(files: &[PathBuf]) -> Outcome<Vec<Source>> {
    if files.is_empty() {
        return Ok(vec![Source::Stdin]);
    }
    files.iter().map(|file| Source::of(file)).collect()
}

impl Source {
    fn of(file: &Path) -> Outcome<Source> {
        if file.as_os_str() == "-" {
            return Ok(Source::Stdin);
        }
        // Opening a named pipe waits for its writer, and works only once.
        let found = std::fs::metadata(file).map_err(|error| cannot_read(file, &error))?;
        if found.is_dir() {
            return Err(Exit::failed(format!("cannot read {}: it is a directory", shown(file))));
        }
        if found.is_file() {
            File::open(file).map_err(|error| cannot_read(file, &error))?;
        }
        Ok(Source::File(file.to_owned()))
    }

    /// Whether a user types the source at a terminal.
    pub(crate) fn is_typed(&self) -> bool {
        *self == Source::Stdin && io::stdin().is_terminal()
    }

    fn len(&self) -> Option<u64> {
        match self {
            Source::Stdin => None,
            Source::File(file) => std::fs::metadata(file)
                .ok()
                .filter(|found| found.is_file())
                .map(|found| found.len()),
        }
    }
}

/// Returns the bytes of all sources, if they are known.
pub(crate) fn total_len(sources: &[Source]) -> Option<u64> {
    sources.iter().map(Source::len).sum()
}

/// Reads the sources to their ends, or until the receiver is gone.
pub(crate) fn read(sources: Vec<Source>, events: &SyncSender<Event>) {
    for source in sources {
        let read = match &source {
            Source::Stdin => read_one(None, Ok(io::stdin().lock()), events),
            Source::File(file) => read_one(Some(file), File::open(file), events),
        };
        if read.is_none() {
            return;
        }
    }
}

/// Reads one source. Returns `None` after an error, or if the receiver is gone.
fn read_one(
    file: Option<&Path>,
    source: io::Result<impl Read>,
    events: &SyncSender<Event>,
) -> Option<()> {
    let tell = |event| events.send(event).ok();
    let failed = |error: io::Error| {
        let name = file.map_or_else(|| "standard input".to_owned(), shown);
        tell(Event::Failed(format!("cannot read {name}: {error}")));
    };
    tell(Event::Begin(file.map(Path::to_owned)))?;
    let mut source = source.map_err(failed).ok()?;
    let mut buffer = vec![0; CHUNK_LEN];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return tell(Event::End),
            Ok(len) => tell(Event::Chunk(buffer[..len].to_vec()))?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                failed(error);
                return None;
            }
        }
    }
}

fn cannot_read(file: &Path, error: &io::Error) -> Exit {
    Exit::failed(format!("cannot read {}: {error}", shown(file)))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn files_are_looked_at_first() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "abc").unwrap();
        let found = sources(&[file.clone(), "-".into()]).unwrap();
        assert_eq!(found, [Source::File(file.clone()), Source::Stdin]);
        assert_eq!(total_len(&found), None);
        assert_eq!(total_len(&found[..1]), Some(3));
        assert_eq!(sources(&[]).unwrap(), [Source::Stdin]);
        assert_eq!(sources(&[dir.path().to_owned()]).unwrap_err().code(), 1);
        assert_eq!(sources(&[file, dir.path().join("missing")]).unwrap_err().code(), 1);
    }

    #[test]
    fn what_is_read_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let bytes = vec![b'x'; CHUNK_LEN + 1];
        std::fs::write(&file, &bytes).unwrap();
        let (send, events) = sync_channel(100);
        read(vec![Source::File(file.clone()), Source::File(dir.path().join("gone"))], &send);
        drop(send);
        let mut events = events.into_iter();
        assert!(matches!(events.next(), Some(Event::Begin(Some(place))) if place == file));
        let mut read = Vec::new();
        loop {
            match events.next() {
                Some(Event::Chunk(chunk)) => read.extend(chunk),
                Some(Event::End) => break,
                other => panic!("{other:?}"),
            }
        }
        assert!(read == bytes);
        assert!(matches!(events.next(), Some(Event::Begin(Some(_)))));
        assert!(matches!(events.next(), Some(Event::Failed(_))));
        assert!(events.next().is_none());
    }
}
