//! `updates`: prints the change feed.

use std::io::{self, Write};
use std::ops::Bound;
use std::time::{Duration, SystemTime};

use foldb::feed::{Change, Update, UpdateOp, UpdatesOptions};
use serde_json::{Value, json};

use crate::args::{Common, Updates};
use crate::command::typed::unix_seconds;
use crate::exit::Outcome;
use crate::form::json::{integer, value};
use crate::form::{Form, Shown, escape};
use crate::location;
use crate::output::Output;

/// How long one wait of `--follow` takes.
const WAIT: Duration = Duration::from_millis(500);

/// Runs the command.
pub(super) fn run(args: &Updates, common: &Common) -> Outcome {
    let db = location::open_to_read(&args.db, common.options())?;
    let since = match args.since {
        Some(since) => since,
        None => db.oldest_position()?,
    };
    let options = UpdatesOptions { include_unsynced: args.unsynced };
    let mut updates = db.with(&options).updates_since(&since)?;
    let mut output = Output::new();
    loop {
        for update in updates.by_ref() {
            print(&update?, common, &mut output)?;
        }
        output.flush()?;
        if !args.follow {
            return Ok(db.close()?);
        }
        while !updates.wait(WAIT)? {}
    }
}

fn print(update: &Update, common: &Common, output: &mut Output) -> Outcome {
    let position = update.position.to_string();
    if common.json {
        let mut object = to_json(&update.change, common.key_form());
        object["position"] = json!(position);
        return output.json(&object);
    }
    let lines: Vec<Vec<Field<'_>>> = match &update.change {
        Change::Batch(batch) => batch.iter().map(|operation| fields(&operation)).collect(),
        Change::Keyspaces { dropped, created } => {
            let dropped = dropped.iter().map(|name| vec![text("dropped"), text(name)]);
            let created = created.iter().map(|own| vec![text("created"), text(&own.name)]);
            dropped.chain(created).collect()
        }
        Change::Unlogged { first, last } => {
            vec![vec![text("unlogged"), Field::Text(format!("{first}..={last}").into())]]
        }
        other => vec![vec![Field::Text(format!("{other:?}").into())]],
    };
    let key_form = common.key_form();
    output.with(|out| {
        for line in lines {
            out.write_all(position.as_bytes())?;
            for field in line {
                out.write_all(b"\t")?;
                field.write(key_form, out)?;
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    })
}

/// A field of a line.
enum Field<'a> {
    Text(std::borrow::Cow<'a, str>),
    Key(&'a [u8]),
    Value(&'a [u8]),
}

fn text(text: &str) -> Field<'_> {
    Field::Text(text.into())
}

impl Field<'_> {
    fn write(&self, key_form: Form, out: &mut impl Write) -> io::Result<()> {
        match self {
            Field::Text(text) => escape::write(text.as_bytes(), out),
            Field::Key(key) => shown(key_form, key).write_escaped(out),
            Field::Value(value) => escape::write(value, out),
        }
    }
}

/// Shows a key in a form, or as text if it does not fit.
fn shown(form: Form, key: &[u8]) -> Shown<'_> {
    form.show(key).unwrap_or(Shown::Text(key))
}

fn fields<'a>(operation: &UpdateOp<'a>) -> Vec<Field<'a>> {
    match *operation {
        UpdateOp::Put { keyspace, key, value, expires } => {
            let mut fields =
                vec![text("put"), text(keyspace), Field::Key(key), Field::Value(value)];
            fields.extend(expires.map(end));
            fields
        }
        UpdateOp::Delete { keyspace, key } => {
            vec![text("delete"), text(keyspace), Field::Key(key)]
        }
        UpdateOp::Merge { keyspace, key, operand, operator, expires } => {
            let mut fields = vec![
                text("merge"),
                text(keyspace),
                Field::Key(key),
                Field::Value(operand),
                text(operator),
            ];
            fields.extend(expires.map(end));
            fields
        }
        UpdateOp::DeleteRange { keyspace, start, end } => {
            let (from, to) = (bound(start), bound(end));
            vec![
                text("delete_range"),
                text(keyspace),
                text(from.0),
                key(from.1),
                text(to.0),
                key(to.1),
            ]
        }
        _ => vec![text("unknown")],
    }
}

/// Returns the field of the moment at which a value expires, in seconds since 1970.
fn end(expires: SystemTime) -> Field<'static> {
    Field::Text(format!("expires {}", unix_seconds(expires)).into())
}

fn key(key: &[u8]) -> Field<'_> {
    Field::Key(key)
}

/// Returns a bound as a word and a key.
fn bound(bound: Bound<&[u8]>) -> (&'static str, &[u8]) {
    match bound {
        Bound::Unbounded => ("open", b""),
        Bound::Included(key) => ("with", key),
        Bound::Excluded(key) => ("without", key),
    }
}

fn to_json(change: &Change, form: Form) -> Value {
    match change {
        Change::Batch(batch) => {
            let writes: Vec<Value> = batch.iter().map(|it| write_to_json(&it, form)).collect();
            json!({ "batch": writes })
        }
        Change::Keyspaces { dropped, created } => {
            let created: Vec<Value> = created
                .iter()
                .map(|own| {
                    json!({
                        "name": own.name,
                        "comparator": own.comparator,
                        "operator": own.merge_operator,
                        "expiry": own.expiry.map(|expiry| expiry.to_string()),
                    })
                })
                .collect();
            json!({ "dropped": dropped, "created": created })
        }
        Change::Unlogged { first, last } => {
            json!({ "unlogged": { "first": integer(*first), "last": integer(*last) } })
        }
        other => json!({ "unknown": format!("{other:?}") }),
    }
}

/// Adds the moment at which a value expires, in seconds since 1970.
fn with_end(mut write: Value, expires: Option<SystemTime>) -> Value {
    if let Some(expires) = expires {
        write["expires"] = json!(integer(unix_seconds(expires)));
    }
    write
}

fn write_to_json(operation: &UpdateOp<'_>, form: Form) -> Value {
    let key_of = |key: &[u8]| value(shown(form, key));
    let bytes = |bytes: &[u8]| value(Shown::Text(bytes));
    match *operation {
        UpdateOp::Put { keyspace, key, value, expires } => with_end(
            json!({ "put": key_of(key), "value": bytes(value), "keyspace": keyspace }),
            expires,
        ),
        UpdateOp::Delete { keyspace, key } => {
            json!({ "delete": key_of(key), "keyspace": keyspace })
        }
        UpdateOp::Merge { keyspace, key, operand, operator, expires } => with_end(
            json!({
                "merge": key_of(key),
                "operand": bytes(operand),
                "operator": operator,
                "keyspace": keyspace,
            }),
            expires,
        ),
        UpdateOp::DeleteRange { keyspace, start, end } => {
            let side = |(kind, key): (&str, &[u8])| json!({ kind: key_of(key) });
            let (from, to) = (side(bound(start)), side(bound(end)));
            json!({ "delete_range": { "from": from, "to": to }, "keyspace": keyspace })
        }
        _ => json!({ "unknown": format!("{operation:?}") }),
    }
}
