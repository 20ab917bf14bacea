//! `cargo xtask tidy`: the house rules that need no compiler.
//!
//! Each rule is a function from the [`Tree`] of files to [`Finding`]s, and has its tests beside it.
//! A rule that the tree does not meet yet is a *ratchet*: a limit that only falls.

mod citations;
mod columns;
mod dead;
mod lengths;
mod links;
mod locks;
mod orders;
mod paths;
mod tree;
mod words;

use std::fmt;

pub(crate) use tree::{File, Tree};

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The file, and the line if the rule knows it: `docs/feed.md:12`.
    place: String,
    /// What is wrong, and what to do.
    text: String,
}

impl Finding {
    fn new(place: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding { place: place.into(), text: text.into() }
    }

    /// A finding in a line. `index` counts from 0.
    fn at(file: &File, index: usize, text: impl Into<String>) -> Finding {
        Finding::new(format!("{}:{}", file.path, index + 1), text)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// All rules.
const RULES: [fn(&Tree) -> Vec<Finding>; 10] = [
    links::leading_nowhere,
    links::unlinked_pages,
    citations::unknown,
    columns::too_long,
    lengths::too_long,
    words::replaced,
    dead::files,
    paths::missing,
    orders::unargued,
    locks::outdated,
];

/// Checks the tree of the repository.
///
/// # Errors
/// Says how many findings were printed, or why the files cannot be listed.
pub(crate) fn run() -> Result<(), String> {
    let tree = Tree::read(&crate::step::root())?;
    let findings = check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => Err("the tree breaks a rule in 1 place".to_owned()),
        many => Err(format!("the tree breaks rules in {many} places")),
    }
}

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<_> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let tree = Tree::read(&crate::step::root()).unwrap();
        let findings: Vec<_> = check(&tree).iter().map(Finding::to_string).collect();
        assert!(findings.is_empty(), "\n{}", findings.join("\n"));
    }

    #[test]
    fn a_finding_names_its_line() {
        let file = File { path: "a.md".to_owned(), text: "x\ny\n".to_owned() };
        assert_eq!(Finding::at(&file, 1, "is wrong").to_string(), "a.md:2: is wrong");
    }
}
