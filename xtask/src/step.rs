//! A program to run.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program with its arguments, run in the root of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    words: Vec<OsString>,
    limit: Option<&'static str>,
    environment: Vec<(String, OsString)>,
}

impl Step {
    /// Returns a step that runs the program and arguments in `line`, separated by spaces.
    pub(crate) fn new(line: &str) -> Step {
        let words = line.split_whitespace().map(OsString::from).collect();
        Step { words, limit: None, environment: Vec::new() }
    }

    /// Adds arguments.
    pub(crate) fn with(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Step {
        self.words.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the environment.
    pub(crate) fn set(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Step {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Stops the step after `limit`, if the machine has the program `timeout`.
    pub(crate) fn limited(mut self, limit: &'static str) -> Step {
        self.limit = Some(limit);
        self
    }

    /// Runs the step to its end.
    ///
    /// # Errors
    /// The program cannot be started, or it fails.
    pub(crate) fn run(&self) -> Result<(), String> {
        if self.limit.is_some() && !is_there("timeout") {
            eprintln!("xtask: there is no program 'timeout', so this step has no time limit");
            return Step { limit: None, ..self.clone() }.run();
        }
        match self.command().status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("'{self}' failed: {status}")),
            Err(error) => Err(format!("'{self}' cannot be started: {error}")),
        }
    }

    /// Runs the step with `input`. Returns what it prints.
    ///
    /// # Errors
    /// The program cannot be started, or it fails.
    pub(crate) fn answer(&self, input: &str) -> Result<String, String> {
        let told = |error| format!("'{self}' cannot be started: {error}");
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(told)?;
        // A program that reads nothing may have ended.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().map_err(told)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(format!("'{self}' failed: {}", output.status))
    }

    fn command(&self) -> Command {
        let words = self.all_words();
        // The path of a script begins at the root, for any working directory.
        let is_script = words[0].to_string_lossy().contains('/');
        let program = if is_script { root().join(&words[0]).into() } else { words[0].clone() };
        let mut command = Command::new(program);
        command.args(&words[1..]).envs(self.environment.iter().cloned()).current_dir(root());
        command
    }

    fn all_words(&self) -> Vec<OsString> {
        let before = self.limit.map(|limit| ["timeout", "--verbose", limit]);
        let before = before.iter().flatten().map(OsString::from);
        before.chain(self.words.iter().cloned()).collect()
    }
}

/// Prints the step in the form of a shell command.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            // The search path is long, and says nothing about the step.
            let value = if name == "PATH" { OsStr::new("...") } else { value.as_os_str() };
            write!(f, "{name}={} ", quoted(value))?;
        }
        let words: Vec<String> = self.all_words().iter().map(|word| quoted(word)).collect();
        f.write_str(&words.join(" "))
    }
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.contains(' ') { format!("\"{word}\"") } else { word.into_owned() }
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR");
    let here = here.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&here).parent().expect("xtask lies in the repository").to_owned()
}

/// Whether `program` can be started.
pub(crate) fn is_there(program: &str) -> bool {
    succeeds(program, &["--version"])
}

/// Whether `program` succeeds. Its output is dropped.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
