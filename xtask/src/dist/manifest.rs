//! The lists of a release: `SHA256SUMS` for `sha256sum -c`, and `MANIFEST.tsv` with all that is
//! known of each file. Tabs separate its columns.
//!
//! ```text
//!  name  version  target  commit  size  sha256  needs  tried  file     a line for each file
//!  # not in this release: NAME for TARGET: WHY                          at the end
//! ```

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::dist::build::Made;
use crate::dist::platform::{PLATFORMS, Part, Platform};
use crate::shared_library::told;
use crate::step::{Step, root};
use crate::version;

/// The name of the list.
pub(super) const NAME: &str = "MANIFEST.tsv";

const CHECKSUMS: &str = "SHA256SUMS";

const HEAD: &str = "name\tversion\ttarget\tcommit\tsize\tsha256\tneeds\ttried\tfile\n";

/// The commit that a release is built from.
pub(super) struct Commit {
    /// Its hash, with `-dirty` if files differ from it.
    name: String,
    /// Its time in seconds since 1970.
    pub time: u64,
}

impl Commit {
    /// Asks git.
    ///
    /// # Errors
    /// git gives no answer.
    pub(super) fn present() -> Result<Commit, String> {
        let git = |line: &str| Step::new(line).answer("").map(|text| text.trim().to_owned());
        let name = git("git describe --always --dirty --abbrev=40 --exclude=*")?;
        let time = git("git log -1 --format=%ct")?;
        let time = time.parse().map_err(|_| format!("git gives no time of commit: {time}"))?;
        Ok(Commit { name, time })
    }
}

/// A file of the release.
pub(super) struct Entry {
    part: Part,
    target: &'static str,
    commit: String,
    size: u64,
    checksum: String,
    /// The oldest C library with which it runs.
    needs: String,
    /// How it was tried.
    tried: String,
    file: String,
}

impl Entry {
    /// Looks at a file that was built and tried.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn of(
        file: &Path,
        part: Part,
        platform: &Platform,
        commit: &Commit,
        made: &Made,
        tried: String,
    ) -> Result<Entry, String> {
        let metadata = fs::metadata(file).map_err(|error| told("read", file, error))?;
        let printed = Step::new("sha256sum --").with([file]).answer("")?;
        let checksum = printed.split_whitespace().next().unwrap_or_default().to_owned();
        let needs = match made {
            Made::Tree(tree) if platform.has_glibc() => oldest_glibc(&tree.directory)?,
            // zig links wheels against the glibc of their tag, which is in the file's name.
            Made::File(_) | Made::Tree(_) => "-".to_owned(),
        };
        Ok(Entry {
            part,
            target: platform.target,
            commit: commit.name.clone(),
            size: metadata.len(),
            checksum,
            needs,
            tried,
            file: file.file_name().unwrap_or_default().display().to_string(),
        })
    }

    fn line(&self) -> String {
        let Entry { target, commit, size, checksum, needs, tried, file, .. } = self;
        let (name, version) = (self.part.name(), version::PRESENT);
        [name, version, target, commit, &size.to_string(), checksum, needs, tried, file].join("\t")
            + "\n"
    }
}

/// What a release lacks.
pub(super) struct Missing {
    target: String,
    what: String,
    why: String,
    /// Whether the command line left it out.
    is_wanted: bool,
}

impl Missing {
    pub(super) fn new(target: &str, what: &str, why: &str) -> Missing {
        let owned = |text: &str| text.replace('\n', " ");
        Missing { target: owned(target), what: owned(what), why: owned(why), is_wanted: false }
    }

    /// A platform that the command line left out.
    pub(super) fn skipped(target: &str) -> Missing {
        Missing { is_wanted: true, ..Missing::new(target, "everything", "it was skipped") }
    }

    /// Returns its name if the command fails for it.
    pub(super) fn failure(&self) -> Option<String> {
        (!self.is_wanted).then(|| format!("{} for {}", self.what, self.target))
    }
}

/// Writes an empty list.
///
/// # Errors
/// It cannot be written.
pub(super) fn begin(directory: &Path) -> Result<(), String> {
    write(directory, &[], &[])
}

/// Writes both lists.
///
/// # Errors
/// They cannot be written.
pub(super) fn write(
    directory: &Path,
    entries: &[Entry],
    missing: &[Missing],
) -> Result<(), String> {
    let checksums: String =
        entries.iter().map(|entry| format!("{}  {}\n", entry.checksum, entry.file)).collect();
    for (name, text) in [(NAME, text(entries, missing)), (CHECKSUMS, checksums)] {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| told("write", &path, error))?;
    }
    Ok(())
}

fn text(entries: &[Entry], missing: &[Missing]) -> String {
    let lines: String = entries.iter().map(Entry::line).collect();
    let never = PLATFORMS.iter().filter(|platform| !platform.lacks.is_empty());
    let never: String = never
        .map(|platform| {
            format!(
                "# not in this release: other parts for {}: {}\n",
                platform.target, platform.lacks
            )
        })
        .collect();
    let missing: String = missing
        .iter()
        .map(|own| format!("# not in this release: {} for {}: {}\n", own.what, own.target, own.why))
        .collect();
    format!("{HEAD}{lines}{never}{missing}")
}

/// Returns the newest version of glibc that a program or a shared library below a directory asks
/// for.
fn oldest_glibc(directory: &Path) -> Result<String, String> {
    let mut versions = Vec::new();
    for part in ["bin", "lib"] {
        let Ok(entries) = fs::read_dir(directory.join(part)) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_file() && path.extension().is_none_or(|ending| ending != "a") {
                versions.extend(glibc_of(&path)?);
            }
        }
    }
    let newest = versions.into_iter().max();
    Ok(newest.map_or("-".to_owned(), |(major, minor)| format!("glibc {major}.{minor}")))
}

/// Returns the versions of glibc whose symbols a file imports.
fn glibc_of(file: &Path) -> Result<Vec<(u32, u32)>, String> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--version-info", "--wide"]).arg(file).current_dir(root());
    let output = readelf.output().map_err(|error| format!("cannot start readelf: {error}"))?;
    Ok(versions_in(&String::from_utf8_lossy(&output.stdout)))
}

fn versions_in(text: &str) -> Vec<(u32, u32)> {
    let number = |text: &str| {
        let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u32>().ok()
    };
    let version = |text: &str| {
        let (major, rest) = text.split_once('.')?;
        Some((number(major)?, number(rest)?))
    };
    text.split("GLIBC_").skip(1).filter_map(version).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            part: Part::Libfoldb,
            target: "x86_64-unknown-linux-gnu",
            commit: "abc".to_owned(),
            size: 12,
            checksum: "ff00".to_owned(),
            needs: "glibc 2.28".to_owned(),
            tried: "counter.c".to_owned(),
            file: "libfoldb.tar.gz".to_owned(),
        }
    }

    #[test]
    fn the_manifest_has_a_line_for_each_file_and_ends_with_what_is_missing() {
        let text = text(&[entry()], &[Missing::new("a-b", "wheel", "there is no\nzig")]);
        let version = version::PRESENT;
        let expected = format!(
            "libfoldb\t{version}\tx86_64-unknown-linux-gnu\tabc\t12\tff00\tglibc 2.28\tcounter.c\t\
             libfoldb.tar.gz\n"
        );
        assert_eq!(text.lines().nth(1).unwrap().to_owned() + "\n", expected);
        assert!(
            text.ends_with("# not in this release: wheel for a-b: there is no zig\n"),
            "{text}"
        );
        assert_eq!(HEAD.matches('\t').count(), expected.matches('\t').count());
    }

    #[test]
    fn the_newest_symbol_says_which_glibc_is_needed() {
        let text = "0x0010: Name: GLIBC_2.2.5  Flags: none\n  Name: GLIBC_2.28\n Name: GLIBC_2.9 x";
        assert_eq!(versions_in(text), [(2, 2), (2, 28), (2, 9)]);
        assert_eq!(versions_in("Name: GLIBCXX_3.4.30 GLIBC_PRIVATE"), []);
    }
}
