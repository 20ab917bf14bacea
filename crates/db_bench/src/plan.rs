//! What a run will do, checked whole before any database is touched.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use foldb::{BuiltinInfo, Options, TextForm};

use crate::benchmark::{Benchmark, TABLE};
use crate::failure::Failure;
use crate::flags::Flags;
use crate::settings;

/// Bytes of the operands of number operators.
const NUMBER_LEN: u64 = 8;
/// The one operator that also takes operands of another width, as RocksDB's does.
const LENIENT: (&str, &str) = ("uint64add", "rocksdb_lenient");

/// A checked run.
#[derive(Debug)]
pub struct Plan {
    /// The flags, for what the workloads need.
    pub flags: Flags,
    /// What to run, in this order.
    pub benchmarks: Vec<Benchmark>,
    /// How to open the database.
    pub options: Options,
    /// Whether the operator was made lenient because of `--value_size`.
    pub lenient: bool,
    /// Where the database is.
    pub directory: PathBuf,
    /// Base of the random generators' seeds.
    pub seed: i64,
}

impl Plan {
    /// Checks the flags against each other, the benchmarks, the operators and the engine.
    ///
    /// # Errors
    /// Whatever would make the run fail or mean nothing.
    pub fn new(flags: Flags) -> Result<Plan, Failure> {
        settings::check_workload(&flags)?;
        let benchmarks = Benchmark::list(&flags.benchmarks)?;
        if flags.merge_operator.is_empty() {
            refuse_merges_without_operator(&benchmarks)?;
        }
        let operator = match flags.merge_operator.as_str() {
            "" => None,
            spec => Some(choose_operator(spec, flags.value_size, foldb::builtins())?),
        };
        let lenient = operator.as_ref().is_some_and(|spec| *spec != flags.merge_operator);
        Ok(Plan {
            options: settings::options(&flags, operator)?,
            directory: directory(&flags),
            seed: seed(flags.seed),
            benchmarks,
            lenient,
            flags,
        })
    }
}

fn refuse_merges_without_operator(benchmarks: &[Benchmark]) -> Result<(), Failure> {
    match TABLE.iter().find(|entry| entry.merges && benchmarks.contains(&entry.benchmark)) {
        None => Ok(()),
        Some(entry) => Err(Failure::new(format!(
            "{} needs --merge_operator, --merge_operator=uint64add for example",
            entry.name
        ))),
    }
}

/// The operator to open with: the one asked for, or its lenient form where generated operands
/// would not be of its width.
fn choose_operator(spec: &str, value_size: u64, known: &[BuiltinInfo]) -> Result<String, Failure> {
    let (name, parameter) = match spec.split_once(':') {
        Some((name, parameter)) => (name, Some(parameter)),
        None => (spec, None),
    };
    let Some(builtin) = known.iter().find(|builtin| builtin.name == name) else {
        let names = known.iter().map(|builtin| builtin.name);
        return Err(Failure::unknown("merge operator", name, "", names));
    };
    match parameter {
        Some(parameter) if (name, parameter) == LENIENT => return Ok(spec.to_owned()),
        Some(parameter) if name == LENIENT.0 => {
            return Err(Failure::unknown("parameter", parameter, &format!("{name}:"), [LENIENT.1]));
        }
        Some(parameter) if builtin.parameter.is_none() => {
            return Err(Failure::new(format!(
                "merge operator {name} takes no parameter, not '{parameter}'"
            )));
        }
        _ => {}
    }
    if builtin.text == TextForm::Bytes || value_size == NUMBER_LEN {
        Ok(spec.to_owned())
    } else if name == LENIENT.0 {
        Ok(format!("{}:{}", LENIENT.0, LENIENT.1))
    } else {
        Err(Failure::new(format!(
            "merge operator {name} takes operands of {NUMBER_LEN} bytes, not {value_size}: give \
             --value_size={NUMBER_LEN}"
        )))
    }
}

fn directory(flags: &Flags) -> PathBuf {
    match &flags.db {
        Some(directory) => PathBuf::from(directory),
        None => std::env::temp_dir().join("foldb-dbbench"),
    }
}

/// `--seed`, or microseconds of the clock for 0.
fn seed(given: i64) -> i64 {
    if given != 0 {
        return given;
    }
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(spec: &str, value_size: u64) -> Result<String, String> {
        choose_operator(spec, value_size, foldb::builtins()).map_err(|failure| match failure {
            Failure::Message(message) => message,
            Failure::OutputClosed => unreachable!(),
        })
    }

    #[test]
    fn uint64add_of_another_width_is_lenient() {
        assert_eq!(choose("uint64add", 8).unwrap(), "uint64add");
        assert_eq!(choose("uint64add", 100).unwrap(), "uint64add:rocksdb_lenient");
        assert_eq!(choose("uint64add:rocksdb_lenient", 8).unwrap(), "uint64add:rocksdb_lenient");
    }

    #[test]
    fn operators_of_bytes_take_any_width() {
        assert_eq!(choose("max", 10240).unwrap(), "max");
        assert_eq!(choose("stringappend", 3).unwrap(), "stringappend");
        assert_eq!(choose("stringappend:;", 3).unwrap(), "stringappend:;");
    }

    #[test]
    fn other_number_operators_refuse_another_width() {
        assert_eq!(choose("int64add", 8).unwrap(), "int64add");
        assert!(choose("int64add", 100).unwrap_err().contains("give --value_size=8"));
    }

    #[test]
    fn unknown_operators_and_parameters_are_named() {
        assert_eq!(
            choose("uint64ad", 8).unwrap_err(),
            "unknown merge operator uint64ad; the nearest is uint64add"
        );
        assert!(choose("uint64add:lenient", 8).unwrap_err().contains("uint64add:rocksdb_lenient"));
        assert!(choose("max:1", 8).unwrap_err().contains("takes no parameter"));
    }

    #[test]
    fn merges_need_an_operator() {
        let with = |benchmarks: &str| {
            Plan::new(Flags { benchmarks: benchmarks.to_owned(), ..Flags::default() })
        };
        let Err(Failure::Message(message)) = with("fillseq,mergerandom") else {
            panic!("accepted")
        };
        assert!(message.starts_with("mergerandom needs --merge_operator"), "{message}");
        assert!(with("fillseq,readrandom").is_ok());
    }

    #[test]
    fn seed_zero_comes_from_the_clock() {
        assert_eq!(seed(7), 7);
        assert_ne!(seed(0), 0);
    }
}
