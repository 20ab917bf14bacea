//! `top`, `doctor`, `report` and `stats --watch`: they read the flight recording of a database, and
//! open no database.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use foldb::recorder::Recording;
use foldb_report::page::recording;
use indicatif::{HumanBytes, HumanCount};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use serde_json::json;

use crate::args::{self, Common};
use crate::exit::{Exit, Outcome};
use crate::location::shown;
use crate::new_file::NewFile;
use crate::output::Output;
use crate::watch::doctor::{self, Finding};
use crate::watch::screen::{Screen, time};
use crate::watch::{self, View, clock, page, process};

/// The stretch of time that live figures are of.
const LIVE: Duration = Duration::from_secs(10);

/// The stretch of time of the findings of `top`.
const RECENT: Duration = Duration::from_secs(60);

/// Size of a screen that is printed.
const PRINTED: (u16, u16) = (100, 40);

/// What is shown of a recording now.
struct Now {
    view: View,
    findings: Vec<Finding>,
    state: String,
}

impl Now {
    fn of(recording: &Recording) -> Now {
        let end = end_of(recording);
        let view = View::of(recording, end - LIVE, end);
        let findings = doctor::findings(&View::of(recording, end - RECENT, end));
        Now { view, findings, state: state_of(recording, SystemTime::now()) }
    }

    fn screen<'a>(&'a self, title: &'a str) -> Screen<'a> {
        Screen { title, state: self.state.clone(), view: &self.view, findings: &self.findings }
    }
}

/// Shows a database until `q` or Ctrl-C is pressed.
pub(super) fn top(args: &args::Top, common: &Common) -> Outcome {
    let title = shown(&args.db);
    let now = Now::of(&watch::read(&args.db)?);
    if common.json {
        return print_json(&now);
    }
    if args.once || !std::io::stdout().is_terminal() {
        return print_screen(&now.screen(&title));
    }
    let failed = |error: std::io::Error| Exit::failed(format!("cannot draw: {error}"));
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let ended = follow(&args.db, &title, now, &mut terminal);
    ratatui::restore();
    ended
}

/// Draws once a second.
fn follow(
    db: &Path,
    title: &str,
    mut now: Now,
    terminal: &mut ratatui::DefaultTerminal,
) -> Outcome {
    let failed = |error: std::io::Error| Exit::failed(format!("cannot draw: {error}"));
    loop {
        terminal.draw(|frame| now.screen(title).draw(frame)).map_err(failed)?;
        let drawn = Instant::now();
        while let Some(rest) = Duration::from_secs(1).checked_sub(drawn.elapsed()) {
            if event::poll(rest).map_err(failed)? && ends(&event::read().map_err(failed)?) {
                return Ok(());
            }
        }
        now = Now::of(&watch::read(db)?);
    }
}

/// Returns whether a key ends the screen.
fn ends(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let is_ctrl_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    is_ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}

fn print_screen(screen: &Screen<'_>) -> Outcome {
    let (width, height) = PRINTED;
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| screen.draw(frame));
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for row in buffer.content().chunks(usize::from(width)) {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let mut output = Output::new();
    output.text(&text)?;
    output.flush()
}

fn print_json(now: &Now) -> Outcome {
    let mut object = now.view.to_json();
    object["state"] = json!(now.state);
    object["findings"] = json!(now.findings);
    let mut output = Output::new();
    output.json(&object)?;
    output.flush()
}

/// Prints a line of figures each second, until Ctrl-C.
pub(super) fn stats(db: &Path, common: &Common) -> Outcome {
    let mut lines = 0;
    let mut last = None;
    loop {
        let recording = watch::read(db)?;
        let end = end_of(&recording);
        // While nothing happens, nothing is recorded, and no line is printed.
        if last != Some(end) {
            last = Some(end);
            let view = View::of(&recording, end - Duration::from_millis(2500), end);
            let mut output = Output::new();
            if common.json {
                output.json(&view.to_json())?;
            } else {
                let heads = if lines % 20 == 0 { line_of_heads() } else { String::new() };
                output.text(&(heads + &line_of(&view)))?;
            }
            output.flush()?;
            lines += 1;
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn line_of_heads() -> String {
    let heads = ["time", "puts/s", "merges/s", "deletes/s", "gets/s", "write P99", "get P99"];
    let more = ["flushed/s", "compacted/s", "debt", "memory", "stalled"];
    let all: Vec<String> = heads.iter().chain(&more).map(|head| format!("{head:>12}")).collect();
    all.concat() + "\n"
}

fn line_of(view: &View) -> String {
    let rate = |name: &str| HumanCount(view.rate(name) as u64).to_string();
    let bytes = |bytes: f64| HumanBytes(bytes as u64).to_string();
    let calls = |name: &str| view.calls.iter().find(|calls| calls.call == name);
    let p99 = |name: &str| calls(name).map_or(String::new(), |calls| time(calls.p99_micros));
    let gets = calls("get").map_or(0.0, |calls| calls.per_second);
    let memory = view.labelled("foldb_memory_bytes").iter().map(|(_, bytes)| bytes).sum();
    let at = view.last.as_ref().map_or(String::new(), |last| clock::time_of_day(last.at()));
    let cells = [
        at,
        rate("foldb_puts_total"),
        rate("foldb_merges_total"),
        rate("foldb_deletes_total"),
        HumanCount(gets as u64).to_string(),
        p99("write"),
        p99("get"),
        bytes(view.rate("foldb_flush_bytes_total")),
        bytes(view.rate("foldb_compaction_bytes_total")),
        bytes(view.now("foldb_compaction_debt_bytes")),
        bytes(memory),
        format!("{:.0} %", 100.0 * view.rate("foldb_stall_seconds_total")),
    ];
    let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>12}")).collect();
    cells.concat() + "\n"
}

/// Prints what is wrong. Exits with 1 if anything is.
pub(super) fn doctor(args: &args::Doctor, common: &Common) -> Outcome {
    let recording = watch::read(&args.db)?;
    let end = end_of(&recording);
    let view = View::of(&recording, clock::before(end, args.last), end);
    let mut findings = doctor::findings(&view);
    findings.extend(doctor::killed(&recording, process::runs));
    findings.extend(doctor::unread(&recording));
    let mut output = Output::new();
    if common.json {
        output.json(&json!({ "seconds": view.seconds(), "findings": findings }))?;
    } else {
        let from = clock::date_and_time(end - Duration::from_secs_f64(view.seconds()));
        output.text(&format!("From {from}, {:.0} s:\n", view.seconds()))?;
        for Finding { seen, remedy, .. } in &findings {
            output.text(&format!("- {seen}\n  {remedy}\n"))?;
        }
        if findings.is_empty() {
            output.text("Nothing found.\n")?;
        }
    }
    output.flush()?;
    match findings.len() {
        0 => Ok(()),
        1 => Err(Exit::failed("1 finding")),
        count => Err(Exit::failed(format!("{count} findings"))),
    }
}

/// Writes the page.
pub(super) fn report(args: &args::Report, common: &Common) -> Outcome {
    let recording = watch::read(&args.db)?;
    let (from, to) = stretch(args, &recording)?;
    let part = recording.since(from);
    let view = View::of(&recording, from, to);
    if view.last.is_none() {
        return Err(not_recorded(args, &recording));
    }
    let mut findings = doctor::findings(&view);
    findings.extend(doctor::killed(&recording, process::runs));
    findings.extend(doctor::unread(&recording));
    let recorded = page::recorded(shown(&args.db), &part, &findings, (from, to));
    let html = recording::html(&recorded);
    if args.output.as_os_str() == "-" {
        let mut output = Output::new();
        output.text(&html)?;
        return output.flush();
    }
    let mut file = NewFile::begin(&args.output)?;
    std::io::Write::write_all(&mut file.file, html.as_bytes())
        .map_err(|error| Exit::failed(format!("cannot write {}: {error}", shown(&args.output))))?;
    file.finish()?;
    let mut output = Output::new();
    if common.json {
        output.json(&json!({ "output": shown(&args.output), "bytes": html.len() }))?;
    } else {
        output.text(&format!("wrote {}\n", shown(&args.output)))?;
    }
    output.flush()
}

/// Returns when the page begins and ends.
fn stretch(args: &args::Report, recording: &Recording) -> Outcome<(SystemTime, SystemTime)> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        return Err(Exit::usage("--from must be before --to"));
    }
    let to = args.to.unwrap_or_else(|| end_of(recording));
    let from = match args.last {
        Some(last) => clock::before(to, last),
        None => args.from.unwrap_or_else(|| begin_of(recording)),
    };
    if from < to { Ok((from, to)) } else { Err(not_recorded(args, recording)) }
}

/// Says which time the recording is of.
fn not_recorded(args: &args::Report, recording: &Recording) -> Exit {
    let asked = match (args.from, args.to) {
        (Some(from), None) => format!(" after {}", clock::date_and_time(from)),
        (None, Some(to)) => format!(" before {}", clock::date_and_time(to)),
        (Some(from), Some(to)) => {
            format!(" between {} and {}", clock::date_and_time(from), clock::date_and_time(to))
        }
        (None, None) => String::new(),
    };
    Exit::failed(format!(
        "nothing is recorded{asked}: the recording begins at {} and ends at {}",
        clock::date_and_time(begin_of(recording)),
        clock::date_and_time(end_of(recording))
    ))
}

/// Returns the moment of the first figures.
fn begin_of(recording: &Recording) -> SystemTime {
    recording.samples.first().map_or(SystemTime::UNIX_EPOCH, |first| first.at())
}

/// Returns the moment of the last figures.
fn end_of(recording: &Recording) -> SystemTime {
    recording.samples.last().map_or(SystemTime::UNIX_EPOCH, |last| last.at())
}

/// Names the process that records, and says how old the recording is.
fn state_of(recording: &Recording, now: SystemTime) -> String {
    let Some(session) = recording.sessions.last() else { return String::new() };
    let age = now.duration_since(session.last).unwrap_or_default().as_secs();
    let process = session.process;
    match session.ended {
        Some(ended) => format!("closed at {}", clock::date_and_time(ended)),
        None if !process::runs(process) => {
            let at = clock::date_and_time(session.last);
            format!("process {process} ended without closing it; last figures of {at}")
        }
        None if age > 3 => format!("process {process}, idle for {age} s"),
        None => format!("process {process}, {}", clock::time_of_day(session.last)),
    }
}
