//! Parses flags in the forms of gflags.
//!
//! The forms are `--name=value`, `-name=value`, `--name value`, and `--name` and `--noname` for
//! booleans. Dashes inside a name count as underscores. A flag given twice has its last value. A
//! boolean takes no other next argument than `true` or `1`: gflags ignores it, so `false` would
//! switch the flag on. `--undefok=a,b` accepts these names although no table has them.

use std::ffi::OsString;
use std::iter::Peekable;

use foldb::Options;

use super::accepted::{self, BOOLEANS, VALUED};
use super::honoured::{Flags, HONOURED};
use super::option_names;
use super::options::OptionFlag;
use crate::failure::Failure;

/// The request of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Run the benchmarks.
    Run,
    /// Print the help page.
    Help,
    /// Print the version.
    Version,
}

/// A parsed command line.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// The request.
    pub request: Request,
    /// The flags with an effect.
    pub flags: Flags,
    /// Names of given flags without effect.
    pub without_effect: Vec<String>,
    /// Names that `--undefok` accepts.
    undefined: Vec<String>,
}

/// The table of a name.
#[derive(Clone, Copy)]
enum Known {
    Honoured { boolean: bool },
    Option(OptionFlag),
    WithoutEffect { boolean: bool },
}

impl Known {
    fn find(name: &str) -> Option<Known> {
        if let Some(flag) = HONOURED.iter().find(|flag| flag.name == name) {
            return Some(Known::Honoured { boolean: flag.boolean });
        }
        let without_effect = accepted::find(name).map(|boolean| Known::WithoutEffect { boolean });
        without_effect.or_else(|| OptionFlag::find(name).map(Known::Option))
    }

    fn boolean(self) -> bool {
        match self {
            Known::Honoured { boolean } | Known::WithoutEffect { boolean } => boolean,
            Known::Option(option) => option.boolean(),
        }
    }
}

/// Parses the arguments after the program's name.
///
/// # Errors
/// An unknown flag, a bad or missing value, or an argument that is not a flag.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Parsed, Failure> {
    let mut parsed = Parsed {
        request: Request::Run,
        flags: Flags::default(),
        without_effect: Vec::new(),
        undefined: Vec::new(),
    };
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    parsed.accept_undefined(&arguments);
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let argument = text(argument)?;
        let flag = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
        let Some(flag) = flag.filter(|flag| !flag.is_empty()) else {
            return Err(not_a_flag(&argument));
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (flag, None),
        };
        let name = name.replace('-', "_");
        match name.as_str() {
            "help" | "h" => parsed.request = Request::Help,
            // A run would destroy the database; RocksDB's prints its version and ends.
            "version" | "build_info" => parsed.request = Request::Version,
            "undefok" if value.is_some() => {}
            "undefok" => drop(arguments.next()),
            _ if Known::find(&name).is_none() && parsed.accepts(&name) => {
                parsed.without_effect.push(name);
            }
            _ => parsed.flag(name, value, &mut arguments)?,
        }
    }
    Ok(parsed)
}

impl Parsed {
    /// Notes the names that `--undefok` accepts, wherever it stands.
    fn accept_undefined(&mut self, arguments: &[OsString]) {
        let mut follows = false;
        for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
            let flag = argument.trim_start_matches('-');
            let names = match flag.split_once('=') {
                Some(("undefok", names)) => names,
                _ if follows => argument,
                _ => "",
            };
            follows = flag == "undefok";
            let names = names.split(',').filter(|name| !name.is_empty());
            self.undefined.extend(names.map(|name| name.replace('-', "_")));
        }
    }

    fn accepts(&self, name: &str) -> bool {
        let positive = name.strip_prefix("no").unwrap_or(name);
        self.undefined.iter().any(|accepted| accepted == name || accepted == positive)
    }

    /// Sets one flag, with its value from the next argument if it needs one.
    fn flag(
        &mut self,
        name: String,
        value: Option<String>,
        following: &mut Peekable<impl Iterator<Item = OsString>>,
    ) -> Result<(), Failure> {
        let (name, known, value) = match (Known::find(&name), negated(&name)) {
            (Some(known), _) => (name, known, value),
            (None, Some((positive, known))) if value.is_none() => {
                (positive, known, Some("false".to_owned()))
            }
            _ => return Err(unknown(&name)),
        };
        let value = match value {
            Some(value) => value,
            None if known.boolean() => {
                following.next_if(|next| next == "true" || next == "1");
                "true".to_owned()
            }
            None => match following.next() {
                Some(value) => text(value)?,
                None => return Err(Failure::new(format!("--{name} needs a value"))),
            },
        };
        let refused =
            |expected| Failure::new(format!("--{name} must be {expected}, not '{value}'"));
        match known {
            Known::Honoured { .. } => self.flags.set(&name, &value).map_err(refused)?,
            Known::Option(option) => {
                let text = option.read(&value).map_err(refused)?;
                Options::named([(option.name, &text)])
                    .map_err(|error| Failure::new(format!("--{name}: {error}")))?;
                self.flags.options.push((option.name, text));
            }
            Known::WithoutEffect { .. } => self.without_effect.push(name),
        }
        Ok(())
    }
}

/// Parses a negated name: `nohistogram` switches `histogram` off.
fn negated(name: &str) -> Option<(String, Known)> {
    let positive = name.strip_prefix("no")?;
    let known = Known::find(positive).filter(|known| known.boolean())?;
    Some((positive.to_owned(), known))
}

fn text(argument: OsString) -> Result<String, Failure> {
    argument
        .into_string()
        .map_err(|argument| Failure::new(format!("argument {} is not UTF-8", argument.display())))
}

fn not_a_flag(argument: &str) -> Failure {
    Failure::new(format!(
        "'{argument}' is not a flag; a flag is --name=value, and a boolean takes a value \
         other than true only after ="
    ))
}

fn unknown(name: &str) -> Failure {
    let honoured = HONOURED.iter().map(|flag| flag.name);
    let options = Options::default().explain();
    let options = options.iter().flat_map(option_names);
    let without_effect = BOOLEANS.iter().chain(VALUED).copied();
    Failure::unknown("flag", name, "--", honoured.chain(options).chain(without_effect))
}
