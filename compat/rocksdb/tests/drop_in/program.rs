//! Compiles the programs in C, runs them, and compares what they print.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::library::{Library, own_directory};

/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// Returns the directory of the programs in C.
pub(crate) fn directory() -> PathBuf {
    own_directory().join("tests/programs")
}

/// Compiles a source against a library's header and links it with the shared library. The
/// program's name tells the library.
pub(crate) fn build(
    compiler: &str,
    source: &Path,
    library: &Library,
    flags: &[&str],
    dir: &Path,
) -> PathBuf {
    let stem = source.file_stem().expect("a name").to_string_lossy();
    let program = dir.join(format!("{stem}-{}", library.name));
    let mut command = Command::new(compiler);
    command.args(["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-pthread"]);
    // A program leaves functions of the common header out.
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-function"]);
    command.args(flags).arg("-I").arg(directory()).arg("-I").arg(&library.include);
    command.arg(source).arg("-o").arg(&program);
    // Without a path of its own, the program follows LD_LIBRARY_PATH.
    command.arg("-L").arg(&library.lib).arg("-lrocksdb");
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    program
}

/// What a run printed.
pub(crate) struct Printed {
    pub what: String,
    pub text: String,
}

/// Runs a program with the shared library of `library`, in a directory of its own.
pub(crate) fn printed(program: &Path, library: &Library, dir: &Path) -> Printed {
    let data = dir.join(format!("data-{}", library.name));
    std::fs::create_dir(&data).expect("a directory");
    let mut command = Command::new(program);
    command.arg(&data).env("LD_LIBRARY_PATH", &library.lib);
    printed_by(command, &program.display().to_string(), dir)
}

/// Runs a command to its end. A failure shows the end of both outputs.
pub(crate) fn printed_by(mut command: Command, what: &str, dir: &Path) -> Printed {
    let (out, told) = (dir.join("printed"), dir.join("told"));
    command.stdin(Stdio::null());
    command.stdout(File::create(&out).expect("a file"));
    command.stderr(File::create(&told).expect("a file"));
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
    let lines = (0..left.len().max(right.len())).filter(|&line| left.get(line) != right.get(line));
    for line in lines.take(20) {
        let [left, right] = [&left, &right].map(|lines| lines.get(line).unwrap_or(&"(none)"));
        shown += &format!("line {}:\n  expected {left}\n  found    {right}\n", line + 1);
    }
    panic!("{} differs from {}\n{shown}", found.what, expected.what);
}
