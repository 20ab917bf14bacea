//! docs/hazards.md, whose sections comments cite as `H10`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PAGE: &str = "docs/hazards.md";

/// A section of the page: its number and its tests.
#[derive(Debug, Default)]
struct Section {
    number: u32,
    tests: Vec<String>,
}

fn sections(page: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut in_tests = false;
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let number = heading.strip_prefix('H').and_then(|rest| rest.split_once(": "));
            let (number, title) = number.unwrap_or_else(|| panic!("not a hazard: {line}"));
            assert!(!title.is_empty(), "{line}");
            sections.push(Section { number: number.parse().unwrap(), tests: Vec::new() });
        }
        in_tests = line.starts_with("Tests: ") || (in_tests && !line.is_empty());
        if let (true, Some(section)) = (in_tests, sections.last_mut()) {
            let names = line.split('`').skip(1).step_by(2);
            section.tests.extend(names.map(str::to_owned));
        }
    }
    sections
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
            numbers.insert(text[at + 1..end].parse().unwrap());
        }
    }
    numbers
}

/// Returns the sources and documents of the repository, with their texts.
fn files() -> Vec<(PathBuf, String)> {
    let root = Path::new(ROOT);
    let mut files = Vec::new();
    for file in ["README.md", "ARCHITECTURE.md"] {
        files.push(root.join(file));
    }
    for directory in ["docs", "crates", "compare", "fuzz"] {
        collect(&root.join(directory), &mut files);
    }
    files.into_iter().map(|path| (path.clone(), std::fs::read_to_string(&path).unwrap())).collect()
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !matches!(name, "target" | "testdata" | "corpus") {
            collect(&path, files);
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "md") {
            files.push(path);
        }
    }
}

#[test]
fn every_hazard_that_is_cited_has_a_section() {
    let page = std::fs::read_to_string(Path::new(ROOT).join(PAGE)).unwrap();
    let known: BTreeSet<u32> = sections(&page).iter().map(|section| section.number).collect();
    let mut files_that_cite = 0;
    for (path, text) in files() {
        // This test's own examples are no citations.
        if path.ends_with(PAGE) || path.ends_with("crates/cli/tests/shell/hazards.rs") {
            continue;
        }
        let cited = cited(&text);
        files_that_cite += usize::from(!cited.is_empty());
        let unknown: Vec<_> = cited.difference(&known).collect();
        assert!(unknown.is_empty(), "{}: {PAGE} has no section {unknown:?}", path.display());
    }
    assert!(files_that_cite > 60, "only {files_that_cite} files cite a hazard");
}

/// Every section names tests that exist, also a section that no comment cites.
#[test]
fn every_hazard_names_tests_that_exist() {
    let page = std::fs::read_to_string(Path::new(ROOT).join(PAGE)).unwrap();
    let sections = sections(&page);
    assert!(sections.len() > 20, "{} sections", sections.len());
    assert!(sections.is_sorted_by(|a, b| a.number < b.number), "in order, each number once");
    let sources: Vec<String> = files()
        .into_iter()
        .filter(|(path, _)| path.extension().is_some_and(|kind| kind == "rs"))
        .map(|(_, text)| text)
        .collect();
    for Section { number, tests } in &sections {
        assert!(!tests.is_empty(), "H{number} names no test");
        for test in tests {
            let definition = format!("fn {test}(");
            let exists = sources.iter().any(|text| text.contains(&definition));
            assert!(exists, "H{number}: there is no test {test}");
        }
    }
}

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
    let sections = sections(page);
    let read: Vec<_> =
        sections.iter().map(|section| (section.number, &section.tests[..])).collect();
    let expected: [(u32, &[String]); 2] =
        [(2, &["a".to_owned(), "b".to_owned(), "c".to_owned()]), (3, &[])];
    assert_eq!(read, expected);
}
