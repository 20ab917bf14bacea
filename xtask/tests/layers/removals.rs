//! Which sources remove or rename files.
//!
//! A removal by name or place once deleted files of users. So the engine removes files in one
//! module, which takes a proof that foldb wrote the file, and every other source that removes or
//! renames is listed here with its reason.

use std::fs;
use std::path::{Path, PathBuf};

/// The production sources that are read.
const READ: [&str; 7] = [
    "crates/foldb/src",
    "crates/cli/src",
    "crates/db_bench/src",
    "merge_bench/src",
    "crates/capi/src",
    "compat/leveldb/src",
    "compat/rocksdb/src",
];

/// Calls that remove or rename. The first four are those of foldb's file systems.
const CALLS: [&str; 8] = [
    "fs.remove(",
    "files.remove(",
    "fs.remove_dir(",
    "fs.rename(",
    "fs::remove_file(",
    "fs::remove_dir(",
    "fs::remove_dir_all(",
    "fs::rename(",
];

/// A source, a call in it, and why it may call.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("crates/foldb/src/files/remove.rs", "fs.remove(", "takes a proof"),
    ("crates/foldb/src/files/remove.rs", "fs.remove_dir(", "removes an empty directory only"),
    ("crates/foldb/src/version/closed.rs", "fs.rename(", "CLOSED.tmp to CLOSED"),
    ("crates/foldb/src/version/manifest.rs", "fs.rename(", "CURRENT.tmp to CURRENT"),
    ("crates/foldb/src/db/core/archive.rs", "fs.rename(", "a log of the database to its archive"),
    ("crates/foldb/src/db/backup/create.rs", "fs.rename(", "files that this backup wrote"),
    ("crates/foldb/src/db/backup/restore.rs", "fs.rename(", "files that this restore wrote"),
    ("crates/foldb/src/db/lifecycle/open/repair/aside.rs", "fs.rename(", "puts aside"),
    ("crates/foldb/src/db/lifecycle/open/repair/cut.rs", "fs.rename(", "puts aside"),
    ("crates/cli/src/new_file.rs", "fs::remove_file(", "the file that this run wrote and locked"),
    ("crates/cli/src/new_file.rs", "fs::rename(", "the file that this run wrote and locked"),
    ("crates/cli/src/staging.rs", "fs::remove_file(", "the mark that this run wrote"),
    ("crates/cli/src/staging.rs", "fs::remove_dir(", "removes an empty directory only"),
    ("crates/cli/src/staging.rs", "fs::remove_dir_all(", "the directory beside the mark"),
    ("crates/cli/src/staging.rs", "fs::rename(", "the directory that this run made"),
    ("crates/db_bench/src/evidence.rs", "fs::remove_file(", "the empty file that it has just made"),
    ("merge_bench/src/bare_sync.rs", "fs::remove_file(", "in a directory that was empty"),
    ("merge_bench/src/directory.rs", "fs::remove_dir_all(", "in a directory that was empty"),
    ("compat/rocksdb/src/options/files.rs", "fs.remove(", "files with its mark, and the identity"),
    ("compat/rocksdb/src/options/files.rs", "fs.remove_dir(", "removes an empty directory only"),
    ("compat/rocksdb/src/options/files.rs", "fs.rename(", "the file that this call wrote"),
    ("compat/rocksdb/src/database/info_log.rs", "fs.remove(", "files that begin with its own mark"),
    (
        "compat/rocksdb/src/database/info_log.rs",
        "fs.rename(",
        "a file that begins with its own mark",
    ),
    ("compat/rocksdb/src/copies/ingest.rs", "fs.remove(", "files that the program gives away"),
    ("compat/rocksdb/src/copies/sst_writer.rs", "fs.remove(", "the file that this call wrote"),
    ("crates/capi/src/copies.rs", "fs::remove_file(", "the file that this call made"),
];

#[test]
fn sources_that_remove_or_rename_are_known() {
    let root = super::root();
    let mut found = Vec::new();
    for directory in READ {
        for file in sources_in(&root.join(directory)) {
            let name = file.strip_prefix(&root).expect("below the root").to_string_lossy();
            let text = fs::read_to_string(&file).expect("a source");
            for call in CALLS {
                if production(&text).any(|line| line.contains(call)) {
                    found.push((name.replace('\\', "/"), call));
                }
            }
        }
    }
    let is_allowed = |(file, call): &&(String, &str)| {
        ALLOWED.iter().any(|(at, known, _)| at == file && known == call)
    };
    let others: Vec<_> = found.iter().filter(|it| !is_allowed(it)).collect();
    assert!(others.is_empty(), "remove by `files::remove`, or list with a reason: {others:#?}");
    for (at, known, _) in ALLOWED {
        assert!(
            found.iter().any(|(file, call)| file == at && call == known),
            "unused: {at} {known}"
        );
    }
}

/// Returns the lines before the tests of a source that are no comments.
fn production(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end].lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn sources_in(directory: &Path) -> Vec<PathBuf> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources.extend(sources_in(&path));
        } else if name.ends_with(".rs") && name != "tests.rs" {
            sources.push(path);
        }
    }
    sources
}
