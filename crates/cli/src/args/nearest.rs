//! The valid name nearest to an unknown one.

/// Returns the candidate that differs from `given` in the fewest letters. Among equal candidates it
/// prefers the one with the most similar beginning.
pub(crate) fn nearest<'a>(
    given: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let given = given.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            let changes = strsim::osa_distance(&given, candidate);
            (changes, 1.0 - strsim::jaro_winkler(&given, candidate), candidate)
        })
        .min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))
        .map(|(_, _, candidate)| candidate)
}

/// Returns `; the nearest is 'get'`, or an empty text if more than half of every candidate would
/// have to change.
pub(crate) fn hint<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let is_near = |name: &&str| {
        if !given.is_empty() && name.starts_with(&given.to_lowercase()) {
            return true;
        }
        let longer = given.chars().count().max(name.chars().count());
        strsim::osa_distance(&given.to_lowercase(), name) * 2 <= longer
    };
    nearest(given, candidates)
        .filter(is_near)
        .map_or_else(String::new, |name| format!("; the nearest is '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewest_changes_win_then_the_beginning() {
        let commands = ["get", "put", "delete", "scan", "stats", "count", "compact"];
        assert_eq!(nearest("gte", commands), Some("get"));
        assert_eq!(nearest("SCAN", commands), Some("scan"));
        assert_eq!(nearest("stat", commands), Some("stats"));
        assert_eq!(nearest("conut", commands), Some("count"));
        assert_eq!(nearest("x", []), None);
        assert_eq!(hint("verify", commands), "");
        assert_eq!(hint("gte", commands), "; the nearest is 'get'");
    }
}
