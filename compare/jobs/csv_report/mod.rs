//! A CSV of 500,000 sales, summed in the shell: by region, the ten best products, and an export.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::input::{Draws, share_of};
use crate::{Engine, Failed, Outcome};

const FOLDB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/cli/examples/csv_report.sh");
const SQLITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/csv_report/sqlite.sh");

/// Writes the sales, before the time begins. They are never in memory as a whole: the largest
/// resident size of a child process counts what its parent had when it began.
pub(crate) fn prepare(path: &Path, share: f64) -> Result<(), Failed> {
    let mut draws = Draws::new(7);
    let mut sales = BufWriter::new(File::create(beside(path, "sales.csv"))?);
    writeln!(sales, "sale,region,product,cents")?;
    for sale in 0..share_of(500_000, share) {
        let (region, product) = (draws.below(20), draws.skewed(1000));
        let cents = 100 + draws.below(10_000);
        writeln!(sales, "{sale},region-{region},product-{product},{cents}")?;
    }
    Ok(sales.flush()?)
}

pub(crate) fn run(engine: Engine, path: &Path, _share: f64) -> Outcome {
    let script = match engine {
        Engine::Foldb => FOLDB,
        Engine::Sqlite => SQLITE,
        Engine::Redb | Engine::Fjall => return Err("the engine has no shell".into()),
    };
    let sums = beside(path, "sums.csv");
    let ran = Command::new("sh")
        .arg(script)
        .args([&beside(path, "sales.csv"), path, &sums])
        .stderr(std::process::Stdio::inherit())
        .output()?;
    if !ran.status.success() {
        return Err(format!("{script} ended with {}", ran.status).into());
    }
    let exported = std::fs::read_to_string(sums)?;
    let printed = String::from_utf8(ran.stdout)?;
    Ok(printed.lines().chain(exported.lines()).map(|line| line.trim().to_owned()).collect())
}

/// Returns a file outside of the store, whose bytes do not count.
fn beside(path: &Path, name: &str) -> PathBuf {
    path.parent().and_then(Path::parent).unwrap_or(path).join(name)
}
