//! `completions`: prints the script with which a shell completes commands and flags.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::{Cli, Completions};
use crate::exit::Outcome;
use crate::output::Output;

/// Prints the script.
pub(super) fn run(args: &Completions) -> Outcome {
    let mut output = Output::new();
    output.with(|out| out.write_all(&script(args.shell)))?;
    output.flush()
}

fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "foldb", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_learns_every_command_and_flag() {
        let root = Cli::command();
        let flags = root.get_subcommands().flat_map(clap::Command::get_arguments);
        let commands = root.get_subcommands().map(clap::Command::get_name);
        let names: Vec<&str> = commands.chain(flags.filter_map(clap::Arg::get_long)).collect();
        assert!(names.contains(&"scan") && names.contains(&"prefix"));
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell)).unwrap();
            for name in &names {
                assert!(script.contains(name), "{shell}: {name}");
            }
        }
    }
}
