//! Makes a page of results: `page RESULTS.json > report.html`.

use std::fs::File;

use foldb_report::page;
use foldb_report::results::Results;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("give a file of results")?;
    let results: Results = serde_json::from_reader(File::open(path)?)?;
    println!("{}", page::html(&results));
    Ok(())
}
