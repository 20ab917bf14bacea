use foldb_report::results::{Engine, Machine, Percentile, Results, Run, Step, Workload, Written};

use super::*;
use crate::workload::DOES_NOT_COUNT;

fn run(workload: &str, engine: &str, repetition: u32, micros: f64, memory: u64) -> Run {
    Run {
        workload: workload.into(),
        engine: engine.into(),
        repetition,
        operations: 1_000_000,
        seconds: micros,
        latencies: vec![Percentile { percent: 99.9, micros: micros * 10.0 }],
        peak_memory: Some(memory),
        owed_bytes: Some(12_000_000),
        seconds_to_rest: Some(0.5),
        written: Some(Written { user: 100, calls: 250, mapped: 50, ..Written::default() }),
        space: Some(34_000_000),
        ..Run::default()
    }
}

fn results() -> Results {
    let workload = |name: &str, peer: Option<&str>, bar: f64, aim: Option<f64>| Workload {
        name: name.into(),
        about: "what it does".into(),
        peer: peer.map(str::to_owned),
        bar: Some(bar),
        aim,
        ..Workload::default()
    };
    let engine = |name: &str, absent: Option<&str>| Engine {
        name: name.into(),
        version: absent.is_none().then(|| "1.2".to_owned()),
        absent: absent.map(str::to_owned),
    };
    Results {
        format: 1,
        machine: Machine {
            processor: "Abacus".into(),
            cores: 2,
            memory: 24_000_000_000,
            system: "Linux 6".into(),
            file_system: "ext4".into(),
        },
        commit: "abc".into(),
        scale: "small".into(),
        engines: vec![
            engine("foldb", None),
            engine("rocksdb", None),
            engine("fjall", Some("not built (feature fjall is off)")),
        ],
        workloads: vec![
            workload("hot-counters/wal-off", Some("rocksdb"), 10.0, Some(20.0)),
            workload("hot-counters-4/wal-off", Some("hot-counters/wal-off"), 1.0, Some(1.5)),
            workload("update-random", Some("rocksdb"), 3.0, None),
        ],
        runs: vec![
            run("hot-counters/wal-off", "foldb", 1, 0.05, 100_000_000),
            run("hot-counters/wal-off", "rocksdb", 1, 1.0, 90_000_000),
            run("hot-counters/wal-off", "foldb", 2, 0.07, 100_000_000),
            run("hot-counters/wal-off", "foldb", 3, 0.06, 100_000_000),
            run("hot-counters-4/wal-off", "foldb", 1, 0.08, 100_000_000),
            run("update-random", "foldb", 1, 1.0, 200_000_000),
            run("update-random", "rocksdb", 1, 20.0, 100_000_000),
        ],
        ..Results::default()
    }
}

/// The results of a row that compares a percentile, and of one whose database grows.
fn detailed() -> Results {
    let offered = |engine: &str, p99: f64| Run {
        latencies: [(50.0, 0.5), (99.0, 1.0), (99.9, 3.0), (99.99, 9.0)]
            .map(|(percent, times)| Percentile { percent, micros: p99 * times })
            .to_vec(),
        slowest_micros: Some(p99 * 20.0),
        ..run("offered-rate", engine, 1, 33.0, 100_000_000)
    };
    let step = |place: u64| Step {
        operations: 20_000_000,
        seconds: 10.0,
        processor_seconds: 12.0 + place as f64,
        written: Written { user: 100, calls: 200 + 100 * place, ..Written::default() },
        owed_bytes: Some(5_000_000),
        peak_memory: Some(200_000_000),
        reads: 100_000,
        read_seconds: 0.5,
        read_processor_seconds: 0.4,
        open_seconds: 0.02,
    };
    let grown = Run { steps: vec![step(0), step(1)], ..run("growth/large", "foldb", 1, 0.5, 1) };
    let mut results = results();
    results.workloads = vec![
        Workload {
            name: "offered-rate".into(),
            peer: Some("rocksdb".into()),
            bar: Some(1.0),
            aim: Some(2.0),
            percentile: Some(99.0),
            ..Workload::default()
        },
        Workload { name: "growth/large".into(), ..Workload::default() },
    ];
    results.runs = vec![offered("foldb", 100.0), offered("rocksdb", 150.0), grown];
    results
}

#[test]
fn markdown_is_the_golden_one() {
    assert_eq!(markdown(&results()), include_str!("golden_markdown.txt"));
}

#[test]
fn text_is_the_golden_one() {
    assert_eq!(text(&results()), include_str!("golden.txt"));
}

#[test]
fn a_row_of_a_percentile_compares_it_and_has_a_table_of_latencies() {
    let table = markdown(&detailed());
    for line in [
        "| offered-rate, p99 | 100 | 150 | 1.50 x rocksdb | 1 | 2 | bar |\n",
        "| offered-rate, foldb | 50.0 | 100 | 300 | 900 | 2000 |\n",
        "| offered-rate, rocksdb | 75.0 | 150 | 450 | 1350 | 3000 |\n",
    ] {
        assert!(table.contains(line), "{table}");
    }
}

#[test]
fn a_growing_database_has_a_table_of_steps() {
    let (markdown, text) = (markdown(&detailed()), text(&detailed()));
    for line in [
        "| 20.0 | foldb | 0.600 | 0.500 | 2.00 | 5.00 | 200 | 5.00 | 4.00 | 20.0 |\n",
        "| 40.0 | foldb | 0.650 | 0.500 | 3.00 | 5.00 | 200 | 5.00 | 4.00 | 20.0 |\n",
    ] {
        assert!(markdown.contains(line), "{markdown}");
    }
    assert!(
        text.contains("  40.0  foldb  0.650  0.500  3.00  5.00  200  5.00  4.00  20.0\n"),
        "{text}"
    );
}

#[test]
fn a_table_takes_the_place_of_the_one_between_the_markers() {
    let document = "before\n<!-- compare:begin -->\nold\n<!-- compare:end -->\nafter\n";
    assert_eq!(
        replace(document, "new\n").unwrap(),
        "before\n<!-- compare:begin -->\nnew\n<!-- compare:end -->\nafter\n"
    );
    assert_eq!(replace("no markers", "new\n"), None);
}

#[test]
fn results_survive_json() {
    let json = serde_json::to_string(&results()).unwrap();
    assert_eq!(serde_json::from_str::<Results>(&json).unwrap(), results());
}

#[test]
fn an_engine_that_loses_commits_is_marked_and_is_no_fastest_peer() {
    let mut results = results();
    let mut quick = run("update-random", "fjall", 1, 0.5, 100_000_000);
    quick.notes.push(format!("{DOES_NOT_COUNT}it forgets"));
    results.runs.push(quick);
    assert_eq!(fastest_peer(&results.runs, "update-random").as_deref(), Some("rocksdb"));
    let table = markdown(&results);
    assert!(table.contains("| update-random | 1.00 | 20.0 | 0.500 (1) |"), "{table}");
    assert!(table.contains("\n(1) does not count: it forgets.\n"), "{table}");
    results.runs.last_mut().unwrap().notes.clear();
    assert_eq!(fastest_peer(&results.runs, "update-random").as_deref(), Some("fjall"));
    assert!(!markdown(&results).contains("(1)"));
}
