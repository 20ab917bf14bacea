//! `cargo xtask streams`: the Kafka Streams store in `streams/`, a Maven project over the library
//! of `streams/jni`.
//!
//! The libraries lie in the target directory, below `streams/foldb/native/PLATFORM`. Maven packs
//! them into the jar from there. Without a JDK of at least version 17, or without Maven, every
//! command fails.

pub(crate) mod jar;
mod licences;
mod matrix;
pub(crate) mod native;
mod start;

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::arguments::Streams;
use crate::step::{Step, is_there, root};

/// The oldest JDK that compiles the store.
const OLDEST_JDK: u32 = 17;

/// Maven, without its progress bars.
const MAVEN: &str = "mvn -q -B -f streams/pom.xml";

/// What to do with the store.
#[derive(clap::Subcommand, Clone, Debug)]
pub(crate) enum Task {
    /// The jars: classes with native libraries, sources, and documentation; prints their paths
    Build(Build),
    /// The tests of the store; ARGUMENTS go to Maven, for example `-Dtest=DatabaseTest`
    Test(Passed),
    /// The tests of the store with each known version of Kafka Streams, and with an unknown one;
    /// ARGUMENTS name versions in place of these, or go to Maven if they begin with `-`
    Matrix(Passed),
    /// A start of the built jar with each JVM; ARGUMENTS are commands, by default `java`, for
    /// example `/opt/jdk-25/bin/java` or `"qemu-aarch64 -L /usr/aarch64-linux-gnu JDK/bin/java"`
    Start(Passed),
    /// Scenarios on a real broker, with processes that are killed; `--short` takes a few minutes.
    /// Names select scenarios, `--store stock|foldb|merge` selects stores
    It(Passed),
    /// Benchmarks beside the stock stores, as a table; `--small`, `--rounds N`, `--cache MIB`, and
    /// the parts `store`, `restore`, `memory` and `aggregate`, or rows of `aggregate` alone:
    /// `windows`, `tumbling`, `hopping`, `sessions`
    Bench(Passed),
}

/// What the jar contains.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Build {
    /// Native libraries for Linux on x86-64 and aarch64, with glibc from 2.28 on and with musl;
    /// otherwise for this platform only. Needs cargo-zigbuild
    #[arg(long)]
    all_platforms: bool,
    #[command(flatten)]
    passed: Passed,
}

/// Arguments for the program of a task.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Passed {
    /// Given to the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs a task.
///
/// # Errors
/// A machine without Maven or a JDK, and a build or a test that fails.
pub(crate) fn run(own: &Streams) -> Result<(), String> {
    if let Some(missing) = missing() {
        return Err(format!("streams: nothing was done: {missing}"));
    }
    match &own.task {
        Task::Build(how) => build(&own.profile, how),
        Task::Test(passed) => {
            let native = native::for_this_platform(&own.profile)?;
            maven(&native).with(["test"]).with(passed.arguments.iter().cloned()).run()
        }
        Task::Matrix(passed) => {
            matrix::run(&native::for_this_platform(&own.profile)?, &passed.arguments)
        }
        Task::Start(passed) => start::run(&passed.arguments),
        Task::It(passed) => program(&own.profile, "Main", passed),
        Task::Bench(passed) => program(&own.profile, "Bench", passed),
    }
}

/// Builds the jars and checks what they contain.
fn build(profile: &str, how: &Build) -> Result<(), String> {
    let native = if how.all_platforms {
        native::for_all_platforms(profile)?
    } else {
        native::for_this_platform(profile)?
    };
    let goals = ["package", "-P", "publish", "-DskipTests"];
    maven(&native).with(goals).with(how.passed.arguments.iter().cloned()).run()?;
    let jars = jar::Jars::built()?;
    jars.check(how.all_platforms)?;
    for path in jars.paths() {
        println!("{}", path.display());
    }
    Ok(())
}

/// Builds `streams/it` and runs one of its programs.
fn program(profile: &str, name: &str, passed: &Passed) -> Result<(), String> {
    let native = native::for_this_platform(profile)?;
    maven(&native).with(["package", "-P", "it", "-DskipTests"]).run()?;
    let own = root().join("streams/it/target");
    let classes = std::env::join_paths([own.join("classes"), own.join("lib/*")])
        .map_err(|error| format!("the path of the repository is no part of a list: {error}"))?;
    Step::new("java -Xmx256m -XX:+UseSerialGC -cp")
        .with([classes, format!("foldb.streams.it.{name}").into()])
        .with(passed.arguments.iter().cloned())
        .run()
}

/// Returns Maven with the directory that has the libraries.
fn maven(native: &Path) -> Step {
    let mut property = OsString::from("-Dfoldb.native=");
    property.push(native);
    Step::new(MAVEN).with([property])
}

/// Returns what the machine lacks.
fn missing() -> Option<String> {
    if !is_there("mvn") {
        return Some("there is no Maven (program 'mvn')".to_owned());
    }
    let output = Command::new("javac").arg("-version").current_dir(root()).output();
    let text = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
    match version_of(&String::from_utf8_lossy(&text)) {
        None => Some("there is no JDK (program 'javac')".to_owned()),
        Some(version) if version < OLDEST_JDK => {
            Some(format!("the JDK has version {version}, but must have at least {OLDEST_JDK}"))
        }
        Some(_) => None,
    }
}

/// Returns the first number of the version that `javac -version` prints.
fn version_of(output: &str) -> Option<u32> {
    let version = output.split_once("javac ")?.1;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_jdk_is_read() {
        assert_eq!(version_of("javac 17.0.15\n"), Some(17));
        assert_eq!(version_of("warning\njavac 1.8.0_402"), Some(1));
        assert_eq!(version_of("sh: javac: not found"), None);
    }
}
