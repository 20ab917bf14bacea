//! Results with every field of the format: four engines that ran and one that did not, missing
//! values, and text with HTML's special characters.

use foldb_report::results::Results;

/// The file.
pub(crate) const JSON: &str = include_str!("fixtures/results.json");

/// Returns its contents.
pub(crate) fn results() -> Results {
    serde_json::from_str(JSON).expect("the fixture is of the present format")
}
