//! Results that have everything the format knows: four engines that ran and one that did not,
//! values that are missing, text that means something to HTML.

use foldb_report::results::Results;

/// The file.
pub const JSON: &str = include_str!("fixtures/results.json");

/// What is in it.
pub fn results() -> Results {
    serde_json::from_str(JSON).expect("the fixture is of the present format")
}
