//! Runs the binary as a user does: seeds give right answers, and runs detect deliberate bugs.

#![cfg(debug_assertions)]

use std::process::{Command, Output};

fn simulate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldb-simulate"));
    command.args(["run", "--allow-gaps"]).args(arguments).output().unwrap()
}

#[test]
fn seeds_give_right_answers_and_the_same_run_twice() {
    let output = simulate(&["--seeds", "40", "--twice", "4"]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("10 of them twice") && told.contains("0 wrong"), "{told}");
}

/// A step of the gate, which the other tests need not wait for.
#[test]
#[ignore = "takes minutes"]
fn many_seeds_give_right_answers_and_have_each_pair_of_features() {
    let output = simulate(&["--seeds", "400", "--all-pairs"]);
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn planted_bugs_are_found() {
    for fault in ["StopChainEarly", "PublishBeforeApply", "SkipDirSync"] {
        let output = simulate(&["--seeds", "40", "--twice", "0", "--plant", fault]);
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{fault} was not found: {told}");
        assert!(told.contains("seed "), "{told}");
    }
    let output = simulate(&["--seeds", "1", "--plant", "NoSuchFault"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("there are StopChainEarly"));
}
