//! How much of what reaches the oldest data is dead weight: learned from the merges themselves.

/// A moving average for [`TreeShape::dead_share`](super::TreeShape::dead_share).
///
/// Loading new keys frees nothing when it reaches the last level; overwriting frees a byte for
/// each byte. The same bytes in staging are thus live data in one case and garbage in the other,
/// which no size tells apart. What the last merges freed does.
///
/// ```text
/// from above 60, from the base 400, written 440: 20 of 60 were dead, 1/3
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DeadShare {
    above: f64,
    dead: f64,
    half_life: f64,
}

impl DeadShare {
    /// Begins with what was known before (1 if nothing: all is taken for dead). An observation of
    /// `half_life` bytes from above halves the weight of those before it; a good choice is the
    /// bytes of 32 tables.
    pub fn new(share: f64, half_life: u64) -> DeadShare {
        let half_life = half_life.max(1) as f64;
        let above = half_life / 4.0;
        DeadShare { above, dead: above * share.clamp(0.0, 1.0), half_life }
    }

    /// A merge into the oldest run read so many bytes from above it and so many of it, and wrote
    /// so many.
    pub fn observe(&mut self, above: u64, base: u64, written: u64) {
        let dead = (above + base).saturating_sub(written).min(above) as f64;
        let fade = (-(above as f64) / self.half_life).exp2();
        self.above = self.above * fade + above as f64;
        self.dead = self.dead * fade + dead;
    }

    /// The share, in 0..=1.
    pub fn get(&self) -> f64 {
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
