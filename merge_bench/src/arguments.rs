//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, ValueEnum};

use crate::dataset::{
    BUDGETS, Budget, DATASETS, Dataset, Named, PATTERNS, Pattern, SCENARIOS, WORKLOADS, Workload,
};
use crate::failure::Failure;

/// The value that stands for all others.
const ALL: &str = "all";

/// The result of reading the command line.
#[derive(Debug)]
pub(crate) enum Request {
    /// Prints help or the version.
    Answer(String),
    /// Runs benchmarks.
    Run(Settings),
}

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Subcommand {
    /// Each data set, load and hint setting
    Standard,
    /// Other shares of overwritten, deleted and appended keys
    Patterns,
    /// Merges with less and more memory
    MemoryBudget,
    /// The same, and which budget is the best one
    MemoryOptimal,
    /// Many readers, many writers, both: before the merge and during it
    Concurrent,
    /// One reader, then one writer: before the merge and during it
    Degradation,
    /// All of these, on every data set
    All,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables
    Markdown,
    /// Every repetition, under the names of the columns
    Json,
    /// A page with the tables and plots
    Html,
}

/// A checked command line. A missing argument is `None` if its default depends on the subcommand.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub subcommand: Subcommand,
    pub datasets: Option<Vec<Dataset>>,
    pub workloads: Option<Vec<Workload>>,
    /// Whether segments have hints. With both settings, in the order of the runs.
    pub hints: Option<Vec<bool>>,
    pub patterns: Vec<Pattern>,
    pub budgets: Option<Vec<Budget>>,
    pub scenarios: Vec<Workload>,
    pub scatter: bool,
    pub sync: bool,
    pub repetitions: u32,
    pub sample_every: u64,
    pub directory: Option<PathBuf>,
    pub format: Format,
    /// The command line as text.
    pub command: String,
}

const EXAMPLES: &str = "\
Tables go to standard output, progress to standard error. Each run ends with a reopen in which every live \
and every deleted key is looked at.

Examples:
  merge_bench standard
  merge_bench standard --dataset all --hint both --scatter
  merge_bench memory-budget --dataset large-1m-512b --format html > budgets.html
  merge_bench all --db /mnt/disk/bench > tables.md";

/// Measures merges of value segments: what they cost, and what readers and writers feel of them.
#[derive(Debug, Parser)]
#[command(name = "merge_bench", version, after_help = EXAMPLES)]
struct Line {
    /// What to measure
    #[arg(value_enum)]
    subcommand: Subcommand,
    /// Data set [default: small-100k-128b; of `all`: all]
    #[arg(long, value_parser = names(&DATASETS))]
    dataset: Option<String>,
    /// Load beside the merge [default: all in standard and patterns, else baseline]
    #[arg(long, value_parser = names(&WORKLOADS))]
    workload: Option<String>,
    /// Whether value segments end with the keys of their values [default: on; of `all`: both]
    #[arg(long, value_parser = ["on", "off", "both"])]
    hint: Option<String>,
    /// Shares of overwritten, deleted and appended keys, for patterns
    #[arg(long, default_value = ALL, value_parser = names(&PATTERNS))]
    pattern: String,
    /// Memory of the merge; a MB is 2^20 bytes [default: all in memory-budget and memory-optimal,
    /// else 64MB]
    #[arg(long, value_parser = names(&BUDGETS))]
    budget: Option<String>,
    /// Load of concurrent
    #[arg(long, default_value = ALL, value_parser = names(&SCENARIOS))]
    scenario: String,
    /// Overwrite and delete keys at random instead of the first ones
    #[arg(long)]
    scatter: bool,
    /// Whether the load's writers sync each write
    #[arg(long, default_value = "on", value_parser = ["on", "off"])]
    sync: String,
    /// Repetitions; figures are medians
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    reps: u32,
    /// Time one operation of so many
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    sample_every: u64,
    /// Directory for the databases, empty or not there [default: a new one here, removed
    /// afterwards]
    #[arg(long, value_name = "DIR")]
    db: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value = "markdown")]
    format: Format,
}

/// Reads a command line, with the program's name first.
///
/// # Errors
/// [`Failure::Usage`], one line that lists the valid values.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Request, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    let command: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match Line::try_parse_from(words) {
        Ok(line) => Ok(Request::Run(line.settings(command.join(" ")))),
        Err(error) => explain(&error),
    }
}

impl Line {
    fn settings(self, command: String) -> Settings {
        let hints = self.hint.map(|hint| match hint.as_str() {
            "on" => vec![true],
            "off" => vec![false],
            _ => vec![true, false],
        });
        Settings {
            subcommand: self.subcommand,
            datasets: self.dataset.map(|name| chosen(&DATASETS, &name)),
            workloads: self.workload.map(|name| chosen(&WORKLOADS, &name)),
            hints,
            patterns: chosen(&PATTERNS, &self.pattern),
            budgets: self.budget.map(|name| chosen(&BUDGETS, &name)),
            scenarios: chosen(&SCENARIOS, &self.scenario),
            scatter: self.scatter,
            sync: self.sync == "on",
            repetitions: self.reps,
            sample_every: self.sample_every,
            directory: self.db,
            format: self.format,
            command,
        }
    }
}

/// Returns the names of a table, and `all`.
fn names(table: &[impl Named]) -> PossibleValuesParser {
    PossibleValuesParser::new(table.iter().map(Named::name).chain([ALL]).collect::<Vec<_>>())
}

/// Returns the row of a name that is in the table, or all rows.
fn chosen<T: Named>(table: &[T], name: &str) -> Vec<T> {
    table.iter().copied().filter(|row| name == ALL || row.name() == name).collect()
}

/// Explains in one line why the command line is invalid.
fn explain(error: &clap::Error) -> Result<Request, Failure> {
    let texts = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let argument = texts(ContextKind::InvalidArg).join(" and ");
    let name = argument.split(' ').next().unwrap_or_default();
    let name = name.trim_matches(['<', '>']).to_lowercase();
    let valid = texts(ContextKind::ValidValue).join(", ");
    let line = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            return Ok(Request::Answer(error.render().to_string()));
        }
        ErrorKind::InvalidValue if valid.is_empty() => format!("{name} needs a value behind it"),
        ErrorKind::InvalidValue => {
            let given = texts(ContextKind::InvalidValue).join(" ");
            format!("{name} cannot be '{}'; valid are {valid}", given.escape_debug())
        }
        ErrorKind::MissingRequiredArgument => {
            let valid: Vec<_> = Subcommand::value_variants()
                .iter()
                .filter_map(ValueEnum::to_possible_value)
                .map(|value| value.get_name().to_owned())
                .collect();
            format!("a subcommand is missing; valid are {}", valid.join(", "))
        }
        _ => {
            let rendered = error.render().to_string();
            let line = rendered.lines().next().unwrap_or_default();
            let line = line.strip_prefix("error: ").unwrap_or(line);
            format!("{line}; merge_bench --help lists all flags")
        }
    };
    Err(Failure::Usage(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Request, Failure> {
        parse(words.split_whitespace().map(OsString::from))
    }

    fn settings(words: &str) -> Settings {
        match parsed(words) {
            Ok(Request::Run(settings)) => settings,
            other => panic!("{words}: {other:?}"),
        }
    }

    fn refusal(words: &str) -> String {
        match parsed(words) {
            Err(Failure::Usage(line)) => line,
            other => panic!("{words}: {other:?}"),
        }
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let settings = settings("merge_bench standard");
        assert_eq!(settings.subcommand, Subcommand::Standard);
        assert!(settings.datasets.is_none() && settings.workloads.is_none());
        assert!(settings.hints.is_none() && settings.budgets.is_none());
        assert_eq!((settings.patterns.len(), settings.scenarios.len()), (4, 3));
        assert!(settings.sync && !settings.scatter);
        assert_eq!((settings.repetitions, settings.sample_every), (3, 1));
        assert_eq!((settings.format, settings.directory), (Format::Markdown, None));
    }

    #[test]
    fn flags_reach_the_settings() {
        let settings = settings(
            "merge_bench memory-optimal --dataset large-1m-512b --workload readwrite --hint both \
             --pattern mixed --budget 1GB --scenario balanced --scatter --sync off --reps 5 \
             --sample-every 100 --db bench --format json",
        );
        assert_eq!(settings.subcommand, Subcommand::MemoryOptimal);
        assert_eq!(settings.datasets, Some(vec![DATASETS[2]]));
        assert_eq!(settings.workloads, Some(vec![WORKLOADS[3]]));
        assert_eq!(settings.hints, Some(vec![true, false]));
        assert_eq!(settings.patterns, [PATTERNS[3]]);
        assert_eq!(settings.budgets, Some(vec![BUDGETS[3]]));
        assert_eq!(settings.scenarios, [SCENARIOS[2]]);
        assert!(settings.scatter && !settings.sync);
        assert_eq!((settings.repetitions, settings.sample_every), (5, 100));
        assert_eq!((settings.format, settings.directory), (Format::Json, Some("bench".into())));
        let all = self::settings("merge_bench standard --dataset all --budget all");
        assert_eq!(all.datasets, Some(DATASETS.to_vec()));
        assert_eq!(all.budgets, Some(BUDGETS.to_vec()));
    }

    #[test]
    fn unknown_values_are_told_with_the_valid_ones_in_one_line() {
        for (words, line) in [
            (
                "merge_bench standard --dataset tiny",
                "--dataset cannot be 'tiny'; valid are small-100k-128b, medium-500k-128b, \
                 large-1m-512b, all",
            ),
            (
                "merge_bench standard --workload x",
                "--workload cannot be 'x'; valid are baseline, read, write, readwrite, all",
            ),
            (
                "merge_bench standard --hint maybe",
                "--hint cannot be 'maybe'; valid are on, off, both",
            ),
            (
                "merge_bench patterns --pattern x",
                "--pattern cannot be 'x'; valid are overwrite-heavy, delete-heavy, append-only, \
                 mixed, all",
            ),
            (
                "merge_bench memory-budget --budget 32MB",
                "--budget cannot be '32MB'; valid are 16MB, 64MB, 256MB, 1GB, all",
            ),
            (
                "merge_bench concurrent --scenario x",
                "--scenario cannot be 'x'; valid are read-heavy, write-heavy, balanced, all",
            ),
            ("merge_bench standard --sync yes", "--sync cannot be 'yes'; valid are on, off"),
            (
                "merge_bench standard --format xml",
                "--format cannot be 'xml'; valid are markdown, json, html",
            ),
            (
                "merge_bench mege",
                "subcommand cannot be 'mege'; valid are standard, patterns, memory-budget, \
                 memory-optimal, concurrent, degradation, all",
            ),
            (
                "merge_bench",
                "a subcommand is missing; valid are standard, patterns, memory-budget, \
                 memory-optimal, concurrent, degradation, all",
            ),
        ] {
            assert_eq!(refusal(words), line);
        }
    }

    #[test]
    fn a_number_that_is_missing_or_out_of_range_is_called_so() {
        for (words, told) in [
            ("--reps", "--reps needs a value behind it"),
            ("--reps -1", "'-1' for '--reps <N>': -1 is not in 1..=1000"),
            ("--sample-every 0", "'0' for '--sample-every <N>': 0 is not in 1.."),
        ] {
            let line = refusal(&format!("merge_bench standard {words}"));
            assert!(line.contains(told), "{words}: {line}");
        }
    }

    #[test]
    fn numbers_and_flags_that_make_no_sense_are_one_line_too() {
        for words in [
            "merge_bench standard --reps 0",
            "merge_bench standard --reps many",
            "merge_bench standard --sample-every 0",
            "merge_bench standard --nonsense",
            "merge_bench standard --scatter=maybe",
            "merge_bench standard patterns",
        ] {
            let line = refusal(words);
            assert!(!line.contains('\n') && !line.is_empty(), "{words}: {line}");
        }
        assert!(matches!(parsed("merge_bench --help"), Ok(Request::Answer(_))));
    }
}
