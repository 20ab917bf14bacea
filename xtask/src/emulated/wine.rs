//! A prefix of Wine for the tests, with the library that Debian's Wine lacks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::prefix::target_directory;
use crate::shared_library::{run_shown, told};
use crate::step::{Step, root};

/// Where Debian's package puts the program.
pub(super) const PROGRAM: &str = "/usr/lib/wine/wine64";

/// The C compiler for Windows.
pub(super) const COMPILER: &str = "x86_64-w64-mingw32-gcc";

/// The server behind the programs of a prefix.
const SERVER: &str = "/usr/lib/wine/wineserver";

/// Makes the prefix, unless it is there, and starts its server.
///
/// # Errors
/// Wine cannot be started, or the library cannot be compiled.
pub(super) fn prepare() -> Result<(), String> {
    let directory = prefix()?;
    make(&directory)?;
    // It ends with its last program, and a program that starts just then fails. So it stays for ten
    // minutes more. A server that already runs is as good.
    let mut server = Command::new(SERVER);
    // A caller that reads this program's output must not wait for the server's end.
    server.stdout(Stdio::null()).stderr(Stdio::null());
    let _already_runs = server.arg("-p600").env("WINEPREFIX", &directory).status();
    Ok(())
}

fn make(directory: &Path) -> Result<(), String> {
    let library = directory.join("drive_c/windows/system32/bcryptprimitives.dll");
    if library.exists() {
        return Ok(());
    }
    fs::create_dir_all(directory).map_err(|error| told("create", directory, error))?;
    let mut wine = Command::new(PROGRAM);
    wine.arg("wineboot").env("WINEPREFIX", directory).env("WINEDEBUG", "-all");
    run_shown(&mut wine)?;
    let source = root().join("xtask/src/emulated/bcryptprimitives.c");
    let mut compiler = Command::new(COMPILER);
    compiler.args(["-O2", "-shared", "-o"]).arg(&library).arg(source).arg("-ladvapi32");
    run_shown(&mut compiler)
}

/// Returns a step that runs programs of Windows.
pub(super) fn set(step: Step) -> Step {
    let step = step.set("WINEDEBUG", "-all");
    // Without the directory nothing else of cargo runs either.
    match prefix() {
        Ok(prefix) => step.set("WINEPREFIX", prefix),
        Err(_) => step,
    }
}

/// Returns the directory of the prefix.
fn prefix() -> Result<PathBuf, String> {
    Ok(target_directory()?.join("wine"))
}
