//! Keys at even distances through a table. The policy estimates from them how many bytes of the
//! table lie in a key range.
//!
//! Samples are compared with keys. In bytewise order the first bytes of a key suffice for that. A
//! caller's comparator sees only keys that were written, so its samples are whole keys.

use std::sync::Arc;

use crate::faults::{Fault, planted};

/// Most samples kept.
pub(super) const MAX_SAMPLES: usize = 32;

/// Bytes kept of each sampled key in bytewise order.
pub(super) const SAMPLE_LEN: usize = 32;

/// Most bytes of a table's samples if they are whole keys: each edit that names the table repeats
/// them. Longer keys make fewer samples.
const MAX_WHOLE_BYTES: usize = 4096;

/// Distance of the first samples, in bytes of keys and values.
const FIRST_DISTANCE: u64 = 256;

/// Takes a key every `distance` bytes. When there are too many, it drops every other one and
/// doubles the distance. So the i-th of n samples stands at about (i + 1) / (n + 1) of the bytes.
#[derive(Debug)]
pub(super) struct Sampler {
    distance: u64,
    next: u64,
    keys: Vec<Arc<[u8]>>,
    /// Bytes of all samples.
    sample_bytes: usize,
    /// Bytes kept of each key.
    sample_len: usize,
    max_bytes: usize,
}

impl Sampler {
    /// Makes a sampler of whole keys, or of the first [`SAMPLE_LEN`] bytes of each.
    pub(super) fn new(whole_keys: bool) -> Sampler {
        let (sample_len, max_bytes) = if whole_keys && !planted(Fault::CutSamples) {
            (usize::MAX, MAX_WHOLE_BYTES)
        } else {
            (SAMPLE_LEN, usize::MAX)
        };
        let (distance, next) = (FIRST_DISTANCE, FIRST_DISTANCE);
        Sampler { distance, next, keys: Vec::new(), sample_bytes: 0, sample_len, max_bytes }
    }

    /// Notes that `bytes` of keys and values came before `key`.
    #[inline]
    pub(super) fn observe(&mut self, bytes: u64, key: &[u8]) {
        if bytes >= self.next {
            self.take(bytes, key);
        }
    }

    #[cold]
    fn take(&mut self, bytes: u64, key: &[u8]) {
        let sample: Arc<[u8]> = key[..key.len().min(self.sample_len)].into();
        // One large record may pass several marks; it becomes a sample for each.
        while self.next <= bytes {
            self.sample_bytes += sample.len();
            self.keys.push(Arc::clone(&sample));
            while self.keys.len() > MAX_SAMPLES || self.sample_bytes > self.max_bytes {
                self.halve();
            }
            self.next = self.distance * (self.keys.len() as u64 + 1);
        }
    }

    /// Keeps the second, fourth, ... sample: those at multiples of twice the distance.
    fn halve(&mut self) {
        let mut position = 0;
        self.keys.retain(|_| {
            position += 1;
            position % 2 == 0
        });
        self.sample_bytes = self.keys.iter().map(|key| key.len()).sum();
        self.distance *= 2;
    }

    /// Returns the samples, ascending.
    pub(super) fn finish(self) -> Vec<Arc<[u8]>> {
        debug_assert!(self.keys.len() <= MAX_SAMPLES, "samples leave the manifest small");
        self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(whole_keys: bool, keys: &[Vec<u8>], value: u64) -> Vec<Arc<[u8]>> {
        let mut sampler = Sampler::new(whole_keys);
        let mut bytes = 0;
        for key in keys {
            sampler.observe(bytes, key);
            bytes += key.len() as u64 + value;
        }
        sampler.finish()
    }

    #[test]
    fn whole_samples_are_keys_and_take_few_bytes_however_long_the_keys_are() {
        for len in [8, 33, 200, 3000, 5000, 60_000] {
            let keys: Vec<Vec<u8>> = (0..2000u64)
                .map(|n| {
                    let mut key = n.to_be_bytes().to_vec();
                    key.resize(len, b'.');
                    key
                })
                .collect();
            let samples = sampled(true, &keys, 100);
            assert!(samples.iter().all(|sample| sample.len() == len), "keys of {len} are whole");
            assert!(samples.len() * len <= MAX_WHOLE_BYTES && samples.len() <= MAX_SAMPLES);
            assert!(len > MAX_WHOLE_BYTES || !samples.is_empty(), "keys of {len} are sampled");
            let cut = sampled(false, &keys, 100);
            assert!(cut.iter().all(|sample| sample.len() == len.min(SAMPLE_LEN)));
            for (i, sample) in samples.iter().enumerate() {
                let at = u64::from_be_bytes(sample[..8].try_into().unwrap()) as f64;
                let expected = (i + 1) as f64 / (samples.len() + 1) as f64 * keys.len() as f64;
                assert!(
                    (at - expected).abs() < keys.len() as f64 / 2.0,
                    "{at} is not near {expected}"
                );
            }
        }
    }
}
