//! `explain`: prints the records of one key, their places, why they are not folded, and when the
//! key expires.

use std::time::SystemTime;

use foldb::explain::{Explained, ExplainedRecord};
use indicatif::HumanCount;
use serde_json::json;

use crate::args::{Common, Explain};
use crate::columns::{Side, align};
use crate::command::typed::{key, unix_seconds};
use crate::exit::{Exit, Outcome};
use crate::form::json::integer;
use crate::keyspace::Shown;
use crate::location;
use crate::output::{Output, key_in_message};

/// Prints the records of a key.
pub(super) fn run(args: &Explain, common: &Common) -> Outcome {
    let key = key(&args.key, common)?;
    let shown = Shown::open(&args.db, &args.within.keyspace, common.options())?;
    let explained = shown.keyspace.explain(&key)?;
    if explained.records.is_empty() {
        let key = key_in_message(common.key_form(), &key);
        let db = location::shown(&args.db);
        return Err(Exit::failed(format!("there is no record of {key} in {db}")));
    }
    let end = match explained.failure {
        None => End::of(&shown, &key)?,
        Some(_) => None,
    };
    let mut output = Output::new();
    if common.json {
        output.json(&to_json(&explained, end.as_ref()))?;
    } else {
        let line = end.map(|end| end.line()).unwrap_or_default();
        output.text(&(table(&explained) + &line))?;
    }
    output.flush()?;
    shown.close()
}

/// When a key of a keyspace with an expiry expires.
enum End {
    /// The key has no value any more.
    Absent,
    Never,
    At(SystemTime),
}

impl End {
    /// Reads when a key expires; `None` if the keyspace has no expiry.
    fn of(shown: &Shown, key: &[u8]) -> Outcome<Option<End>> {
        if shown.keyspace.options().expiry.is_none() {
            return Ok(None);
        }
        let end = match shown.keyspace.expires_at(key)? {
            Some(at) => End::At(at),
            None if shown.keyspace.contains_key(key)? => End::Never,
            None => End::Absent,
        };
        Ok(Some(end))
    }

    fn line(&self) -> String {
        match self {
            End::Absent => "the key has expired or was deleted\n".to_owned(),
            End::Never => "the key never expires\n".to_owned(),
            End::At(at) => {
                let left = at.duration_since(SystemTime::now()).unwrap_or_default().as_secs();
                format!("the key expires at {}, in {} s\n", unix_seconds(*at), HumanCount(left))
            }
        }
    }
}

fn table(explained: &Explained) -> String {
    let heading = ["PLACE", "SEQNO", "KIND", "OPERATOR", "BYTES", "WHY NOT FOLDED"];
    let mut lines = vec![heading.map(str::to_owned).to_vec()];
    lines.extend(explained.records.iter().map(|record| {
        vec![
            record.place.to_string(),
            record.sequence_number.to_string(),
            record.kind.to_string(),
            record.operator.clone().unwrap_or_default(),
            record.bytes.to_string(),
            record.unfolded.map(|why| why.to_string()).unwrap_or_default(),
        ]
    }));
    let (left, right) = (Side::Left, Side::Right);
    let mut text = align("", &[left, right, left, left, right, left], &lines);
    if let Some(failure) = &explained.failure {
        text.push_str(&format!("reads of the key fail: {failure}\n"));
    }
    text
}

fn to_json(explained: &Explained, end: Option<&End>) -> serde_json::Value {
    let record = |record: &ExplainedRecord| {
        json!({
            "place": record.place.to_string(),
            "sequence_number": integer(record.sequence_number),
            "kind": record.kind.to_string(),
            "operator": record.operator,
            "bytes": record.bytes,
            "unfolded": record.unfolded.map(|why| why.to_string()),
        })
    };
    json!({
        "records": explained.records.iter().map(record).collect::<Vec<_>>(),
        "operands": explained.operands(),
        "places": explained.places,
        "failure": explained.failure,
        "expires": match end {
            Some(End::At(at)) => integer(unix_seconds(*at)),
            _ => serde_json::Value::Null,
        },
    })
}
