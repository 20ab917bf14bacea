//! Installs what a platform's tests need, where this machine allows it.

use std::path::Path;

use crate::emulated::machine::{Machine, Starts};
use crate::emulated::wine;
use crate::platforms::is_installed;
use crate::step::{Step, is_there, succeeds};

/// Installs the packages and the standard library that are missing.
///
/// # Errors
/// What is missing, and which command installs it.
pub(crate) fn install(machine: &Machine) -> Result<(), String> {
    packages(machine.needs)?;
    standard_library(machine.target)?;
    match machine.starts {
        Starts::Wine => wine::prepare(),
        Starts::Natively | Starts::Qemu(_) => Ok(()),
    }
}

/// Installs Rust's standard library for a target.
///
/// # Errors
/// rustup does not install it.
pub(crate) fn standard_library(target: &str) -> Result<(), String> {
    if is_installed(target) {
        return Ok(());
    }
    let told = || format!("no standard library: 'rustup target add {target}' installs it");
    Step::new("rustup target add").with([target]).run().map_err(|_| told())?;
    if is_installed(target) { Ok(()) } else { Err(told()) }
}

/// A program or the path of a file, and the package of Debian that has it.
pub(crate) type Need = (&'static str, &'static str);

/// Installs the packages of what is missing.
///
/// # Errors
/// What is missing, and which command installs it.
pub(crate) fn packages(needs: &[Need]) -> Result<(), String> {
    let missing = missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    let told =
        format!("'apt-get install --no-install-recommends {names}' installs what is missing");
    if !is_there("apt-get") {
        return Err(format!("it needs what Debian has in the packages {names}"));
    }
    if !is_root() {
        return Err(format!("{told}, as root"));
    }
    // Another program may install packages at the same time.
    let install = Step::new("apt-get install -y -q --no-install-recommends")
        .with(["-o", "DPkg::Lock::Timeout=600"])
        .with(missing)
        .set("DEBIAN_FRONTEND", "noninteractive");
    if install.run().is_err() {
        let update = Step::new("apt-get update -q -o DPkg::Lock::Timeout=600");
        update.run().and_then(|()| install.run()).map_err(|_| format!("{told}, but failed"))?;
    }
    match self::missing(needs) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(format!("{} is still missing", missing.join(", "))),
    }
}

/// Returns the packages of what this machine lacks.
fn missing(needs: &[Need]) -> Vec<&'static str> {
    let is_missing = |need: &str| match need.starts_with('/') {
        true => !Path::new(need).exists(),
        false => !is_there(need),
    };
    let missing = needs.iter().filter(|(need, _)| is_missing(need));
    missing.map(|(_, package)| *package).collect()
}

fn is_root() -> bool {
    succeeds("sh", &["-c", "test \"$(id -u)\" -eq 0"])
}
