//! Scales: the place of a value on an axis, between 0 and 1, and the marked values.

/// Ticks of an axis that begins at zero, at most.
const TICKS: f64 = 5.0;
/// Decades of a logarithmic axis up to which 2 and 5 are marked too.
const FINE_DECADES: i32 = 2;
/// Factor from which an axis begins and ends at powers of ten.
const COARSE: f64 = 1000.0;
/// Marked powers of ten, at most.
const POWERS: i32 = 7;

/// An axis of a number line.
pub(crate) trait Scale {
    /// Where `value` lies: 0 at the axis' beginning, 1 at its end.
    fn at(&self, value: f64) -> f64;
    /// The marked values, in order.
    fn ticks(&self) -> Vec<f64>;
}

/// From zero to a round number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Linear {
    step: f64,
    steps: u32,
}

impl Linear {
    /// An axis that holds everything up to `most`.
    pub(crate) fn to(most: f64) -> Linear {
        if !most.is_finite() || most <= 0.0 {
            return Linear { step: 1.0, steps: 1 };
        }
        let rough = most / TICKS;
        let power = 10f64.powf(rough.log10().floor());
        let rounds = [1.0, 2.0, 2.5, 5.0, 10.0].map(|round| round * power);
        let step = rounds.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(rounds[4]);
        Linear { step, steps: ((most / step - 0.001).ceil()).max(1.0) as u32 }
    }

    /// Returns an axis for time: it ends exactly at `most`, even between two marks.
    pub(crate) fn exactly(most: f64) -> Exactly {
        Exactly { most: if most > 0.0 { most } else { 1.0 }, marks: Linear::to(most) }
    }

    /// A marked value as text.
    pub(crate) fn label(&self, tick: f64) -> String {
        let decimals = (-self.step.log10() + 0.999).floor().clamp(0.0, 9.0) as usize;
        let decimals = decimals + usize::from(self.step * 10f64.powi(decimals as i32) % 1.0 > 0.01);
        super::super::figures::trimmed(format!("{tick:.decimals$}"))
    }

    fn end(&self) -> f64 {
        self.step * f64::from(self.steps)
    }
}

impl Scale for Linear {
    fn at(&self, value: f64) -> f64 {
        value / self.end()
    }

    fn ticks(&self) -> Vec<f64> {
        (0..=self.steps).map(|i| self.step * f64::from(i)).collect()
    }
}

/// From zero to a given number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exactly {
    most: f64,
    marks: Linear,
}

impl Exactly {
    /// A marked value as text.
    pub(crate) fn label(&self, tick: f64) -> String {
        self.marks.label(tick)
    }
}

impl Scale for Exactly {
    fn at(&self, value: f64) -> f64 {
        value / self.most
    }

    fn ticks(&self) -> Vec<f64> {
        self.marks.ticks().into_iter().filter(|tick| *tick <= self.most * 1.001).collect()
    }
}

/// A logarithmic axis. It begins and ends at powers of ten, or at their halves and fifths if the
/// values are close to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Logarithmic {
    low: f64,
    high: f64,
}

impl Logarithmic {
    /// Returns an axis that holds `values`. A value that is not above zero is at its beginning.
    pub(crate) fn around(values: impl IntoIterator<Item = f64>) -> Logarithmic {
        let (mut least, mut most) = (f64::INFINITY, 0f64);
        for value in values.into_iter().filter(|value| *value > 0.0 && value.is_finite()) {
            (least, most) = (least.min(value), most.max(value));
        }
        if most == 0.0 {
            return Logarithmic { low: 1.0, high: 10.0 };
        }
        let (low, high) = match most / least > COARSE {
            true => (below(least, &[1.0]), above(most, &[1.0])),
            false => (below(least, &[1.0, 2.0, 5.0]), above(most, &[1.0, 2.0, 5.0])),
        };
        Logarithmic { low, high }
    }

    fn decades(&self) -> i32 {
        (self.high / self.low).log10().ceil() as i32
    }
}

/// The largest of `rounds` times a power of ten that is not above `value`.
fn below(value: f64, rounds: &[f64]) -> f64 {
    let power = value.log10().floor() as i32;
    let fits = |round: &&f64| **round * ten(power) <= value * 1.000_001;
    rounds.iter().rev().find(fits).unwrap_or(&1.0) * ten(power)
}

/// The least of `rounds` times a power of ten that is above `value`.
fn above(value: f64, rounds: &[f64]) -> f64 {
    let power = value.log10().floor() as i32;
    let fits = |round: &&f64| **round * ten(power) >= value * 0.999_999;
    rounds.iter().find(fits).map_or(ten(power + 1), |round| round * ten(power))
}

fn ten(power: i32) -> f64 {
    10f64.powi(power)
}

impl Scale for Logarithmic {
    fn at(&self, value: f64) -> f64 {
        if value <= self.low {
            return 0.0;
        }
        let length = (self.high / self.low).ln();
        if length > 0.0 { (value / self.low).ln() / length } else { 0.5 }
    }

    fn ticks(&self) -> Vec<f64> {
        let first = self.low.log10().floor() as i32;
        let last = (self.high.log10() + 1e-9).floor() as i32;
        let rounds: &[f64] = if self.decades() <= FINE_DECADES { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = (self.decades() / POWERS + 1) as usize;
        let all = (first..=last)
            .step_by(every)
            .flat_map(|power| rounds.iter().map(move |round| round * ten(power)));
        let within = self.low * 0.999_999..=self.high * 1.000_001;
        all.filter(|tick| within.contains(tick)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(most: f64) -> Vec<String> {
        let scale = Linear::to(most);
        scale.ticks().into_iter().map(|tick| scale.label(tick)).collect()
    }

    #[test]
    fn linear_axes_have_round_marks_and_hold_everything() {
        assert_eq!(labels(4.2), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(labels(0.9), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(1.1), ["0", "0.25", "0.5", "0.75", "1", "1.25"]);
        assert_eq!(labels(100.0), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(0.0), ["0", "1"]);
        assert_eq!(labels(f64::NAN), ["0", "1"]);
        for most in [0.001, 0.3, 7.0, 11.0, 999.0, 1e9] {
            assert!(Linear::to(most).at(most) <= 1.001, "{most}");
            assert!(Linear::to(most).at(most) > 0.75, "{most}");
        }
    }

    #[test]
    fn exact_axes_end_where_they_are_told() {
        let scale = Linear::exactly(4.4);
        assert_eq!(scale.ticks(), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert!((scale.at(4.4) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn logarithmic_axes_begin_and_end_at_round_numbers() {
        let scale = Logarithmic::around([0.7, 90_000.0]);
        assert_eq!(scale, Logarithmic { low: 0.1, high: 100_000.0 });
        assert_eq!(scale.ticks().len(), 7);
        assert_eq!((scale.at(0.1), scale.at(0.0), scale.at(1e5)), (0.0, 0.0, 1.0));
        assert_eq!(Logarithmic::around([1.2, 4.0]), Logarithmic { low: 1.0, high: 5.0 });
        assert_eq!(Logarithmic::around([1.2, 4.0]).ticks(), [1.0, 2.0, 5.0]);
        assert_eq!(Logarithmic::around([1.0, 100.0]), Logarithmic { low: 1.0, high: 100.0 });
        assert_eq!(Logarithmic::around([]).ticks(), [1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn a_single_value_has_an_axis() {
        let scale = Logarithmic::around([10.0]);
        assert_eq!(scale.at(10.0), 0.0);
        assert!(!scale.ticks().is_empty());
    }

    #[test]
    fn a_wide_axis_marks_no_more_powers_than_can_be_read() {
        assert!(Logarithmic::around([1e-3, 1e12]).ticks().len() <= 8);
    }
}
