//! Keys at even distances through a table, to estimate how much of it lies in a key range.

/// Most samples kept.
pub const MAX_SAMPLES: usize = 32;

/// Bytes kept of each sampled key.
pub const SAMPLE_LEN: usize = 32;

/// Distance of the first samples, in bytes of keys and values.
const FIRST_DISTANCE: u64 = 256;

/// Takes a key each `distance` bytes; whenever there are too many, drops every other and doubles
/// the distance. So the i-th of n samples stands at about (i + 1) / (n + 1) of the bytes.
#[derive(Debug)]
pub struct Sampler {
    distance: u64,
    next: u64,
    keys: Vec<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    len: u8,
    bytes: [u8; SAMPLE_LEN],
}

impl Default for Sampler {
    fn default() -> Self {
        Sampler { distance: FIRST_DISTANCE, next: FIRST_DISTANCE, keys: Vec::new() }
    }
}

impl Sampler {
    /// Tells it that `bytes` keys and values went before `key`.
    #[inline]
    pub fn observe(&mut self, bytes: u64, key: &[u8]) {
        if bytes >= self.next {
            self.take(bytes, key);
        }
    }

    #[cold]
    fn take(&mut self, bytes: u64, key: &[u8]) {
        let len = key.len().min(SAMPLE_LEN);
        let mut sample = Sample { len: len as u8, bytes: [0; SAMPLE_LEN] };
        sample.bytes[..len].copy_from_slice(&key[..len]);
        // One large record may pass several marks; each gets its sample.
        while self.next <= bytes {
            self.keys.push(sample);
            if self.keys.len() > MAX_SAMPLES {
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
        self.distance *= 2;
    }

    /// The samples, ascending.
    pub fn finish(self) -> Vec<Vec<u8>> {
        self.keys.iter().map(|sample| sample.bytes[..usize::from(sample.len)].to_vec()).collect()
    }
}
