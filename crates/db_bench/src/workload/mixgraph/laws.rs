//! The distributions of `mixgraph`.

use crate::keys::Draws;

/// Parts into which the mix is divided.
const MIX_PARTS: f64 = 1000.0;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Get,
    Put,
    Seek,
}

/// The shares of gets, puts and seeks.
#[derive(Debug)]
pub(super) struct Mix {
    /// The end of each kind's part of the numbers.
    ends: [u64; 3],
}

impl Mix {
    pub(super) fn new(ratios: [f64; 3]) -> Mix {
        let (sum, mut end) = (ratios.iter().sum::<f64>().max(f64::MIN_POSITIVE), 0);
        let ends = ratios.map(|ratio| {
            end += (MIX_PARTS * (ratio / sum)).ceil() as u64;
            end
        });
        Mix { ends }
    }

    /// Returns the kind that a number stands for.
    pub(super) fn kind(&self, number: u64) -> Kind {
        let at = number % self.ends[2].max(1);
        match self.ends {
            [gets, ..] if at < gets => Kind::Get,
            [_, puts, _] if at < puts => Kind::Put,
            [_, _, seeks] if at < seeks => Kind::Seek,
            _ => Kind::Get,
        }
    }
}

/// The generalized Pareto distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pareto {
    pub theta: f64,
    pub k: f64,
    pub sigma: f64,
}

impl Pareto {
    /// Returns the value that a number from 0 up to 1 stands for, rounded up. 0 stands for the
    /// largest value there is.
    pub(super) fn at(&self, unit: f64) -> u64 {
        let value = if self.k == 0.0 {
            self.theta - self.sigma * unit.ln()
        } else {
            self.theta + self.sigma * (unit.powf(-self.k) - 1.0) / self.k
        };
        value.ceil() as u64
    }
}

/// The power law `a * x^b`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PowerLaw {
    pub a: f64,
    pub b: f64,
}

impl PowerLaw {
    /// Returns a random number that is the same for all units with the same rank.
    pub(super) fn scattered(&self, unit: f64) -> u64 {
        let rank = (unit / self.a).powf(1.0 / self.b).ceil();
        Draws::new(rank as i64, 0).next()
    }
}

/// Key ranges, some of which are hotter than others.
#[derive(Debug)]
pub(super) struct Ranges {
    /// Keys of a range.
    keys: u64,
    /// The end of each range's part of the numbers.
    ends: Vec<u64>,
}

impl Ranges {
    /// Divides `num` keys. The heat of range `x`, counted from 1, is `a*e^(b*x) + c*e^(d*x)`. The
    /// hot ranges are scattered; the order follows from the law alone.
    pub(super) fn new(num: u64, ranges: i64, [a, b, c, d]: [f64; 4]) -> Ranges {
        let ranges = u64::try_from(ranges).unwrap_or(1).clamp(1, num);
        // The coldest range that is chosen at all has one number.
        let mut amplification = 0.0;
        let mut parts: Vec<u64> = (1..=ranges)
            .rev()
            .map(|range| {
                let x = range as f64;
                let heat = a * (b * x).exp() + c * (d * x).exp();
                let heat = if heat < 1e-16 { 0.0 } else { heat };
                if amplification == 0.0 && heat > 0.0 {
                    amplification = (1.0 / heat).floor() + 1.0;
                }
                (amplification * heat).floor() as u64
            })
            .collect();
        let total = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
        let mut draws = Draws::new(total as i64, 0);
        for index in 0..parts.len() {
            let other = draws.below(ranges) as usize;
            parts.swap(index, other);
        }
        let mut end = 0_u64;
        let ends = parts.into_iter().map(|part| {
            end = end.saturating_add(part);
            end
        });
        Ranges { keys: (num / ranges).max(1), ends: ends.collect() }
    }

    /// Returns the key that a number stands for.
    pub(super) fn key(&self, number: u64, within: &PowerLaw) -> u64 {
        let total = self.ends.last().copied().unwrap_or(0).max(1);
        let at = number % total;
        let range = self.ends.partition_point(|end| *end <= at).min(self.ends.len() - 1);
        let unit = (number % self.keys) as f64 / self.keys as f64;
        self.keys * range as u64 + within.scattered(unit) % self.keys
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn kinds_have_their_shares() {
        let mix = Mix::new([0.83, 0.14, 0.03]);
        let count = |kind| (0..1000).filter(|number| mix.kind(*number) == kind).count();
        assert_eq!([count(Kind::Get), count(Kind::Put), count(Kind::Seek)], [830, 140, 30]);
        assert_eq!(Mix::new([0.0, 1.0, 0.0]).kind(7), Kind::Put);
        assert_eq!(Mix::new([0.0, 0.0, 0.0]).kind(7), Kind::Get);
    }

    #[test]
    fn pareto_has_its_median_and_mean() {
        let pareto = Pareto { theta: 0.0, k: 0.2615, sigma: 25.45 };
        let median = 25.45 * (0.5_f64.powf(-0.2615) - 1.0) / 0.2615;
        assert_eq!(pareto.at(0.5), median.ceil() as u64);
        let mean = (1..100_000).map(|i| pareto.at(f64::from(i) / 1e5)).sum::<u64>() as f64 / 1e5;
        let expected = 25.45 / (1.0 - 0.2615);
        assert!((mean - expected).abs() < 1.5, "{mean} for {expected}");
        assert_eq!(Pareto { k: 0.0, ..pareto }.at(0.5), (25.45 * 2.0_f64.ln()).ceil() as u64);
        assert_eq!(pareto.at(0.0), u64::MAX);
    }

    #[test]
    fn few_keys_of_a_power_law_have_most_accesses() {
        // The parameters that RocksDB's wiki gives for this benchmark.
        let law = PowerLaw { a: 0.002312, b: 0.3467 };
        let mut counts: HashMap<u64, u64> = HashMap::new();
        for i in 0..10_000 {
            *counts.entry(law.scattered(f64::from(i) / 1e4)).or_default() += 1;
        }
        let mut counts: Vec<u64> = counts.into_values().collect();
        counts.sort_unstable();
        assert!(*counts.last().unwrap() > 20, "{:?}", counts.last());
    }

    #[test]
    fn hot_ranges_have_most_accesses_and_every_key_is_in_bounds() {
        let ranges = Ranges::new(50_000, 30, [14.18, -2.917, 0.0164, -0.08082]);
        let law = PowerLaw { a: 0.002312, b: 0.3467 };
        let (mut counts, mut draws) = ([0_u64; 30], Draws::new(1, 1));
        for _ in 0..10_000 {
            let key = ranges.key(draws.below(50_000), &law);
            counts[(key / (50_000 / 30)) as usize] += 1;
        }
        counts.sort_unstable();
        assert!(counts[29] > 4_000, "{counts:?}");
    }
}
