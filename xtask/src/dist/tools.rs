//! The programs that a release needs: zig and its cargo command from PyPI, emulators and compilers.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::dist::platform::{Part, Platform};
use crate::emulated::needs;
use crate::prefix::target_directory;
use crate::step::{Step, is_there};
use crate::streams::native;

/// What is installed from PyPI. zig links against any version of glibc.
const FROM_PYPI: &str = "ziglang cargo-zigbuild";

/// Installs what a platform needs, where this machine allows it.
///
/// # Errors
/// What is missing.
pub(super) fn install(platform: &Platform) -> Result<(), String> {
    if let Some(machine) = platform.machine() {
        needs::install(machine)?;
    }
    needs::packages(platform.needs)?;
    if platform.parts.contains(&Part::Jar) {
        native::PLATFORMS.iter().try_for_each(|own| needs::standard_library(own.target))?;
    }
    let tools = directory()?;
    if tools.join("bin/cargo-zigbuild").exists() {
        return Ok(());
    }
    if !is_there("python3") {
        return Err("there is no python3, with which zig is installed".to_owned());
    }
    let told = |_| format!("'pip install {FROM_PYPI}' failed, see above");
    Step::new("python3 -m venv").with([&tools]).run().map_err(told)?;
    let pip = Step::new("").with([tools.join("bin/pip")]);
    pip.with(["install", "-q"]).with(FROM_PYPI.split(' ')).run().map_err(told)
}

/// Returns a step that finds these programs.
pub(super) fn with_tools(step: Step) -> Result<Step, String> {
    let mut path = directory()?.join("bin").into_os_string();
    if let Some(present) = std::env::var_os("PATH") {
        path.push(OsString::from(":"));
        path.push(present);
    }
    Ok(step.set("PATH", path))
}

/// Returns the Python that has zig as a module.
pub(super) fn python() -> Result<PathBuf, String> {
    Ok(directory()?.join("bin/python3"))
}

fn directory() -> Result<PathBuf, String> {
    Ok(target_directory()?.join("dist-tools"))
}
