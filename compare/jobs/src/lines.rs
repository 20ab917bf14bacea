//! Lines of code of a job: those that are neither blank nor a comment. The `main` of foldb's
//! version does not count: it only makes the file an example.

use std::path::Path;

use crate::{Engine, Failed, Job};

pub(crate) fn of(job: &Job, engine: Engine) -> Result<usize, Failed> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = match engine {
        Engine::Foldb => here.join("../../crates").join(job.example),
        _ if job.name == "csv_report" => here.join("csv_report/sqlite.sh"),
        _ => here.join(job.name).join(format!("{}.rs", engine.name())),
    };
    let text = std::fs::read_to_string(&file)?;
    let code = text.split("pub(crate) fn main()").next().unwrap_or_default();
    let counts =
        |line: &&str| !(line.is_empty() || line.starts_with("//") || line.starts_with('#'));
    let attribute = |line: &&str| line.starts_with("#[");
    Ok(code.lines().map(str::trim).filter(|line| counts(line) || attribute(line)).count())
}
