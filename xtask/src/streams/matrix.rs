//! `cargo xtask streams matrix`: the tests of the store with each version of Kafka Streams.
//!
//! The classes are compiled once, against the version in `streams/pom.xml`. The tests are compiled
//! and run against each version of the list: so the same jar must work with all of them.

use std::ffi::OsString;
use std::path::Path;

use crate::step::Step;
use crate::streams::maven;

/// The versions whose processors the wrapper knows, as `KafkaVersions` of the store lists them.
const KNOWN: [&str; 5] = ["4.2.0", "4.2.1", "4.2.2", "4.3.0", "4.3.1"];

/// A version that the wrapper does not know: it must say so, and the stores must work.
const UNKNOWN: &str = "4.4.0";

/// Runs the tests with each version, and fails after the last one if any failed.
///
/// # Errors
/// A version with which the tests fail.
pub(crate) fn run(native: &Path, versions: &[OsString]) -> Result<(), String> {
    let listed: Vec<OsString> = KNOWN.iter().chain([&UNKNOWN]).map(OsString::from).collect();
    let versions = if versions.is_empty() { &listed } else { versions };
    maven(native).with(["package", "-DskipTests"]).run()?;
    let mut failed = Vec::new();
    for version in versions {
        let version = version.to_string_lossy();
        println!("== Kafka Streams {version}");
        let result = tests(native, &version).run();
        println!(
            "== Kafka Streams {version}: {}",
            if result.is_ok() { "passed" } else { "FAILED" }
        );
        if result.is_err() {
            failed.push(version.into_owned());
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("fails with {}", failed.join(", "))) }
}

/// Returns the step that runs the tests with a version, over the compiled classes of the jar.
fn tests(native: &Path, version: &str) -> Step {
    maven(native).with(["surefire:test".to_owned(), format!("-Dkafka.version={version}")])
}

#[cfg(test)]
mod tests {
    use super::*;

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
