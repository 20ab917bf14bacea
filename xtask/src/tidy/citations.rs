//! Citations: comments cite sections of docs/hazards.md as `H10`, and the pages on hazards and
//! guarantees name tests.

use std::collections::BTreeSet;

use super::{Finding, Tree};

const HAZARDS: &str = "docs/hazards.md";
const GUARANTEES: &str = "docs/guarantees.md";

/// Hazards without a section, sections without a test, and tests that do not exist.
pub(super) fn unknown(tree: &Tree) -> Vec<Finding> {
    let page = tree.text(HAZARDS).unwrap_or_default();
    let mut findings = Vec::new();
    let sections = match sections(page) {
        Ok(sections) => sections,
        Err(line) => {
            return vec![Finding::new(HAZARDS, format!("not the heading of a hazard: {line}"))];
        }
    };
    if !sections.is_sorted_by(|a, b| a.number < b.number) {
        findings.push(Finding::new(HAZARDS, "the hazards are not in order, each number once"));
    }
    let known: BTreeSet<u32> = sections.iter().map(|section| section.number).collect();
    for file in tree.of_kind("rs").chain(tree.pages()) {
        if file.path == HAZARDS || file.is_rule() {
            continue;
        }
        for unknown in cited(&file.text).difference(&known) {
            findings.push(Finding::new(&file.path, format!("{HAZARDS} has no section H{unknown}")));
        }
    }
    let functions = functions(tree);
    for Section { number, tests } in &sections {
        if tests.is_empty() {
            findings.push(Finding::new(HAZARDS, format!("H{number} names no test")));
        }
        for test in tests.iter().filter(|test| !functions.contains(test.as_str())) {
            findings.push(Finding::new(HAZARDS, format!("H{number}: there is no test {test}")));
        }
    }
    for name in tests_of_guarantees(tree.text(GUARANTEES).unwrap_or_default()) {
        if !functions.contains(name) {
            findings.push(Finding::new(GUARANTEES, format!("there is no test {name}")));
        }
    }
    findings
}

/// A section of the page: its number and its tests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Section {
    number: u32,
    tests: Vec<String>,
}

/// Returns the sections, or the line that begins none.
fn sections(page: &str) -> Result<Vec<Section>, &str> {
    let mut sections: Vec<Section> = Vec::new();
    let mut in_tests = false;
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let number = heading.strip_prefix('H').and_then(|rest| rest.split_once(": "));
            let number = number.filter(|(_, title)| !title.is_empty());
            let number = number.and_then(|(number, _)| number.parse().ok()).ok_or(line)?;
            sections.push(Section { number, tests: Vec::new() });
        }
        in_tests = line.starts_with("Tests: ") || (in_tests && !line.is_empty());
        if let (true, Some(section)) = (in_tests, sections.last_mut()) {
            section.tests.extend(quoted(line).map(str::to_owned));
        }
    }
    Ok(sections)
}

fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Returns the hazards that a text cites, as `H10` or as `h10_` at the start of a test's name.
fn cited(text: &str) -> BTreeSet<u32> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let mut numbers = BTreeSet::new();
    for (at, &letter) in bytes.iter().enumerate() {
        if !matches!(letter, b'H' | b'h') || at.checked_sub(1).is_some_and(|i| is_part(bytes[i])) {
            continue;
        }
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = at + 1 + digits;
        let is_cited = match letter {
            b'H' => !bytes.get(end).is_some_and(|&next| is_part(next)),
            _ => bytes.get(end) == Some(&b'_'),
        };
        if is_cited && (1..=2).contains(&digits) {
            numbers.extend(text[at + 1..end].parse::<u32>().ok());
        }
    }
    numbers
}

/// The names of all functions.
fn functions(tree: &Tree) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let rest = tree.of_kind("rs").flat_map(|file| file.text.split("fn ").skip(1));
    rest.filter_map(|rest| rest.split_once(|c| !is_name(c))).map(|(name, _)| name).collect()
}

/// Returns what looks like the name of a test: at least four words joined by underscores.
fn tests_of_guarantees(page: &str) -> Vec<&str> {
    let is_word = |word: &str| {
        let is_lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        !word.is_empty() && word.bytes().all(is_lower)
    };
    let name = |quoted: &'_ str| {
        let words = quoted.split('_');
        words.clone().count() >= 4 && words.into_iter().all(is_word)
    };
    page.lines().flat_map(quoted).filter(|quoted| name(quoted)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::made;

    #[test]
    fn citations_are_found_where_they_are() {
        assert_eq!(cited("as H1 says (H10), H23: and H4"), [1, 4, 10, 23].into());
        assert_eq!(cited("fn h07_fold() h3_get"), [3, 7].into());
        assert_eq!(cited("XH3 H100 H2O H_1 hash h3 path_h1_x HH4 H"), [].into());
    }

    #[test]
    fn sections_are_read_with_their_tests() {
        let page =
            "# Hazards\n\n## H2: Two\n\n`no` test\n\nTests: `a`, `b`,\n`c`.\n\n`d`\n## H3: Three\n";
        let tests = ["a", "b", "c"].map(str::to_owned).into();
        let expected = [Section { number: 2, tests }, Section { number: 3, tests: Vec::new() }];
        assert_eq!(sections(page).unwrap(), expected);
        assert_eq!(sections("## Three: H3"), Err("## Three: H3"));
    }

    #[test]
    fn every_kind_of_unknown_name_is_found() {
        let tree = made(&[
            (HAZARDS, "## H1: a\n\nTests: `there`, `gone`.\n\n## H2: b\n"),
            (GUARANTEES, "`a_test_that_is_gone` `cargo_test` `a_test_that_is`"),
            ("a.rs", "// H1, H3\nfn there() {} fn a_test_that_is() {}"),
        ]);
        let found: Vec<_> = unknown(&tree).iter().map(Finding::to_string).collect();
        let expected = [
            "a.rs: docs/hazards.md has no section H3",
            "docs/hazards.md: H1: there is no test gone",
            "docs/hazards.md: H2 names no test",
            "docs/guarantees.md: there is no test a_test_that_is_gone",
        ];
        assert_eq!(found, expected);
    }
}
