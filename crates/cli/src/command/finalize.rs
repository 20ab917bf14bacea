//! `finalize`: folds every operand into a plain value.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use foldb::operators::Finalized;
use indicatif::HumanCount;
use serde_json::{Value, json};

use crate::args::{Common, Finalize};
use crate::exit::{Exit, Outcome};
use crate::form::json::integer;
use crate::form::{Shown, json as as_json};
use crate::location;
use crate::output::{Output, key_in_message};
use crate::progress;

/// Most keys that the error names.
const MOST_NAMED: usize = 10;

/// Folds everything, and fails if an operator could not fold some keys.
pub(super) fn run(args: &Finalize, common: &Common) -> Outcome {
    let db = location::open(&args.db, common.options())?;
    let started = Instant::now();
    let spinner = progress::spinner("folding", "{prefix} {spinner} {elapsed}");
    let finalized = db.finalize();
    spinner.finish_and_clear();
    let left = finalized?;
    db.close()?;
    if common.json {
        let mut output = Output::new();
        output.json(&to_json(&left, common))?;
        output.flush()?;
    } else {
        tell(&left, started.elapsed(), common);
    }
    if left.failed.is_empty() {
        return Ok(());
    }
    Err(Exit::failed(match left.failed.len() {
        1 => "1 key could not be folded; put or delete it, and finalize again".to_owned(),
        many => format!(
            "{} keys could not be folded; put or delete them, and finalize again",
            HumanCount(many as u64)
        ),
    }))
}

fn tell(left: &Finalized, took: Duration, common: &Common) {
    let (seconds, operands) = (took.as_secs_f64(), HumanCount(left.operands_left));
    let _ = writeln!(io::stderr(), "finalized in {seconds:.1} s: {operands} operands are left");
    for failed in left.failed.iter().take(MOST_NAMED) {
        let key = key_in_message(common.key_form(), &failed.key);
        let _ = writeln!(
            io::stderr(),
            "  {key} of keyspace {}: operator '{}' rejects its value or an operand",
            failed.keyspace,
            failed.operator
        );
    }
}

fn to_json(left: &Finalized, common: &Common) -> Value {
    let form = common.key_form();
    let shown = |key| as_json::value(form.show(key).unwrap_or(Shown::Text(key)));
    let failed = left.failed.iter().map(|failed| {
        json!({
            "key": shown(&failed.key),
            "keyspace": &*failed.keyspace,
            "operator": &*failed.operator,
        })
    });
    json!({
        "operands_left": integer(left.operands_left),
        "failed": failed.collect::<Vec<_>>(),
    })
}
