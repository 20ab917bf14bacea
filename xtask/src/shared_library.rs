//! A shared library that contains a static one of Rust, and exports what a version script lists.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::prefix::target_directory;

/// What calls the linker.
pub(crate) struct Linker {
    /// A compiler with its first arguments.
    pub command: Vec<OsString>,
    /// Binds calls inside the library to its own functions.
    pub binds: &'static str,
    /// Libraries that the compiler does not add by itself: paths, or options such as `-lunwind`.
    pub libraries: Vec<OsString>,
}

impl Linker {
    /// A compiler of this machine. The library needs the glibc of the machine.
    pub(crate) fn of_machine(compiler: &str) -> Linker {
        Linker {
            command: vec![compiler.into()],
            binds: "-Wl,-Bsymbolic-functions",
            libraries: Vec::new(),
        }
    }

    /// zig, whose target names the oldest glibc with which the library runs.
    pub(crate) fn of_zig(command: Vec<OsString>) -> Linker {
        // zig refuses `-Bsymbolic-functions`. This one also binds data, of which only vtables and
        // typeinfo are exported: they are compared by name.
        Linker { command, binds: "-Wl,-Bsymbolic", libraries: Vec::new() }
    }
}

/// What a shared library is linked from.
pub(crate) struct SharedLibrary<'a> {
    pub linker: &'a Linker,
    pub flags: &'a [String],
    /// Objects beside those of Rust.
    pub objects: &'a [PathBuf],
    /// The static library of Rust. All of it is linked.
    pub rust: &'a Path,
    /// The name under which the system's loader finds the library.
    pub soname: &'a str,
    /// The version script.
    pub exports: &'a Path,
    /// Whether the library keeps the names of its inner functions.
    pub keeps_symbols: bool,
}

impl SharedLibrary<'_> {
    /// Links the library as the file `to`.
    ///
    /// # Errors
    /// The linker fails; also for a name that nothing defines.
    pub(crate) fn link(&self, to: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.linker.command[0]);
        command.args(&self.linker.command[1..]);
        command.args(self.flags).arg("-shared").arg("-o").arg(to);
        command.arg(format!("-Wl,-soname,{}", self.soname));
        command.arg(format!("-Wl,--version-script,{}", self.exports.display()));
        // Calls inside the library stay inside, also if the program loads libfoldb too.
        command.args([self.linker.binds, "-Wl,--gc-sections"]).args(self.objects);
        command.arg("-Wl,--whole-archive").arg(self.rust).arg("-Wl,--no-whole-archive");
        command.args(&self.linker.libraries).args(["-lpthread", "-ldl", "-lm"]);
        // The symbols of a release are six times as large as the library. A build with assertions
        // or a sanitizer keeps them for its backtraces.
        if !self.keeps_symbols {
            command.arg("-s");
        }
        // A name that no source defines fails here. The runtime of a sanitizer is in the program.
        if !self.flags.iter().any(|flag| flag.starts_with("-fsanitize")) {
            command.arg("-Wl,-z,defs");
        }
        run_shown(&mut command)
    }
}

/// Makes a directory below cargo's for what is built here. It stays locked while the returned file
/// lives: tests may build at the same time.
///
/// # Errors
/// The directory cannot be made or locked.
pub(crate) fn locked_directory(name: &str) -> Result<(PathBuf, fs::File), String> {
    let directory = target_directory()?.join(name);
    fs::create_dir_all(&directory).map_err(|error| told("create", &directory, error))?;
    let lock = directory.join("lock");
    let lock = fs::File::create(&lock)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| told("lock", &lock, error))?;
    Ok((directory, lock))
}

/// Runs a program, which prints to the terminal.
///
/// # Errors
/// The program cannot be started, or it fails.
pub(crate) fn run_shown(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
            Err(format!("'{program} {}' failed: {status}", words.join(" ")))
        }
        Err(error) => Err(format!("'{program}' cannot be started: {error}")),
    }
}

/// Returns the message about a path with which something cannot be done.
pub(crate) fn told(what: &str, path: &Path, error: impl std::fmt::Display) -> String {
    format!("cannot {what} '{}': {error}", path.display())
}
