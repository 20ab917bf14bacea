//! The help page.

use std::io::Write;

use foldb::Options;

use crate::benchmark::TABLE;
use crate::failure::Failure;
use crate::flags::{Flags, HONOURED, option_names};

const EXAMPLES: &str = "\
Examples:
  db_bench --benchmarks=mergerandom,readrandom --merge_operator=uint64add --value_size=8 \
--disable_wal=1
  db_bench --benchmarks=fillrandom,stats --num=500000 --value_size=4096 --db=/mnt/disk/bench
  db_bench --benchmarks=readrandom --use_existing_db=1 --reads=20000 --db=/mnt/disk/bench
";

/// Prints the help page.
///
/// # Errors
/// A failed write.
pub(crate) fn print(out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out, "Runs RocksDB's and LevelDB's benchmarks against foldb.\n")?;
    writeln!(out, "Usage: db_bench [--FLAG=VALUE]...\n")?;
    writeln!(out, "Results go to standard output, progress and notes to standard error.\n")?;
    writeln!(out, "Benchmarks:")?;
    for entry in TABLE {
        writeln!(out, "  {:<29} {}", entry.name, entry.help)?;
    }
    writeln!(
        out,
        "\nFlags, each with the setting that it steers, its effect and its default (-name and \
         --name value work too; booleans: --name, --noname, --name=0):"
    )?;
    let defaults = Flags::default();
    for flag in HONOURED {
        writeln!(out, "  --{}  ({})", flag.name, flag.steers)?;
        writeln!(out, "      {} [{}]", flag.help, default(&defaults.show(flag.name)))?;
    }
    writeln!(out, "\nOptions of foldb, which are flags too:")?;
    for option in Options::default().explain() {
        let names: Vec<_> = option_names(&option).map(|name| format!("--{name}")).collect();
        if !names.is_empty() {
            writeln!(out, "  {}", names.join(", "))?;
            writeln!(out, "      {} [{}]", option.cost, option.value)?;
        }
    }
    writeln!(
        out,
        "\nOther flags of RocksDB's or LevelDB's db_bench are accepted without effect.\n"
    )?;
    write!(out, "{EXAMPLES}")?;
    Ok(())
}

/// Prints the version.
///
/// # Errors
/// A failed write.
pub(crate) fn print_version(out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out, "db_bench of foldb {}", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}

fn default(value: &str) -> String {
    match value {
        "" => "none".to_owned(),
        value => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_flag_and_benchmark() {
        let mut page = Vec::new();
        print(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        for flag in HONOURED {
            assert!(page.contains(&format!("\n  --{}  (", flag.name)), "{}", flag.name);
        }
        for entry in TABLE {
            assert!(page.contains(&format!("\n  {} ", entry.name)), "{}", entry.name);
        }
    }
}
