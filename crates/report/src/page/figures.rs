//! Writes numbers with their unit, and only with the digits that were measured.

/// Marks an unknown figure.
pub(crate) const NONE: &str = "–";

/// A unit of a scale: its size and its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    /// Size in the quantity's own unit.
    pub size: f64,
    /// Name on an axis.
    pub name: &'static str,
}

const fn unit(size: f64, name: &'static str) -> Unit {
    Unit { size, name }
}

/// Returns the largest of `units` that fits `value`, else the first.
fn fitting(units: &[Unit], value: f64) -> Unit {
    *units.iter().rev().find(|unit| value >= unit.size).unwrap_or(&units[0])
}

const RATES: [Unit; 4] = [unit(1.0, ""), unit(1e3, "k"), unit(1e6, "M"), unit(1e9, "G")];
const RATE_AXES: [Unit; 4] = [
    unit(1.0, "operations a second"),
    unit(1e3, "thousand operations a second"),
    unit(1e6, "million operations a second"),
    unit(1e9, "billion operations a second"),
];
const BYTES: [Unit; 5] = [
    unit(1.0, "B"),
    unit(1024.0, "KiB"),
    unit(1_048_576.0, "MiB"),
    unit(1_073_741_824.0, "GiB"),
    unit(1_099_511_627_776.0, "TiB"),
];
const MICROS: [Unit; 4] = [unit(1e-3, "ns"), unit(1.0, "µs"), unit(1e3, "ms"), unit(1e6, "s")];

/// Returns the unit of an axis of rates up to `most`.
pub(crate) fn rate_axis(most: f64) -> Unit {
    fitting(&RATE_AXES, most)
}

/// Returns the unit of an axis of bytes up to `most`.
pub(crate) fn byte_axis(most: f64) -> Unit {
    fitting(&BYTES, most)
}

/// Writes `value` with three significant digits, and no trailing zeros.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (2 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    trimmed(format!("{value:.decimals$}"))
}

/// Removes zeros at the end of a fraction.
pub(crate) fn trimmed(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// `349481` as `349 481`, with spaces that do not break.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 * 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && !text.ends_with('-') {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

fn with_unit(value: f64, units: &[Unit]) -> String {
    // 999.96 KiB is 1 MiB with three digits.
    let unit = fitting(units, value * 1.0005);
    let space = if unit.name.is_empty() { "" } else { "\u{a0}" };
    format!("{}{space}{}", short(value / unit.size), unit.name)
}

/// Operations a second: `349 k/s`.
pub(crate) fn rate(value: f64) -> String {
    format!("{}/s", with_unit(value, &RATES))
}

/// A number of operations or entries: `1.5 M`.
pub(crate) fn count(value: f64) -> String {
    with_unit(value, &RATES)
}

/// Bytes: `512 MiB`.
pub(crate) fn bytes(value: f64) -> String {
    with_unit(value, &BYTES)
}

/// Microseconds, in the unit that fits best: `14.3 ms`.
pub(crate) fn micros(value: f64) -> String {
    if value == 0.0 { "0\u{a0}µs".to_owned() } else { with_unit(value, &MICROS) }
}

/// Seconds: `14.3 s`.
pub(crate) fn seconds(value: f64) -> String {
    micros(value * 1e6)
}

/// How many times: `3.24 ×`.
pub(crate) fn times(value: f64) -> String {
    format!("{}\u{a0}×", short(value))
}

/// A percentile: `p99.9`.
pub(crate) fn percentile(percent: f64) -> String {
    format!("p{percent}")
}

/// Writes `value` with `show`, or a dash.
pub(crate) fn or_dash(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.filter(|value| value.is_finite()).map_or_else(|| NONE.to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.012_345, "0.0123"),
            (1.204_9, "1.2"),
            (12.345, "12.3"),
            (349_481.0, "349481"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn units_fit_the_value() {
        assert_eq!(rate(349_481.0), "349\u{a0}k/s");
        assert_eq!(rate(12.0), "12/s");
        assert_eq!(bytes(536_870_912.0), "512\u{a0}MiB");
        assert_eq!(bytes(1_048_575.0), "1\u{a0}MiB");
        assert_eq!(micros(0.43), "430\u{a0}ns");
        assert_eq!(micros(14_300.0), "14.3\u{a0}ms");
        assert_eq!(seconds(0.5), "500\u{a0}ms");
        assert_eq!(times(3.2412), "3.24\u{a0}×");
        assert_eq!(percentile(99.0), "p99");
        assert_eq!(percentile(99.99), "p99.99");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(grouped(1_234_567.2), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped(999.0), "999");
        assert_eq!(grouped(-123_456.0), "-123\u{202f}456");
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        assert_eq!(or_dash(None, bytes), NONE);
        assert_eq!(or_dash(Some(f64::NAN), bytes), NONE);
        assert_eq!(or_dash(Some(3.0), bytes), "3\u{a0}B");
    }
}
