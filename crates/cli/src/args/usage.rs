//! Errors of the command line, in one line each.

use std::ffi::OsStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};

use crate::args::nearest::hint;
use crate::args::{Cli, order};
use crate::exit::Exit;
use crate::form::escape::quoted;

/// Turns the parser's error into one line, or into the requested help.
pub(super) fn explain(error: &Error) -> Exit {
    let context = Context(error);
    let argument = context.text(ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Exit::Answer(error.render().to_string())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Exit::usage("a command is missing; foldb --help lists the commands")
        }
        ErrorKind::InvalidSubcommand => unknown_command(&context),
        ErrorKind::UnknownArgument if argument.starts_with("--") => {
            let command = context.command();
            order::no_such_flag(OsStr::new(&argument), command.as_deref(), &Cli::command())
        }
        ErrorKind::UnknownArgument => {
            let given = quoted(argument.as_bytes());
            Exit::usage(format!("{given} is one argument too many; {}", context.usage()))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = argument.replace(['<', '>'], "");
            // The parser names a flag together with its value: `--create NAME`.
            let is_one = argument.starts_with("--") || !missing.contains(' ');
            let be = if is_one { "is" } else { "are" };
            Exit::usage(format!("{missing} {be} missing; {}", context.usage()))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => bad_value(&context, &argument),
        ErrorKind::TooManyValues => {
            Exit::usage(format!("{} takes no value", flag_alone(&argument)))
        }
        ErrorKind::InvalidUtf8 => Exit::usage("the value of a flag is not UTF-8"),
        _ => Exit::usage(first_line(&error.render().to_string())),
    }
}

fn unknown_command(context: &Context<'_>) -> Exit {
    let given = context.text(ContextKind::InvalidSubcommand);
    let root = Cli::command();
    let nearest = hint(&given, root.get_subcommands().map(clap::Command::get_name));
    let given = quoted(given.as_bytes());
    Exit::usage(format!("there is no command {given}{nearest} (foldb --help lists the commands)"))
}

fn bad_value(context: &Context<'_>, argument: &str) -> Exit {
    let flag = flag_alone(argument);
    let given = context.text(ContextKind::InvalidValue);
    let valid = context.texts(ContextKind::ValidValue);
    if given.is_empty() {
        return Exit::usage(format!("{flag} needs a value that is not empty"));
    }
    let shown = quoted(given.as_bytes());
    if valid.is_empty() {
        let why = std::error::Error::source(context.0).map(|why| format!(": {why}"));
        return Exit::usage(format!("{flag} cannot be {shown}{}", why.unwrap_or_default()));
    }
    let nearest = hint(&given, valid.iter().map(String::as_str));
    Exit::usage(format!("{flag} cannot be {shown}{nearest}; valid are {}", valid.join(", ")))
}

/// Returns `--limit` of `--limit <N>`, and `DB` of `<DB>`.
fn flag_alone(argument: &str) -> String {
    let name = argument.split([' ', '=']).next().unwrap_or_default();
    name.replace(['<', '>', '[', ']'], "").replace("...", "")
}

fn first_line(rendered: &str) -> String {
    let line = rendered.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The parser's details of an error.
struct Context<'a>(&'a Error);

impl Context<'_> {
    fn text(&self, kind: ContextKind) -> String {
        self.texts(kind).join(" and ")
    }

    fn texts(&self, kind: ContextKind) -> Vec<String> {
        match self.0.get(kind) {
            Some(ContextValue::String(text)) => vec![text.clone()],
            Some(ContextValue::Strings(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    /// Returns a text such as `usage: foldb get DB KEY [FLAGS]`.
    fn usage(&self) -> String {
        match self.0.get(ContextKind::Usage) {
            Some(ContextValue::StyledStr(usage)) => {
                let line = usage.to_string().trim().replace("Usage: ", "usage: ");
                line.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            _ => "foldb --help explains".to_owned(),
        }
    }

    /// Returns the command of the error: the word after `usage: foldb` in its usage.
    fn command(&self) -> Option<std::ffi::OsString> {
        self.usage().split(' ').nth(2).map(Into::into)
    }
}
