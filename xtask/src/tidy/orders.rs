//! Each weak order of memory accesses is argued in its file.
//!
//! x86 hides a missing order, and tests rarely find one elsewhere. What shows it is the question
//! which thread publishes what to which other one. So a file that names an order weaker than
//! `SeqCst` has a comment that names the order, and answers.

use super::{File, Finding, Tree};

/// The crates whose threads share memory without locks.
const CRATES: [&str; 3] = ["crates/chains/src/", "crates/env/src/", "crates/foldb/src/"];

const WEAK: [&str; 4] = ["Relaxed", "Acquire", "Release", "AcqRel"];

/// Sources that name a weak order and argue none.
pub(super) fn unargued(tree: &Tree) -> Vec<Finding> {
    let is_checked =
        |file: &&File| CRATES.iter().any(|own| file.path.starts_with(own)) && !file.is_test();
    tree.of_kind("rs").filter(is_checked).filter_map(unargued_in).collect()
}

/// The first weak order of a file, if no comment argues one.
fn unargued_in(file: &File) -> Option<Finding> {
    let mut first = None;
    for (index, line) in outside_tests(&file.text) {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        if argues(comment) {
            return None;
        }
        let weak = WEAK.iter().find(|order| has(code, order));
        first = first.or(weak.map(|order| (index, order)));
    }
    let (index, order) = first?;
    let text = format!(
        "no comment of this file names '{order}' or another memory order: say which thread \
         publishes what to which, or that no other memory depends on it"
    );
    Some(Finding::at(file, index, text))
}

/// The lines of a file that are not in its module of tests, with their numbers from 0.
fn outside_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_test = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let ends = is_test && *line == "}";
        is_test = (is_test || *line == "mod tests {") && !ends;
        !is_test && !ends
    })
}

/// Whether a comment names an order. Code in an example does not argue it.
fn argues(comment: &str) -> bool {
    let names = WEAK.iter().chain(&["SeqCst"]).any(|order| has(comment, order));
    comment.to_lowercase().contains("memory order") || names && !comment.contains("Ordering::")
}

/// Whether a line has the word, and not only as a part of another one.
fn has(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::made;

    fn found(path: &str, text: &str) -> Vec<String> {
        unargued(&made(&[(path, text)])).iter().map(|finding| finding.place.clone()).collect()
    }

    const STORE: &str =
        "use std::sync::atomic::Ordering;\n\nfn f() {\n    a.store(1, Ordering::Release);\n}\n";

    #[test]
    fn a_weak_order_needs_a_comment_that_names_an_order() {
        let place = "crates/env/src/a.rs";
        assert_eq!(found(place, STORE), ["crates/env/src/a.rs:4"]);
        for argument in ["// Release: b.", "//! All are `Acquire`.", "/// Its memory order: b."] {
            assert!(found(place, &format!("{argument}\n{STORE}")).is_empty(), "{argument}");
        }
        for other in ["// Releases it.", "/// a.load(Ordering::Relaxed)", "// a", "// RELEASE"] {
            let text = format!("{other}\n{STORE}");
            assert_eq!(found(place, &text), ["crates/env/src/a.rs:5"], "{other}");
        }
    }

    #[test]
    fn each_weak_order_is_one_and_the_strong_one_needs_no_argument() {
        for order in WEAK {
            let text = STORE.replace("Release", order);
            assert_eq!(found("crates/chains/src/b/c.rs", &text).len(), 1, "{order}");
        }
        assert!(found("crates/chains/src/b.rs", &STORE.replace("Release", "SeqCst")).is_empty());
        assert!(found("crates/chains/src/b.rs", "struct Releases;\nfn acquire() {}\n").is_empty());
    }

    #[test]
    fn tests_need_no_argument_and_give_none() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n    // Relaxed: as it is.\n    {STORE}");
        let within = "#[cfg(test)]\nmod tests {\n    a.load(Relaxed); // Relaxed: b.\n}\n";
        assert!(found("crates/foldb/src/a.rs", within).is_empty());
        let behind = format!("{within}{STORE}");
        assert_eq!(found("crates/foldb/src/a.rs", &behind), ["crates/foldb/src/a.rs:8"]);
        assert!(found("crates/foldb/src/a/tests.rs", &tests).is_empty());
        assert!(found("crates/foldb/tests/a.rs", STORE).is_empty());
        assert!(found("crates/cli/src/a.rs", STORE).is_empty(), "another crate");
    }
}
