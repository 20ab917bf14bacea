//! Moments as text, in UTC.

use std::time::{Duration, SystemTime};

/// Returns the moment so long before another one, but none before 1970, which has no text.
pub(crate) fn before(at: SystemTime, span: Duration) -> SystemTime {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + since.saturating_sub(span)
}

/// Returns `2026-05-01 12:30:05 UTC`.
pub(crate) fn date_and_time(at: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(at).to_string();
    format!("{} UTC", text.trim_end_matches('Z').replace('T', " "))
}

/// Returns `12:30:05`.
pub(crate) fn time_of_day(at: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(at).to_string();
    text.trim_end_matches('Z').split_once('T').map_or(String::new(), |(_, time)| time.to_owned())
}
