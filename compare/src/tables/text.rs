//! Tables for a terminal: for each row of the results, one line for each engine.

use std::fmt::Write as _;

use foldb_report::results::{MEMORY_RULE, Results, Workload};

use super::details::{self, Details};
use super::figures::{Figures, Standing, megabytes, optional, short};

/// All rows.
pub fn text(results: &Results) -> String {
    let mut text = String::new();
    for workload in &results.workloads {
        row(&mut text, results, workload).expect("writing to a String does not fail");
    }
    for engine in &results.engines {
        if let Some(why) = &engine.absent {
            writeln!(text, "{}: {why}", engine.name).expect("writing to a String does not fail");
        }
    }
    text
}

fn row(text: &mut String, results: &Results, workload: &Workload) -> std::fmt::Result {
    writeln!(text, "{} - {}", workload.name, workload.about)?;
    writeln!(
        text,
        "  {:<18} {:>9} {:>11} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  runs",
        "", "µs/op", "ops/s", "p99.9 µs", "peak MB", "owed MB", "rest s", "w-amp", "space MB"
    )?;
    for engine in &results.engines {
        let Some(figures) = Figures::of(results, &workload.name, &engine.name) else { continue };
        writeln!(
            text,
            "  {:<18} {:>9} {:>11.0} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {}{}",
            engine.name,
            short(figures.micros),
            figures.rate,
            optional(figures.p999),
            megabytes(figures.memory),
            megabytes(figures.owed),
            optional(figures.to_rest),
            optional(figures.amplification),
            megabytes(figures.space),
            figures.repetitions,
            if figures.counts { "" } else { "  does not count" },
        )?;
    }
    if let Some(standing) = Standing::of(results, workload) {
        write!(text, "  {} x {}", short(standing.ratio), standing.against)?;
        if let Some(bar) = standing.bar {
            write!(text, "; bar {bar}")?;
            if let Some(aim) = standing.aim {
                write!(text, ", aim {aim}")?;
            }
            write!(text, ": {}", standing.verdict())?;
        }
        if let Some(memory) = standing.memory {
            let holds = if memory <= MEMORY_RULE { "holds" } else { "broken" };
            write!(text, "; memory {memory:.2} x, rule of {MEMORY_RULE} {holds}")?;
        }
        writeln!(text)?;
    }
    let tables = [details::latencies, details::steps];
    for Details { titles, lines } in tables.into_iter().filter_map(|of| of(results, &workload.name))
    {
        writeln!(text, "  {}", titles.join("; "))?;
        for cells in lines {
            writeln!(text, "  {}", cells.join("  "))?;
        }
    }
    writeln!(text)
}
