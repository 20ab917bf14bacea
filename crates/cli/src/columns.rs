//! Tables of text.

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// Aligns rows in columns, two spaces apart, and begins each line with `indent`. Columns
/// beyond `sides` align left. No line ends in a space.
pub(crate) fn align(indent: &str, sides: &[Side], rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let padding = " ".repeat(widths[column] - cell.chars().count());
            match sides.get(column) {
                Some(Side::Right) => padding + cell,
                _ => cell.clone() + &padding,
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(format!("{indent}{line}").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_left_and_figures_right() {
        let rows = [vec!["é".to_owned(), "5".to_owned()], vec!["abc".to_owned(), "10".to_owned()]];
        assert_eq!(align("  ", &[Side::Left, Side::Right], &rows), "  é     5\n  abc  10\n");
        assert_eq!(align("", &[], &[vec!["a".into(), String::new()]]), "a\n");
    }
}
