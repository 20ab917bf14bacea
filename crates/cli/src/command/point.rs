//! `get`, `put`, `delete`, `merge`: one key.

use foldb::{Db, Options};

use crate::args::{Common, Delete, Get, Merge, Put};
use crate::command::{key, parsed};
use crate::exit::{Exit, Outcome};
use crate::location::{self, Location};
use crate::operator::Target;
use crate::output::{EntryStyle, Output, key_in_message};

/// Prints a value and a newline.
pub fn get(args: &Get, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let db = location::open_to_read(&args.db)?;
    let Some(value) = db.get(&key)? else {
        let key = key_in_message(common.key_form(), &key);
        return Err(Exit::failed(format!("there is no {key} in {}", location::shown(&args.db))));
    };
    let style = entry_style(&db, common);
    let mut output = Output::new();
    style.value(&mut output, &key, &value)?;
    output.flush()?;
    Ok(db.close()?)
}

/// Sets a value.
pub fn put(args: &Put, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let (db, value) = match Location::of(&args.db)? {
        Location::Database => {
            let db = location::open(&args.db)?;
            let operator = db.default_operator().map(|operator| operator.text());
            let value = parsed("value", common.value_format.resolve(operator), &args.value)?;
            (db, value)
        }
        Location::Free => {
            let value = parsed("value", common.value_format.resolve(None), &args.value)?;
            (location::create(&args.db, Options::default())?, value)
        }
    };
    db.put(key, value)?;
    Ok(db.close()?)
}

/// Deletes a key.
pub fn delete(args: &Delete, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let db = location::open(&args.db)?;
    db.delete(key)?;
    Ok(db.close()?)
}

/// Merges an operand into a key.
pub fn merge(args: &Merge, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let target = Target::find(&args.db, args.operator.as_deref(), None)?;
    let operands = target.operands(common.value_format)?;
    let operand = operands.parse(args.operand.as_encoded_bytes()).map_err(Exit::Failed)?;
    let (db, operator) = target.open()?;
    db.merge_with(&operator, key, operand)?;
    Ok(db.close()?)
}

/// How entries of this database are printed.
pub fn entry_style(db: &Db, common: &Common) -> EntryStyle {
    let operator = db.default_operator().map(|operator| operator.text());
    EntryStyle {
        key: common.key_form(),
        value: common.value_format.resolve(operator),
        json: common.json,
    }
}
