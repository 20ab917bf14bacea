//! Which tests run on a platform.

use crate::emulated::machine::Machine;
use crate::step::Step;

/// Lets databases open on every platform.
const FEATURE: &str = "--features foldb/untested-platform";

/// A limit for each program of tests. A test that hangs then fails.
const LIMIT: &str = "60m";

/// Returns every test of a platform.
pub(super) fn long(machine: &Machine) -> Vec<Step> {
    let lines = [
        "cargo test -p foldb-env -p foldb-chains --tests --no-fail-fast".to_owned(),
        format!("cargo test -p foldb --lib --no-fail-fast {FEATURE}"),
        format!("cargo test -p foldb --test engine --no-fail-fast {FEATURE}"),
        "cargo test -p foldb-cli --features untested-platform --test shell kill::".to_owned(),
    ];
    lines.iter().map(|line| machine.tested(line).limited(LIMIT)).collect()
}

/// Returns the tests of a platform in the short form. The engine's unit tests are not among them:
/// they take some five minutes of a processor to compile, and under emulation as many to run.
pub(super) fn short(machine: &Machine) -> Vec<Step> {
    vec![machine.tested("cargo test -p foldb-env -p foldb-chains --lib").limited(LIMIT)]
}
