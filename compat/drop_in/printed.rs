//! Runs programs and compares what they print: for the tests of the libraries that stand in for
//! others.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// What a run printed.
pub(crate) struct Printed {
    pub what: String,
    pub text: String,
}

/// Runs a command to its end. A failure shows the end of both outputs.
pub(crate) fn printed_by(mut command: Command, what: &str, dir: &Path) -> Printed {
    let (out, told) = (dir.join("printed"), dir.join("told"));
    command.stdin(Stdio::null());
    command
        .stdout(File::create(&out).expect("a file"))
        .stderr(File::create(&told).expect("a file"));
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child") {
            break status.to_string();
        }
        if start.elapsed() > LIMIT {
            child.kill().expect("the child");
            child.wait().expect("the child");
            break format!("hung for {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let read = |path| String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned();
    let (text, told) = (read(out), read(told));
    let from = told.lines().count().saturating_sub(60);
    let end = told.lines().skip(from).collect::<Vec<_>>().join("\n");
    let last = text.lines().next_back().unwrap_or_default();
    assert!(status == "exit status: 0", "{what}: {status}\nlast line: {last}\n{end}");
    Printed { what: what.to_owned(), text }
}

/// Compares two outputs, and shows the first lines that differ.
pub(crate) fn assert_same(expected: &Printed, found: &Printed) {
    if expected.text == found.text {
        return;
    }
    let [left, right] = [expected, found].map(|printed| printed.text.lines().collect::<Vec<_>>());
    let mut shown = String::new();
    let pairs = (0..left.len().max(right.len())).filter(|&line| left.get(line) != right.get(line));
    let differing: Vec<usize> = pairs.collect();
    for &line in differing.iter().take(20) {
        let [left, right] = [&left, &right].map(|lines| lines.get(line).unwrap_or(&"(none)"));
        shown += &format!("line {}:\n  expected {left}\n  found    {right}\n", line + 1);
    }
    panic!("{} differs from {} in {} lines\n{shown}", found.what, expected.what, differing.len());
}
