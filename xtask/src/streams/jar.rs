//! The built jars, and a check of what they contain.
//!
//! The check reads the libraries themselves: their machine, the versions of glibc that they need,
//! and whether they still have symbols.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shared_library::told;
use crate::step::root;
use crate::streams::licences;
use crate::streams::native::{LIST, OLDEST_GLIBC, PLATFORMS, Platform, is_library};

/// The most bytes of a stripped library: the largest has less than half of it.
const MOST_BYTES: u64 = 12 << 20;

/// Files that the jar of the classes has besides the libraries.
const FILES: [&str; 5] = [
    "META-INF/LICENSE-APACHE",
    "META-INF/LICENSE-MIT",
    licences::FILE,
    LIST,
    "foldb/streams/FoldbStoreSuppliers.class",
];

/// What the jar of the classes says of itself to Maven.
const POM: &str = "META-INF/maven/foldb/foldb-streams/pom.xml";

/// Sections that a stripped library lacks.
const SYMBOLS: [&[u8]; 2] = [b".symtab\0", b".debug_info\0"];

/// The three jars of a build.
pub(crate) struct Jars {
    classes: PathBuf,
    sources: PathBuf,
    documentation: PathBuf,
}

impl Jars {
    /// Returns the jars of the last build.
    ///
    /// # Errors
    /// A jar that is not there.
    pub(crate) fn built() -> Result<Jars, String> {
        let jars = Jars::named()?;
        let missing = jars.paths().into_iter().find(|path| !path.is_file());
        let missing = missing.map(|path| path.display().to_string());
        missing.map_or(Ok(jars), |path| {
            Err(format!("there is no '{path}': run 'cargo xtask streams build' first"))
        })
    }

    /// Returns the paths of those jars that are there, of the last build or an earlier one.
    ///
    /// # Errors
    /// The version cannot be read.
    pub(crate) fn present() -> Result<Vec<PathBuf>, String> {
        let jars = Jars::named()?;
        let present = jars.paths().into_iter().filter(|path| path.is_file());
        Ok(present.map(Path::to_owned).collect())
    }

    fn named() -> Result<Jars, String> {
        let pom = root().join("streams/pom.xml");
        let text = fs::read_to_string(&pom).map_err(|error| told("read", &pom, error))?;
        let version = version_of(&text).ok_or("streams/pom.xml has no version")?;
        let target = root().join("streams/store/target");
        let named = |ending: &str| target.join(format!("foldb-streams-{version}{ending}.jar"));
        Ok(Jars {
            classes: named(""),
            sources: named("-sources"),
            documentation: named("-javadoc"),
        })
    }

    /// Returns the paths of all jars.
    pub(crate) fn paths(&self) -> [&Path; 3] {
        [&self.classes, &self.sources, &self.documentation]
    }

    /// Returns the path of the jar with the classes.
    pub(crate) fn classes(&self) -> &Path {
        &self.classes
    }

    /// Returns the path of the jar with the sources.
    pub(crate) fn sources(&self) -> &Path {
        &self.sources
    }

    /// Returns the path of the jar with the documentation.
    pub(crate) fn documentation(&self) -> &Path {
        &self.documentation
    }

    /// Checks what the jars contain. With `all`, the jar of the classes has the libraries of all
    /// platforms.
    ///
    /// # Errors
    /// The first thing that is missing or wrong.
    pub(crate) fn check(&self, all: bool) -> Result<(), String> {
        has(&self.sources, "foldb/streams/FoldbStoreSuppliers.java")?;
        has(&self.documentation, "foldb/streams/FoldbStoreSuppliers.html")?;
        for file in FILES {
            has(&self.classes, file)?;
        }
        check_pom(&self.classes)?;
        let libraries: Vec<String> =
            listed(&self.classes)?.into_iter().filter(|path| is_library(path)).collect();
        if !all {
            let count = libraries.len();
            return if count == 1 { Ok(()) } else { Err(format!("the jar has {count} libraries")) };
        }
        let unpacked = unpacked(&self.classes, "foldb/native")?;
        let result = PLATFORMS.iter().try_for_each(|platform| {
            has(&self.classes, &platform.library())?;
            check_library(platform, &unpacked.join(platform.library()))
        });
        fs::remove_dir_all(&unpacked).map_err(|error| told("remove", &unpacked, error))?;
        result
    }
}

/// Checks that the POM in a jar stands alone. Maven takes it when a user installs the jar, and no
/// release has a parent for it.
fn check_pom(jar: &Path) -> Result<(), String> {
    let unpacked = unpacked(jar, POM)?;
    let path = unpacked.join(POM);
    let pom = fs::read_to_string(&path).map_err(|error| told("read", &path, error))?;
    fs::remove_dir_all(&unpacked).map_err(|error| told("remove", &unpacked, error))?;
    fault_of_pom(&pom).map_or(Ok(()), |fault| Err(format!("'{POM}' in the jar {fault}")))
}

/// Returns what keeps a POM from standing alone.
fn fault_of_pom(pom: &str) -> Option<&'static str> {
    if pom.contains("<parent>") {
        return Some("has a parent");
    }
    (!pom.contains("<artifactId>kafka-streams</artifactId>")).then_some("lacks kafka-streams")
}

/// Unpacks a part of a jar beside it, and returns the directory.
fn unpacked(jar: &Path, part: &str) -> Result<PathBuf, String> {
    let directory = jar.with_extension("unpacked");
    fs::create_dir_all(&directory).map_err(|error| told("create", &directory, error))?;
    let mut command = Command::new("jar");
    command.arg("-xf").arg(jar).arg(part).current_dir(&directory);
    output_of(&mut command)?;
    Ok(directory)
}

fn has(jar: &Path, file: &str) -> Result<(), String> {
    if listed(jar)?.iter().any(|path| path == file) {
        return Ok(());
    }
    Err(format!("'{}' has no file '{file}'", jar.display()))
}

/// Returns the names of the files in a jar.
fn listed(jar: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new("jar");
    command.arg("-tf").arg(jar);
    Ok(output_of(&mut command)?.lines().map(str::to_owned).collect())
}

fn output_of(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot start 'jar': {error}"))?;
    if !output.status.success() {
        return Err(format!("'jar' failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Checks a library of a platform.
fn check_library(platform: &Platform, path: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|error| told("read", path, error))?;
    faults_of(platform, &bytes).map_or(Ok(()), |fault| Err(format!("{}: {fault}", platform.name)))
}

/// Returns what is wrong with a library.
fn faults_of(platform: &Platform, library: &[u8]) -> Option<String> {
    let machine = library.get(18..20).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    if !library.starts_with(b"\x7fELF") || machine != Some(platform.machine) {
        return Some(format!("machine {machine:?}, not {}", platform.machine));
    }
    if library.len() as u64 > MOST_BYTES {
        return Some(format!("{} bytes, more than {MOST_BYTES}", library.len()));
    }
    if let Some(section) = SYMBOLS.iter().find(|section| contains(library, section)) {
        return Some(format!("not stripped: {}", String::from_utf8_lossy(section)));
    }
    match newest_glibc(library) {
        Some(_) if platform.is_musl => Some("needs glibc".to_owned()),
        None if !platform.is_musl => Some("needs no glibc".to_owned()),
        Some(newest) if newest > OLDEST_GLIBC => Some(format!("needs glibc {newest:?}")),
        _ => None,
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Returns the newest version of glibc's symbols that a library names.
fn newest_glibc(library: &[u8]) -> Option<(u32, u32)> {
    const PREFIX: &[u8] = b"GLIBC_";
    let starts = library.windows(PREFIX.len()).enumerate();
    starts
        .filter(|(_, window)| *window == PREFIX)
        .filter_map(|(at, _)| version_at(&library[at + PREFIX.len()..]))
        .max()
}

/// Reads `2.28` or `2.2.5` before a zero byte. Returns its first two numbers.
fn version_at(bytes: &[u8]) -> Option<(u32, u32)> {
    let end = bytes.iter().take(16).position(|&byte| byte == 0)?;
    let mut numbers = std::str::from_utf8(&bytes[..end]).ok()?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Returns the version of the project in a POM: the first one.
fn version_of(pom: &str) -> Option<&str> {
    Some(pom.split_once("<version>")?.1.split_once("</version>")?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file with the header of a library for x86-64.
    fn library(rest: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x7fELF".to_vec();
        bytes.resize(18, 0);
        bytes.extend([62, 0]);
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn the_newest_glibc_is_found() {
        let names = b"\0GLIBC_2.2.5\0GLIBC_2.28\0GLIBC_2.9\0GLIBC_PRIVATE\0";
        assert_eq!(newest_glibc(names), Some((2, 28)));
        assert_eq!(newest_glibc(b"no names"), None);
    }

    #[test]
    fn each_fault_of_a_library_is_found() {
        let [glibc, aarch64, musl, _] = &PLATFORMS;
        let good = library(b"GLIBC_2.28\0");
        assert_eq!(faults_of(glibc, &good), None);
        assert_eq!(faults_of(musl, &library(b"")), None);
        for (platform, file) in [
            (aarch64, good.clone()),
            (musl, good.clone()),
            (glibc, library(b"")),
            (glibc, library(b"GLIBC_2.34\0")),
            (glibc, library(b"GLIBC_2.28\0.symtab\0")),
            (glibc, library(&vec![0; MOST_BYTES as usize])),
        ] {
            assert!(faults_of(platform, &file).is_some(), "{}", platform.name);
        }
    }

    /// The jar named a parent that users do not have, so Maven 3.9 refused the jar.
    #[test]
    fn a_pom_stands_alone() {
        let alone = "<dependency><artifactId>kafka-streams</artifactId></dependency>";
        assert_eq!(fault_of_pom(alone), None);
        assert!(fault_of_pom(&format!("<parent></parent>{alone}")).is_some());
        assert!(fault_of_pom("<project/>").is_some());
    }

    #[test]
    fn the_first_version_of_a_pom_is_the_project_own() {
        let pom = "<project><version>0.1.0</version><parent><version>2</version></parent>";
        assert_eq!(version_of(pom), Some("0.1.0"));
    }
}
