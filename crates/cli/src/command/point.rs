//! `get`, `put`, `delete`, `merge`: one key.

use crate::args::{Common, Delete, Get, Merge, Put};
use crate::command::{key, parsed};
use crate::exit::{Exit, Outcome};
use crate::keyspace::Opened;
use crate::location::{self, Location};
use crate::operator::Target;
use crate::output::{EntryStyle, Output, key_in_message};

/// Prints a value and a newline.
pub fn get(args: &Get, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let opened = Opened::open_to_read(&args.db, &args.within.keyspace, common.options())?;
    let Some(value) = opened.keyspace.get(&key)? else {
        let key = key_in_message(common.key_form(), &key);
        return Err(Exit::failed(format!("there is no {key} in {}", location::shown(&args.db))));
    };
    let style = entry_style(&opened, common);
    let mut output = Output::new();
    style.value(&mut output, &key, &value)?;
    output.flush()?;
    opened.close()
}

/// Sets a value.
pub fn put(args: &Put, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let (within, options) = (&args.within.keyspace, common.options());
    let parse = |operator| parsed("value", common.value_format.resolve(operator), &args.value);
    let (opened, value) = match Location::of(&args.db)? {
        Location::Database => {
            let opened = Opened::open(&args.db, within, options)?;
            let value = parse(opened.operator_text())?;
            (opened, value)
        }
        Location::Free => {
            let value = parse(None)?;
            (Opened::create(&args.db, within, options)?, value)
        }
    };
    opened.keyspace.put(key, value)?;
    opened.close()
}

/// Deletes a key.
pub fn delete(args: &Delete, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let opened = Opened::open(&args.db, &args.within.keyspace, common.options())?;
    opened.keyspace.delete(key)?;
    opened.close()
}

/// Merges an operand into a key.
pub fn merge(args: &Merge, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let asked = args.operator.as_deref();
    let target = Target::find(&args.db, &args.within.keyspace, asked, None, common.options())?;
    let operands = target.operands(common.value_format)?;
    let operand = operands.parse(args.operand.as_encoded_bytes()).map_err(Exit::Failed)?;
    let (opened, operator) = target.open()?;
    opened.keyspace.merge_with(&operator, key, operand)?;
    opened.close()
}

/// How entries of this keyspace are printed.
pub fn entry_style(opened: &Opened, common: &Common) -> EntryStyle {
    EntryStyle {
        key: common.key_form(),
        value: common.value_format.resolve(opened.operator_text()),
        json: common.json,
    }
}
