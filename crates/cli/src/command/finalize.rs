//! `finalize`: folds every operand into a plain value.

use std::io::{self, Write};
use std::time::Instant;

use indicatif::HumanCount;

use crate::args::{Common, Finalize};
use crate::exit::{Exit, Outcome};
use crate::location;
use crate::output::key_in_message;
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
    let _ = writeln!(
        io::stderr(),
        "finalized in {:.1} s: {} operands are left",
        started.elapsed().as_secs_f64(),
        HumanCount(left.operands_left),
    );
    if left.failed.is_empty() {
        return Ok(());
    }
    for failed in left.failed.iter().take(MOST_NAMED) {
        let key = key_in_message(common.key_form(), &failed.key);
        let _ = writeln!(
            io::stderr(),
            "  {key} of keyspace {}: operator '{}' rejects its value or an operand",
            failed.keyspace,
            failed.operator
        );
    }
    Err(Exit::failed(match left.failed.len() {
        1 => "1 key could not be folded; put or delete it, and finalize again".to_owned(),
        many => format!(
            "{} keys could not be folded; put or delete them, and finalize again",
            HumanCount(many as u64)
        ),
    }))
}
