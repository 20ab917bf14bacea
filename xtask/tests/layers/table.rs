//! The table of layers in ARCHITECTURE.md.

use std::collections::BTreeMap;
use std::path::Path;

/// How high each room lies: the rows of the table count from the top.
pub(crate) fn ranks(page: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(page).expect("ARCHITECTURE.md can be read");
    let section = text.split("\n## Layers\n").nth(1).expect("ARCHITECTURE.md has `## Layers`");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows: Vec<_> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let mut ranks = BTreeMap::new();
    for (below_top, row) in rows.iter().enumerate() {
        let rooms = row.split('|').nth(1).unwrap_or_default();
        for room in rooms.split('`').skip(1).step_by(2) {
            let known = ranks.insert(room.to_owned(), rows.len() - below_top);
            assert_eq!(known, None, "{room} stands in the table twice");
        }
    }
    ranks
}
