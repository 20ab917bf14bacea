//! Random input, the same for each engine.

/// Random numbers: SplitMix64.
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, each as often.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// Returns a number below `end`, small ones more often: half of them are in the first eighth.
    pub(crate) fn skewed(&mut self, end: u64) -> u64 {
        let uniform = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((uniform * uniform * uniform * end as f64) as u64).min(end - 1)
    }
}

/// Returns this share of a size, at least 1.
pub(crate) fn share_of(size: u64, share: f64) -> u64 {
    ((size as f64 * share) as u64).max(1)
}
