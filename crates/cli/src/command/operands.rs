//! `get --operands` and `operands drop-last`: the stored chain of a key, and the way back from an
//! operand that does not fold.
//!
//! Invariant: a key gets its base and the operands that stay in one atomic batch, or keeps all.

use std::path::Path;

use foldb::WriteBatch;
use foldb::operators::{Base, Operand, builtins};
use serde_json::{Value, json};

use crate::args::{Common, Operands, OperandsAction};
use crate::command::typed::key;
use crate::exit::{Exit, Outcome};
use crate::form::json::{integer, value};
use crate::form::{Form, Shown as ShownBytes, ValueFormat};
use crate::keyspace::{Opened, Shown};
use crate::location;
use crate::output::{EntryStyle, Output, key_in_message};

/// Prints the base of a key and its operands, the oldest first.
pub(super) fn show(
    shown: &Shown,
    db: &Path,
    key: &[u8],
    style: &EntryStyle,
    common: &Common,
) -> Outcome {
    let chain = shown.keyspace.get_operands(key)?;
    let base = match chain.base() {
        Base::Put(value) => Some(&value[..]),
        Base::Deleted | Base::Nothing => None,
    };
    if base.is_none() && chain.is_empty() {
        return Err(missing(&style.key_in_message(key), db));
    }
    let as_shown = |form: Form, bytes| {
        let fits = form.show(bytes);
        let fits = if style.or_text { fits.or_else(|_| Form::Utf8.show(bytes)) } else { fits };
        let named = |why| Exit::failed(format!("a part of {} {why}", style.key_in_message(key)));
        fits.map_err(named)
    };
    let base = base.map(|base| as_shown(style.value, base)).transpose()?;
    let operands = chain.oldest_first().map(|operand| {
        Ok((operand.operator(), as_shown(form_of(operand, common.value_format), operand.value())?))
    });
    let operands = operands.collect::<Outcome<Vec<_>>>()?;
    let mut output = Output::new();
    if common.json {
        let operands = operands
            .into_iter()
            .map(|(operator, operand)| json!({ "operator": operator, "operand": value(operand) }));
        let operands: Value = operands.collect();
        let key = value(style.key.show(key).unwrap_or(ShownBytes::Text(key)));
        output.json(&json!({ "key": key, "base": base.map(value), "operands": operands }))?;
    } else {
        let base = base.map(|base| ("base", "-", base));
        let operands = operands.into_iter().map(|(operator, one)| ("operand", operator, one));
        for (kind, operator, bytes) in base.into_iter().chain(operands) {
            output.text(&format!("{kind}\t{operator}\t"))?;
            output.with(|out| {
                bytes.write_escaped(out)?;
                std::io::Write::write_all(out, b"\n")
            })?;
        }
    }
    output.flush()
}

/// Returns the form of an operand: that of its own operator, unless `--as` names another.
fn form_of(operand: &Operand, format: ValueFormat) -> Form {
    let name = operand.operator().split(':').next().unwrap_or_default();
    let builtin = builtins().iter().find(|builtin| builtin.name == name);
    format.resolve(builtin.map(|builtin| builtin.text))
}

fn missing(named: &str, db: &Path) -> Exit {
    Exit::failed(format!("there is no {named} in {}", location::shown(db)))
}

/// Changes the operands of a key.
pub(super) fn run(args: &Operands, common: &Common) -> Outcome {
    match args.action {
        OperandsAction::DropLast => drop_last(args, common),
    }
}

/// Takes the newest operands off a key.
fn drop_last(args: &Operands, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let named = key_in_message(common.key_form(), &key);
    let refused = |why: String| Err(Exit::failed(format!("nothing was written: {why}")));
    let opened = Opened::open(&args.db, &args.within.keyspace, common.options())?;
    if opened.keyspace.options().expiry.is_some() {
        return refused("the keyspace has an expiry, and the entry would get another end".into());
    }
    let chain = opened.keyspace.get_operands(&key)?;
    let has_base = matches!(chain.base(), Base::Put(_));
    if chain.is_empty() && !has_base {
        return Err(missing(&named, &args.db));
    }
    let has = match chain.len() {
        0 => "no operands, only a value".to_owned(),
        1 => "1 operand".to_owned(),
        count => format!("{count} operands"),
    };
    let count = usize::try_from(args.newest).unwrap_or(usize::MAX);
    let Some(left) = chain.len().checked_sub(count) else {
        return refused(format!("{named} has {has}"));
    };
    let mut batch = WriteBatch::new();
    match chain.base() {
        Base::Put(value) => batch.put_in(&opened.keyspace, &key, value),
        Base::Deleted | Base::Nothing => batch.delete_in(&opened.keyspace, &key),
    };
    for operand in chain.oldest_first().take(left) {
        let operator = match opened.keyspace.operator(operand.operator()) {
            Ok(operator) => operator,
            Err(error) => return refused(format!("an older operand of {named} stays: {error}")),
        };
        batch.merge_with_in(&operator, &opened.keyspace, &key, operand.value());
    }
    opened.db.write(&batch)?;
    let is_read = match opened.keyspace.get(&key) {
        Ok(_) => true,
        Err(error) if error.failed_merge().is_some() => false,
        Err(error) => return Err(error.into()),
    };
    tell(count, left, is_read, &named, common)?;
    opened.close()
}

fn tell(taken: usize, left: usize, is_read: bool, named: &str, common: &Common) -> Outcome {
    let mut output = Output::new();
    if common.json {
        let number = |count: usize| integer(count as u64);
        let line = json!({ "taken": number(taken), "left": number(left), "readable": is_read });
        output.json(&line)?;
    } else {
        let still = if is_read { "" } else { "; the key still cannot be read" };
        output.text(&format!("took {taken} off {named}, {left} left{still}\n"))?;
    }
    output.flush()
}
