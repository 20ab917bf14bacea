//! Tables, each in a box that scrolls sideways where the page is narrower, and command lines.

use maud::{Markup, html};

/// A table whose first column is text and whose others are numbers.
pub(super) fn plain(heads: &[&str], rows: &[Vec<String>]) -> Markup {
    let marked: Vec<(bool, Vec<String>)> = rows.iter().map(|row| (false, row.clone())).collect();
    grouped(heads, &marked)
}

/// A table like [`plain`], in which some rows (`true`) head the rows below them.
pub(super) fn grouped(heads: &[&str], rows: &[(bool, Vec<String>)]) -> Markup {
    html! {
        div class="box" {
            table {
                (head(heads))
                tbody {
                    @for (leads, row) in rows {
                        tr class=[leads.then_some("leads")] {
                            @for (i, cell) in row.iter().enumerate() {
                                @if i == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The head of a table.
pub(super) fn head(heads: &[&str]) -> Markup {
    html! { thead { tr { @for head in heads { th scope="col" { (head) } } } } }
}

/// A list of names with their values, as text.
pub(super) fn facts(rows: &[(&str, String)]) -> Markup {
    html! {
        dl {
            @for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
                dt { (name) }
                dd { (value) }
            }
        }
    }
}

/// A command line. Lines break between words, and inside a word only if it is wider than the page.
pub(super) fn command(line: &str) -> Markup {
    html! {
        @if !line.is_empty() {
            pre { @for word in line.split(' ') { span { (word) } " " } }
        }
    }
}
