//! `cargo xtask ci`: the steps that each change must pass.

use std::time::{Duration, Instant};

use crate::arguments::Passed;
use crate::check::Make;
use crate::commands::{
    append_only_short, demo, doc, fmt, lint, loom_short, report, simulate_short, small_disks, test,
};
use crate::step::Step;

/// Runs every step, and prints the time of each. `earlier` steps are those of `.ci/run`.
///
/// # Errors
/// The first step that fails.
pub(crate) fn run(earlier: &[String]) -> Result<(), String> {
    let mut times = Vec::new();
    for step in earlier {
        let told = || format!("--earlier '{step}': expected SECONDS STEP");
        let (seconds, label) = step.split_once(' ').ok_or_else(told)?;
        let seconds = seconds.parse().map_err(|_| told())?;
        times.push((Duration::from_secs(seconds), label.to_owned()));
    }
    run_steps(times, STEPS)
}

/// Runs steps in order, and prints the time of each behind those of `earlier` steps.
///
/// # Errors
/// The first step that fails.
pub(crate) fn run_steps(
    earlier: Vec<(Duration, String)>,
    steps: impl IntoIterator<Item = Make>,
) -> Result<(), String> {
    let mut times = earlier;
    for make in steps {
        let Some(step) = make() else { continue };
        println!("\n== {step}");
        let begin = Instant::now();
        step.run()?;
        times.push((begin.elapsed(), step.to_string()));
    }
    print!("{}", summary(&times));
    Ok(())
}

/// The steps in order.
const STEPS: [Make; 11] = [
    || Some(fmt()),
    || Some(Step::new("cargo xtask tidy")),
    || Some(lint()),
    || Some(doc()),
    || Some(demo(Passed::default())),
    || Some(test(Passed::default())),
    || Some(append_only_short()),
    || Some(simulate_short()),
    || Some(loom_short()),
    || Some(small_disks()),
    || Some(report().set("FOLDB_INSTALL_CHROMIUM", "1")),
];

fn summary(times: &[(Duration, String)]) -> String {
    let line = |(time, label): &(Duration, String)| format!("{:5} s  {label}\n", time.as_secs());
    let all = times.iter().map(|(time, _)| *time).sum();
    let lines: String = times.iter().map(line).collect();
    format!("\n== all steps passed\n{lines}{}", line(&(all, "all".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_the_time_of_each_step_and_of_all() {
        let times = [
            (Duration::from_secs(7), "a".to_owned()),
            (Duration::from_secs(1200), "b c".to_owned()),
        ];
        let expected = "\n== all steps passed\n    7 s  a\n 1200 s  b c\n 1207 s  all\n";
        assert_eq!(summary(&times), expected);
    }

    #[test]
    fn an_earlier_step_has_a_time() {
        let refusal = run(&["rustup toolchain install".to_owned()]).unwrap_err();
        assert_eq!(refusal, "--earlier 'rustup toolchain install': expected SECONDS STEP");
    }
}
