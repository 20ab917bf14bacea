//! Makes archives. The same files give the same bytes, whenever and by whom they are packed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dist::platform::{Part, Platform};
use crate::prefix::{File, target_directory};
use crate::shared_library::told;
use crate::step::{Step, root};
use crate::version;

/// Files that become an archive.
pub(super) struct Tree {
    /// Its name is that of the archive, and of the directory that the archive unpacks.
    pub directory: PathBuf,
}

impl Tree {
    /// Begins with the licences alone.
    ///
    /// # Errors
    /// A file that cannot be copied.
    pub(super) fn begin(part: Part, platform: &Platform) -> Result<Tree, String> {
        let name = format!("{}-{}-{}", part.name(), version::PRESENT, platform.target);
        let directory = target_directory()?.join("dist-files").join(name);
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(|error| told("remove", &directory, error))?;
        }
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            File::copied(&root().join(licence), directory.join(licence))?.install()?;
        }
        Ok(Tree { directory })
    }

    /// Adds an executable file.
    ///
    /// # Errors
    /// It cannot be copied.
    pub(super) fn add_program(&self, from: &Path, to: &Path) -> Result<(), String> {
        let to = self.directory.join(to);
        let parent = to.parent().unwrap_or(&self.directory);
        fs::create_dir_all(parent).map_err(|error| told("create", parent, error))?;
        // A copy keeps the permission to run.
        fs::copy(from, &to).map(|_| ()).map_err(|error| told("copy", from, error))
    }
}

/// Makes `NAME.tar.gz` of a tree, with the time of the commit. Returns its path.
///
/// # Errors
/// The program `tar` fails.
pub(super) fn archive(tree: &Tree, into: &Path, time: u64) -> Result<PathBuf, String> {
    let name = tree.directory.file_name().unwrap_or_default();
    let above = tree.directory.parent().unwrap_or(Path::new("."));
    let archive = into.join(format!("{}.tar.gz", name.display()));
    Step::new("tar --sort=name --owner=0 --group=0 --numeric-owner")
        .with([format!("--mtime=@{time}"), "--use-compress-program=gzip -n".to_owned()])
        .with(["-c", "-f"])
        .with([&archive])
        .with(["-C"])
        .with([above])
        .with([name])
        .run()?;
    Ok(archive)
}

/// Copies a file into the release. Returns its path.
///
/// # Errors
/// It cannot be copied.
pub(super) fn copied(from: &Path, into: &Path) -> Result<PathBuf, String> {
    let to = into.join(from.file_name().unwrap_or_default());
    fs::copy(from, &to).map_err(|error| told("copy", from, error))?;
    Ok(to)
}
