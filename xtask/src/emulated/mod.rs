//! `cargo xtask emulated`: the tests on other platforms, under qemu and Wine, and databases that go
//! to another platform and back.
//!
//! [`machine`] lists the platforms, [`needs`] installs what they need, [`suite`] says which tests
//! run, and [`carried`] moves databases.
//!
//! qemu runs on x86-64, so the memory order of other processors is not tested. Wine is not Windows:
//! its files lie on a file system of Linux.

mod carried;
pub(crate) mod machine;
pub(crate) mod needs;
mod suite;
mod wine;

use std::time::{Duration, Instant};

use crate::arguments::Emulated;
use machine::{MACHINES, Machine};

/// The outcome of a platform.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Everything passed.
    Passed,
    /// The machine lacks what the message says.
    Skipped(String),
    Failed(Vec<String>),
}

/// Runs the tests of the named platforms, or of all.
///
/// # Errors
/// A test failed, a target is unknown, or no platform could run.
pub(crate) fn run(own: &Emulated) -> Result<(), String> {
    let is_known_here = cfg!(all(target_arch = "x86_64", target_os = "linux"));
    match (is_known_here, own.short) {
        (true, true) => return short(),
        (true, false) => {}
        (false, true) => {
            println!("xtask: emulated is skipped: it knows x86-64 Linux only");
            return Ok(());
        }
        (false, false) => {
            return Err("nothing was tested: emulated knows x86-64 Linux only".to_owned());
        }
    }
    let mut machines = Vec::new();
    for target in &own.targets {
        machines.push(Machine::of(target).ok_or_else(|| unknown(target))?);
    }
    if own.targets.is_empty() {
        machines.extend(&MACHINES);
    }
    let mut outcomes = Vec::new();
    for machine in machines {
        println!("\n== {}", machine.target);
        let begin = Instant::now();
        let outcome = outcome_of(machine, own.carried);
        outcomes.push((machine.target, begin.elapsed(), outcome));
    }
    print!("{}", summary(&outcomes));
    verdict(&outcomes)
}

fn unknown(target: &str) -> String {
    let known: Vec<&str> = MACHINES.iter().map(|machine| machine.target).collect();
    format!("no platform has the target '{target}'; there are {}", known.join(", "))
}

/// Runs the short form: [`suite::short`] on aarch64, and databases to and from s390x. A machine
/// that lacks something and cannot install it skips that part, and says so.
///
/// # Errors
/// A test failed.
fn short() -> Result<(), String> {
    let [tested, carried] = ["aarch64-unknown-linux-gnu", "s390x-unknown-linux-gnu"];
    for target in [tested, carried] {
        let machine = Machine::of(target).ok_or_else(|| unknown(target))?;
        if let Err(missing) = needs::install(machine) {
            println!("xtask: skipped on {target}: {missing}");
            continue;
        }
        if target == tested {
            for step in suite::short(machine) {
                println!("\n== {step}");
                step.run()?;
            }
        } else {
            carried::there_and_back(machine, carried::OF_THE_WORKSPACE)?;
        }
    }
    Ok(())
}

/// Runs the tests of a platform, even if an earlier one fails; with `carried`, only databases go
/// there and back.
fn outcome_of(machine: &'static Machine, carried: bool) -> Outcome {
    if let Err(missing) = needs::install(machine) {
        println!("xtask: skipped: {missing}");
        return Outcome::Skipped(missing);
    }
    let mut failed = Vec::new();
    for step in if carried { Vec::new() } else { suite::long(machine) } {
        println!("\n== {step}");
        failed.extend(step.run().err());
    }
    failed.extend(carried::there_and_back(machine, carried::OF_THE_ENGINE).err());
    if failed.is_empty() { Outcome::Passed } else { Outcome::Failed(failed) }
}

fn summary(outcomes: &[(&str, Duration, Outcome)]) -> String {
    let line = |(target, time, outcome): &(&str, Duration, Outcome)| {
        let told = match outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Skipped(missing) => format!("skipped: {missing}"),
            Outcome::Failed(steps) => format!("FAILED: {}", steps.join("; ")),
        };
        format!("{target:28} {:5} s  {told}\n", time.as_secs())
    };
    let lines: String = outcomes.iter().map(line).collect();
    format!("\n== tests on other platforms\n{lines}")
}

fn verdict(outcomes: &[(&str, Duration, Outcome)]) -> Result<(), String> {
    let of = |is: fn(&Outcome) -> bool| {
        let targets = outcomes.iter().filter(|(_, _, outcome)| is(outcome));
        targets.map(|(target, _, _)| *target).collect::<Vec<&str>>()
    };
    let failed = of(|outcome| matches!(outcome, Outcome::Failed(_)));
    if !failed.is_empty() {
        return Err(format!("tests fail on {}", failed.join(", ")));
    }
    if of(|outcome| *outcome == Outcome::Passed).is_empty() {
        return Err("nothing was tested: this machine lacks what the lines above name".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(last: Outcome) -> [(&'static str, Duration, Outcome); 2] {
        let skipped = Outcome::Skipped("there is no qemu".to_owned());
        [
            ("s390x-unknown-linux-gnu", Duration::from_secs(1), skipped),
            ("i686-unknown-linux-gnu", Duration::from_secs(90), last),
        ]
    }

    #[test]
    fn the_summary_says_what_passed_failed_and_was_skipped() {
        let text = summary(&outcomes(Outcome::Failed(vec!["'a' failed".to_owned()])));
        let expected = "\n== tests on other platforms
s390x-unknown-linux-gnu          1 s  skipped: there is no qemu
i686-unknown-linux-gnu          90 s  FAILED: 'a' failed\n";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn a_failed_platform_fails_the_command_and_so_does_a_machine_that_can_run_none() {
        assert!(verdict(&outcomes(Outcome::Passed)).is_ok());
        let failed = verdict(&outcomes(Outcome::Failed(Vec::new()))).unwrap_err();
        assert_eq!(failed, "tests fail on i686-unknown-linux-gnu");
        let none = verdict(&outcomes(Outcome::Skipped(String::new()))).unwrap_err();
        assert!(none.starts_with("nothing was tested"), "{none}");
    }

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let own = Emulated { targets: vec!["vax".to_owned()], ..Emulated::default() };
        let refusal = run(&own).unwrap_err();
        assert!(refusal.contains("'vax'") && refusal.contains("s390x"), "{refusal}");
    }
}
