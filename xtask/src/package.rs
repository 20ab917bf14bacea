//! `cargo xtask package`: checks that each published package compiles alone, and has its licences,
//! its readme and the address of its documentation.

use std::fs;

use crate::arguments::Passed;
use crate::shared_library::told;
use crate::step::{Step, root};

/// What each package must contain.
const FILES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// What the manifest of each package must say, beside its readme.
const FIELDS: [&str; 3] = ["license.workspace = ", "documentation = ", "description = "];

/// The published crates, each after its dependencies. The other crates measure, simulate and check
/// the published ones, and stay in the repository.
pub(crate) const PUBLISHED: [&str; 11] = [
    "foldb-env",
    "foldb-chains",
    "foldb",
    "foldb-typed-derive",
    "foldb-typed",
    "foldb-queue",
    "foldb-tokio",
    "foldb-leveldb-format",
    "foldb-rocksdb-format",
    "foldb-report",
    "foldb-cli",
];

/// Checks the packages. Arguments go to `cargo package`.
///
/// # Errors
/// A package lacks something, or does not compile.
pub(crate) fn run(passed: Passed) -> Result<(), String> {
    for name in PUBLISHED {
        complete(name)?;
    }
    step(passed).run()
}

/// Checks that a package has what it must contain.
fn complete(name: &str) -> Result<(), String> {
    let listed = Step::new("cargo package --list --allow-dirty -p").with([name]).answer("")?;
    let directory = name.strip_prefix("foldb-").unwrap_or(name).replace('-', "_");
    let path = root().join("crates").join(directory).join("Cargo.toml");
    let manifest = fs::read_to_string(&path).map_err(|error| told("read", &path, error))?;
    let field = |field: &str| manifest.lines().find_map(|line| line.strip_prefix(field));
    // A readme of the repository becomes a file beside the manifest.
    let readme = field("readme = ").map(|path| path.trim_matches('"'));
    let readme = readme.map(|path| path.rsplit('/').next().unwrap_or(path));
    let is_listed = |file: &str| listed.lines().any(|line| line == file);
    let lacks_file = FILES.into_iter().find(|file| !is_listed(file));
    let lacks_field = FIELDS.into_iter().find(|name| field(name).is_none());
    let lacks_readme = (!readme.is_some_and(is_listed)).then_some("its readme");
    match lacks_file.or(lacks_field).or(lacks_readme) {
        Some(lacks) => Err(format!("the package {name} lacks {lacks}")),
        None => Ok(()),
    }
}

fn step(passed: Passed) -> Step {
    let crates = PUBLISHED.iter().flat_map(|name| ["-p", *name]);
    Step::new("cargo package").with(crates).with(passed.arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_its_licences_its_readme_and_its_documentation() {
        for name in PUBLISHED {
            complete(name).unwrap();
        }
    }
}
