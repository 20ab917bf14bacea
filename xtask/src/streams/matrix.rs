//! `cargo xtask streams matrix`: the tests of the store with each version of Kafka Streams.
//!
//! The classes and their tests are compiled once, against the version in `streams/pom.xml`. They
//! run with each version of the list: so the same jar must work with all of them. A test of
//! something that a version lacks has a condition, and counts as skipped there.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::{fmt, fs};

use crate::shared_library::told;
use crate::step::{Step, root};
use crate::streams::maven;

/// The versions whose processors the wrapper knows, as `KafkaVersions` of the store lists them.
const KNOWN: [&str; 5] = ["4.2.0", "4.2.1", "4.2.2", "4.3.0", "4.3.1"];

/// A version that the wrapper does not know: it must say so, and the stores must work.
const UNKNOWN: &str = "4.4.0";

/// Where Surefire writes the results of a run, one file for each class of tests.
const REPORTS: &str = "streams/store/target/surefire-reports";

/// Runs the tests with each version, and fails after the last one if any failed. Arguments that
/// begin with `-` go to Maven; the others are versions in place of the list.
///
/// # Errors
/// A version with which tests fail, or with which none runs.
pub(crate) fn run(native: &Path, arguments: &[OsString]) -> Result<(), String> {
    let (options, given): (Vec<_>, Vec<_>) =
        arguments.iter().map(|word| word.to_string_lossy()).partition(|word| word.starts_with('-'));
    let listed: Vec<Cow<'_, str>> =
        KNOWN.iter().chain([&UNKNOWN]).map(|&version| version.into()).collect();
    maven(native).with(["package", "-DskipTests"]).run()?;
    let mut failed = Vec::new();
    for version in if given.is_empty() { listed } else { given } {
        println!("== Kafka Streams {version}");
        forget_results()?;
        let result = tests(native, &version, &options).run();
        let counts = Counts::of(&root().join(REPORTS))?;
        let passed = result.is_ok() && counts.ran() > 0;
        println!(
            "== Kafka Streams {version}: {}: {counts}",
            if passed { "passed" } else { "FAILED" }
        );
        if !passed {
            failed.push(version.into_owned());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("fails with {}", failed.join(", "))) }
}

/// Returns the step that runs the tests with a version, over the compiled classes of the jar. Only
/// the module of the store has tests: in its parent, `-Dtest=` would match none and fail.
fn tests(native: &Path, version: &str, options: &[Cow<'_, str>]) -> Step {
    maven(native)
        .with(["surefire:test", "-pl", "store", "-Dsurefire.failIfNoSpecifiedTests=false"])
        .with([format!("-Dkafka.version={version}")])
        .with(options.iter().map(|option| option.to_string()))
}

/// Removes the results of the run before, which would count again.
fn forget_results() -> Result<(), String> {
    let reports = root().join(REPORTS);
    match fs::remove_dir_all(&reports) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(told("remove", &reports, error)),
        _ => Ok(()),
    }
}

/// How many tests a run had.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    tests: u32,
    failures: u32,
    errors: u32,
    skipped: u32,
}

impl Counts {
    /// Adds up the reports in a directory.
    fn of(reports: &Path) -> Result<Counts, String> {
        let mut counts = Counts::default();
        if !reports.is_dir() {
            return Ok(counts);
        }
        for entry in fs::read_dir(reports).map_err(|error| told("read", reports, error))? {
            let path = entry.map_err(|error| told("read", reports, error))?.path();
            if path.extension().is_some_and(|ending| ending == "xml") {
                let text = fs::read_to_string(&path).map_err(|error| told("read", &path, error))?;
                counts.add(&text);
            }
        }
        Ok(counts)
    }

    /// Adds one report. Its first element has the sums.
    fn add(&mut self, report: &str) {
        let suite = report.split_once("<testsuite").map_or("", |(_, rest)| rest);
        let suite = suite.split('>').next().unwrap_or_default();
        let number = |name: &str| -> u32 {
            let after = suite.split_once(&format!(" {name}=\"")).map_or("", |(_, rest)| rest);
            after.split('"').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
        };
        self.tests += number("tests");
        self.failures += number("failures");
        self.errors += number("errors");
        self.skipped += number("skipped");
    }

    /// Returns the number of tests that no condition skipped.
    fn ran(&self) -> u32 {
        self.tests - self.skipped
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { failures, errors, skipped, .. } = self;
        let ran = self.ran();
        write!(f, "{ran} tests, {failures} failures, {errors} errors, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_do_not_count_as_run() {
        let mut counts = Counts::default();
        counts.add(
            "<?xml?>\n<testsuite name=\"A\" time=\"1\" tests=\"5\" errors=\"1\" \
                    skipped=\"2\" failures=\"0\">\n<testcase tests=\"9\"/>",
        );
        counts.add("<testsuite tests=\"1\" errors=\"0\" skipped=\"1\" failures=\"0\"/>");
        assert_eq!(counts, Counts { tests: 6, failures: 0, errors: 1, skipped: 3 });
        assert_eq!(counts.to_string(), "3 tests, 0 failures, 1 errors, 3 skipped");
    }

    #[test]
    fn options_go_to_the_module_with_tests() {
        let shown = tests(Path::new("n"), "4.2.0", &["-Dtest=A".into()]).to_string();
        assert!(shown.contains("surefire:test -pl store "), "{shown}");
        assert!(shown.ends_with("-Dkafka.version=4.2.0 -Dtest=A"), "{shown}");
    }

    #[test]
    fn the_known_versions_are_those_of_the_store() {
        let source = crate::step::root()
            .join("streams/store/src/main/java/foldb/streams/KafkaVersions.java");
        let source = std::fs::read_to_string(source).unwrap();
        let quoted: Vec<&str> = source.split('"').skip(1).step_by(2).collect();
        let listed: Vec<&str> = quoted
            .into_iter()
            .filter(|text| text.starts_with(|c: char| c.is_ascii_digit()))
            .collect();
        assert_eq!(listed, KNOWN);
        assert!(!listed.contains(&UNKNOWN));
    }
}
