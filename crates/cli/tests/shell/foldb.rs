//! Runs the binary, and checks how it ends.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The binary.
pub(crate) fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_foldb"))
}

/// A temporary directory in which the binary runs.
pub(crate) struct Shell {
    dir: tempfile::TempDir,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Shell {
    pub(crate) fn new() -> Shell {
        Shell { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs words, in which `_` stands for a space.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.run_args(&line.split(' ').map(|word| word.replace('_', " ")).collect::<Vec<_>>())
    }

    pub(crate) fn run_args(&self, args: &[impl AsRef<OsStr>]) -> Ran {
        self.feed(args, b"")
    }

    pub(crate) fn feed(&self, args: &[impl AsRef<OsStr>], input: &[u8]) -> Ran {
        let mut child = command()
            .args(args)
            .current_dir(self.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A command that fails early does not read its input.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ran = Ran::of(child.wait_with_output().unwrap());
        feeder.join().unwrap();
        ran
    }

    /// Runs words that must succeed, and returns standard output.
    pub(crate) fn ok(&self, line: &str) -> String {
        self.run(line).ok()
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: output.stdout,
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the standard output of a success.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        String::from_utf8(self.out).unwrap()
    }

    /// Returns the message of a failure that printed nothing else.
    pub(crate) fn failed(self, code: i32) -> String {
        assert!(self.out.is_empty(), "{self:?}");
        self.failed_after_output(code)
    }

    /// Returns the message of a failure: exactly one line.
    pub(crate) fn failed_after_output(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        let line = self.err.strip_suffix('\n').unwrap_or_else(|| panic!("no line: {self:?}"));
        assert!(!line.contains('\n'), "{line}");
        line.strip_prefix("foldb: ").unwrap_or_else(|| panic!("{line}")).to_owned()
    }
}

/// Returns every file below a directory with its bytes. Equal results mean that no file changed.
pub(crate) fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if path.is_file() {
        return vec![(path.to_owned(), std::fs::read(path).unwrap())];
    }
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut all = vec![(path.to_owned(), Vec::new())];
    all.extend(entries.flat_map(|entry| contents(&entry.unwrap().path())));
    all.sort();
    all
}
