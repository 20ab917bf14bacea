//! Numbers on the command line.

use std::ops::RangeInclusive;

/// Parses a number in a range. The error says what is expected.
pub(super) fn whole_number(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
}
