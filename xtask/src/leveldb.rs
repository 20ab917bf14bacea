//! `cargo xtask leveldb`: `libleveldb`, LevelDB's interface over the engine, from the Rust and the
//! C++ sources of `compat/leveldb`.
//!
//! The shared library contains everything: the engine, the C++ classes, and the names of both
//! `foldb.h` and LevelDB's headers. Objects of the C++ sources stay in the target directory. A
//! second run compiles those whose source, or any header, is newer.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use crate::arguments::Leveldb;
use crate::prefix::{File, build, install_link};
use crate::shared_library::{Linker, SharedLibrary, locked_directory, run_shown, told};
use crate::step::{is_there, root};

/// The version of LevelDB whose interface the library has.
const VERSION: &str = "1.23.0";

/// The name under which the system's loader finds the library.
const SONAME: &str = "libleveldb.so.1";

/// The same name in binaries that are linked to Debian's package.
const SONAME_OF_DEBIAN: &str = "libleveldb.so.1d";

/// Builds the Rust half. A library of one type only is optimised across crates: the rlib that tests
/// need would forbid it.
pub(crate) const RUST: &str = "cargo rustc -p foldb-leveldb --lib --crate-type staticlib";

/// The runtime of the C++ compiler, which a linker of another one does not add. Programs have it
/// too: strings and exceptions pass between them and the library.
const RUNTIME: [&str; 2] = ["libstdc++.so", "libgcc_s.so.1"];

/// Compilers that run at the same time.
const JOBS: usize = 2;

/// What a static archive without members consists of.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";

/// Builds the library and installs it below the prefix.
///
/// # Errors
/// A system other than Linux, no C++ compiler, a source that does not compile, or a file that
/// cannot be written.
pub(crate) fn run(own: &Leveldb) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("leveldb knows Linux only".to_owned());
    }
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    if !is_there(&compiler) {
        return Err(format!(
            "there is no C++ compiler '{compiler}'; install g++ or clang, or name one in CXX"
        ));
    }
    let (built, asserts) = match &own.from {
        Some(directory) => (directory.clone(), true),
        None => (build(RUST, &own.profile)?, own.profile == "dev"),
    };
    let unit = Unit::new(compiler, own.sanitize.as_deref(), asserts)?;
    let linker = Linker::of_machine(&unit.compiler);
    unit.install(&own.prefix, &built, &linker, &unit.flags)
}

/// Compiles C++ for a release, and installs the library below the prefix. Rust's half was built
/// into the directory `built`. The linker is one for older systems than the compiler's.
///
/// # Errors
/// A source that does not compile, or a file that cannot be written.
pub(crate) fn make(
    prefix: &Path,
    compiler: String,
    built: &Path,
    mut linker: Linker,
) -> Result<(), String> {
    let unit = Unit::new(compiler, None, false)?;
    for name in RUNTIME {
        let file = unit.own_file(name);
        let file = file.ok_or_else(|| format!("'{}' has no {name}", unit.compiler))?;
        linker.libraries.push(file.into());
    }
    linker.libraries.push(unit.older_systems()?.into());
    unit.install(prefix, built, &linker, &[])
}

/// The C++ sources, their compiler, and the directory of their objects.
struct Unit {
    compiler: String,
    flags: Vec<String>,
    directory: PathBuf,
    /// Whether the shared library keeps the names of its inner functions.
    keeps_symbols: bool,
    /// The directory stays locked while the unit lives: tests may build at the same time.
    _lock: fs::File,
}

impl Unit {
    fn new(compiler: String, sanitize: Option<&str>, asserts: bool) -> Result<Unit, String> {
        let own = root().join("compat/leveldb");
        let include = |path: PathBuf| format!("-I{}", path.display());
        let mut flags: Vec<String> = ["-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden"]
            .into_iter()
            .chain(["-ffunction-sections", "-fdata-sections", "-Wall", "-Wextra", "-pthread"])
            .chain(["-DLEVELDB_SHARED_LIBRARY", "-DLEVELDB_COMPILE_LIBRARY"])
            .map(str::to_owned)
            .collect();
        flags.push(include(own.join("include")));
        flags.push(include(own.join("cpp")));
        flags.push(include(root().join("crates/capi/include")));
        if !asserts {
            flags.push("-DNDEBUG".to_owned());
        }
        if let Some(names) = sanitize {
            flags.extend([format!("-fsanitize={names}"), "-g".to_owned()]);
        }
        // Objects of other flags have another directory.
        let name: String =
            [sanitize.unwrap_or("plain"), if asserts { "asserts" } else { "ndebug" }]
                .join("-")
                .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let (directory, lock) = locked_directory(&format!("leveldb/{name}"))?;
        let keeps_symbols = asserts || sanitize.is_some();
        let unit = Unit { compiler, flags, directory, keeps_symbols, _lock: lock };
        unit.forget_other_flags()?;
        Ok(unit)
    }

    /// Compiles, links and installs below the prefix.
    fn install(
        &self,
        prefix: &Path,
        built: &Path,
        linker: &Linker,
        flags: &[String],
    ) -> Result<(), String> {
        let rust = built.join("libfoldb_leveldb.a");
        let rust = rust.canonicalize().map_err(|error| told("read", &rust, error))?;
        let objects = self.compile()?;
        let shared = self.link_shared(&objects, &rust, linker, flags)?;
        let archive = self.link_static(&objects, &rust)?;
        install(prefix, &shared, &archive)
    }

    /// Removes the objects if other flags or another compiler made them.
    fn forget_other_flags(&self) -> Result<(), String> {
        let path = self.directory.join("flags");
        let flags = format!("{} {}\n", self.compiler, self.flags.join(" "));
        if fs::read_to_string(&path).is_ok_and(|present| present == flags) {
            return Ok(());
        }
        for object in with_ending(&self.directory, "o")? {
            fs::remove_file(&object).map_err(|error| told("remove", &object, error))?;
        }
        fs::write(&path, flags).map_err(|error| told("write", &path, error))
    }

    /// Compiles the sources that are newer than their objects. Returns all objects.
    fn compile(&self) -> Result<Vec<PathBuf>, String> {
        let own = root().join("compat/leveldb");
        let sources = with_ending(&own.join("cpp"), "cc")?;
        let mut headers = with_ending(&own.join("include"), "h")?;
        headers.extend(with_ending(&own.join("cpp"), "h")?);
        headers.push(root().join("crates/capi/include/foldb.h"));
        let newest = headers.iter().map(|header| changed(header)).max().flatten();
        let jobs: Vec<(PathBuf, PathBuf)> = sources
            .into_iter()
            .map(|source| {
                // Sources in different directories may have the same name.
                let name = source.strip_prefix(own.join("cpp")).unwrap_or(&source);
                let name = name.with_extension("o").display().to_string().replace('/', "_");
                let object = self.directory.join(name);
                (source, object)
            })
            .collect();
        let stale: Vec<_> = jobs
            .iter()
            .filter(|(source, object)| changed(object) <= changed(source).max(newest))
            .collect();
        let next = AtomicUsize::new(0);
        let work = || -> Result<(), String> {
            while let Some((source, object)) = stale.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut command = Command::new(&self.compiler);
                command.args(&self.flags).arg("-c").arg(source).arg("-o").arg(object);
                run_shown(&mut command)?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..JOBS).map(|_| scope.spawn(work)).collect();
            let results = threads.into_iter().map(|thread| thread.join().expect("no panic"));
            results.collect::<Vec<_>>().into_iter().collect::<Result<(), String>>()
        })?;
        Ok(jobs.into_iter().map(|(_, object)| object).collect())
    }

    /// Links the shared library. Returns its path.
    fn link_shared(
        &self,
        objects: &[PathBuf],
        rust: &Path,
        linker: &Linker,
        flags: &[String],
    ) -> Result<PathBuf, String> {
        let library = self.directory.join(SONAME);
        let shared = SharedLibrary {
            linker,
            flags,
            objects,
            rust,
            soname: SONAME,
            exports: &root().join("compat/leveldb/install/exports.map"),
            keeps_symbols: self.keeps_symbols,
        };
        shared.link(&library)?;
        Ok(library)
    }

    /// Compiles what older systems lack. Returns the object, which the static library must not
    /// have: a program's own runtime may define the same names.
    fn older_systems(&self) -> Result<PathBuf, String> {
        let source = root().join("compat/leveldb/install/older_systems.cc");
        let object = self.directory.join("older_systems.o");
        let mut command = Command::new(&self.compiler);
        run_shown(command.args(&self.flags).arg("-c").arg(source).arg("-o").arg(&object))?;
        Ok(object)
    }

    /// Returns the path of a file of the compiler, if it has this file.
    fn own_file(&self, name: &str) -> Option<PathBuf> {
        let asked = Command::new(&self.compiler).arg(format!("-print-file-name={name}")).output();
        // A compiler without the file prints the name alone.
        let path = PathBuf::from(String::from_utf8_lossy(&asked.ok()?.stdout).trim());
        path.is_absolute().then_some(path)
    }

    /// Makes the static library: that of Rust with the objects of C++. Returns its path.
    fn link_static(&self, objects: &[PathBuf], rust: &Path) -> Result<PathBuf, String> {
        let archive = self.directory.join("libleveldb.a");
        fs::copy(rust, &archive).map_err(|error| told("write", &archive, error))?;
        // The tools of another platform's compiler have names with the same beginning.
        let platform = self.compiler.strip_suffix("-g++").map(|own| format!("{own}-"));
        let mut command = Command::new(platform.unwrap_or_default() + "ar");
        // The plug-ins that ar finds by itself may read the bitcode in Rust's objects instead of
        // their code, and then leave their names out of the index. The compiler's own does not.
        if let Some(plugin) = self.own_file("liblto_plugin.so") {
            command.arg("--plugin").arg(plugin);
        }
        run_shown(command.arg("rcs").arg(&archive).args(objects))?;
        let [before, after] = [rust, archive.as_path()].map(names_in_index);
        if after? < before? {
            return Err(format!("'ar' made '{}' without all names of Rust", archive.display()));
        }
        Ok(archive)
    }
}

/// Returns how many names the index of a static library has. The index is its first member: after
/// the 8 bytes that begin the library come a header of 60 bytes, and the number of names.
fn names_in_index(archive: &Path) -> Result<u32, String> {
    let mut begin = [0; 72];
    fs::File::open(archive)
        .and_then(|mut file| file.read_exact(&mut begin))
        .map_err(|error| told("read", archive, error))?;
    match begin.split_at(68) {
        (header, count) if header.starts_with(b"!<arch>\n/ ") => {
            Ok(u32::from_be_bytes(count.try_into().expect("four bytes")))
        }
        _ => Err(format!("'{}' is no static library with an index", archive.display())),
    }
}

/// Returns when a file changed last, or `None` if it is not there.
fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Returns the files below a directory whose names end in `.ENDING`, sorted.
fn with_ending(directory: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(&directory).map_err(|error| told("read", &directory, error))?;
        for entry in entries {
            let path = entry.map_err(|error| told("read", &directory, error))?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|own| own == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn install(prefix: &Path, shared: &Path, archive: &Path) -> Result<(), String> {
    let own = root().join("compat/leveldb");
    let lib = prefix.join("lib");
    let mut files = vec![
        File::copied(shared, lib.join(SONAME))?,
        File::copied(archive, lib.join("libleveldb.a"))?,
        // Programs that link with -lmemenv find its functions in libleveldb.
        File::new(EMPTY_ARCHIVE, lib.join("libmemenv.a")),
        File::copied(&root().join("crates/capi/include/foldb.h"), prefix.join("include/foldb.h"))?,
    ];
    for header in with_ending(&own.join("include"), "h")? {
        let to = header.strip_prefix(&own).unwrap_or(&header);
        files.push(File::copied(&header, prefix.join(to))?);
    }
    for (from, to) in [
        ("leveldb.pc", "pkgconfig"),
        ("leveldbConfig.cmake", "cmake/leveldb"),
        ("leveldbConfigVersion.cmake", "cmake/leveldb"),
    ] {
        let template = own.join("install").join(from);
        files.push(File::filled(&template, lib.join(to).join(from), VERSION)?);
    }
    for file in files {
        file.install()?;
    }
    for name in ["libleveldb.so", SONAME_OF_DEBIAN] {
        install_link(&lib.join(name), SONAME)?;
    }
    Ok(())
}
