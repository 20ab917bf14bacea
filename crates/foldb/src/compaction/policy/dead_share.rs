//! The share of dead bytes among those that reach the oldest data. Recent compactions tell it.

/// A moving average for [`TreeShape::dead_share`](super::TreeShape::dead_share).
///
/// New keys free nothing when they reach the last level; overwrites free a byte for each byte. So
/// the same bytes in staging are live data in one case and garbage in the other. No size tells the
/// two apart, but the bytes that recent compactions freed do.
///
/// ```text
/// from above 60, from the base 400, written 440: 20 of 60 were dead, 1/3
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeadShare {
    above: f64,
    dead: f64,
    half_life: f64,
}

impl DeadShare {
    /// Begins with a known share. Without one, callers pass 1: all bytes count as dead. An
    /// observation of `half_life` bytes from above halves the weight of those before it. A good
    /// choice is the bytes of 32 tables.
    pub(crate) fn new(share: f64, half_life: u64) -> DeadShare {
        let half_life = half_life.max(1) as f64;
        let above = half_life / 4.0;
        DeadShare { above, dead: above * share.clamp(0.0, 1.0), half_life }
    }

    /// Records a compaction into the oldest run: bytes read from above it, bytes read from it, and
    /// bytes written.
    pub(crate) fn observe(&mut self, above: u64, base: u64, written: u64) {
        let dead = (above + base).saturating_sub(written).min(above) as f64;
        let fade = (-(above as f64) / self.half_life).exp2();
        self.above = self.above * fade + above as f64;
        self.dead = self.dead * fade + dead;
    }

    /// Returns the share, in 0..=1.
    pub(crate) fn get(&self) -> f64 {
        (self.dead / self.above.max(1.0)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_what_merges_free() {
        let mut share = DeadShare::new(1.0, 1000);
        assert_eq!(share.get(), 1.0);
        (0..20).for_each(|_| share.observe(1000, 4000, 5000));
        assert!(share.get() < 0.01, "new keys only: {share:?}");
        (0..20).for_each(|_| share.observe(1000, 4000, 4000));
        assert!(share.get() > 0.99, "overwrites only: {share:?}");
        share.observe(1000, 4000, 9000);
        assert!((0.3..0.7).contains(&share.get()), "growth counts as nothing dead: {share:?}");
    }
}
