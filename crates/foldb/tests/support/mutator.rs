//! Inputs of fuzz targets: the corpora, and a mutator for machines without a fuzzer.

use std::path::PathBuf;
use std::time::Duration;

/// Returns the inputs of a target that are checked in.
pub(crate) fn corpus(name: &str) -> Vec<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let Ok(entries) = std::fs::read_dir(&path) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Returns how long to mutate: `FOLDB_FUZZ_SECONDS` if set, else `usual`.
pub(crate) fn time(usual: Duration) -> Duration {
    let seconds = std::env::var("FOLDB_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    seconds.map_or(usual, Duration::from_secs_f64)
}

/// Changes some bytes of an input, or joins two inputs.
pub(crate) fn mutate(rng: &mut fastrand::Rng, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = rng.choice(inputs).cloned().unwrap_or_default();
    for _ in 0..rng.usize(1..=4) {
        let at = rng.usize(..=bytes.len());
        match rng.u8(..6) {
            0 => bytes.insert(at, rng.u8(..)),
            1 => bytes.truncate(at),
            2 if at < bytes.len() => bytes[at] = rng.u8(..),
            3 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(..8),
            4 if at + 4 <= bytes.len() => {
                let word = [0, 1, u32::MAX, 1 << 31, 0x7f7f_7f7f][rng.usize(..5)];
                bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
            _ => {
                let other = rng.choice(inputs).cloned().unwrap_or_default();
                bytes.truncate(at);
                bytes.extend_from_slice(&other[rng.usize(..=other.len())..]);
            }
        }
    }
    bytes
}
