//! Builds the parts of a release.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, iter};

use crate::dist::pack::Tree;
use crate::dist::platform::{GLIBC, Part, Platform};
use crate::dist::tools::{python, with_tools};
use crate::prefix::{File, target_directory};
use crate::shared_library::{Linker, told};
use crate::step::{Step, root};
use crate::streams::jar::Jars;
use crate::{install, leveldb, rocksdb};

/// What a build made.
pub(super) enum Made {
    /// Files that become an archive.
    Tree(Tree),
    /// One file, which is an archive already.
    File(PathBuf),
}

/// A build for one platform.
pub(super) struct Build<'a> {
    pub platform: &'static Platform,
    pub profile: &'a str,
}

impl Build<'_> {
    /// Builds a part.
    ///
    /// # Errors
    /// What failed.
    pub(super) fn make(&self, part: Part) -> Result<Made, String> {
        match part {
            Part::Wheel => return self.wheel().map(Made::File),
            Part::Jar => return jar(self.profile).map(Made::File),
            Part::Sources => return Ok(Made::File(Jars::built()?.sources().to_owned())),
            Part::Javadoc => return Ok(Made::File(Jars::built()?.documentation().to_owned())),
            Part::Programs | Part::Libfoldb | Part::Libleveldb | Part::Librocksdb => {}
        }
        let tree = Tree::begin(part, self.platform)?;
        match part {
            Part::Programs => self.programs(&tree)?,
            Part::Libfoldb => self.libfoldb(&tree)?,
            Part::Libleveldb => {
                let built = self.cargo(leveldb::RUST)?;
                let compiler = self.platform.cxx.unwrap_or("c++").to_owned();
                leveldb::make(&tree.directory, compiler, &built, self.linker()?)?;
            }
            _ => {
                let built = self.cargo(rocksdb::RUST)?;
                // Rust's own programs have zig's unwinder too.
                let mut linker = self.linker()?;
                linker.libraries.push("-lunwind".into());
                rocksdb::make(&tree.directory, &linker, &built)?;
            }
        }
        Ok(Made::Tree(tree))
    }

    fn programs(&self, tree: &Tree) -> Result<(), String> {
        for (package, name) in [("foldb-cli", "foldb"), ("db_bench", "db_bench")] {
            let built = self.cargo(&format!("cargo build -p {package} --bin {name}"))?;
            let file = self.platform.program(name);
            tree.add_program(&built.join(&file), &Path::new("bin").join(file))?;
        }
        Ok(())
    }

    fn libfoldb(&self, tree: &Tree) -> Result<(), String> {
        let built = self.cargo("cargo build -p foldb-capi")?;
        if self.platform.has_glibc() {
            return install::copied(&tree.directory, &built);
        }
        let header = root().join("crates/capi/include/foldb.h");
        let mut files = vec![
            File::copied(&header, tree.directory.join("include/foldb.h"))?,
            File::copied(&built.join("libfoldb_capi.a"), tree.directory.join("lib/libfoldb.a"))?,
        ];
        if self.platform.is_windows() {
            for (from, to) in [("foldb_capi.dll", "bin"), ("libfoldb_capi.dll.a", "lib")] {
                files.push(File::copied(&built.join(from), tree.directory.join(to).join(from))?);
            }
        }
        files.iter().try_for_each(File::install)
    }

    /// Runs a command of cargo for the platform. Returns the directory of what it built.
    fn cargo(&self, line: &str) -> Result<PathBuf, String> {
        let Platform { target, .. } = self.platform;
        // zig links against any version of glibc. A static library is linked by its user.
        let step = match line.strip_prefix("cargo build") {
            Some(rest) if self.platform.has_glibc() => {
                let step = with_tools(Step::new("cargo-zigbuild zigbuild"))?;
                step.with(rest.split_whitespace()).with(["--target", &format!("{target}.{GLIBC}")])
            }
            _ => {
                let step = Step::new(line).with(["--target", target]);
                self.platform.machine().map_or(step.clone(), |machine| machine.prepared(step))
            }
        };
        let step = step.with(["--locked", "--profile", self.profile]);
        step.run()?;
        let directory = if self.profile == "dev" { "debug" } else { self.profile };
        Ok(target_directory()?.join(target).join(directory))
    }

    /// Returns zig, which links against the oldest glibc of the release.
    fn linker(&self) -> Result<Linker, String> {
        let target = self.platform.target.replace("-unknown-", "-");
        let words = ["-m", "ziglang", "cc", "-target", &format!("{target}.{GLIBC}")];
        let words = words.map(OsString::from);
        Ok(Linker::of_zig(iter::once(python()?.into()).chain(words).collect()))
    }

    /// Builds the wheel. `python/` is a workspace of its own, with its own profiles.
    fn wheel(&self) -> Result<PathBuf, String> {
        let step = Step::new("python/build --manylinux --locked --release --target");
        step.with([self.platform.target]).run()?;
        only(&root().join("python/dist"), "whl")
    }
}

/// Builds the jar, which holds the libraries of all its platforms, and the two beside it.
fn jar(profile: &str) -> Result<PathBuf, String> {
    // Jars of another commit must not be taken for those of this one, even if the build fails.
    for older in Jars::present()? {
        fs::remove_file(&older).map_err(|error| told("remove", &older, error))?;
    }
    let step = with_tools(Step::new("cargo xtask streams --profile"))?;
    step.with([profile, "build", "--all-platforms"]).run()?;
    Ok(Jars::built()?.classes().to_owned())
}

/// Returns the only file of a directory with this ending.
fn only(directory: &Path, ending: &str) -> Result<PathBuf, String> {
    let entries = fs::read_dir(directory).map_err(|error| told("read", directory, error))?;
    let has_ending = |path: &PathBuf| path.extension().is_some_and(|own| own == ending);
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths.filter(has_ending).collect();
    match (found.pop(), found.len()) {
        (Some(path), 0) => Ok(path),
        _ => Err(format!("'{}' has not exactly one file .{ending}", directory.display())),
    }
}

/// Returns the only entry of a directory.
pub(super) fn only_entry(directory: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(directory).map_err(|error| told("read", directory, error))?;
    let mut found: Vec<PathBuf> = entries.filter_map(Result::ok).map(|own| own.path()).collect();
    match (found.pop(), found.len()) {
        (Some(path), 0) => Ok(path),
        _ => Err(format!("'{}' has not exactly one entry", directory.display())),
    }
}
