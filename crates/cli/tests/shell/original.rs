//! The original LevelDB, as a small C program that the tests compile: see
//! `tests/original/original.c`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The program.
#[derive(Clone, Copy)]
pub(crate) struct Original(&'static Path);

impl Original {
    /// Returns the program, or says that the test is skipped without a compiler and the library.
    pub(crate) fn find() -> Option<Original> {
        static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
        let program = PROGRAM.get_or_init(compile).as_deref();
        if program.is_none() {
            eprintln!("SKIPPED: needs a C compiler and the library and headers of LevelDB");
        }
        program.map(Original)
    }

    fn command(self, args: &[&str], dir: &Path) -> Command {
        let mut command = Command::new(self.0);
        command.arg(args[0]).arg(dir).args(&args[1..]);
        command
    }

    /// Runs a command on a database, and returns what it prints.
    pub(crate) fn run(self, args: &[&str], dir: &Path) -> Result<String, String> {
        let output = self.command(args, dir).output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Starts a command, and waits until it has opened the database.
    pub(crate) fn start(self, args: &[&str], dir: &Path) -> Child {
        let mut command = self.command(args, dir);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "open\n");
        child
    }

    /// Makes a database by random writes.
    pub(crate) fn write(self, dir: &Path, seed: u64, count: usize, flags: &str) {
        self.run(&["write", &seed.to_string(), &count.to_string(), flags], dir).unwrap();
    }

    /// Returns the entries that LevelDB shows, from a copy: an open changes the database.
    pub(crate) fn entries(self, dir: &Path) -> Result<String, String> {
        let copy = tempfile::tempdir().unwrap();
        copy_files(dir, copy.path());
        self.run(&["dump"], copy.path())
    }
}

fn compile() -> Option<PathBuf> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/original/original.c");
    // Two runs of the tests may compile it at the same time.
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("original");
    let unfinished = program.with_extension(std::process::id().to_string());
    let output = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", source, "-lleveldb", "-o"])
        .arg(&unfinished)
        .output();
    let is_missing = |text: &str| {
        text.contains("leveldb/c.h") || text.contains("-lleveldb") || text.contains("No such file")
    };
    match output {
        Ok(output) if output.status.success() => {
            std::fs::rename(unfinished, &program).unwrap();
            Some(program)
        }
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(is_missing(&text), "{text}");
            None
        }
        Err(_) => None,
    }
}

/// Copies the files of a directory, but not its directories, into another one.
pub(crate) fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            continue;
        }
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
