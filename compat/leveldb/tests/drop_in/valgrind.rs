//! A program under valgrind.
//!
//! Its users look for leaks in their own program that way. The library must run there, and must not
//! be the cause of a report.

use std::process::Command;

use crate::additions::MERGE_IN_C;
use crate::library::{compiler, ours};
use crate::program::{Link, printed_by};

#[test]
fn valgrind_runs_a_program_and_reports_nothing() {
    let Some(compiler) = compiler() else { return };
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|out| out.status.success()) {
        eprintln!("SKIPPED: no valgrind");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let built = MERGE_IN_C.build(&compiler, ours(), Link::Shared, &["-g"], dir.path());
    let data = dir.path().join("data");
    std::fs::create_dir_all(&data).unwrap();
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]);
    // Threads of the library live until the process ends, and so does what they hold.
    command.args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]);
    command.arg(&built).arg(&data).env("LD_LIBRARY_PATH", &ours().lib);
    let printed = printed_by(command, "the program under valgrind", dir.path());
    assert_eq!(printed.text, "every merge is as it should be\n");
}
