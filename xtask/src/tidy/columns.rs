//! Lines end at column 100, in Markdown and in Rust.
//!
//! Two kinds of lines have a ratchet. Markdown cannot break the row of a table, and rustfmt leaves
//! strings and macros alone.

use super::{File, Finding, Tree};

/// Most columns of a line.
const MOST: usize = 100;
/// Most rows of tables that may be longer. Lower it when rows become shorter.
const LONG_ROWS: usize = 431;
/// Most lines of Rust that may be longer. Lower it when lines become shorter.
const LONG_RUST: usize = 110;

/// Lines beyond column 100, and ratchets that were passed.
pub(super) fn too_long(tree: &Tree) -> Vec<Finding> {
    let (rows, prose): (Vec<_>, Vec<_>) =
        tree.pages().flat_map(long).partition(|line| line.is_whole);
    let (code, comments): (Vec<_>, Vec<_>) =
        tree.of_kind("rs").flat_map(long).partition(|line| line.is_whole);
    let mut findings: Vec<_> = prose.iter().chain(&comments).map(Long::finding).collect();
    findings.extend(beyond(&rows, LONG_ROWS, "rows of tables"));
    findings.extend(beyond(&code, LONG_RUST, "lines of code"));
    findings
}

/// A line beyond column 100.
struct Long<'a> {
    file: &'a File,
    index: usize,
    columns: usize,
    /// Whether only a change of what the line says makes it shorter: a row, code, a drawing.
    is_whole: bool,
}

impl Long<'_> {
    fn finding(&self) -> Finding {
        let text = format!("{} columns: break the line at column {MOST}", self.columns);
        Finding::at(self.file, self.index, text)
    }
}

fn long(file: &File) -> Vec<Long<'_>> {
    let is_page = file.path.ends_with(".md");
    let mut long = Vec::new();
    let (mut is_fenced, mut is_generated) = (false, false);
    for (index, line) in file.text.lines().enumerate() {
        let text = line.trim_start();
        let is_comment = !is_page && text.starts_with("//");
        let text = if is_comment { text.trim_start_matches(['/', '!', ' ']) } else { text };
        is_fenced ^= (is_page || is_comment) && text.starts_with("```");
        if line.starts_with("<!--") {
            is_generated = line.contains(":begin");
        }
        let columns = line.chars().count();
        // Commands and what programs print are shown whole, and an address cannot be broken.
        let is_shown = is_page && (is_fenced || is_generated || line.starts_with("    "));
        let is_address = text.contains("://") && !text.contains(' ');
        if columns > MOST && !is_shown && !is_address {
            let is_code = !is_page && (is_fenced || !is_comment);
            long.push(Long { file, index, columns, is_whole: is_code || text.starts_with('|') });
        }
    }
    long
}

/// All long lines, if there are more of them than before.
fn beyond(long: &[Long<'_>], most: usize, kind: &str) -> Vec<Finding> {
    if long.len() <= most {
        return Vec::new();
    }
    let count =
        format!("{} {kind} are longer than {MOST} columns, at most {most} may be", long.len());
    let count = Finding::new("xtask/src/tidy/columns.rs", count);
    long.iter().map(Long::finding).chain([count]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::made;

    #[test]
    fn prose_ends_at_column_100_and_output_does_not() {
        let fits = "é".repeat(100);
        let (long, row) = ("x".repeat(101), format!("| {} |", "x".repeat(101)));
        let code =
            format!("```text\n{long}\n```\n    {long}\n<!-- a:begin -->\n{long}\n<!-- a:end -->");
        let page = format!("{fits}\n{long}\n{code}\n{row}\n");
        let tree = made(&[("a.md", &page)]);
        let found: Vec<_> = too_long(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(found, ["a.md:2: 101 columns: break the line at column 100"]);
    }

    #[test]
    fn a_ratchet_lists_all_lines_when_it_is_passed() {
        let tree = made(&[("a.rs", &format!("{}\n", "x".repeat(101)).repeat(2))]);
        let code: Vec<_> = tree.of_kind("rs").flat_map(super::long).collect();
        assert!(beyond(&code, 2, "lines").is_empty());
        assert_eq!(beyond(&code, 1, "lines").len(), 3);
    }

    #[test]
    fn comments_end_at_column_100_and_their_drawings_are_whole() {
        let long = "x".repeat(101);
        let tree = made(&[("a.rs", &format!("/// {long}\n/// ```text\n/// {long}\n/// ```\n"))]);
        let found: Vec<_> = too_long(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(found, ["a.rs:1: 105 columns: break the line at column 100"]);
    }
}
