//! Which tests run on a platform.

use crate::emulated::machine::{Machine, Starts};
use crate::step::Step;

/// Lets databases open on every platform.
const FEATURE: &str = "--features foldb/untested-platform";

/// A limit for each program of tests. A test that hangs then fails.
const LIMIT: &str = "60m";

/// Returns every test of a platform.
pub(super) fn long(machine: &Machine) -> Vec<Step> {
    let mut lines = vec![
        "cargo test -p foldb-env -p foldb-chains --tests --no-fail-fast".to_owned(),
        format!("cargo test -p foldb --lib --no-fail-fast {FEATURE}"),
    ];
    let engine = format!("cargo test -p foldb --test engine --no-fail-fast {FEATURE}");
    lines.extend(match machine.starts {
        Starts::Qemu(_) => of_each_module(&engine),
        Starts::Natively | Starts::Wine => vec![engine],
    });
    lines.push(
        "cargo test -p foldb-cli --features untested-platform --test shell kill::".to_owned(),
    );
    lines.iter().map(|line| machine.tested(line).limited(LIMIT)).collect()
}

/// Returns a line for each module of the black-box tests. qemu gives no memory back that a program
/// gives up by `madvise`: one process for all of them takes more than 24 GiB.
fn of_each_module(engine: &str) -> Vec<String> {
    modules(include_str!("../../../crates/foldb/tests/engine/main.rs"))
        .map(|module| format!("{engine} {module}::"))
        .collect()
}

/// Returns the modules at the top of a file that have tests.
fn modules(file: &str) -> impl Iterator<Item = &str> {
    let names = file.lines().filter_map(|line| line.strip_prefix("mod "));
    let names = names.map(|rest| rest.trim_end_matches([' ', '{', ';']));
    names.filter(|name| *name != "support")
}

/// Returns the tests of a platform in the short form. The engine's unit tests are not among them:
/// they take some five minutes of a processor to compile, and under emulation as many to run.
pub(super) fn short(machine: &Machine) -> Vec<Step> {
    vec![machine.tested("cargo test -p foldb-env -p foldb-chains --lib").limited(LIMIT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn under_qemu_each_module_of_the_engines_tests_has_a_process() {
        let file = "mod api;\nmod support;\nmod writing {\n    mod limits;\n}\n";
        assert_eq!(modules(file).collect::<Vec<_>>(), ["api", "writing"]);
        let lines = of_each_module("cargo test");
        assert!(lines.contains(&"cargo test segments::".to_owned()), "{lines:?}");
    }
}
