//! `gc`: gives back the space of overwritten and deleted values.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use foldb::Options;
use foldb::events::{Event, EventListener};
use foldb::garbage::{GcOptions, GcProgress, GcReport};
use indicatif::HumanBytes;
use serde_json::{Value, json};

use crate::args::{Common, Gc};
use crate::exit::{Exit, Outcome};
use crate::form::escape::one_line;
use crate::form::json::integer;
use crate::interrupt::Watch;
use crate::location;
use crate::output::Output;
use crate::progress;

/// The damage that the collection met. It left the damaged files unchanged.
#[derive(Debug, Default)]
struct Found(Mutex<Vec<String>>);

impl EventListener for Found {
    fn on_event(&self, event: &Event) {
        if let Event::BackgroundError { error } = event {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(error.to_string());
        }
    }
}

/// Collects garbage, and reports how much space it gave back.
pub(super) fn run(args: &Gc, common: &Common) -> Outcome {
    let found = Arc::new(Found::default());
    let listeners: Vec<Arc<dyn EventListener>> = vec![Arc::clone(&found) as _];
    let db = location::open(&args.db, Options { listeners, ..common.options() })?;
    let watch = Watch::start();
    let bar = progress::bar(
        db.stats().segments.dead_bytes,
        "collecting the garbage of value segments",
        "{prefix} {wide_bar} {bytes} of {total_bytes} given back, {elapsed}",
    );
    let shown = bar.clone();
    let tell = move |progress: &GcProgress| {
        shown.set_length(progress.bytes_reclaimed + progress.bytes_dead);
        shown.set_position(progress.bytes_reclaimed);
    };
    let options = GcOptions {
        max_dead_fraction: args.dead as f64 / 100.0,
        progress: Some(Arc::new(tell)),
        cancel: Some(watch.flag()),
        ..GcOptions::default()
    };
    let report = db.with(&options).collect_garbage();
    bar.finish_and_clear();
    let report = report?;
    let found = std::mem::take(&mut *found.0.lock().unwrap_or_else(PoisonError::into_inner));
    if common.json {
        let mut output = Output::new();
        output.json(&to_json(&report, &found))?;
        output.flush()?;
    } else {
        for error in found {
            let _ = writeln!(io::stderr(), "found: {}", one_line(&error));
        }
        let _ = writeln!(io::stderr(), "{}", to_text(&report));
    }
    db.close()?;
    if report.cancelled {
        return Err(Exit::Interrupted(
            "interrupted; the space given back so far stays free".to_owned(),
        ));
    }
    Ok(())
}

fn to_text(report: &GcReport) -> String {
    format!(
        "collected in {:.1} s: {} of segment files became {}; {} read, {} written, at most {} held",
        report.duration.as_secs_f64(),
        HumanBytes(report.bytes_before),
        HumanBytes(report.bytes_after),
        HumanBytes(report.bytes_read),
        HumanBytes(report.bytes_written),
        HumanBytes(report.peak_lookup_bytes),
    )
}

fn to_json(report: &GcReport, found: &[String]) -> Value {
    json!({
        "duration_micros": integer(u64::try_from(report.duration.as_micros()).unwrap_or(u64::MAX)),
        "bytes_before": integer(report.bytes_before),
        "bytes_after": integer(report.bytes_after),
        "bytes_reclaimed": integer(report.bytes_reclaimed()),
        "reduction_ratio": report.reduction_ratio(),
        "bytes_read": integer(report.bytes_read),
        "bytes_written": integer(report.bytes_written),
        "references_read": integer(report.references_read),
        "files_rewritten": integer(report.files_rewritten),
        "peak_lookup_bytes": integer(report.peak_lookup_bytes),
        "commits": integer(report.commits),
        "cancelled": report.cancelled,
        "found": found,
    })
}
