//! Moments in UTC as RFC 3339 writes them, and durations in seconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::key::time::parts;

const DAY: i64 = 86_400;
const NANOS: u32 = 1_000_000_000;

/// Returns a moment, `2026-11-27T14:29:14.5Z`.
pub(super) fn show(time: SystemTime) -> String {
    let (seconds, nanos) = parts(time);
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let second = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let fraction = fraction(nanos);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Reads a moment that [`show`] wrote.
pub(super) fn read(text: &str) -> Option<SystemTime> {
    let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut parts = day.rsplitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (day, month, year) = (parts.next()??, parts.next()??, parts.next()??);
    let (clock, nanos) = split_fraction(time)?;
    let mut clock = clock.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let in_range =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    // The seconds of years beyond these do not fit 64 bits.
    if !in_range || !(1..=12).contains(&month) || year.abs() > 300_000_000_000 {
        return None;
    }
    let days = days(year, month, day);
    if date(days) != (year, month, day) {
        return None;
    }
    let seconds = i128::from(days) * i128::from(DAY);
    let seconds = i64::try_from(seconds + i128::from(hour * 3600 + minute * 60 + second)).ok()?;
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let moment = match seconds < 0 {
        true => UNIX_EPOCH.checked_sub(whole)?,
        false => UNIX_EPOCH.checked_add(whole)?,
    };
    moment.checked_add(Duration::new(0, nanos))
}

/// Returns a duration, `1.5s`.
pub(super) fn show_duration(time: Duration) -> String {
    format!("{}{}s", time.as_secs(), fraction(time.subsec_nanos()))
}

/// Reads a duration that [`show_duration`] wrote.
pub(super) fn read_duration(text: &str) -> Option<Duration> {
    let (seconds, nanos) = split_fraction(text.strip_suffix('s')?)?;
    Some(Duration::new(seconds.parse().ok()?, nanos))
}

/// Returns nanoseconds as a fraction without zeros at its end; nothing for none.
fn fraction(nanos: u32) -> String {
    match nanos {
        0 => String::new(),
        nanos => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
    }
}

/// Returns the text before a fraction, and the nanoseconds of the fraction.
fn split_fraction(text: &str) -> Option<(&str, u32)> {
    let Some((whole, fraction)) = text.split_once('.') else { return Some((text, 0)) };
    let is_fraction =
        (1..=9).contains(&fraction.len()) && fraction.bytes().all(|b| b.is_ascii_digit());
    let nanos: u32 = is_fraction.then(|| format!("{fraction:0<9}"))?.parse().ok()?;
    (nanos < NANOS).then_some((whole, nanos))
}

/// Returns year, month and day of a day counted from 1970-01-01. Eras of 400 years, which begin on
/// the first of March, have equally many days.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// The reverse of [`date`].
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + year * 365 + year / 4 - year / 100 + day - 719_468
}
