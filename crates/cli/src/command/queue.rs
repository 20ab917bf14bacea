//! `queue`: jobs with leases. A job is claimed in one process and ended in another, by its id and
//! the token of its lease.
//!
//! Invariant: only a push creates a database or a queue.

use std::ffi::OsStr;
use std::io::Write;
use std::time::{Duration, SystemTime};

use foldb::Db;
use foldb_queue::{
    Claimed, Error, Fate, JobInfo, JobState, PushOptions, Queue as Jobs, QueueOptions,
};
use indicatif::HumanCount;
use serde_json::{Value, json};

use crate::args::{Common, Queue, QueueAction};
use crate::command::keyspaces::check_name;
use crate::command::typed::{bytes_of, unix_seconds};
use crate::exit::{Exit, Outcome};
use crate::form::Form;
use crate::form::escape::{self, quoted};
use crate::form::json::{integer, value};
use crate::keyspace::Opened;
use crate::location::{self, Location};
use crate::output::Output;

/// How long a job waits after `fail` without `--delay`.
const FAIL_DELAY: Duration = Duration::from_secs(1);

impl From<Error> for Exit {
    fn from(error: Error) -> Exit {
        Exit::Failed(error.to_string())
    }
}

/// Runs one of the commands.
pub(super) fn run(args: &Queue, common: &Common) -> Outcome {
    let rest: Vec<&OsStr> = args.rest.iter().map(AsRef::as_ref).collect();
    match (args.action, &rest[..]) {
        (QueueAction::Push, [body]) => push(args, body, common),
        (QueueAction::Claim, []) => claim(args, common),
        (QueueAction::Ack, [id, token]) => {
            held(args, id, token, common, |jobs, claimed, _| Ok(jobs.ack(claimed)?))
        }
        (QueueAction::Extend, [id, token]) => {
            held(args, id, token, common, |jobs, claimed, out| {
                jobs.extend(claimed, args.lease)?;
                show_claimed(claimed, common, out)
            })
        }
        (QueueAction::Retry, [id, token]) => held(args, id, token, common, |jobs, claimed, out| {
            show_fate(jobs.retry(claimed, args.delay.unwrap_or_default())?, common, out)
        }),
        (QueueAction::Fail, [id, token, why]) => {
            let why = text("WHY", why)?;
            held(args, id, token, common, |jobs, claimed, out| {
                show_fate(jobs.fail(claimed, why)?, common, out)
            })
        }
        (QueueAction::Depth, []) => depth(args, common),
        (QueueAction::Dead, []) => list(args, common, true),
        (QueueAction::List, []) => list(args, common, false),
        (QueueAction::Revive, [id]) => {
            let id = number(id)?;
            within(args, common, |jobs| Ok(jobs.revive(id)?))
        }
        (QueueAction::Discard, [id]) => {
            let id = number(id)?;
            within(args, common, |jobs| Ok(jobs.discard(id)?))
        }
        (action, _) => Err(Exit::usage(format!("expected foldb queue {}", action.usage()))),
    }
}

fn text<'a>(what: &str, given: &'a OsStr) -> Outcome<&'a str> {
    given.to_str().ok_or_else(|| Exit::usage(format!("{what} is not UTF-8")))
}

fn number(id: &OsStr) -> Outcome<u64> {
    let parsed = id.to_str().and_then(|id| id.parse().ok());
    parsed.ok_or_else(|| {
        let id = quoted(id.as_encoded_bytes());
        Exit::usage(format!("{id} is no id of a job: expected the number that push printed"))
    })
}

fn options(args: &Queue) -> QueueOptions {
    QueueOptions {
        max_attempts: args.max_attempts,
        retry_delay: args.delay.unwrap_or(FAIL_DELAY),
        sync: true,
        ..QueueOptions::default()
    }
}

/// Runs `work` with a queue that exists.
fn within<T>(args: &Queue, common: &Common, work: impl FnOnce(&Jobs) -> Outcome<T>) -> Outcome<T> {
    let opened = Opened::open(&args.db, &args.queue, common.options())?;
    let done = Jobs::open_existing(&opened.db, &args.queue, options(args))?;
    let done = work(&done)?;
    opened.close()?;
    Ok(done)
}

fn push(args: &Queue, body: &OsStr, common: &Common) -> Outcome {
    check_name(&args.queue)?;
    let form = common.value_format.resolve(None);
    let body = bytes_of("body", form, body.as_encoded_bytes())?;
    let db: Db = match Location::of(&args.db)? {
        Location::Database => location::open(&args.db, common.options())?,
        Location::Free => location::create(&args.db, common.options())?,
    };
    let jobs = Jobs::open(&db, &args.queue, options(args))?;
    let how = PushOptions { priority: args.priority, delay: args.delay.unwrap_or_default() };
    let id = jobs.push_with(body, how)?;
    let mut output = Output::new();
    match common.json {
        true => output.json(&json!({ "id": integer(id) }))?,
        false => output.text(&format!("{id}\n"))?,
    }
    output.flush()?;
    Ok(db.close()?)
}

fn claim(args: &Queue, common: &Common) -> Outcome {
    let mut output = Output::new();
    let due = within(args, common, |jobs| match jobs.claim(&args.worker, args.lease)? {
        Some(claimed) => show_claimed(&claimed, common, &mut output).map(|()| None),
        None => Ok(Some(jobs.next_due()?)),
    })?;
    match due {
        None => output.flush(),
        Some(None) => Err(Exit::failed("no job is ready, and none waits")),
        Some(Some(due)) => {
            let seconds = HumanCount(due.as_secs() + u64::from(due.subsec_nanos() > 0));
            Err(Exit::failed(format!("no job is ready; the next one is due in {seconds} s")))
        }
    }
}

/// Runs `work` with a claim of an earlier command.
fn held(
    args: &Queue,
    id: &OsStr,
    token: &OsStr,
    common: &Common,
    work: impl FnOnce(&Jobs, &mut Claimed, &mut Output) -> Outcome,
) -> Outcome {
    let (id, token) = (number(id)?, text("TOKEN", token)?);
    let mut output = Output::new();
    within(args, common, |jobs| {
        let mut claimed = jobs.resume(id, token)?;
        work(jobs, &mut claimed, &mut output)
    })?;
    output.flush()
}

fn show_claimed(claimed: &Claimed, common: &Common, output: &mut Output) -> Outcome {
    let (id, token) = (claimed.id, claimed.token());
    if common.json {
        return output.json(&json!({
            "id": integer(id),
            "token": token,
            "attempt": claimed.attempt,
            "priority": claimed.priority,
            "worker": claimed.worker,
            "lease_end": integer(unix_seconds(claimed.lease_end())),
            "body": body_json(&claimed.body, common)?,
        }));
    }
    output.text(&format!("{id}\t{token}\t"))?;
    body_text(&claimed.body, common, output)
}

fn show_fate(fate: Fate, common: &Common, output: &mut Output) -> Outcome {
    let state = match fate {
        Fate::Waits => "waits",
        Fate::Dead => "dead",
    };
    match common.json {
        true => output.json(&json!({ "job": state })),
        false => output.text(&format!("{state}\n")),
    }
}

fn form(common: &Common) -> Form {
    common.value_format.resolve(None)
}

fn body_json(body: &[u8], common: &Common) -> Outcome<Value> {
    let shown = form(common).show(body).map_err(Exit::Failed)?;
    Ok(value(shown))
}

fn body_text(body: &[u8], common: &Common, output: &mut Output) -> Outcome {
    let shown = form(common).show(body).map_err(Exit::Failed)?;
    output.with(|out| {
        shown.write_escaped(out)?;
        out.write_all(b"\n")
    })
}

fn depth(args: &Queue, common: &Common) -> Outcome {
    let depth = within(args, common, |jobs| Ok(jobs.depth()?))?;
    let rows = [
        ("ready", depth.ready),
        ("delayed", depth.delayed),
        ("leased", depth.leased),
        ("dead", depth.dead),
        ("done", depth.done),
    ];
    let mut output = Output::new();
    if common.json {
        let object = rows.map(|(name, count)| (name.to_owned(), json!(integer(count))));
        output.json(&Value::Object(object.into_iter().collect()))?;
    } else {
        for (name, count) in rows {
            output.text(&format!("{name:<7}  {}\n", HumanCount(count)))?;
        }
    }
    output.flush()
}

/// Prints the jobs, or only the dead letters.
fn list(args: &Queue, common: &Common, only_dead: bool) -> Outcome {
    let mut output = Output::new();
    within(args, common, |jobs| {
        for job in jobs.jobs()? {
            let job = job?;
            if !only_dead || matches!(job.state, JobState::Dead { .. }) {
                show_job(&job, common, &mut output)?;
            }
        }
        Ok(())
    })?;
    output.flush()
}

/// Returns the name of a state, its moment, and the worker or the reason.
fn parts(state: &JobState) -> (&'static str, Option<SystemTime>, &str) {
    match state {
        JobState::Ready => ("ready", None, ""),
        JobState::Delayed(until) => ("delayed", Some(*until), ""),
        JobState::Leased { worker, end } => ("leased", Some(*end), worker),
        JobState::Dead { reason, died_at } => ("dead", Some(*died_at), reason),
        _ => ("unknown", None, ""),
    }
}

fn show_job(job: &JobInfo, common: &Common, output: &mut Output) -> Outcome {
    let (state, time, said) = parts(&job.state);
    if common.json {
        let mut object = json!({
            "id": integer(job.id),
            "state": state,
            "priority": job.priority,
            "attempts": job.attempts,
            "body": body_json(&job.body, common)?,
        });
        if let Some(time) = time {
            object["time"] = json!(integer(unix_seconds(time)));
        }
        match &job.state {
            JobState::Leased { .. } => object["worker"] = json!(said),
            JobState::Dead { .. } => object["reason"] = json!(said),
            _ => {}
        }
        return output.json(&object);
    }
    output.with(|out| {
        write!(out, "{}\t{state}\t{}\t{}\t", job.id, job.priority, job.attempts)?;
        escape::write(said.as_bytes(), out)?;
        out.write_all(b"\t")
    })?;
    body_text(&job.body, common, output)
}
