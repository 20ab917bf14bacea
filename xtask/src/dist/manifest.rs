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
use crate::dist::platform::{GLIBC, PLATFORMS, Part, Platform};
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
    /// The oldest C and C++ libraries with which it runs.
    needs: String,
    /// How it was tried.
    tried: String,
    file: String,
}

impl Entry {
    /// Looks at a file that was built and tried.
    ///
    /// # Errors
    /// It cannot be read, or needs a newer glibc than a release promises.
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
            Made::Tree(tree) if platform.has_glibc() => needs_of(&tree.directory)?,
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

/// Returns which glibc and which libstdc++ the programs and shared libraries below a directory ask
/// for.
///
/// # Errors
/// They need a newer glibc than a release promises.
fn needs_of(directory: &Path) -> Result<String, String> {
    let mut imports = String::new();
    for part in ["bin", "lib"] {
        let Ok(entries) = fs::read_dir(directory.join(part)) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_file() && path.extension().is_none_or(|ending| ending != "a") {
                imports += &versions_of(&path)?;
            }
        }
    }
    let glibc = newest(&imports, "GLIBC_");
    if glibc > newest(&format!("GLIBC_{GLIBC}"), "GLIBC_") {
        return Err(format!("it needs glibc {}, newer than {GLIBC}", dotted(&glibc)));
    }
    let cxx = newest(&imports, "GLIBCXX_");
    let parts = [("glibc ", glibc), ("GLIBCXX_", cxx)];
    let parts = parts.iter().filter(|(_, version)| !version.is_empty());
    let words: Vec<String> =
        parts.map(|(name, version)| format!("{name}{}", dotted(version))).collect();
    Ok(if words.is_empty() { "-".to_owned() } else { words.join(", ") })
}

/// Returns what readelf prints of the versions of symbols that a file imports.
fn versions_of(file: &Path) -> Result<String, String> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--version-info", "--wide"]).arg(file).current_dir(root());
    let output = readelf.output().map_err(|error| format!("cannot start readelf: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the newest version in a text that stands behind this mark; no numbers if none does.
fn newest(text: &str, mark: &str) -> Vec<u32> {
    let version = |text: &str| -> Vec<u32> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        text[..end].split('.').map_while(|number| number.parse().ok()).collect()
    };
    text.split(mark).skip(1).map(version).max().unwrap_or_default()
}

fn dotted(version: &[u32]) -> String {
    let numbers: Vec<String> = version.iter().map(u32::to_string).collect();
    numbers.join(".")
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
    fn the_newest_symbol_says_what_a_file_needs() {
        let text = "0x0010: Name: GLIBC_2.2.5  Flags: none\n  Name: GLIBC_2.28\n Name: GLIBC_2.9 x";
        assert_eq!(newest(text, "GLIBC_"), [2, 28]);
        assert_eq!(newest(text, "GLIBCXX_"), []);
        let text = "Name: GLIBCXX_3.4.9 Name: GLIBCXX_3.4.22 GLIBC_PRIVATE";
        assert_eq!(newest(text, "GLIBC_"), []);
        assert_eq!(dotted(&newest(text, "GLIBCXX_")), "3.4.22");
    }

    #[test]
    fn a_program_of_this_machine_says_what_it_needs() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("bin")).unwrap();
        fs::copy(std::env::current_exe().unwrap(), directory.path().join("bin/own")).unwrap();
        // Here the machine's own linker made it, so it may be newer than a release may be.
        let needs = needs_of(directory.path()).unwrap_or_else(|refusal| refusal);
        let expected = if cfg!(target_env = "gnu") { "glibc 2." } else { "-" };
        assert!(needs.contains(expected), "{needs}");
    }
}
