//! `operators`: lists the built-in merge operators.

use foldb::operators::{TextForm, builtins};
use serde_json::json;

use crate::args::Common;
use crate::columns::align;
use crate::exit::Outcome;
use crate::output::Output;

/// Lists the built-in operators.
pub(super) fn run(common: &Common) -> Outcome {
    let mut output = Output::new();
    if common.json {
        for operator in builtins() {
            output.json(&json!({
                "name": operator.name,
                "parameter": operator.parameter,
                "operand": operand_text(operator.text),
                "example": operator.example,
                "summary": operator.summary,
            }))?;
        }
        return output.flush();
    }
    let heading = ["NAME", "PARAMETER", "OPERAND TEXT", "EXAMPLE", "WHAT IT DOES"];
    let rows = builtins().iter().map(|operator| {
        let parameter = operator.parameter.unwrap_or("-");
        let text = operand_text(operator.text);
        [operator.name, parameter, text, operator.example, operator.summary]
    });
    let table: Vec<Vec<String>> =
        std::iter::once(heading).chain(rows).map(|row| row.map(str::to_owned).to_vec()).collect();
    output.text(&align("", &[], &table))?;
    output.flush()
}

fn operand_text(text: TextForm) -> &'static str {
    match text {
        TextForm::Bytes => "the given bytes, in the form of --as",
        TextForm::U64 => "a whole number from 0 (u64)",
        TextForm::I64 => "a whole number (i64)",
        TextForm::F64 => "a decimal fraction (f64)",
        TextForm::List | TextForm::Sketch => "one element",
        TextForm::Set => "+member or -member",
        TextForm::Stats => "a whole number, one sample",
        TextForm::Top => "score, space, item",
        TextForm::Histogram => "a decimal fraction, one sample",
    }
}
