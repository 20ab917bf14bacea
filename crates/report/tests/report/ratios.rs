//! Checks docs/ratios.svg: the rows that the README shows, from the results in the repository.

use foldb_report::page;
use foldb_report::results::Results;

const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compare/full.json");
const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ratios.svg");

const SHOWN: [&str; 9] = [
    "merge-random/5m",
    "merge-random/50m",
    "hot-counters/wal-on",
    "update-random",
    "read-after-merge",
    "scan-8b/readseq",
    "scan-8b/seekrandom",
    "fill-4k",
    "read-cold",
];

/// `UPDATE_GOLDEN=1` redraws it.
#[test]
fn the_picture_shows_the_results() {
    let results: Results =
        serde_json::from_str(&std::fs::read_to_string(RESULTS).unwrap()).unwrap();
    let drawn = page::ratios(&results, &SHOWN).unwrap();
    for workload in SHOWN {
        assert!(drawn.contains(workload), "{workload} has no ratio");
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(PICTURE, drawn + "\n").unwrap();
    } else {
        let shown = std::fs::read_to_string(PICTURE).unwrap();
        assert_eq!(shown.trim_end(), drawn, "UPDATE_GOLDEN=1 rewrites it");
    }
}
