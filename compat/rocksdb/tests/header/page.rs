//! The table of functions in the documentation.

use crate::list::Function;
use crate::{Functions, name};

const BEGIN: &str = "<!-- functions:begin -->\n";
const END: &str = "<!-- functions:end -->\n";

/// Returns the page with a new table between its two markers.
pub(crate) fn with_table(page: &str, functions: &[Functions<'_>]) -> String {
    let (before, rest) = page.split_once(BEGIN).expect("the page has the first marker");
    let (_, after) = rest.split_once(END).expect("the page has the second marker");
    let mut text = format!("{before}{BEGIN}{}", counts(functions));
    for Functions { group, functions } in functions {
        text += &format!("\n### {}\n\n{}\n\n", group.title, group.words);
        text += "| functions | here | note |\n| --- | --- | --- |\n";
        rows(functions).iter().for_each(|row| text += &row.written());
    }
    text + "\n" + END + after
}

/// Tells how many functions have each verdict.
fn counts(functions: &[Functions<'_>]) -> String {
    let all = || functions.iter().flat_map(|group| &group.functions);
    let of = |verdict: &str| all().filter(|function| function.verdict == verdict).count();
    format!(
        "\nOf {} functions, {} are honoured, {} are ignored, and {} are refused.\n",
        all().count(),
        of("honoured"),
        of("ignored"),
        of("refused")
    )
}

/// Functions of a group that have one verdict and one note.
struct Row<'a> {
    names: Vec<&'a str>,
    verdict: &'a str,
    note: &'a str,
}

/// Returns the rows of a group, in the order of their first functions.
fn rows<'a>(functions: &[Function<'a>]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for function in functions {
        let name = name(function.declaration);
        let (verdict, note) = (function.verdict, function.note);
        match rows.iter_mut().find(|row| (row.verdict, row.note) == (verdict, note)) {
            Some(row) => row.names.push(name),
            None => rows.push(Row { names: vec![name], verdict, note }),
        }
    }
    rows
}

impl Row<'_> {
    fn written(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        format!("| {} | {} | {} |\n", names.join(", "), self.verdict, self.note).replace("  ", " ")
    }
}
