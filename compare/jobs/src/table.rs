//! The table of all jobs, and the same as JSON.

use std::fmt::Write as _;

use crate::measure::Figures;
use crate::{Engine, Failed, Job, lines};

pub(crate) type Rows = [(&'static Job, Vec<(Engine, Figures)>)];

/// What a cell says of an engine that did not do the job.
const NOTHING: &str = "–";

/// Each cell has the figures of foldb, SQLite, redb and fjall.
pub(crate) fn markdown(rows: &Rows) -> Result<String, Failed> {
    let mut out = String::from(
        "| job | lines | seconds | processor seconds | disk, MB | memory, MB |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for (job, measured) in rows {
        let mut cells = Vec::new();
        for engine in Engine::ALL {
            let figures = measured.iter().find(|(known, _)| *known == engine);
            let lines = figures.map(|_| lines::of(job, engine)).transpose()?;
            cells.push((lines, figures.map(|(_, figures)| figures)));
        }
        let counted = cells.iter().map(|(lines, _)| *lines);
        let counted = counted.map(|lines| lines.map_or(NOTHING.to_owned(), |n| n.to_string()));
        let counted = counted.collect::<Vec<_>>().join(" / ");
        let cell = |figure: fn(&Figures) -> f64| {
            let figures = cells.iter().map(|(_, figures)| figures.map(figure));
            figures.map(|n| n.map_or(NOTHING.to_owned(), short)).collect::<Vec<_>>().join(" / ")
        };
        writeln!(
            out,
            "| `{}` | {counted} | {} | {} | {} | {} |",
            job.name,
            cell(|figures| figures.seconds),
            cell(|figures| figures.processor_seconds),
            cell(|figures| figures.disk as f64 / 1e6),
            cell(|figures| figures.memory as f64 / 1e6),
        )?;
    }
    Ok(out)
}

pub(crate) fn json(rows: &Rows) -> Result<String, Failed> {
    let mut runs = Vec::new();
    for (job, measured) in rows {
        for (engine, figures) in measured {
            runs.push(serde_json::json!({
                "job": job.name,
                "engine": engine.name(),
                "lines": lines::of(job, *engine)?,
                "seconds": figures.seconds,
                "processor_seconds": figures.processor_seconds,
                "disk_bytes": figures.disk,
                "memory_bytes": figures.memory,
            }));
        }
    }
    Ok(serde_json::to_string_pretty(&runs)?)
}

/// Returns a number with two or three digits that count.
fn short(number: f64) -> String {
    match number {
        number if number < 9.995 => format!("{number:.2}"),
        number if number < 99.95 => format!("{number:.1}"),
        number => format!("{number:.0}"),
    }
}
