//! The files of the repository.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A text file.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    /// Path from the root, with `/` between names.
    pub path: String,
    pub text: String,
}

impl File {
    /// The name without directories.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The directory, empty for the root.
    pub(crate) fn directory(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// Whether the file is a rule of `tidy`, whose examples break rules.
    pub(crate) fn is_rule(&self) -> bool {
        self.path.starts_with("xtask/src/tidy/")
    }

    /// Whether the file holds tests or benchmarks only.
    pub(crate) fn is_test(&self) -> bool {
        let is_for_tests = |part: &str| matches!(part, "tests" | "benches" | "tests.rs");
        self.path.split('/').any(is_for_tests)
    }
}

/// All files that git knows or would add, without symbolic links.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Files that are UTF-8.
    pub texts: Vec<File>,
    /// Paths of all files.
    pub paths: BTreeSet<String>,
    /// Paths of all directories that hold a file.
    pub directories: BTreeSet<String>,
}

impl Tree {
    /// Reads the files below `root`.
    ///
    /// # Errors
    /// git cannot list them, or one cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Tree, String> {
        let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = Command::new("git").args(arguments).current_dir(root).output();
        let listed =
            listed.map_err(|error| format!("'git ls-files' cannot be started: {error}"))?;
        if !listed.status.success() {
            return Err(format!("'git ls-files' failed: {}", listed.status));
        }
        let mut tree = Tree::default();
        for path in String::from_utf8_lossy(&listed.stdout).split('\0') {
            let on_disk = root.join(path);
            // A file that was removed stays listed until the next commit.
            let is_file = on_disk.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            if is_file {
                let bytes = std::fs::read(&on_disk).map_err(|error| format!("{path}: {error}"))?;
                tree.add(path, String::from_utf8(bytes).ok());
            }
        }
        Ok(tree)
    }

    fn add(&mut self, path: &str, text: Option<String>) {
        if self.paths.insert(path.to_owned()) {
            let above = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
            self.directories.extend(above);
            self.texts.extend(text.map(|text| File { path: path.to_owned(), text }));
        }
    }

    /// Files with this extension.
    pub(crate) fn of_kind(&self, extension: &str) -> impl Iterator<Item = &File> {
        let is_of_kind = move |file: &&File| {
            file.path.rsplit_once('.').is_some_and(|(_, kind)| kind == extension)
        };
        self.texts.iter().filter(is_of_kind)
    }

    /// Pages for readers. Golden files of tests are none.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &File> {
        let is_page =
            |file: &&File| !file.path.contains("/golden") && !file.path.contains("/testdata/");
        self.of_kind("md").filter(is_page)
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Whether a file or directory exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty() || self.paths.contains(path) || self.directories.contains(path)
    }
}

/// A tree of these paths and texts, for tests of rules.
#[cfg(test)]
pub(crate) fn made(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::default();
    for (path, text) in files {
        tree.add(path, Some((*text).to_owned()));
    }
    tree
}

/// Resolves `target` against a directory: `docs` and `../a/./b` give `a/b`.
pub(crate) fn joined(directory: &str, target: &str) -> String {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined() {
        assert_eq!(joined("docs/format", "../merge.md"), "docs/merge.md");
        assert_eq!(joined("", "./docs//c.md"), "docs/c.md");
    }

    #[test]
    fn a_tree_knows_directories_and_pages() {
        let tree = made(&[("a/b/c.md", ""), ("a/tests/golden/d.md", ""), ("e.rs", "")]);
        assert!(tree.has("a/b/") && tree.has("a") && tree.has("e.rs") && !tree.has("b"));
        assert_eq!(tree.pages().map(|page| page.name()).collect::<Vec<_>>(), ["c.md"]);
        assert_eq!(tree.texts[0].directory(), "a/b");
    }
}
