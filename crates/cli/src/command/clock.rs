//! `clock`: shows the time by which entries expire, and sets it back.

use std::io::{self, Write};

use foldb::expiry::ClockReading;
use indicatif::HumanCount;
use serde_json::json;

use crate::args::{Clock, Common};
use crate::command::typed::unix_seconds;
use crate::exit::Outcome;
use crate::form::json::integer;
use crate::location;
use crate::output::Output;

/// Prints the times, after a reset if one is asked for.
pub(super) fn run(args: &Clock, common: &Common) -> Outcome {
    let reading = if args.reset { reset(args, common)? } else { read(args, common)? };
    let mut output = Output::new();
    let (database, machine) = (unix_seconds(reading.database), unix_seconds(reading.machine));
    let ahead = reading.ahead().as_secs();
    if common.json {
        output.json(&json!({
            "database": integer(database),
            "machine": integer(machine),
            "ahead": integer(ahead),
        }))?;
    } else {
        output.text(&format!(
            "database  {database}\nmachine   {machine}\nahead     {} s\n",
            HumanCount(ahead)
        ))?;
    }
    output.flush()
}

/// Reads both times. Another program may have the database open.
fn read(args: &Clock, common: &Common) -> Outcome<ClockReading> {
    let db = location::open_to_read(&args.db, common.options())?;
    let reading = db.clock();
    db.close()?;
    if !reading.ahead().is_zero() {
        let _best_effort = writeln!(
            io::stderr(),
            "nothing expires for {} s; if the machine's clock is right, --reset ends that",
            HumanCount(reading.ahead().as_secs())
        );
    }
    Ok(reading)
}

fn reset(args: &Clock, common: &Common) -> Outcome<ClockReading> {
    let db = location::open(&args.db, common.options())?;
    let before = db.reset_clock()?;
    let reading = db.clock();
    db.close()?;
    let said = match before.ahead().as_secs() {
        0 => "the time was not ahead; nothing has changed".to_owned(),
        ahead => format!("the time was {} s ahead and is set back", HumanCount(ahead)),
    };
    let _best_effort = writeln!(io::stderr(), "{said}");
    Ok(reading)
}
