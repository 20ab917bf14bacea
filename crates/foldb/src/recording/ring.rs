//! The files of a recording, oldest to newest, and the room that they take.

use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::{FileSystem, WritableFile};

use crate::error::{Error, Result};
use crate::files::{Content, FileKind, FileNames, MAX_FILE_NUMBER, Proof, remove};
use crate::recording::format::{Frames, put_frame, put_header};

/// A file takes this part of the budget. Then the next one begins.
const FILES: u64 = 8;

/// Where a recording is written.
#[derive(Debug)]
pub(super) struct Ring {
    fs: Arc<dyn FileSystem>,
    names: FileNames,
    budget: u64,
    /// The files before the current one, oldest first, with their lengths.
    older: Vec<(u64, u64)>,
    /// The current file.
    number: u64,
    file: Arc<dyn WritableFile>,
    len: u64,
}

impl Ring {
    /// Begins a file after those that are there. Short files would push out long ones, so the new
    /// file takes over the frames of the newest if they are few.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn begin(fs: &Arc<dyn FileSystem>, names: &FileNames, budget: u64) -> Result<Ring> {
        let mut older = files_of(&**fs, names)?;
        let number = older.last().map_or(1, |(number, _)| number + 1);
        let mut start = Vec::new();
        put_header(&mut start);
        let share = budget / FILES;
        let short = older.last().filter(|(_, len)| *len < share / 2).map(|(number, _)| *number);
        if let Some(short) = short
            && let Ok(bytes) = fs.read(&names.flight(short))
            && let Ok(frames) = whole_frames(&bytes)
        {
            start = bytes[..frames].to_vec();
        }
        let path = names.flight(number);
        let io = |doing: &'static str, path: PathBuf| {
            move |error: std::io::Error| Error::io(&path, doing, &error)
        };
        let file = fs.create(&path).map_err(io("create", path.clone()))?;
        file.write_at(&start, 0).map_err(io("write", path.clone()))?;
        if let Some(short) = short {
            remove_own(&**fs, names, short)?;
            older.pop();
        }
        let (fs, names, len) = (Arc::clone(fs), names.clone(), start.len() as u64);
        let mut ring = Ring { fs, names, budget, older, number, file, len };
        ring.trim()?;
        Ok(ring)
    }

    /// Returns whether the current file has its share, so that the next frame needs a new file.
    pub(super) fn is_full(&self) -> bool {
        self.len >= self.budget / FILES
    }

    /// Begins the next file.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn turn(&mut self) -> Result<()> {
        let path = self.names.flight(self.number + 1);
        let mut start = Vec::new();
        put_header(&mut start);
        let failed = |error| Error::io(&path, "write", &error);
        let file = self.fs.create(&path).map_err(failed)?;
        file.write_at(&start, 0).map_err(failed)?;
        self.older.push((self.number, self.len));
        self.number += 1;
        (self.file, self.len) = (file, start.len() as u64);
        self.trim()
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn append(&mut self, records: &[u8]) -> Result<()> {
        let mut frame = Vec::new();
        put_frame(&mut frame, self.len, records);
        let written = self.file.write_at(&frame, self.len);
        written.map_err(|error| Error::io(&self.names.flight(self.number), "write", &error))?;
        self.len += frame.len() as u64;
        Ok(())
    }

    /// Removes the oldest files until the rest and one whole file fit the budget.
    fn trim(&mut self) -> Result<()> {
        let room = self.budget - self.budget / FILES;
        while self.older.iter().map(|(_, len)| len).sum::<u64>() > room {
            let (number, _) = self.older.remove(0);
            remove_own(&*self.fs, &self.names, number)?;
        }
        Ok(())
    }
}

/// Removes a file of a recording. One of that name that foldb did not write stays.
fn remove_own(fs: &dyn FileSystem, names: &FileNames, number: u64) -> Result<()> {
    let path = names.flight(number);
    let Some(content) = Content::read(fs, &path, FileKind::Flight(number)) else { return Ok(()) };
    remove(fs, &path, Proof::Content(&content)).map_err(|error| Error::io(&path, "remove", &error))
}

fn whole_frames(bytes: &[u8]) -> Result<usize> {
    let mut frames = Frames::new(bytes)?;
    frames.by_ref().for_each(drop);
    Ok(frames.end())
}

/// Returns the files of a recording, oldest first, with their lengths.
///
/// # Errors
/// `Io`.
pub(super) fn files_of(fs: &dyn FileSystem, names: &FileNames) -> Result<Vec<(u64, u64)>> {
    let directory = names.directory();
    let listed = fs.list(directory).map_err(|error| Error::io(directory, "list", &error))?;
    let numbers = listed.iter().filter_map(|name| match FileKind::parse(name) {
        // After a larger number none would be left for the next file.
        Some(FileKind::Flight(number)) if number < MAX_FILE_NUMBER => Some(number),
        _ => None,
    });
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable();
    // A file may have gone since the directory was listed.
    let with_len = |number| Some((number, fs.len(&names.flight(number)).ok()?));
    Ok(numbers.into_iter().filter_map(with_len).collect())
}

#[cfg(test)]
mod tests {
    use foldb_env::MemFs;

    use super::*;

    fn lengths(fs: &Arc<dyn FileSystem>, names: &FileNames) -> u64 {
        files_of(&**fs, names).unwrap().iter().map(|(_, len)| len).sum()
    }

    #[test]
    fn the_files_never_take_more_than_the_budget() {
        let (fs, names) = directory();
        let mut ring = Ring::begin(&fs, &names, 64 << 10).unwrap();
        for frame in 0..2000u64 {
            if ring.is_full() {
                ring.turn().unwrap();
            }
            ring.append(&[frame as u8; 150]).unwrap();
            // A file is full a frame late.
            assert!(lengths(&fs, &names) <= (64 << 10) + 162, "frame {frame}");
        }
        assert!(lengths(&fs, &names) >= 48 << 10, "most of the budget is used");
        assert!(files_of(&*fs, &names).unwrap()[0].0 > 20, "the oldest files are gone");
    }

    #[test]
    fn a_file_with_few_frames_goes_on_in_the_next_one() {
        let (fs, names) = directory();
        for open in 1..=5 {
            let mut ring = Ring::begin(&fs, &names, 64 << 10).unwrap();
            ring.append(&[open; 100]).unwrap();
        }
        let files = files_of(&*fs, &names).unwrap();
        let [(5, _)] = files[..] else { panic!("{files:?}") };
        let bytes = fs.read(&names.flight(5)).unwrap();
        let mut frames = Frames::new(&bytes).unwrap();
        let opens: Vec<u8> = frames.by_ref().map(|records| records[0]).collect();
        assert_eq!((opens, frames.rest()), (vec![1, 2, 3, 4, 5], 0));
    }

    /// Files of other programs may have such names.
    #[test]
    fn files_of_others_stay_and_end_no_recording() {
        let (fs, names) = directory();
        for name in ["FLIGHT-000003", "FLIGHT-18446744073709551615"] {
            let path = names.directory().join(name);
            fs.create(&path).unwrap().write_at(b"a flight to Rome", 0).unwrap();
        }
        let mut ring = Ring::begin(&fs, &names, 64 << 10).unwrap();
        for _ in 0..2000 {
            if ring.is_full() {
                ring.turn().unwrap();
            }
            ring.append(&[0; 150]).unwrap();
        }
        assert_eq!(fs.read(&names.flight(3)).unwrap(), b"a flight to Rome");
        assert_eq!(fs.read(&names.flight(u64::MAX)).unwrap(), b"a flight to Rome");
    }

    fn directory() -> (Arc<dyn FileSystem>, FileNames) {
        let fs = MemFs::new();
        fs.create_dir_all("/db".as_ref()).unwrap();
        (Arc::new(fs), FileNames::new("/db".as_ref()))
    }
}
