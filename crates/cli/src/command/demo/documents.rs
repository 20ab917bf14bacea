//! The texts that the demo counts without a FILE: foldb's own documents.

/// Lists documents with their names and texts. The paths are relative to the repository's root.
/// Symbolic links in this crate's directory lead there; a package has copies instead.
macro_rules! documents {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path)))),*]
    };
}

/// The name and the text of each document.
pub(super) const DOCUMENTS: &[(&str, &str)] = documents![
    "README.md",
    "ARCHITECTURE.md",
    "docs/async.md",
    "docs/backups.md",
    "docs/c.md",
    "docs/compaction.md",
    "docs/db_bench.md",
    "docs/expiry.md",
    "docs/feed.md",
    "docs/from_leveldb.md",
    "docs/guarantees.md",
    "docs/hazards.md",
    "docs/leveldb.md",
    "docs/limits.md",
    "docs/merge.md",
    "docs/merge_bench.md",
    "docs/performance.md",
    "docs/shell.md",
    "docs/simulation.md",
    "docs/store.md",
    "docs/streams.md",
    "docs/stress.md",
    "docs/transactions.md",
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The demo counts the root's documents about the engine, and every document in `docs`.
    #[test]
    fn no_document_is_forgotten() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut expected = vec!["README.md".to_owned(), "ARCHITECTURE.md".to_owned()];
        for entry in std::fs::read_dir(root.join("docs")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                expected.push(format!("docs/{name}"));
            }
        }
        let mut embedded: Vec<&str> = DOCUMENTS.iter().map(|(name, _)| *name).collect();
        expected.sort();
        embedded.sort();
        assert_eq!(embedded, expected);
    }
}
