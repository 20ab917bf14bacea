//! The native libraries of the jar, one for each platform.
//!
//! A library for this platform needs nothing but cargo. Those for all platforms are linked by zig,
//! which has the start files of each C library: so the glibc ones run from glibc 2.28 on, wherever
//! they are built.

use std::fs;
use std::path::{Path, PathBuf};

use crate::platforms::is_installed;
use crate::prefix::{File, target_directory};
use crate::shared_library::told;
use crate::step::{Step, succeeds};
use crate::streams::licences;

/// The oldest glibc that the libraries of all platforms need: that of Debian 10 and RHEL 8.
pub(crate) const OLDEST_GLIBC: (u32, u32) = (2, 28);

/// Where the jar has the libraries.
pub(crate) const NATIVE: &str = "foldb/native";

/// The file that lists the platforms of the libraries in the jar, one a line.
pub(crate) const LIST: &str = "foldb/native/platforms.txt";

/// A library of one type only is optimised across crates: the rlib that tests need would forbid it.
const CRATE: &str = "-p foldb-jni --lib --crate-type cdylib";

/// A platform whose library can be built on any other.
pub(crate) struct Platform {
    /// The name of its directory in the jar.
    pub name: &'static str,
    pub target: &'static str,
    /// The machine number in the header of an ELF file.
    pub machine: u16,
    pub is_musl: bool,
}

/// The platforms of a published jar.
pub(crate) const PLATFORMS: [Platform; 4] = [
    Platform::linux("linux-x86_64", "x86_64-unknown-linux-gnu", 62, false),
    Platform::linux("linux-aarch64", "aarch64-unknown-linux-gnu", 183, false),
    Platform::linux("linux-x86_64-musl", "x86_64-unknown-linux-musl", 62, true),
    Platform::linux("linux-aarch64-musl", "aarch64-unknown-linux-musl", 183, true),
];

impl Platform {
    const fn linux(
        name: &'static str,
        target: &'static str,
        machine: u16,
        is_musl: bool,
    ) -> Platform {
        Platform { name, target, machine, is_musl }
    }

    /// Returns the library's name in the jar.
    pub(crate) fn library(&self) -> String {
        format!("{NATIVE}/{}/libfoldb_jni.so", self.name)
    }

    /// Returns the step that builds the library.
    fn build(&self, profile: &str) -> Step {
        let (major, minor) = OLDEST_GLIBC;
        let target = match self.is_musl {
            false => format!("{}.{major}.{minor}", self.target),
            true => self.target.to_owned(),
        };
        let step = Step::new("cargo-zigbuild rustc")
            .with(CRATE.split(' '))
            .with(["--profile", profile, "--target", &target, "--"])
            .with(["-C", "strip=symbols"]);
        // By default Rust links musl statically, and then makes no shared library.
        if self.is_musl { step.set("RUSTFLAGS", "-C target-feature=-crt-static") } else { step }
    }
}

/// Builds the library for this platform, and returns the directory that Maven packs.
///
/// # Errors
/// A build that fails, or a file that cannot be written.
pub(crate) fn for_this_platform(profile: &str) -> Result<PathBuf, String> {
    let (name, file) = this_platform();
    Step::new("cargo rustc")
        .with(CRATE.split(' '))
        .with(["--profile", profile, "--", "-C", "strip=symbols"])
        .run()?;
    let built = target_directory()?.join(directory_of(profile)).join(file);
    pack(&[(name, built)])
}

/// Builds the libraries for all platforms, and returns the directory that Maven packs.
///
/// # Errors
/// A tool or a standard library that is missing, a build that fails, or a file that cannot be
/// written.
pub(crate) fn for_all_platforms(profile: &str) -> Result<PathBuf, String> {
    let missing = missing();
    if !missing.is_empty() {
        return Err(format!("the libraries for all platforms need\n  {}", missing.join("\n  ")));
    }
    let target = target_directory()?;
    let mut built = Vec::new();
    for platform in &PLATFORMS {
        platform.build(profile).run()?;
        let directory = target.join(platform.target).join(directory_of(profile));
        built.push((platform.name.to_owned(), directory.join("libfoldb_jni.so")));
    }
    pack(&built)
}

/// Returns what this machine lacks to build for all platforms, each with what installs it.
fn missing() -> Vec<String> {
    let mut missing = Vec::new();
    if !succeeds("cargo-zigbuild", &["--version"]) {
        missing.push("cargo-zigbuild: 'pip install cargo-zigbuild ziglang'".to_owned());
    } else if !succeeds("zig", &["version"]) && !has_zig_of_python() {
        missing.push("zig: 'pip install ziglang'".to_owned());
    }
    let targets = PLATFORMS.iter().map(|platform| platform.target);
    missing.extend(
        targets
            .filter(|target| !is_installed(target))
            .map(|target| format!("Rust's standard library: 'rustup target add {target}'")),
    );
    missing
}

fn has_zig_of_python() -> bool {
    ["python3", "python"].iter().any(|python| succeeds(python, &["-m", "ziglang", "version"]))
}

/// Returns the name of this platform in the jar, and the library as its system names it.
fn this_platform() -> (String, &'static str) {
    let file = if cfg!(target_os = "macos") {
        "libfoldb_jni.dylib"
    } else if cfg!(target_os = "windows") {
        "foldb_jni.dll"
    } else {
        "libfoldb_jni.so"
    };
    let libc = if cfg!(target_env = "musl") { "-musl" } else { "" };
    (format!("{}-{}{libc}", std::env::consts::OS, std::env::consts::ARCH), file)
}

fn directory_of(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

/// Copies libraries to where Maven finds them, with their list and their licences. Libraries of an
/// earlier build go.
fn pack(built: &[(String, PathBuf)]) -> Result<PathBuf, String> {
    let packed = target_directory()?.join("streams");
    let native = packed.join(NATIVE);
    if native.exists() {
        fs::remove_dir_all(&native).map_err(|error| told("remove", &native, error))?;
    }
    for (name, library) in built {
        let file = library.file_name().unwrap_or(library.as_os_str());
        File::copied(library, native.join(name).join(file))?.install_silently()?;
    }
    let names: String = built.iter().map(|(name, _)| format!("{name}\n")).collect();
    File::new(names.as_bytes(), packed.join(LIST)).install_silently()?;
    let licences = licences::of_dependencies()?;
    let notices = packed.join(licences::FILE);
    File::new(licences.as_bytes(), notices).install_silently()?;
    Ok(packed)
}

/// Whether a path in the jar is a library.
pub(crate) fn is_library(path: &str) -> bool {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    path.starts_with(NATIVE) && matches!(ending, Some("so" | "dylib" | "dll"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_with_musl_is_a_shared_one() {
        let shown = PLATFORMS[3].build("release").to_string();
        assert!(shown.starts_with("RUSTFLAGS=\"-C target-feature=-crt-static\" cargo-zigbuild"));
        assert!(shown.contains("--target aarch64-unknown-linux-musl --"), "{shown}");
    }

    #[test]
    fn a_library_with_glibc_names_the_oldest_one() {
        let shown = PLATFORMS[0].build("release").to_string();
        assert!(shown.contains("--target x86_64-unknown-linux-gnu.2.28 --"), "{shown}");
        assert!(!shown.contains("RUSTFLAGS"), "{shown}");
    }

    #[test]
    fn only_libraries_are_libraries() {
        assert!(is_library(&PLATFORMS[2].library()));
        assert!(!is_library(LIST) && !is_library("foldb/streams/engine/Native.class"));
    }
}
