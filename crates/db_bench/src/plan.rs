//! The plan of a run, checked completely before any database changes.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use foldb::Options;
use foldb::operators::{BuiltinInfo, TextForm};

use crate::benchmark::{self, Request};
use crate::evidence;
use crate::failure::Failure;
use crate::flags::Flags;
use crate::settings;

/// Bytes of the operands of number operators.
const NUMBER_LEN: u64 = 8;
/// Name and parameter of the operator that, like RocksDB's, takes operands of any width.
const LENIENT: (&str, &str) = ("uint64add", "rocksdb_lenient");

/// A checked run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The flags, for the workloads.
    pub flags: Flags,
    /// The benchmarks, in their order.
    pub benchmarks: Vec<Request>,
    /// The options of the database.
    pub options: Options,
    /// Whether the operator is [`LENIENT`] only because `--value_size` is not 8.
    pub lenient: bool,
    /// The directory of the database.
    pub directory: PathBuf,
    /// The directory of backups.
    pub backup_directory: PathBuf,
    /// The directory of a restored database.
    pub restore_directory: PathBuf,
    /// Base of the random generators' seeds.
    pub seed: i64,
    /// The file to which `--report` writes its page; `None` without the flag.
    pub report: Option<PathBuf>,
}

impl Plan {
    /// Checks all flags, also in combination, and turns them into a plan.
    ///
    /// # Errors
    /// A flag out of its range, an unknown benchmark or operator, an option that the engine
    /// refuses, or a page that cannot be written.
    pub(crate) fn new(mut flags: Flags) -> Result<Plan, Failure> {
        settings::check_workload(&flags)?;
        let benchmarks = benchmark::list(&flags.benchmarks)?;
        if flags.readonly {
            refuse_writes(&benchmarks)?;
            flags.use_existing_db = true;
        }
        if flags.merge_operator.is_empty() {
            refuse_merges_without_operator(&benchmarks)?;
        }
        let operator = match flags.merge_operator.as_str() {
            "" => None,
            spec => Some(choose_operator(spec, flags.value_size, foldb::operators::builtins())?),
        };
        let lenient = operator.as_ref().is_some_and(|spec| *spec != flags.merge_operator);
        let options = settings::options(&flags, operator)?;
        settings::check_batches(&flags, &benchmarks, &options)?;
        let directory = directory(&flags);
        Ok(Plan {
            // The check that touches a file comes last, so a refused command leaves no trace.
            report: evidence::path(&flags.report)?,
            options,
            backup_directory: beside(&flags.backup_dir, &directory, "-backup"),
            restore_directory: beside(&flags.restore_dir, &directory, "-restore"),
            directory,
            seed: seed(flags.seed),
            benchmarks,
            lenient,
            flags,
        })
    }
}

fn refuse_merges_without_operator(requests: &[Request]) -> Result<(), Failure> {
    match requests.iter().find(|request| request.benchmark.merges) {
        None => Ok(()),
        Some(request) => Err(Failure::new(format!(
            "{} needs --merge_operator, --merge_operator=uint64add for example",
            request.benchmark.name
        ))),
    }
}

fn refuse_writes(requests: &[Request]) -> Result<(), Failure> {
    match requests.iter().find(|request| request.benchmark.writes()) {
        None => Ok(()),
        Some(request) => {
            Err(Failure::new(format!("{} writes: leave out --readonly", request.benchmark.name)))
        }
    }
}

/// Returns the given directory, or one with another end in its name than the database's.
fn beside(given: &str, database: &Path, end: &str) -> PathBuf {
    if !given.is_empty() {
        return PathBuf::from(given);
    }
    let mut path = database.as_os_str().to_owned();
    path.push(end);
    PathBuf::from(path)
}

/// Returns the operator of the database: the given one, or its lenient form if generated operands
/// do not have its width.
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
    let is_number = match builtin.text {
        TextForm::Bytes => false,
        TextForm::U64 | TextForm::I64 | TextForm::F64 => true,
        TextForm::List
        | TextForm::Set
        | TextForm::Sketch
        | TextForm::Stats
        | TextForm::Top
        | TextForm::Histogram => {
            return Err(Failure::new(format!(
                "db_bench cannot use merge operator {name}: it does not accept random bytes as operands"
            )));
        }
    };
    if !is_number || value_size == NUMBER_LEN {
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
    match flags.db.as_deref() {
        Some(directory) if !directory.is_empty() => PathBuf::from(directory),
        _ => std::env::temp_dir().join("foldb-dbbench"),
    }
}

/// Returns `--seed`, or the microseconds of the clock if it is 0.
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
        choose_operator(spec, value_size, foldb::operators::builtins()).map_err(|failure| {
            match failure {
                Failure::Message(message) => message,
                Failure::OutputClosed => unreachable!(),
            }
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
    fn operators_with_a_form_of_their_own_are_refused() {
        for operator in ["list", "listlast:3", "set", "hyperloglog"] {
            assert!(choose(operator, 8).unwrap_err().contains("does not accept random bytes"));
        }
    }

    #[test]
    fn errors_name_unknown_operators_and_parameters() {
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
    fn without_db_the_directory_is_foldb_dbbench() {
        let with =
            |db: Option<&str>| directory(&Flags { db: db.map(str::to_owned), ..Flags::default() });
        assert_eq!(with(Some("dir")), PathBuf::from("dir"));
        assert!(with(None).ends_with("foldb-dbbench"));
        assert_eq!(with(Some("")), with(None), "as RocksDB takes an empty --db");
    }

    #[test]
    fn seed_zero_comes_from_the_clock() {
        assert_eq!(seed(7), 7);
        assert_ne!(seed(0), 0);
    }
}
