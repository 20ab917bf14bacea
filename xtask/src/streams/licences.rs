//! The licences of the crates that the native libraries contain, as one text in the jar.
//!
//! The licences of MIT and BSD demand their text in every copy. So the text comes from the sources
//! that cargo has downloaded, and a crate without one is an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shared_library::told;
use crate::step::root;

/// Where the jar has the text.
pub(crate) const FILE: &str = "META-INF/THIRD-PARTY.txt";

const HEAD: &str = "The native libraries of foldb-streams contain the standard library of Rust \
                    (MIT OR Apache-2.0),\nthe unwinder of LLVM (Apache-2.0 WITH LLVM-exception) \
                    where zig linked them, and these crates.\n";

/// A crate and the expression of its licence.
#[derive(Debug, PartialEq, Eq)]
struct Dependency {
    name: String,
    version: String,
    licence: String,
}

/// Returns the licences of all crates that the library contains.
///
/// # Errors
/// cargo fails, or a crate's sources have no licence.
pub(crate) fn of_dependencies() -> Result<String, String> {
    let mut text = HEAD.to_owned();
    for dependency in dependencies(&tree()?) {
        let Dependency { name, version, licence } = &dependency;
        text.push_str(&format!("\n==== {name} {version} ({licence})\n\n"));
        text.push_str(&licence_text(&sources(&dependency)?)?);
    }
    Ok(text)
}

/// Asks cargo which crates the library contains.
fn tree() -> Result<String, String> {
    let mut command = Command::new("cargo");
    command.args(["tree", "-p", "foldb-jni", "-e", "normal,no-proc-macro", "--target", "all"]);
    command.args(["--prefix", "none", "--format", "{p}\t{l}"]).current_dir(root());
    let output = command.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads the output of `cargo tree`. The crates of this repository have a path and are left out.
fn dependencies(tree: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    for line in tree.lines() {
        let Some((package, licence)) = line.split_once('\t') else { continue };
        let Some((name, version)) = package.split_once(" v") else { continue };
        let dependency = Dependency {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.trim_end_matches(" (*)").to_owned(),
        };
        if !version.contains(' ') && !found.contains(&dependency) {
            found.push(dependency);
        }
    }
    found.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    found
}

/// Returns the directory of a crate's sources, which cargo has unpacked to compile them.
fn sources(dependency: &Dependency) -> Result<PathBuf, String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let registries = home.unwrap_or_default().join("registry/src");
    let name = format!("{}-{}", dependency.name, dependency.version);
    let listed = fs::read_dir(&registries).map_err(|error| told("read", &registries, error))?;
    let mut places = listed.filter_map(|entry| Some(entry.ok()?.path().join(&name)));
    places.find(|place| place.is_dir()).ok_or_else(|| {
        format!("'{}' has no sources of {name}: run 'cargo fetch'", registries.display())
    })
}

/// Returns the text of the crate's licence; of several, the MIT one.
fn licence_text(sources: &Path) -> Result<String, String> {
    let listed = fs::read_dir(sources).map_err(|error| told("read", sources, error))?;
    let mut files: Vec<PathBuf> = listed
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file() && name_of(path).starts_with("LICEN"))
        .collect();
    files.sort_by_key(|path| (!name_of(path).contains("MIT"), name_of(path)));
    let first = files.first().ok_or_else(|| {
        format!("'{}' has no file LICENSE: name its licence by hand", sources.display())
    })?;
    fs::read_to_string(first).map_err(|error| told("read", first, error))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_the_repository_are_no_third_party() {
        let tree = "foldb v0.1.0 (/r/crates/foldb)\tMIT OR Apache-2.0\n\
                    tracing v0.1.44\tMIT\nerrno v0.3.14\tMIT OR Apache-2.0\n\
                    tracing v0.1.44\tMIT (*)";
        let names: Vec<String> = dependencies(tree).into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["errno", "tracing"]);
    }

    #[test]
    fn a_crate_without_a_licence_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let error = licence_text(directory.path()).unwrap_err();
        assert!(error.contains("has no file LICENSE"), "{error}");
        for (file, text) in [("LICENSE-APACHE", "apache"), ("LICENSE-MIT", "mit")] {
            fs::write(directory.path().join(file), text).unwrap();
        }
        assert_eq!(licence_text(directory.path()).unwrap(), "mit");
    }
}
