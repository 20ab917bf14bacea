//! Measures how long the machine takes to sync a few bytes without the engine. No synced write can
//! be faster.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// Bytes written before each sync.
const STEP: [u8; 4096] = [1; 4096];
/// How long to measure.
const LENGTH: Duration = Duration::from_millis(250);

/// Returns the longest `fdatasync` of a file in `directory` within a quarter of a second.
///
/// # Errors
/// Errors of the file system.
pub(crate) fn longest(directory: &Path) -> Result<Duration, Failure> {
    let path = directory.join("bare-sync");
    let measured = measure(&path).map_err(Failure::with_file("write and sync", &path));
    let _best_effort = fs::remove_file(&path);
    measured
}

fn measure(path: &Path) -> io::Result<Duration> {
    let mut file = File::create(path)?;
    let (began, mut longest) = (Instant::now(), Duration::ZERO);
    while began.elapsed() < LENGTH {
        file.write_all(&STEP)?;
        let start = Instant::now();
        file.sync_data()?;
        longest = longest.max(start.elapsed());
    }
    Ok(longest)
}
