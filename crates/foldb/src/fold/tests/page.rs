//! docs/operators.md has a row for every built-in operator. `encoders` of the engine's tests runs
//! its programs.

use crate::fold::laws::Check;
use crate::fold::{BuiltinInfo, Growth, Partial, builtins};

const PAGE: &str = include_str!("../../../../../docs/operators.md");

/// Returns the cells of a row of a table, without the marks of code.
fn cells(row: &str) -> Option<Vec<String>> {
    let row = row.strip_prefix("| ")?.strip_suffix(" |")?;
    Some(row.split(" | ").map(|cell| cell.replace('`', "")).collect())
}

/// Returns what the row of an operator must say before its last cell.
fn row_of(info: &BuiltinInfo) -> Vec<String> {
    let operator = info.instantiate(None).unwrap();
    let operand = info.text.parse(info.example.as_bytes()).unwrap();
    let given = match info.name {
        // The kit makes no documents.
        "json_merge_patch" => vec![br#"{"a":1}"#.to_vec(), br#"{"a":2}"#.to_vec()],
        _ => vec![operand.clone()],
    };
    let is_free = Check::new(given).commutative().run(&*operator).is_ok();
    let folded = operator.partial(b"key", &[&operand, &operand], &mut Vec::new());
    let size = match operator.growth() {
        _ if folded == Partial::Keep => "stay apart",
        Growth::Shrinks => "shrink",
        Growth::Grows => "grow",
    };
    let id = info.id.map_or("own".to_owned(), |id| id.to_string());
    let order = if is_free { "free" } else { "counts" };
    [info.name, &id, info.example, order, size].map(str::to_owned).to_vec()
}

#[test]
fn the_page_lists_every_operator() {
    let rows = PAGE.lines().filter_map(cells).filter(|row| row.len() == 6).skip(2);
    let listed = rows.map(|mut row| {
        row.pop();
        row[0] = row[0].split(':').next().unwrap_or_default().to_owned();
        row
    });
    assert_eq!(listed.collect::<Vec<_>>(), builtins().iter().map(row_of).collect::<Vec<_>>());
}
