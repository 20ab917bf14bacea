//! A peer that only its own benchmark drives: MergeDB's `db_bench`, or another LevelDB's.
//!
//! This module runs the published command lines. The program chooses its own keys and values, so
//! there is no digest. Memory and written bytes are read from `/proc` every few milliseconds while
//! the program runs, so the figures may miss its last milliseconds.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use foldb_report::results::{Run, Written as WrittenBytes};
use foldb_report::system;

use crate::data::KEY_SIZE;
use crate::digest::NOT_CHECKED;
use crate::failure::{Failure, Result};
use crate::measure::{Written, drop_machines_page_cache, drop_page_cache, peak_memory_of};
use crate::scale::Scale;
use crate::workload::{Job, Sizes};

/// Pause between two reads of the program's figures.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Runs `program` for the rows of `job`, its output going to `log`.
///
/// # Errors
/// The program fails, or prints no result.
pub fn run(
    program: &Path,
    job: &Job,
    scale: Scale,
    directory: &Path,
    log: &Path,
) -> Result<Vec<Run>> {
    let sizes = job.sizes(scale);
    let mut log = File::create(log).map_err(Failure::file("create", log))?;
    let fill = Line { benchmark: "fillrandom", flags: flags(&sizes, directory, false) };
    let filled = fill.run(program, &mut log)?;
    drop_page_cache(directory)?;
    drop_machines_page_cache();
    let read = Line { benchmark: "readrandom", flags: flags(&sizes, directory, true) };
    let readed = read.run(program, &mut log)?;

    let space = system::space(directory);
    let written = WrittenBytes {
        user: sizes.operations * (KEY_SIZE + sizes.value) as u64,
        calls: filled.written.calls,
        mapped: 0,
        device: filled.written.device,
        own: None,
    };
    let run = |place: usize, line: &Line, outcome: &Outcome, operations: u64| Run {
        workload: job.rows[place].name.to_owned(),
        settings: line.flags.join(" "),
        operations,
        seconds: outcome.micros * operations as f64 / 1e6,
        peak_memory: outcome.peak_memory,
        space,
        digest: NOT_CHECKED.to_owned(),
        ..Run::default()
    };
    let mut filling = run(0, &fill, &filled, sizes.operations);
    filling.written = Some(written);
    filling.notes.push("written until the program ended, compaction or not".to_owned());
    Ok(vec![filling, run(1, &read, &readed, sizes.reads)])
}

/// The published flags.
fn flags(sizes: &Sizes, directory: &Path, existing: bool) -> Vec<String> {
    let nominal = &sizes.nominal;
    let mut flags = vec![
        format!("--num={}", sizes.operations),
        "--threads=1".to_owned(),
        format!("--value_size={}", sizes.value),
        format!("--cache_size={}", nominal.cache),
        format!("--bloom_bits={}", nominal.bloom_bits),
        format!("--open_files={}", nominal.open_files.unwrap_or(1000)),
        format!("--db={}", directory.display()),
        "--compression_ratio=1".to_owned(),
        format!("--write_buffer_size={}", nominal.write_buffer),
        format!("--use_existing_db={}", u8::from(existing)),
    ];
    if existing {
        flags.push(format!("--reads={}", sizes.reads));
    }
    flags
}

struct Line {
    benchmark: &'static str,
    flags: Vec<String>,
}

struct Outcome {
    micros: f64,
    peak_memory: Option<u64>,
    written: Written,
}

impl Line {
    fn run(&self, program: &Path, log: &mut File) -> Result<Outcome> {
        let mut child = Command::new(program)
            .arg(format!("--benchmarks={}", self.benchmark))
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Failure::file("run", program))?;
        // A thread reads the output while the program writes; a full pipe would block the program.
        let mut pipe = child.stdout.take().expect("its output is a pipe");
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).map(|_| bytes)
        });
        let (mut written, mut peak_memory) = (Written::default(), None);
        let status = loop {
            written = Written::of(child.id()).unwrap_or(written);
            peak_memory = peak_memory_of(child.id()).or(peak_memory);
            if let Some(status) = child.try_wait().map_err(Failure::file("wait for", program))? {
                break status;
            }
            thread::sleep(LOOK_EVERY);
        };
        let bytes = reader.join().expect("it only reads").map_err(Failure::during("output"))?;
        let text = String::from_utf8_lossy(&bytes);
        log.write_all(text.as_bytes()).map_err(Failure::during("log"))?;
        let micros = micros(&text, self.benchmark).filter(|_| status.success());
        let failed = || {
            let program = program.display();
            Failure::new(format!("{program} printed no result of {} ({status})", self.benchmark))
        };
        Ok(Outcome { micros: micros.ok_or_else(failed)?, peak_memory, written })
    }
}

/// Microseconds an operation of a result line: `fillrandom   :     184.512 micros/op;   21.2 MB/s`.
fn micros(output: &str, benchmark: &str) -> Option<f64> {
    // Progress is written over itself with carriage returns.
    output.split(['\n', '\r']).find_map(|line| {
        let figures = line.strip_prefix(benchmark)?.trim_start().strip_prefix(':')?;
        let (micros, _) = figures.split_once("micros/op")?;
        micros.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload;

    const OUTPUT: &str = "LevelDB:    version 1.23\n------\n... finished 100 ops\r\
                          fillrandom   :     184.512 micros/op;   21.2 MB/s\n";

    #[test]
    fn result_lines_of_leveldb_are_read() {
        assert_eq!(micros(OUTPUT, "fillrandom"), Some(184.512));
        assert_eq!(micros(OUTPUT, "readrandom"), None);
    }

    #[test]
    fn flags_are_the_published_ones() {
        let sizes = workload::find("fill-4k").unwrap().sizes(Scale::Full);
        let flags = flags(&sizes, Path::new("ldb"), false).join(" ");
        assert_eq!(
            flags,
            "--num=2000000 --threads=1 --value_size=4096 --cache_size=104857600 --bloom_bits=10 \
             --open_files=500000 --db=ldb --compression_ratio=1 --write_buffer_size=2097152 \
             --use_existing_db=0"
        );
    }
}
