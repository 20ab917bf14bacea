//! Words that have a better one: the glossary's, or the name of an actor.

use super::{Finding, Tree};

/// Words, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    ("nobody", ACTOR),
    ("somebody", ACTOR),
    ("anybody", ACTOR),
    ("everybody", ACTOR),
    ("someone", ACTOR),
    ("anyone", ACTOR),
    ("everyone", ACTOR),
    ("whoever", ACTOR),
    ("who waits", ACTOR),
    ("who writes", ACTOR),
    ("who reads", ACTOR),
    ("sst file", "table"),
    ("blob file", "segment file"),
    ("value log", "value segments"),
    ("immutable memtable", "sealed memtable"),
    ("frozen memtable", "sealed memtable"),
    ("range deletion", "range delete"),
    ("sort run", "run"),
    ("payments of reads", "time that reads lose"),
    ("turn of the lock", "time slice"),
    ("gc turn", "backoff"),
    ("todo", "an issue, or the work"),
    ("fixme", "an issue, or the work"),
];

const ACTOR: &str = "the actor: writer, worker, reader, caller, program";

/// Uses of such words in sources and pages.
pub(super) fn replaced(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.of_kind("rs").chain(tree.pages()).filter(|file| !file.is_rule()) {
        for (index, line) in file.text.lines().enumerate() {
            // Names and strings of programs are their own business.
            let is_source = file.path.ends_with(".rs");
            let text =
                if is_source { line.split_once("//").map_or("", |(_, text)| text) } else { line };
            // A line that names another engine may use that engine's words.
            if text.contains("RocksDB") {
                continue;
            }
            let line = text.to_lowercase();
            for (word, instead) in WORDS.iter().filter(|(word, _)| has(&line, word)) {
                findings.push(Finding::at(file, index, format!("'{word}': write {instead}")));
            }
        }
    }
    findings
}

/// Whether a line has the word, or its plural, and not only as a part of another one.
fn has(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let after = &line[at + word.len()..];
        let after = after.strip_prefix('s').unwrap_or(after);
        !line[..at].ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::made;

    #[test]
    fn a_word_is_found_whole_in_any_case_and_number() {
        assert!(has("a value log, b", "value log") && has("value logs", "value log"));
        assert!(!has("the value logged", "value log") && !has("todo_list", "todo"));
    }

    #[test]
    fn a_finding_says_what_to_write() {
        let tree = made(&[
            ("a.rs", "// SST files are\nlet nobody;\n// RocksDB's SST files\n"),
            ("b.toml", "# todo"),
        ]);
        let found: Vec<_> = replaced(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(found, ["a.rs:1: 'sst file': write table"]);
    }
}
