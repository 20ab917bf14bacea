//! Gives memory the same addresses in each process of this program.
//!
//! Some locks choose a queue by the hash of their address, so addresses are part of a run.

#![allow(unsafe_code)]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Restarts this program without random addresses, unless they are already off. If the system
/// refuses, the program continues: two runs of a seed may then differ.
pub fn fix_addresses() {
    /// Reads the setting and changes nothing.
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: the call only reads a setting.
    let now = unsafe { libc::personality(ASK) };
    if now < 0 || now & libc::ADDR_NO_RANDOMIZE != 0 {
        return;
    }
    let wanted = now | libc::ADDR_NO_RANDOMIZE;
    // SAFETY: changes only where the next program's memory lies.
    let before = unsafe { libc::personality(wanted as libc::c_ulong) };
    let Ok(program) = std::env::current_exe() else { return };
    // SAFETY: the call only reads a setting.
    if before < 0 || unsafe { libc::personality(ASK) } & libc::ADDR_NO_RANDOMIZE == 0 {
        return;
    }
    // It returns only if it failed.
    let _failed = Command::new(program).args(std::env::args_os().skip(1)).exec();
}
