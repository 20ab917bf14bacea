//! Sorts the command line into one order: command, flags, `--`, arguments.
//!
//! Flags may therefore stand anywhere, even before the command, and an argument may begin with a
//! hyphen: `merge DB k -5 --operator int64add` becomes `merge --operator=int64add -- DB k -5`. A
//! word that begins with two hyphens is a flag, unless it stands after `--`.

use std::ffi::{OsStr, OsString};

use clap::Command;

use crate::args::nearest::hint;
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;

/// Returns the arguments in their canonical order. The first argument is the program's name.
///
/// # Errors
/// A usage error for a flag that no command has, or for a flag without its value.
pub(super) fn canonical(
    args: impl IntoIterator<Item = OsString>,
    root: &Command,
) -> Outcome<Vec<OsString>> {
    let mut args = args.into_iter();
    let program = args.next().unwrap_or_else(|| "foldb".into());
    let mut found = Found::default();
    while let Some(arg) = args.next() {
        if arg == "--" {
            found.positional.extend(args);
            break;
        }
        found.sort_in(arg, &mut args, root)?;
    }
    found.into_args(program, root)
}

#[derive(Default)]
struct Found {
    flags: Vec<OsString>,
    positional: Vec<OsString>,
    unknown: Option<OsString>,
}

impl Found {
    fn sort_in(
        &mut self,
        arg: OsString,
        rest: &mut impl Iterator<Item = OsString>,
        root: &Command,
    ) -> Outcome {
        if arg == "-h" {
            self.flags.push("--help".into());
        } else if arg == "-V" {
            self.flags.push("--version".into());
        } else if !arg.as_encoded_bytes().starts_with(b"--") {
            self.positional.push(arg);
        } else {
            let name = flag_name(&arg);
            match takes_value(root, &name) {
                None => {
                    self.unknown.get_or_insert(arg);
                }
                Some(true) if !arg.as_encoded_bytes().contains(&b'=') => {
                    let value = rest.next().filter(|value| !is_flag(root, value));
                    let value = value
                        .ok_or_else(|| Exit::usage(format!("--{name} needs a value after it")))?;
                    let mut joined = arg;
                    joined.push("=");
                    joined.push(value);
                    self.flags.push(joined);
                }
                Some(_) => self.flags.push(arg),
            }
        }
        Ok(())
    }

    fn into_args(mut self, program: OsString, root: &Command) -> Outcome<Vec<OsString>> {
        if self.positional.first().is_some_and(|command| command == "help") {
            self.positional.remove(0);
            self.positional.truncate(1);
            self.flags = vec!["--help".into()];
        }
        let mut positional = self.positional.into_iter();
        let command = positional.next();
        let flag_for_command =
            || command.clone().filter(|it| it.as_encoded_bytes().starts_with(b"-"));
        if let Some(flag) = self.unknown.or_else(flag_for_command) {
            return Err(no_such_flag(&flag, command.as_deref(), root));
        }
        let behind_flags = command.is_some().then(|| OsString::from("--"));
        let ordered = std::iter::once(program).chain(command).chain(self.flags);
        Ok(ordered.chain(behind_flags).chain(positional).collect())
    }
}

/// Returns the error for a flag that `command` does not have.
pub(super) fn no_such_flag(flag: &OsStr, command: Option<&OsStr>, root: &Command) -> Exit {
    let name = flag_name(flag);
    let command = command.and_then(|name| root.find_subcommand(name));
    let given = flag.as_encoded_bytes().split(|&byte| byte == b'=').next().map(quoted);
    let given = given.unwrap_or_default();
    let flags: Vec<String> = match command {
        Some(command) => flags_of(root).chain(flags_of(command)).collect(),
        None => all_flags(root).collect(),
    };
    let nearest = hint(&format!("--{name}"), flags.iter().map(String::as_str));
    let lack = match command {
        Some(command) => format!("{} has no flag", command.get_name()),
        None => "there is no flag".to_owned(),
    };
    Exit::usage(format!("{lack} {given}{nearest} (after --, words are arguments)"))
}

/// `from` of `--from=x`.
fn flag_name(flag: &OsStr) -> String {
    let text = flag.to_string_lossy();
    let text = text.trim_start_matches('-');
    text.split('=').next().unwrap_or_default().to_owned()
}

/// Whether this flag takes a value, in any command; `None` if no command has it.
fn takes_value(root: &Command, name: &str) -> Option<bool> {
    if name == "help" || name == "version" {
        return Some(false);
    }
    let commands = std::iter::once(root).chain(root.get_subcommands());
    let mut flags = commands.flat_map(Command::get_arguments);
    let flag = flags.find(|flag| flag.get_long() == Some(name))?;
    Some(flag.get_action().takes_values())
}

fn is_flag(root: &Command, arg: &OsStr) -> bool {
    arg == "--"
        || arg.as_encoded_bytes().starts_with(b"--") && takes_value(root, &flag_name(arg)).is_some()
}

fn all_flags(root: &Command) -> impl Iterator<Item = String> {
    std::iter::once(root).chain(root.get_subcommands()).flat_map(flags_of)
}

fn flags_of(command: &Command) -> impl Iterator<Item = String> {
    let own = command.get_arguments().filter_map(|flag| flag.get_long());
    own.chain(["help"]).map(|name| format!("--{name}"))
}
