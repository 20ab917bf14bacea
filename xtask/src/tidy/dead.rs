//! Files that nothing uses: sources that no module declares, and data that no text names.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::joined;
use super::{File, Finding, Tree};

/// Sources and data that nothing uses.
pub(super) fn files(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let reached = reached(tree);
    for file in tree.of_kind("rs").filter(|file| !reached.contains(file.path.as_str())) {
        findings.push(Finding::new(&file.path, "no module declares it: declare or remove it"));
    }
    findings.extend(unnamed(tree));
    findings
}

/// The sources that targets of Cargo reach by modules.
fn reached(tree: &Tree) -> BTreeSet<&str> {
    let sources: BTreeMap<&str, &File> =
        tree.of_kind("rs").map(|file| (file.path.as_str(), file)).collect();
    let mut to_follow: Vec<(&File, bool)> = Vec::new();
    for manifest in tree.texts.iter().filter(|file| file.name() == "Cargo.toml") {
        let below = |file: &&File| is_root(file, manifest);
        to_follow.extend(sources.values().copied().filter(below).map(|file| (file, true)));
    }
    let mut reached = BTreeSet::new();
    while let Some((file, is_root)) = to_follow.pop() {
        if !reached.insert(file.path.as_str()) {
            continue;
        }
        for path in declared(file, is_root) {
            to_follow.extend(sources.get(path.as_str()).map(|file| (*file, false)));
        }
    }
    reached
}

/// Whether `file` is the root of a target of the package with this manifest.
fn is_root(file: &File, manifest: &File) -> bool {
    let directory = manifest.directory();
    let below = if directory.is_empty() {
        Some(&file.path[..])
    } else {
        file.path.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'))
    };
    let Some(below) = below else { return false };
    let parts: Vec<&str> = below.split('/').collect();
    let is_target = matches!(
        parts[..],
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
    );
    is_target || manifest.text.contains(&format!("path = \"{below}\""))
}

/// The paths that the modules and includes of a file may have.
fn declared(file: &File, is_root: bool) -> Vec<String> {
    let is_directory = is_root || file.name() == "mod.rs";
    let stem = file.path.strip_suffix(".rs").unwrap_or(&file.path);
    let below = if is_directory { file.directory() } else { stem };
    let (mut paths, mut given, mut inline) = (Vec::new(), None, Vec::new());
    for line in file.text.lines() {
        let text = line.trim_start();
        let indentation = line.len() - text.len();
        if text == "}" && inline.last().is_some_and(|(open, _)| *open == indentation) {
            inline.pop();
        } else if let Some(name) = text.strip_suffix(" {").and_then(module) {
            inline.push((indentation, name));
        }
        let of_attribute = text.strip_prefix("#[").and_then(|text| text.split("path = \"").nth(1));
        given = of_attribute.and_then(|rest| rest.split('"').next()).or(given);
        let included = text.split("include!(\"").nth(1).and_then(|rest| rest.split('"').next());
        paths.extend(included.map(|path| joined(file.directory(), path)));
        let Some(name) = text.strip_suffix(';').and_then(module) else { continue };
        paths.extend(given.take().map(|path| joined(file.directory(), path)));
        let within = inline.iter().fold(below.to_owned(), |path, (_, name)| joined(&path, name));
        paths.push(joined(&within, &format!("{name}.rs")));
        paths.push(joined(&within, &format!("{name}/mod.rs")));
    }
    paths
}

/// The name in `pub(crate) mod name`.
fn module(declaration: &str) -> Option<&str> {
    let (before, name) = declaration.rsplit_once("mod ")?;
    let is_visibility = |word: &str| word.starts_with("pub") || word.ends_with([')', ']']);
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (before.split_whitespace().all(is_visibility) && is_name).then_some(name)
}

/// Kinds of files that a tool finds by itself.
const FOUND: [&str; 9] = ["rs", "md", "toml", "lock", "java", "go", "yml", "xml", "gitignore"];

/// Data whose name no text has, and neither has its directory's if that holds data only.
fn unnamed(tree: &Tree) -> Vec<Finding> {
    let kind = |path: &str| {
        path.rsplit('/')
            .next()
            .and_then(|name| name.rsplit_once('.'))
            .map_or("", |(_, kind)| kind)
            .to_owned()
    };
    let is_found = |path: &str| FOUND.contains(&kind(path).as_str());
    let parts = |path: &str| {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        (directory.to_owned(), name.to_owned())
    };
    let mixed: BTreeSet<String> =
        tree.paths.iter().filter(|path| is_found(path)).map(|path| parts(path).0).collect();
    let mut known: BTreeMap<String, bool> = BTreeMap::new();
    let mut is_named = |name: &str, own: &str| {
        let find = || tree.texts.iter().any(|file| file.path != own && file.text.contains(name));
        *known.entry(name.to_owned()).or_insert_with(find)
    };
    let mut findings = Vec::new();
    for path in tree.paths.iter().filter(|path| path.contains('/') && !is_found(path)) {
        let (directory, name) = parts(path);
        let last = directory.rsplit('/').next().unwrap_or_default();
        let by_directory = !mixed.contains(&directory) && is_named(last, path);
        let stem = name.split('.').next().unwrap_or(&name);
        if !by_directory && !is_named(&name, path) && (stem.is_empty() || !is_named(stem, path)) {
            findings.push(Finding::new(path, "no text names it: use or remove it"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::made;

    #[test]
    fn a_source_needs_a_module_or_a_target() {
        let tree = made(&[
            ("crates/a/Cargo.toml", "[[bin]]\npath = \"odd/place.rs\""),
            (
                "crates/a/src/lib.rs",
                "mod b;\n#[cfg(test)]\n#[path = \"../x/y.rs\"]\nmod z;\n// mod no;",
            ),
            ("crates/a/src/b.rs", "pub(crate) mod c;\ninclude!(\"part.rs\");"),
            ("crates/a/src/b/c.rs", ""),
            ("crates/a/src/part.rs", ""),
            ("crates/a/x/y.rs", ""),
            ("crates/a/odd/place.rs", ""),
            ("crates/a/tests/d/main.rs", "mod e {\n    mod f;\n}\nmod g;"),
            ("crates/a/tests/d/e/f.rs", ""),
            ("crates/a/tests/d/g.rs", ""),
            ("crates/a/tests/d/lost.rs", ""),
            ("crates/a/src/no.rs", ""),
        ]);
        let found: Vec<_> = files(&tree).iter().map(|finding| finding.place.clone()).collect();
        assert_eq!(found, ["crates/a/tests/d/lost.rs", "crates/a/src/no.rs"]);
    }

    #[test]
    fn data_needs_a_name_in_a_text() {
        let tree = made(&[
            ("a/Cargo.toml", "named.txt, the directory cases"),
            ("a/named.txt", ""),
            ("a/cases/one.txt", ""),
            ("a/lost.json", "lost.json"),
        ]);
        let found: Vec<_> = unnamed(&tree).iter().map(|finding| finding.place.clone()).collect();
        assert_eq!(found, ["a/lost.json"]);
    }
}
