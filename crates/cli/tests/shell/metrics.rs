//! The metrics that programs serve: a parser of OpenMetrics reads them, and the dashboard asks for
//! no others.

use foldb::{Db, KeyspaceOptions, Options};
use openmetrics_parser::openmetrics::parse_openmetrics;
use openmetrics_parser::prometheus::parse_prometheus;
use serde_json::Value;

/// A database in which every family has a figure.
fn busy(path: &std::path::Path) -> Db {
    let db = Db::open(path, Options { create_if_missing: true, ..Options::default() }).unwrap();
    let odd = r#"a "quoted" \ name"#;
    let own = db.create_keyspace(odd, KeyspaceOptions::default()).unwrap();
    for key in 0..10_000u64 {
        own.put(key.to_be_bytes(), "value").unwrap();
        own.get(key.to_be_bytes()).unwrap();
    }
    db.flush().unwrap();
    db
}

#[test]
fn a_parser_of_openmetrics_and_of_prometheus_text_reads_all_families() {
    let dir = tempfile::tempdir().unwrap();
    let stats = busy(&dir.path().join("db")).stats();
    let parsed = parse_openmetrics(&stats.to_openmetrics()).unwrap();
    let text = stats.to_openmetrics();
    let families = text.lines().filter(|line| line.starts_with("# TYPE")).count();
    assert_eq!(parsed.families.len(), families);
    assert!(parsed.families.contains_key("foldb_puts"));
    assert!(parsed.families.contains_key("foldb_call_seconds"));
    let parsed = parse_prometheus(&stats.to_prometheus()).unwrap();
    assert_eq!(parsed.families.len(), families);
}

#[test]
fn the_dashboard_asks_for_metrics_that_exist() {
    let dir = tempfile::tempdir().unwrap();
    let text = busy(&dir.path().join("db")).stats().to_prometheus();
    let dashboard = include_str!("../../../../docs/grafana.json");
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let expressions: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(expressions.len() > 20, "{expressions:?}");
    for expression in expressions {
        let at = expression.find("foldb_").unwrap();
        let name = expression[at..].split('{').next().unwrap();
        assert!(
            text.contains(&format!("\n{name}{{")) || text.contains(&format!("\n{name} ")),
            "{name}"
        );
    }
}
