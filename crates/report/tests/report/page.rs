//! The page as text.

use foldb_report::page;
use foldb_report::results::{
    BackgroundEvent, Engine, Moment, Percentile, Probe, Results, Run, Workload,
};

use crate::{expected, fixture};

/// Returns the page without its embedded results, and those.
fn parts(results: &Results) -> (String, String) {
    let page = page::html(results);
    let (shown, embedded) =
        page.split_once("<script type=\"application/json\" id=\"results\">").expect("one element");
    let embedded = embedded.strip_suffix("</script></body></html>").expect("the last element");
    (shown.to_owned(), embedded.to_owned())
}

/// The values of `attribute`, in the order of the page.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let opening = format!(" {attribute}=\"");
    page.split(&opening).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

fn run(workload: &str, engine: &str) -> Run {
    let (workload, engine) = (workload.to_owned(), engine.to_owned());
    Run { workload, engine, repetition: 1, operations: 1000, seconds: 0.5, ..Run::default() }
}

#[test]
fn every_series_is_on_the_page_once() {
    let results = fixture::results();
    let (shown, _) = parts(&results);
    let expected = expected::series(&results);
    let mut names: Vec<&str> = values(&shown, "data-series");
    let mut wanted: Vec<&str> = expected.keys().map(|(_, _, name)| name.as_str()).collect();
    names.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(names, wanted);
    let points =
        values(&shown, "data-points").into_iter().map(|text| text.parse::<usize>().unwrap());
    assert_eq!(points.sum::<usize>(), expected.values().sum::<usize>());
}

#[test]
fn the_page_carries_its_results() {
    let results = fixture::results();
    let (_, embedded) = parts(&results);
    assert_eq!(serde_json::from_str::<Results>(&embedded).unwrap(), results);
    assert!(!embedded.contains(['<', '>', '&']));
}

#[test]
fn nothing_is_fetched_and_no_script_runs() {
    let page = page::html(&fixture::results());
    for forbidden in ["http:", "https:", "url(", "@import", " src=", "<link", "<script>", "onload"]
    {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert_eq!(page.matches("<script").count(), 1);
}

#[test]
fn all_text_is_escaped() {
    let evil = "<i>\"'&</script>";
    let text = || evil.to_owned();
    let mut run = run(evil, evil);
    run.settings = text();
    run.digest = text();
    run.notes = vec![text()];
    run.timeline = vec![Moment { at: 1.0, operations: 1 }];
    run.events = vec![BackgroundEvent { kind: text(), began: 0.0, ended: 1.0, bytes: 1 }];
    let mut results = Results {
        commit: text(),
        command: text(),
        began: text(),
        scale: text(),
        engines: vec![
            Engine { name: text(), version: Some(text()), absent: Some(text()) },
            Engine { name: "other".into(), ..Engine::default() },
        ],
        workloads: vec![Workload {
            name: text(),
            about: text(),
            command: text(),
            peer: Some(text()),
            bar: Some(1.0),
            aim: Some(2.0),
            percentile: None,
        }],
        runs: vec![run],
        probes: vec![Probe { workload: text(), ..Probe::default() }],
        ..Results::default()
    };
    results.machine.processor = text();
    results.machine.system = text();
    results.machine.file_system = text();
    let (shown, embedded) = parts(&results);
    assert!(!shown.contains("<i>") && !shown.contains("</script>"));
    assert!(shown.contains("&lt;i&gt;&quot;'&amp;&lt;/script&gt;"));
    assert_eq!(serde_json::from_str::<Results>(&embedded).unwrap(), results);
}

#[test]
fn no_results_make_a_page_that_says_so() {
    let (shown, embedded) = parts(&Results::default());
    assert!(shown.contains("Nothing was run."));
    assert!(!shown.contains("<svg"));
    assert_eq!(serde_json::from_str::<Results>(&embedded).unwrap(), Results::default());
}

#[test]
fn missing_values_are_not_drawn() {
    let results = Results { runs: vec![run("w", "foldb")], ..Results::default() };
    let (shown, _) = parts(&results);
    assert_eq!(values(&shown, "data-plot"), ["rate"]);
    assert!(!shown.contains("NaN") && !shown.contains("inf"));
}

#[test]
fn runs_without_time_or_operations_are_shown() {
    let empty = Run { workload: "w".into(), engine: "foldb".into(), ..Run::default() };
    let odd = Run {
        latencies: vec![Percentile { percent: 100.0, micros: 0.0 }],
        slowest_micros: Some(0.0),
        timeline: vec![Moment::default()],
        peak_memory: Some(0),
        ..empty.clone()
    };
    let (shown, _) = parts(&Results { runs: vec![empty, odd], ..Results::default() });
    assert!(!shown.contains("NaN") && !shown.contains("inf"), "{shown}");
    assert_eq!(values(&shown, "data-points"), ["2", "2", "1"]);
}

#[test]
fn an_absent_engine_says_why() {
    let (shown, _) = parts(&fixture::results());
    assert!(shown.contains("absent: not built: no compiler"));
    assert!(shown.contains("No runs of"));
}

#[test]
fn notes_of_runs_stand_next_to_their_names() {
    let mut results = fixture::results();
    let run = &mut results.runs[0];
    run.notes = vec!["a hit read 1.25 blocks".to_owned()];
    let item = format!("<li>{} {}: a hit read 1.25 blocks</li>", run.engine, run.repetition);
    assert!(page::html(&results).contains(&item));
}

#[test]
fn the_ratio_to_the_peer_stands_with_bar_and_aim() {
    let mut fast = run("w", "foldb");
    fast.operations = 3000;
    let workload = Workload {
        name: "w".into(),
        peer: Some("rocksdb".into()),
        bar: Some(2.0),
        aim: Some(5.0),
        ..Workload::default()
    };
    let runs = vec![fast, run("w", "rocksdb")];
    let (shown, _) = parts(&Results { workloads: vec![workload], runs, ..Results::default() });
    assert!(shown.contains("<strong>3\u{a0}×</strong> the rate of rocksdb"));
    assert!(shown.contains("bar reached") && !shown.contains("aim reached"));
    assert!(shown.contains(">bar 2\u{a0}×</text>") && shown.contains(">aim 5\u{a0}×</text>"));
}

#[test]
fn growth_without_sizes_in_names_is_taken_from_the_timeline() {
    let mut growing = run("growth/fillrandom", "foldb");
    growing.timeline = (1..=5).map(|at| Moment { at: f64::from(at), operations: 200 }).collect();
    let (shown, _) = parts(&Results { runs: vec![growing], ..Results::default() });
    assert_eq!(values(&shown, "data-plot"), ["growth", "rate", "timeline"]);
    assert_eq!(values(&shown, "data-points"), ["5", "1", "5"]);
}
