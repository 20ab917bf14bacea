//! The surroundings of the results: machine, versions, command, probes.

use maud::{Markup, html};

use super::figures;
use super::plot;
use super::rows::{least, median, most};
use super::table;
use crate::results::{Engine, Probe, Results};

/// A line or two under the heading.
pub(super) fn summary(results: &Results) -> Markup {
    let machine = &results.machine;
    let mut parts = Vec::new();
    if !results.began.is_empty() {
        parts.push(results.began.clone());
    }
    if !results.scale.is_empty() {
        parts.push(format!("scale {}", results.scale));
    }
    if !machine.processor.is_empty() {
        parts.push(format!("{} × {}", machine.cores, machine.processor));
    }
    if machine.memory > 0 {
        parts.push(format!("{} memory", figures::bytes(machine.memory as f64)));
    }
    html! { p class="note" { (parts.join(" · ")) } }
}

/// Shows everything known about the machine and the call.
pub(super) fn machine(results: &Results) -> Markup {
    let machine = &results.machine;
    let number = |value: u64, show: fn(f64) -> String| {
        if value == 0 { String::new() } else { show(value as f64) }
    };
    let format = if results.format == 0 { String::new() } else { results.format.to_string() };
    html! {
        section {
            h2 { "Machine and command" }
            (table::facts(&[
                ("Processor", machine.processor.clone()),
                ("Processors", number(u64::from(machine.cores), figures::grouped)),
                ("Memory", number(machine.memory, figures::bytes)),
                ("System", machine.system.clone()),
                ("File system", machine.file_system.clone()),
                ("Began", results.began.clone()),
                ("Scale", results.scale.clone()),
                ("Commit", results.commit.clone()),
                ("Format of the results", format),
            ]))
            (table::command(&results.command))
            p class="note" {
                "The measurements are in this page as JSON, in the element with the id “results”."
            }
        }
    }
}

/// Shows all engines: their versions, and why some did not run.
pub(super) fn engines(results: &Results) -> Markup {
    let state = |engine: &Engine| {
        let runs = results.runs.iter().filter(|run| run.engine == engine.name).count();
        match (&engine.absent, runs) {
            (Some(why), _) => format!("absent: {why}"),
            (None, 1) => "1 run".to_owned(),
            (None, runs) => format!("{runs} runs"),
        }
    };
    html! {
        @if !results.engines.is_empty() {
            section {
                h2 { "Engines" }
                div class="box" {
                    table class="texts" {
                        (table::head(&["Engine", "Version", "Part"]))
                        tbody {
                            @for engine in &results.engines {
                                tr {
                                    th scope="row" { (engine.name) }
                                    td { (engine.version.as_deref().unwrap_or(figures::NONE)) }
                                    td { (state(engine)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Shows the probes: how steady the machine was without an engine.
pub(super) fn probes(probes: &[Probe]) -> Markup {
    let figures = plot::probes::figures(probes);
    html! {
        @if !figures.is_empty() {
            section {
                h2 { "The bare machine meanwhile" }
                p { (evenness(probes)) }
                figure {
                    div class="panels" { @for figure in &figures { div { (figure) } } }
                    (probe_table(probes))
                }
            }
        }
    }
}

fn evenness(probes: &[Probe]) -> String {
    let rates: Vec<f64> = probes.iter().map(|probe| probe.synced_write_mb_per_second).collect();
    let of = |value: Option<f64>| figures::or_dash(value, figures::short);
    format!(
        "Written in order and synced, between runs: {} to {} MB/s, median {}. Differences between \
         engines below that spread mean little where the disk decides.",
        of(least(&rates)),
        of(most(&rates)),
        of(median(&rates))
    )
}

fn probe_table(probes: &[Probe]) -> Markup {
    let rows: Vec<Vec<String>> = probes
        .iter()
        .enumerate()
        .map(|(i, probe)| {
            vec![
                format!("{} {}", i + 1, probe.workload),
                figures::short(probe.synced_write_mb_per_second),
                figures::short(probe.longest_sync_millis),
            ]
        })
        .collect();
    table::plain(&["Before", "Synced write, MB/s", "Longest fdatasync, ms"], &rows)
}
