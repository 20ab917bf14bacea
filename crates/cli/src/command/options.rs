//! `options`: prints each option in effect, its origin, and what a larger or smaller value costs.

use foldb::explain::{ExplainedOption, OptionValue};
use indicatif::HumanBytes;
use serde_json::{Value, json};

use crate::args::{self, Common};
use crate::columns::{Side, align};
use crate::exit::Outcome;
use crate::form::json::integer;
use crate::keyspace::Shown;
use crate::output::Output;

/// Prints the options of a database, or those of a new one.
pub(super) fn run(args: &args::Options, common: &Common) -> Outcome {
    let explained = match &args.db {
        Some(path) => {
            let shown = Shown::open(path, &args.within.keyspace, common.options())?;
            let explained = shown.keyspace.explain_options();
            shown.close()?;
            explained
        }
        None => common.options().explain(),
    };
    let mut output = Output::new();
    if common.json {
        for option in &explained {
            output.json(&to_json(option))?;
        }
    } else {
        output.text(&to_table(&explained))?;
    }
    output.flush()
}

fn to_json(option: &ExplainedOption) -> Value {
    let value = match &option.value {
        OptionValue::Flag(on) => json!(on),
        OptionValue::Number(n) => integer(*n),
        OptionValue::Fraction(x) => json!(x),
        OptionValue::Text(text) => json!(text),
        other => json!(other.to_string()),
    };
    json!({
        "name": option.name,
        "value": value,
        "unit": option.unit,
        "from": option.source.to_string(),
        "cost": option.cost,
        "lack": option.lack,
    })
}

fn to_table(explained: &[ExplainedOption]) -> String {
    let heading = ["OPTION", "VALUE", "UNIT", "FROM", "WHAT MORE OR LESS COSTS"];
    let rows = explained.iter().map(|option| {
        let (value, unit) = match (&option.value, option.unit) {
            (OptionValue::Number(n), "bytes") => {
                let text = HumanBytes(*n).to_string();
                let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
                // The table rounds to two decimals, and shows 64 instead of 64.00.
                (number.trim_end_matches(".00").to_owned(), unit.to_owned())
            }
            (value, unit) => (value.to_string(), unit.to_owned()),
        };
        let cost = match &option.lack {
            Some(lack) => format!("{}. NOW: {lack}", option.cost.trim_end_matches('.')),
            None => option.cost.to_owned(),
        };
        vec![option.name.to_owned(), value, unit, option.source.to_string(), cost]
    });
    let table: Vec<_> = std::iter::once(heading.map(str::to_owned).to_vec()).chain(rows).collect();
    align("", &[Side::Left, Side::Right], &table)
}

#[cfg(test)]
mod tests {
    use foldb::Options;

    use super::*;

    #[test]
    fn bytes_are_readable_in_the_table_and_exact_in_json() {
        let explained =
            Options { block_cache_size: (32 << 20) + 1, ..Options::default() }.explain();
        let table = to_table(&explained);
        let line = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap();
        let words = |name| line(name).split_whitespace().take(4).collect::<Vec<_>>();
        assert_eq!(words("write_buffer_size"), ["write_buffer_size", "64", "MiB", "default"]);
        assert_eq!(words("block_cache_size"), ["block_cache_size", "32", "MiB", "given"]);
        let cache = explained.iter().find(|option| option.name == "block_cache_size").unwrap();
        assert_eq!(to_json(cache)["value"], (32 << 20) + 1);
        assert_eq!(table.lines().count(), explained.len() + 1);
    }

    #[test]
    fn what_a_database_lacks_is_told_behind_the_cost() {
        let mut explained = Options::default().explain();
        assert!(!to_table(&explained).contains("NOW:"));
        let budget = explained.iter_mut().find(|option| option.name == "memory_budget").unwrap();
        budget.lack = Some("few filters fit".to_owned());
        assert_eq!(to_json(budget)["lack"], "few filters fit");
        let end = format!("{}. NOW: few filters fit", budget.cost.trim_end_matches('.'));
        assert!(to_table(&explained).lines().any(|line| line.ends_with(&end)), "{end}");
    }

    #[test]
    fn kinds_of_values_keep_their_kind_in_json() {
        let value = |name: &str| {
            let explained = Options::default().explain();
            to_json(explained.iter().find(|option| option.name == name).unwrap())["value"].clone()
        };
        assert_eq!(value("create_if_missing"), false);
        assert_eq!(value("bloom_bits"), 10);
        assert_eq!(value("max_dead_fraction"), 0.25);
        assert_eq!(value("compression"), "lz4");
        assert_eq!(value("merge_operator"), Value::Null);
    }
}
