//! Times of C programs: when writes and entries expire.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldb::expiry::Expires;

/// The end of an entry that never expires, and of a write that sets none.
pub(crate) const NEVER: i64 = -1;

/// Returns the end of an entry for C, in milliseconds since 1970.
pub(crate) fn millis_of(end: Option<SystemTime>) -> i64 {
    let since_1970 = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = |time| i64::try_from(since_1970(time).as_millis()).unwrap_or(i64::MAX);
    end.map_or(NEVER, millis)
}

/// Returns the end of a write's life from C: seconds after the commit, 0 for what the keyspace
/// says, negative for never.
pub(crate) fn expires_after(seconds: i64) -> Option<Expires> {
    match u64::try_from(seconds) {
        Ok(0) => None,
        Ok(seconds) => Some(Expires::After(Duration::from_secs(seconds))),
        Err(_) => Some(Expires::Never),
    }
}

/// Returns the end of a write's life from C: milliseconds since 1970, negative for never. A moment
/// that the machine cannot represent is never, too.
pub(crate) fn expires_at(millis: i64) -> Expires {
    let since_1970 = u64::try_from(millis).ok().map(Duration::from_millis);
    let moment = since_1970.and_then(|since_1970| UNIX_EPOCH.checked_add(since_1970));
    moment.map_or(Expires::Never, Expires::At)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_that_a_read_stores_is_an_end_for_a_write() {
        for millis in [0, 1, 1_700_000_000_000] {
            let Expires::At(end) = expires_at(millis) else { panic!("{millis}") };
            assert_eq!(millis_of(Some(end)), millis);
        }
        assert_eq!(millis_of(None), NEVER);
        assert_eq!(expires_at(NEVER), Expires::Never);
    }

    #[test]
    fn a_lifetime_of_zero_leaves_the_end_to_the_keyspace() {
        assert_eq!(expires_after(0), None);
        assert_eq!(expires_after(7), Some(Expires::After(Duration::from_secs(7))));
        assert_eq!(expires_after(-1), Some(Expires::Never));
    }
}
