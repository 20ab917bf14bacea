//! The format of `results.json`.

use foldb_report::results::{Results, Run, Written};

use crate::fixture;

#[test]
fn results_survive_a_round_trip() {
    let results = fixture::results();
    let json = serde_json::to_string(&results).unwrap();
    assert_eq!(serde_json::from_str::<Results>(&json).unwrap(), results);
}

#[test]
fn the_format_is_what_the_fixture_says() {
    let written: serde_json::Value = serde_json::to_value(fixture::results()).unwrap();
    let read: serde_json::Value = serde_json::from_str(fixture::JSON).unwrap();
    assert!(written == read, "a field was added, lost or renamed: change the number of the format");
}

#[test]
fn rates_and_amplification_of_nothing_are_zero() {
    assert_eq!(Run::default().rate(), 0.0);
    assert_eq!(Written::default().amplification(), 0.0);
    let written = Written { user: 100, calls: 250, mapped: 50, ..Written::default() };
    assert_eq!(written.amplification(), 3.0);
}
