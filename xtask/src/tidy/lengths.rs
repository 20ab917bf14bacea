//! How long functions and files are: a limit that none may pass, and ratchets for the rest.
//!
//! A function that does not fit on a screen hides its order of steps. A file of more than 400 lines
//! has more than one subject.

use super::{File, Finding, Tree};

/// A limit for the longest, and one for all lines beyond what is usual: a split of a long one stays
/// within it.
struct Ratchet {
    what: &'static str,
    /// No more lines than this. Lower it when the longest one becomes shorter.
    longest: usize,
    usual: usize,
    /// Lines beyond the usual ones that all of them together may have. Lower it when one becomes
    /// shorter.
    beyond: usize,
}

const FUNCTIONS: Ratchet = Ratchet { what: "functions", longest: 108, usual: 50, beyond: 650 };
const TEST_FUNCTIONS: Ratchet =
    Ratchet { what: "functions of tests", longest: 117, usual: 50, beyond: 850 };
const FILES: Ratchet = Ratchet { what: "files", longest: 957, usual: 400, beyond: 11_000 };

/// Functions and files that are too long.
pub(super) fn too_long(tree: &Tree) -> Vec<Finding> {
    let files = tree
        .of_kind("rs")
        .map(|file| Long { place: file.path.clone(), lines: file.text.lines().count() });
    let of = |are_tests: bool| {
        let files = tree.of_kind("rs").filter(move |file| file.is_test() == are_tests);
        files.flat_map(functions).collect::<Vec<_>>()
    };
    let mut findings = FILES.findings(files.collect());
    findings.extend(FUNCTIONS.findings(of(false)));
    findings.extend(TEST_FUNCTIONS.findings(of(true)));
    findings
}

/// A function or a file.
#[derive(Debug, PartialEq, Eq)]
struct Long {
    place: String,
    lines: usize,
}

impl Ratchet {
    fn findings(&self, all: Vec<Long>) -> Vec<Finding> {
        let Ratchet { what, longest, usual, beyond } = *self;
        let (mut findings, mut long, mut excess) = (Vec::new(), Vec::new(), 0);
        for Long { place, lines } in all {
            if lines > longest {
                let text = format!("{lines} lines: the longest of {what} may have {longest}");
                findings.push(Finding::new(&place, text));
            }
            if lines > usual {
                excess += lines - usual;
                long.push(Finding::new(&place, format!("{lines} lines, more than {usual}")));
            }
        }
        if excess > beyond {
            let count = format!("{what}: {excess} lines beyond {usual} in all, {beyond} may be");
            findings.push(Finding::new("xtask/src/tidy/lengths.rs", count));
            findings.append(&mut long);
        }
        findings
    }
}

/// Returns the functions of a file. They are found by their indentation, which rustfmt keeps.
fn functions(file: &File) -> Vec<Long> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut functions = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some((indentation, name)) = signature(line) else { continue };
        let ends = |line: &&str| line.trim_end().ends_with(['{', ';', '}']);
        let Some(body) = lines[start..].iter().position(ends) else { continue };
        if !lines[start + body].trim_end().ends_with('{') {
            continue;
        }
        let end = format!("{}}}", " ".repeat(indentation));
        let Some(len) = lines[start..].iter().position(|line| *line == end) else { continue };
        let place = format!("{}:{} {name}", file.path, start + 1);
        functions.push(Long { place, lines: len + 1 });
    }
    functions
}

/// Returns the indentation and the name of the function that a line begins.
fn signature(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start();
    let at_start = text.strip_prefix("fn ").map(|after| ("", after));
    let (before, after) = at_start.or_else(|| text.split_once(" fn "))?;
    let is_modifier = |word: &str| {
        matches!(word, "pub" | "const" | "async" | "unsafe" | "extern" | "\"C\"")
            || word.starts_with("pub(")
            || word.ends_with(')')
    };
    let name = after.split(['(', '<']).next()?;
    before.split_whitespace().all(is_modifier).then_some((line.len() - text.len(), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File { path: "a.rs".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn functions_are_measured_from_signature_to_brace() {
        let text = [
            "pub(in crate::a) fn one<T>(\n    a: T,\n) -> u8\nwhere\n    T: X,\n{\n    1\n}\n",
            "impl A {\n    const fn two(&self) {\n        {\n        }\n    }\n",
            "    fn three(&self);\n}\nfn four() {}\n// a fn five() {\n",
        ];
        let found = functions(&file(&text.concat()));
        let expected = [("a.rs:1 one", 8), ("a.rs:10 two", 4)];
        let expected = expected.map(|(place, lines)| Long { place: place.to_owned(), lines });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_ratchet_has_a_longest_and_a_sum() {
        let ratchet = Ratchet { what: "things", longest: 9, usual: 5, beyond: 4 };
        let things = |lines: &[usize]| {
            lines.iter().map(|&lines| Long { place: "a".to_owned(), lines }).collect::<Vec<_>>()
        };
        let found = |lines: &[usize]| ratchet.findings(things(lines)).len();
        assert_eq!(found(&[5, 9]), 0);
        assert_eq!(found(&[7, 7]), 0, "a split of the same lines");
        assert_eq!(found(&[10]), 3, "longer than the longest; the sum, and the line");
        assert_eq!(found(&[7, 8]), 3, "the sum, and both");
    }
}
