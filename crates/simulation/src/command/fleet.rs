//! Many seeds: each in a process of its own, several at once.
//!
//! A fresh process makes a seed's run independent of earlier runs. Its locks and lazily made values
//! are new, and memory has the same addresses.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::command::arguments::Seeds;
use foldb_simulation::counts::Counted;
use foldb_simulation::pairs::Pairs;
use foldb_simulation::report::{Report, Totals};

/// The sums over all seeds.
#[derive(Default)]
struct Sum {
    totals: Totals,
    pairs: Pairs,
    seeds: u64,
    calls: u64,
    switches: u64,
    twice: u64,
    wrong: Vec<String>,
}

/// Runs all seeds.
///
/// # Errors
/// Fails if a seed gave a wrong answer. Unless gaps are allowed, also fails if an expected event
/// never happened.
pub(crate) fn run(seeds: &Seeds) -> Result<(), String> {
    let jobs = seeds.jobs.or_else(|| thread::available_parallelism().ok().map(usize::from));
    let progress = ProgressBar::new(seeds.seeds);
    let style = "{elapsed_precise} [{bar:30}] {pos}/{len} seeds, {per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        progress.set_style(style);
    }
    let (begun, next, stop) = (Instant::now(), AtomicU64::new(0), AtomicBool::new(false));
    let sum = Mutex::new(Sum::default());
    thread::scope(|scope| {
        for _ in 0..jobs.unwrap_or(1).max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= seeds.seeds {
                        return;
                    }
                    let is_right = run_seed(seeds, number, &sum, &progress);
                    stop.fetch_or(!is_right && !seeds.keep_going, Ordering::Relaxed);
                    progress.inc(1);
                }
            });
        }
    });
    progress.finish_and_clear();
    let sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    print_summary(seeds, &sum, begun.elapsed());
    if !sum.wrong.is_empty() {
        return Err(format!("{} of {} seeds were wrong", sum.wrong.len(), sum.seeds));
    }
    let gaps = Counted::ALL.map(|counted| format!("{counted:?}")).into_iter();
    let gaps: Vec<_> =
        gaps.filter(|name| sum.totals.get(name).is_none_or(|&count| count == 0)).collect();
    if !gaps.is_empty() && !seeds.allow_gaps {
        return Err(format!(
            "nothing wrong was seen, but this never happened: {}; run more seeds, or pass \
             --allow-gaps",
            gaps.join(", ")
        ));
    }
    check_pairs(seeds, &sum.pairs)
}

/// # Errors
/// Fails if no seed drew some pair of features together, and that is asked for.
fn check_pairs(seeds: &Seeds, pairs: &Pairs) -> Result<(), String> {
    let missing = pairs.missing();
    if missing.is_empty() || (seeds.allow_gaps && !seeds.all_pairs) {
        return Ok(());
    }
    let missing: Vec<_> = missing
        .iter()
        .map(|(one, other)| format!("{} with {}", one.name(), other.name()))
        .collect();
    Err(format!(
        "nothing wrong was seen, but no seed drew {} of the pairs of features: {}; run more seeds",
        missing.len(),
        missing.join(", ")
    ))
}

/// Runs the seed of a number, some of them twice. Returns whether it was right.
fn run_seed(seeds: &Seeds, number: u64, sum: &Mutex<Sum>, progress: &ProgressBar) -> bool {
    let seed = seeds.seed.saturating_add(number);
    let is_twice = seeds.twice > 0 && number.is_multiple_of(seeds.twice);
    let once = in_a_process(seed, seeds.plant.as_deref());
    let again = is_twice.then(|| in_a_process(seed, seeds.plant.as_deref()));
    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
    sum.seeds += 1;
    sum.twice += u64::from(is_twice);
    let wrong = match (&once, &again) {
        (Err(wrong), _) => Some(wrong.clone()),
        (Ok(report), Some(again)) if again.as_ref() != Ok(report) => {
            Some("two runs of the seed differ".to_owned())
        }
        (Ok(report), _) => report.wrong.clone(),
    };
    if let Ok(report) = once {
        sum.calls += report.trace.calls;
        sum.switches += report.trace.switches;
        sum.pairs.add(&report.counts);
        for (name, count) in report.counts {
            *sum.totals.entry(name).or_default() += count;
        }
    }
    let Some(wrong) = wrong else { return true };
    let told = format!("seed {seed}: {wrong}");
    progress.suspend(|| println!("{told}"));
    sum.wrong.push(told);
    false
}

fn in_a_process(seed: u64, plant: Option<&str>) -> Result<Report, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["seed", &seed.to_string()]);
    if let Some(fault) = plant {
        command.args(["--plant", fault]);
    }
    // A deliberate bug causes many panics. Backtraces of them would hide the report.
    command.env("RUST_BACKTRACE", "0").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("cannot start a process: {error}"))?;
    match Report::parse(&String::from_utf8_lossy(&output.stdout)) {
        Some(report) => Ok(report),
        None => {
            let told = String::from_utf8_lossy(&output.stderr);
            let told: Vec<_> = told.lines().rev().take(3).collect();
            let told: Vec<_> = told.into_iter().rev().collect();
            Err(format!("the process ended with {}: {}", output.status, told.join(" ")))
        }
    }
}

fn print_summary(seeds: &Seeds, sum: &Sum, took: Duration) {
    let Sum { seeds: ran, twice, calls, switches, .. } = sum;
    let (first, seconds) = (seeds.seed, took.as_secs_f64());
    println!(
        "{ran} seeds from {first} on in {seconds:.0} s, {twice} of them twice; {calls} calls of \
         the machine, {switches} switches of threads; {} wrong",
        sum.wrong.len()
    );
    for counted in Counted::ALL {
        let name = format!("{counted:?}");
        println!("{:>12}  {name}", sum.totals.get(&name).unwrap_or(&0));
    }
    if let Some((one, other, count)) = sum.pairs.rarest() {
        let (one, other) = (one.name(), other.name());
        println!("each pair of features met in {count} seeds or more; the rarest: {one}, {other}");
    }
    if seeds.matrix {
        print!("{}", sum.pairs.table());
    }
}
