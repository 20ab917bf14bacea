//! Checks docs/growth.svg: the steps of the growing databases, from the results in the repository.

use foldb_report::page;
use foldb_report::results::Results;

const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compare/growth.json");
const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/growth.svg");

/// `UPDATE_GOLDEN=1` redraws it.
#[test]
fn the_picture_shows_every_step_of_both_engines() {
    let results: Results =
        serde_json::from_str(&std::fs::read_to_string(RESULTS).unwrap()).unwrap();
    let drawn = page::growing(&results).unwrap();
    for run in &results.runs {
        let series = format!("data-series=\"processor µs a merge {}\"", run.engine);
        let points = format!("data-points=\"{}\"", run.steps.len());
        assert!(drawn.contains(&format!("{series} {points}")), "{} steps", run.engine);
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(PICTURE, drawn + "\n").unwrap();
    } else {
        let shown = std::fs::read_to_string(PICTURE).unwrap();
        assert_eq!(shown.trim_end(), drawn, "UPDATE_GOLDEN=1 rewrites it");
    }
}
