//! `cargo xtask streams`: the Kafka Streams store in `streams/`, a Maven project over the library
//! of `streams/jni`.
//!
//! The library lies in the target directory, below `streams/foldb/native/PLATFORM`. Maven packs it
//! into the jar from there. Without a JDK of at least version 17, or without Maven, a command says
//! so and succeeds.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::arguments::Streams;
use crate::prefix::{File, build, target_directory};
use crate::step::{Step, is_there, root};

/// The oldest JDK that compiles the store.
const OLDEST_JDK: u32 = 17;

/// Maven, without its progress bars.
const MAVEN: &str = "mvn -q -B -f streams/pom.xml";

/// The library, as the operating system names it.
const LIBRARY: &str = if cfg!(target_os = "macos") {
    "libfoldb_jni.dylib"
} else if cfg!(target_os = "windows") {
    "foldb_jni.dll"
} else {
    "libfoldb_jni.so"
};

/// What to do with the store.
#[derive(clap::Subcommand, Clone, Debug)]
pub(crate) enum Task {
    /// The jar, with the library for this platform inside: streams/store/target/foldb-streams-*.jar
    Build(Passed),
    /// The tests of the store; ARGUMENTS go to Maven, for example `-Dtest=DatabaseTest`
    Test(Passed),
    /// Scenarios on a real broker, with processes that are killed; `--short` takes a few minutes.
    /// Names select scenarios, `--store stock|foldb|merge` selects stores
    It(Passed),
    /// Benchmarks beside the stock stores, as a table; `--small`, `--rounds N`, `--cache MIB`, and
    /// the parts `store`, `restore`, `memory`, `aggregate` and `windows` (of `aggregate` alone)
    Bench(Passed),
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
/// A build or a test that fails.
pub(crate) fn run(own: &Streams) -> Result<(), String> {
    if let Some(missing) = missing() {
        println!("xtask: nothing was done: {missing}");
        return Ok(());
    }
    let native = library(&own.profile)?;
    let (goals, passed): (&[&str], _) = match &own.task {
        Task::Build(passed) => (&["package", "-DskipTests"], passed),
        Task::Test(passed) => (&["test"], passed),
        Task::It(passed) => return program(&native, "Main", passed),
        Task::Bench(passed) => return program(&native, "Bench", passed),
    };
    maven(&native).with(goals.iter().copied()).with(passed.arguments.iter().cloned()).run()
}

/// Builds `streams/it` and runs one of its programs.
fn program(native: &std::path::Path, name: &str, passed: &Passed) -> Result<(), String> {
    maven(native).with(["package", "-P", "it", "-DskipTests"]).run()?;
    let own = root().join("streams/it/target");
    let classes = std::env::join_paths([own.join("classes"), own.join("lib/*")])
        .map_err(|error| format!("the path of the repository is no part of a list: {error}"))?;
    Step::new("java -Xmx256m -XX:+UseSerialGC -cp")
        .with([classes, format!("foldb.streams.it.{name}").into()])
        .with(passed.arguments.iter().cloned())
        .run()
}

/// Returns Maven with the directory that has the library.
fn maven(native: &std::path::Path) -> Step {
    let mut property = OsString::from("-Dfoldb.native=");
    property.push(native);
    Step::new(MAVEN).with([property])
}

/// Builds the library, and returns the directory that Maven packs.
fn library(profile: &str) -> Result<PathBuf, String> {
    let built = build("cargo build -p foldb-jni", profile)?.join(LIBRARY);
    let native = target_directory()?.join("streams");
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    File::copied(&built, native.join("foldb/native").join(platform).join(LIBRARY))?.install()?;
    Ok(native)
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
