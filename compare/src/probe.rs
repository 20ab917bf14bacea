//! Measures the disk without any engine. A probe between runs shows whether the disk itself was
//! slow.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use foldb_report::results::Probe;

use crate::failure::{Failure, Result};

/// Bytes written.
pub const BYTES: usize = 256 << 20;
/// Bytes written by a test.
pub const BYTES_OF_TESTS: usize = 8 << 20;
/// Bytes between two syncs.
const STEP: usize = 4 << 20;

/// Writes `bytes` to a new file in `directory`, in order, syncing every 4 MB.
///
/// # Errors
/// The file cannot be written.
pub fn probe(workload: &str, directory: &Path, bytes: usize) -> Result<Probe> {
    let path = directory.join("probe");
    let measured = write(&path, bytes).map_err(Failure::file("write", &path));
    let _gone = fs::remove_file(&path);
    let (seconds, longest) = measured?;
    Ok(Probe {
        workload: workload.to_owned(),
        synced_write_mb_per_second: bytes as f64 / 1e6 / seconds,
        longest_sync_millis: longest * 1e3,
    })
}

/// Returns the seconds of the whole write, and those of the longest sync.
fn write(path: &Path, bytes: usize) -> std::io::Result<(f64, f64)> {
    // Bytes that neither compress nor repeat within a block.
    let mut random = fastrand::Rng::with_seed(1);
    let mut step = vec![0; STEP];
    random.fill(&mut step);
    let mut file = File::create(path)?;
    let (began, mut longest) = (Instant::now(), 0.0_f64);
    for _ in 0..bytes / STEP {
        file.write_all(&step)?;
        let syncing = Instant::now();
        file.sync_data()?;
        longest = longest.max(syncing.elapsed().as_secs_f64());
    }
    Ok((began.elapsed().as_secs_f64().max(1e-9), longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_sync_is_part_of_the_whole() {
        let directory = tempfile::tempdir().unwrap();
        let (seconds, longest) = write(&directory.path().join("probe"), 3 * STEP).unwrap();
        assert!(longest > 0.0 && longest <= seconds, "{longest} of {seconds}");
    }
}
