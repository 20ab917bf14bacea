//! The lock files of separate workspaces know what the crates of this repository depend on.
//!
//! Cargo changes a lock file silently when a crate gets a dependency, except in a build with
//! `--locked`, as that of a release.

use std::collections::{BTreeMap, BTreeSet};

use super::{File, Finding, Tree};

const ROOT: &str = "Cargo.lock";

/// The names of the dependencies of each crate.
type Dependencies<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Lock files in which a crate of this repository has other dependencies than in that of the root.
pub(super) fn outdated(tree: &Tree) -> Vec<Finding> {
    let locks = || tree.texts.iter().filter(|file| file.name() == ROOT);
    let Some(root) = locks().find(|file| file.path == ROOT) else { return Vec::new() };
    let (root, needless) = (own_packages(root), needless_elsewhere(tree));
    let mut findings = Vec::new();
    for lock in locks().filter(|file| file.path != ROOT) {
        let is_outdated = |(name, found): &(&str, BTreeSet<&str>)| {
            let Some(wanted) = root.get(name) else { return false };
            let needless = needless.get(name);
            let is_needed = |name: &&str| needless.is_none_or(|needless| !needless.contains(name));
            !found.is_subset(wanted) || wanted.difference(found).any(is_needed)
        };
        for (name, _) in own_packages(lock).into_iter().filter(is_outdated) {
            let manifest = format!("{}/Cargo.toml", lock.directory());
            let advice = format!("run `cargo metadata --manifest-path {manifest}`");
            let text = format!("knows old dependencies of {name}: {advice}");
            findings.push(Finding::new(&lock.path, text));
        }
    }
    findings
}

/// The packages of a lock file that come from no registry.
fn own_packages(lock: &File) -> Dependencies<'_> {
    let mut packages = BTreeMap::new();
    for package in lock.text.split("[[package]]").skip(1) {
        let name = package.lines().find_map(|line| line.strip_prefix("name = \""));
        let Some(name) = name.and_then(|rest| rest.split('"').next()) else { continue };
        if package.contains("\nsource = ") {
            continue;
        }
        // An entry may have a version behind the name.
        let entries = package.lines().filter_map(|line| line.strip_prefix(" \""));
        let names = entries.filter_map(|entry| entry.split([' ', '"']).next());
        packages.insert(name, names.collect());
    }
    packages
}

/// The dependencies of each crate that another workspace may do without: those of its tests, and
/// the optional ones.
fn needless_elsewhere(tree: &Tree) -> Dependencies<'_> {
    let mut found = BTreeMap::new();
    for manifest in tree.texts.iter().filter(|file| file.name() == "Cargo.toml") {
        let name = manifest.text.lines().find_map(|line| line.strip_prefix("name = \""));
        let Some(name) = name.and_then(|rest| rest.split('"').next()) else { continue };
        let mut is_for_tests = false;
        let names: &mut BTreeSet<&str> = found.entry(name).or_default();
        for line in manifest.text.lines() {
            if line.starts_with('[') {
                is_for_tests = line.ends_with("dev-dependencies]");
            } else if is_for_tests || line.contains("optional = true") {
                names.extend(line.split([' ', '=', '.']).next());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\nc = \"1\"\n\
                            perhaps = { version = \"1\", optional = true }\n\
                            [dev-dependencies]\ntests.workspace = true\n";

    fn findings(root: &str, other: &str) -> Vec<String> {
        let package = |dependencies: &str| {
            let entries = dependencies.split_whitespace().map(|name| format!(" \"{name}\",\n"));
            let entries: String = entries.collect();
            format!("[[package]]\nname = \"a\"\nversion = \"1\"\ndependencies = [\n{entries}]\n")
        };
        let file = |path: &str, text: String| File { path: path.to_owned(), text };
        let texts = vec![
            file("Cargo.lock", package(root)),
            file("python/Cargo.lock", package(other)),
            file("a/Cargo.toml", MANIFEST.to_owned()),
        ];
        let tree = Tree { texts, ..Tree::default() };
        outdated(&tree).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn locks_agree_on_what_every_build_of_a_crate_needs() {
        assert!(findings("b c perhaps tests", "b c").is_empty());
        assert!(findings("b c perhaps", "b c perhaps").is_empty());
        assert_eq!(findings("b c", "b").len(), 1);
        assert_eq!(findings("b", "b c").len(), 1);
        let told = &findings("b c", "b")[0];
        assert!(told.starts_with("python/Cargo.lock: knows old dependencies of a"), "{told}");
    }
}
