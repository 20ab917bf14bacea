//! Runs the built `db_bench` on a temporary database.

use std::path::Path;
use std::process::{Command, Output};

use regex::Regex;

/// A temporary database for runs of `db_bench`.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench { directory: tempfile::tempdir().unwrap() }
    }

    /// Returns the directory of its database.
    pub(crate) fn database(&self) -> std::path::PathBuf {
        self.directory.path().join("db")
    }

    /// Runs with `--db` and these arguments.
    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        let database = format!("--db={}", self.database().display());
        run(&[&[database.as_str()], arguments].concat())
    }

    /// Runs, expects success, and returns standard output.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let stderr = text(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        text(&output.stdout)
    }
}

/// Runs `db_bench` with these arguments only.
pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_db_bench")).args(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A result line, parsed as RocksDB's scripts parse it.
#[derive(Debug)]
pub(crate) struct ResultLine {
    pub micros: f64,
    pub rate: u64,
    pub operations: u64,
    pub rest: String,
}

/// The result lines of benchmark `name`, in order.
pub(crate) fn results(stdout: &str, name: &str) -> Vec<ResultLine> {
    let pattern = Regex::new(
        r"^(\S+) +: +(\d+\.\d{3}) micros/op (\d+) ops/sec (\d+\.\d{3}) seconds (\d+) operations;(?: (.*))?$",
    )
    .unwrap();
    stdout
        .lines()
        .filter_map(|line| pattern.captures(line))
        .filter(|captures| &captures[1] == name)
        .map(|captures| ResultLine {
            micros: captures[2].parse().unwrap(),
            rate: captures[3].parse().unwrap(),
            operations: captures[5].parse().unwrap(),
            rest: captures.get(6).map_or(String::new(), |rest| rest.as_str().to_owned()),
        })
        .collect()
}

/// The one result line of benchmark `name`.
pub(crate) fn result(stdout: &str, name: &str) -> ResultLine {
    let mut lines = results(stdout, name);
    assert_eq!(lines.len(), 1, "result lines of {name} in:\n{stdout}");
    lines.remove(0)
}

/// Whether anything is at `path`.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
