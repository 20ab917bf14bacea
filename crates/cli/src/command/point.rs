//! `get`, `put`, `delete`, `touch`, `ttl`, `merge`: one key.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use foldb::CompareAndSwap;
use foldb::limits::MAX_VALUE_BYTES;
use foldb::operators::TextForm;
use serde_json::json;

use crate::args::{Common, Delete, Get, Merge, Put, Touch, Ttl};
use crate::command::typed::{bytes_of, key, key_of, types};
use crate::command::{ends, operands};
use crate::exit::{Exit, Outcome};
use crate::form::json::integer;
use crate::form::{Form, ValueFormat};
use crate::keyspace::{Opened, Shown};
use crate::location::{self, Location};
use crate::operator::Target;
use crate::output::{EntryStyle, Output, key_in_message};

/// Prints a value, and a newline unless `--no-newline` is given.
pub(super) fn get(args: &Get, common: &Common) -> Outcome {
    let shown = Shown::open(&args.db, &args.within.keyspace, common.options())?;
    let style = entry_style(&shown, common)?;
    let key = key_of(&args.key, common, style.types.as_ref())?;
    if args.operands {
        return operands::show(&shown, &args.db, &key, &style, common);
    }
    let Some(value) = shown.keyspace.get(&key)? else {
        let key = key_in_message(common.key_form(), &key);
        return Err(Exit::failed(format!("there is no {key} in {}", location::shown(&args.db))));
    };
    let mut output = Output::new();
    let end: &[u8] = if args.no_newline { b"" } else { b"\n" };
    style.value(&mut output, &key, &value, end)?;
    output.flush()?;
    shown.close()
}

/// Sets a value.
pub(super) fn put(args: &Put, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let (within, options) = (&args.within.keyspace, common.options());
    ends::check_default(&args.ends, within)?;
    let given = match (&args.file, &args.value) {
        (Some(file), _) => read(file)?,
        (None, value) => value.clone().unwrap_or_default().into_encoded_bytes(),
    };
    let parse_one = |operator, given: &[u8], is_file: bool| {
        let form = common.value_format.resolve(operator);
        // A file with a number in text form ends in a newline.
        let line = given.strip_suffix(b"\n").filter(|_| is_file && form != Form::Utf8);
        let stored = bytes_of("value", form, line.unwrap_or(given));
        let is_text = form != Form::Utf8 && common.value_format == ValueFormat::Auto;
        stored
            .map_err(|failed| if is_text { failed.and(" (--as utf8 stores text)") } else { failed })
    };
    let parse = |operator| parse_one(operator, &given, args.file.is_some());
    let (opened, value) = match Location::of(&args.db)? {
        Location::Database => {
            let opened = Opened::open(&args.db, within, options)?;
            let value = parse(opened.operator_text())?;
            (opened, value)
        }
        Location::Free if args.if_value.is_some() => {
            // Nothing has the value, so the usual error of a missing database.
            (Opened::open(&args.db, within, options)?, Vec::new())
        }
        Location::Free => {
            let value = parse(None)?;
            (Opened::create(&args.db, within, options)?, value)
        }
    };
    let options = ends::write_options(&args.ends, &opened)?;
    let conditional = opened.keyspace.with(&options);
    let refused = |why: &str| {
        let key = key_in_message(common.key_form(), &key);
        Err(Exit::failed(format!("nothing was written: {key} {why}")))
    };
    if args.if_absent {
        if !conditional.put_if_absent(&key, value)? {
            return refused("has a value");
        }
    } else if let Some(old) = &args.if_value {
        let old = parse_one(opened.operator_text(), old.as_encoded_bytes(), false)?;
        match conditional.compare_and_swap(&key, Some(&old), Some(&value))? {
            CompareAndSwap::Swapped => {}
            CompareAndSwap::Found(None) => return refused("has no value"),
            CompareAndSwap::Found(Some(_)) => return refused("has another value"),
        }
    } else {
        opened.keyspace.with(&options).put(key, value)?;
    }
    opened.close()
}

/// Reads a file or standard input whole, unless it is longer than a value may be. It may have no
/// end.
fn read(file: &Path) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MAX_VALUE_BYTES as u64 + 1;
    let read = match file.as_os_str() == "-" {
        true => io::stdin().lock().take(most).read_to_end(&mut bytes),
        false => fs::File::open(file).and_then(|open| open.take(most).read_to_end(&mut bytes)),
    };
    let shown = location::shown(file);
    match read {
        Ok(length) if length > MAX_VALUE_BYTES => Err(Exit::failed(format!(
            "{shown} is longer than a value may be: MAX_VALUE_BYTES = {MAX_VALUE_BYTES}"
        ))),
        Ok(_) => Ok(bytes),
        Err(error) => Err(Exit::failed(format!("cannot read {shown}: {error}"))),
    }
}

/// Deletes a key.
pub(super) fn delete(args: &Delete, common: &Common) -> Outcome {
    let opened = Opened::open(&args.db, &args.within.keyspace, common.options())?;
    let own = &opened.keyspace;
    let types = types(own.name(), own.schema(), common)?;
    own.delete(key_of(&args.key, common, types.as_ref())?)?;
    opened.close()
}

/// Renews the end of an entry.
pub(super) fn touch(args: &Touch, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let within = &args.within.keyspace;
    ends::check_default(&args.ends, within)?;
    let opened = Opened::open(&args.db, within, common.options())?;
    let options = ends::write_options(&args.ends, &opened)?;
    if !opened.keyspace.with(&options).touch(&key)? {
        let key = key_in_message(common.key_form(), &key);
        return Err(Exit::failed(format!("there is no {key} in {}", location::shown(&args.db))));
    }
    opened.close()
}

/// Prints how long an entry has left.
pub(super) fn ttl(args: &Ttl, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let shown = Shown::open(&args.db, &args.within.keyspace, common.options())?;
    // The clock first: an entry that expires between the two calls has nothing left.
    let now = shown.db.clock().database;
    let end = shown.keyspace.expires_at(&key)?;
    if end.is_none() && shown.keyspace.get(&key)?.is_none() {
        let key = key_in_message(common.key_form(), &key);
        return Err(Exit::failed(format!("there is no {key} in {}", location::shown(&args.db))));
    }
    let left = end.map(|end| end.duration_since(now).unwrap_or_default().as_secs());
    let mut output = Output::new();
    match (common.json, left) {
        (true, left) => output.json(&json!({ "seconds": left.map(integer) }))?,
        (false, Some(left)) => output.text(&format!("{left}\n"))?,
        (false, None) => output.text("never\n")?,
    }
    output.flush()?;
    shown.close()
}

/// Merges an operand into a key.
pub(super) fn merge(args: &Merge, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let asked = args.operator.as_deref();
    ends::check_default(&args.ends, &args.within.keyspace)?;
    let target = Target::find(&args.db, &args.within.keyspace, asked, None, common.options())?;
    // An operator that is new to the database would stay, also if the merge then failed.
    if let Some(opened) = target.opened() {
        ends::check(&args.ends, opened)?;
    }
    let operands = target.operands(common.value_format)?;
    let operand = operands.parse(args.operand.as_encoded_bytes()).map_err(Exit::Failed)?;
    if !args.blind {
        target.check_merge(&key, &operand, &key_in_message(common.key_form(), &key))?;
    }
    let (opened, operator) = target.open()?;
    if !args.get {
        let options = ends::write_options(&args.ends, &opened)?;
        opened.keyspace.with(&options).merge_with(&operator, key, operand)?;
        return opened.close();
    }
    let merged = opened.db.transact(|transaction| {
        let own = transaction.keyspace(&opened.keyspace);
        own.merge_with(&operator, &key, &operand)?;
        own.get(&key)
    })?;
    if let Some(value) = merged {
        let mut output = Output::new();
        let style = style_of(opened.operator_text(), common);
        style.value(&mut output, &key, &value, b"\n")?;
        output.flush()?;
    }
    opened.close()
}

/// Returns how to print entries of this keyspace.
pub(super) fn entry_style(shown: &Shown, common: &Common) -> Outcome<EntryStyle> {
    let own = &shown.keyspace;
    let types = types(own.name(), own.schema(), common)?;
    Ok(EntryStyle { types, ..style_of(shown.operator_text(), common) })
}

fn style_of(operator: Option<TextForm>, common: &Common) -> EntryStyle {
    EntryStyle {
        key: common.key_form(),
        value: common.value_format.resolve(operator),
        or_text: common.value_format == ValueFormat::Auto,
        json: common.json,
        types: None,
    }
}
