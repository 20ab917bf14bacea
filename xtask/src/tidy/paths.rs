//! Paths that pages quote: they exist.

use super::{Finding, Tree};

/// The directories whose paths are checked.
const ABOVE: [&str; 11] = [
    "crates/",
    "merge_bench/",
    "docs/",
    "fuzz/",
    "compare/",
    "compat/",
    "streams/",
    "xtask/",
    "ci/",
    ".ci/",
    ".github/",
];

/// The page whose paths may also begin below this directory.
const MAP: (&str, &str) = ("ARCHITECTURE.md", "crates/foldb/src");

/// Quoted paths that do not exist, and pages that sources name and that do not exist.
pub(super) fn missing(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in tree.pages() {
        for (index, line) in page.text.lines().enumerate() {
            let is_map = page.path == MAP.0;
            for path in line.split('`').skip(1).step_by(2).filter(|path| is_path(path, is_map)) {
                let below = format!("{}/{path}", MAP.1);
                let exists = tree.has(path) || (is_map && tree.has(&below));
                if !exists {
                    findings.push(Finding::at(page, index, format!("there is no {path}")));
                }
            }
        }
    }
    for source in tree.of_kind("rs").filter(|file| !file.is_rule()) {
        for (index, line) in source.text.lines().enumerate() {
            for page in pages_named(line).filter(|page| !tree.has(page)) {
                findings.push(Finding::at(source, index, format!("there is no {page}")));
            }
        }
    }
    findings
}

/// Whether quoted text is a path of the repository, and not a pattern or a command.
fn is_path(text: &str, is_map: bool) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let is_source = text.ends_with(".rs") || text.ends_with('/');
    text.chars().all(is_plain)
        && (ABOVE.iter().any(|above| text.starts_with(above))
            || (is_map && is_source && text.contains('/')))
}

/// Pages below `docs` that a line of Rust names.
fn pages_named(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    line.match_indices("docs/").filter_map(move |(at, _)| {
        let rest = &line[at..];
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let page = rest[..len].trim_end_matches('.');
        let is_whole = !line[..at].ends_with(is_part);
        (is_whole && page.ends_with(".md")).then_some(page)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::made;

    #[test]
    fn paths_of_pages_exist() {
        let tree = made(&[
            ("README.md", "`docs/a.md` `docs/b.md` `crates/*/x.rs` `db/get.rs`"),
            ("ARCHITECTURE.md", "`db/get.rs` `db/put.rs` `get.rs`, `iterator/`"),
            ("docs/a.md", ""),
            ("crates/foldb/src/db/get.rs", "// see docs/a.md, docs/c.md."),
        ]);
        let found: Vec<_> = missing(&tree).iter().map(Finding::to_string).collect();
        let expected = [
            "README.md:1: there is no docs/b.md",
            "ARCHITECTURE.md:1: there is no db/put.rs",
            "ARCHITECTURE.md:1: there is no iterator/",
            "crates/foldb/src/db/get.rs:1: there is no docs/c.md",
        ];
        assert_eq!(found, expected);
    }
}
