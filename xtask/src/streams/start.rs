//! `cargo xtask streams start`: a program over the built jar, started by each JVM of a list.
//!
//! The program opens a store, so the JVM loads the library of its platform out of the jar. From
//! Java 24 on the JVM warns when code loads a library, unless the command line allows it. So a JVM
//! that warns is started again with that option, and must then print nothing.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Output};

use crate::shared_library::told;
use crate::step::root;
use crate::streams::MAVEN;
use crate::streams::jar::Jars;

/// The program, a class among the tests of the store.
const PROGRAM: &str = "foldb.streams.StartedStore";

/// Keeps the log of Kafka Streams away from what the JVM prints.
const QUIET: &str = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error";

/// Allows the loading of libraries.
const ALLOWED: &str = "--enable-native-access=ALL-UNNAMED";

/// Starts the program with each JVM.
///
/// # Errors
/// There is no jar, a JVM cannot be started, the program fails, or it prints warnings.
pub(crate) fn run(jvms: &[OsString]) -> Result<(), String> {
    let jars = Jars::built()?;
    // The classes of the store come from the jar, and not from target/classes.
    let classes = [jars.classes().to_owned(), root().join("streams/store/target/test-classes")];
    let mut path = std::env::join_paths(classes)
        .map_err(|error| format!("the path of the repository is no part of a list: {error}"))?;
    path.push(if cfg!(windows) { ";" } else { ":" });
    path.push(dependencies()?);
    let default = [OsString::from("java")];
    for jvm in if jvms.is_empty() { &default } else { jvms } {
        let jvm = jvm.to_string_lossy();
        println!("{jvm}: {}", start(&jvm, &path)?);
    }
    Ok(())
}

/// Starts the program, and returns what it printed and whether the JVM needs the option.
fn start(jvm: &str, path: &OsString) -> Result<String, String> {
    let plain = output(jvm, &[], path)?;
    let printed = String::from_utf8_lossy(&plain.stdout).trim().to_owned();
    let warned = String::from_utf8_lossy(&plain.stderr).into_owned();
    if warned.is_empty() {
        return Ok(format!("{printed}, without warnings"));
    }
    let allowed = output(jvm, &[ALLOWED], path)?;
    let left = String::from_utf8_lossy(&allowed.stderr);
    if !left.is_empty() {
        return Err(format!("{jvm} with {ALLOWED} prints\n{left}"));
    }
    let first = warned.lines().next().unwrap_or_default();
    Ok(format!("{printed}, without warnings with {ALLOWED}; without it:\n  {first} ..."))
}

fn output(jvm: &str, options: &[&str], path: &OsString) -> Result<Output, String> {
    let mut words = jvm.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    // A JVM announces the options of this variable, and a start prints nothing.
    command
        .env_remove("JAVA_TOOL_OPTIONS")
        .args(words)
        .args(options)
        .arg(QUIET)
        .arg("-cp")
        .arg(path)
        .arg(PROGRAM)
        .current_dir(root());
    let output = command.output().map_err(|error| format!("'{jvm}' cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("{PROGRAM} under '{jvm}' failed: {}\n{told}", output.status))
}

/// Asks Maven for the jars that the store's tests need.
fn dependencies() -> Result<String, String> {
    let list = root().join("streams/store/target/classpath.txt");
    let mut command = Command::new("mvn");
    command.args(MAVEN.split_whitespace().skip(1)).args(["-pl", "store"]);
    command.arg("org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath");
    command.arg(format!("-Dmdep.outputFile={}", list.display())).current_dir(root());
    let status = command.status().map_err(|error| format!("cannot start Maven: {error}"))?;
    if !status.success() {
        return Err(format!("Maven names no dependencies: {status}"));
    }
    fs::read_to_string(&list).map_err(|error| told("read", &list, error))
}
