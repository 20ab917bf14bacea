//! The original RocksDB, as a small C++ program that the tests compile: see
//! `tests/rocksdb/peer.cc`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use crate::original::copy_files;

/// The program.
#[derive(Clone, Copy)]
pub(crate) struct Peer(&'static Path);

impl Peer {
    /// Returns the program, or says that the test is skipped without a compiler and the library.
    pub(crate) fn find() -> Option<Peer> {
        static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
        let program = PROGRAM.get_or_init(compile).as_deref();
        if program.is_none() {
            eprintln!("SKIPPED: needs a C++ compiler and the library and headers of RocksDB");
        }
        program.map(Peer)
    }

    fn run(self, command: &str, dir: &Path, args: &[&str]) -> Output {
        Command::new(self.0).arg(command).arg(dir).args(args).output().unwrap()
    }

    /// Makes a database, or adds to it.
    pub(crate) fn write(self, dir: &Path, args: &[&str]) {
        let output = self.run("write", dir, args);
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    /// Opens a database, and holds it until the process is waited for.
    pub(crate) fn hold(self, dir: &Path) -> Child {
        let mut command = Command::new(self.0);
        command.arg("hold").arg(dir).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "open\n");
        child
    }

    /// Adds tables to a column family.
    pub(crate) fn ingest(self, dir: &Path, family: &str, tables: &[&Path]) {
        let tables = tables.iter().map(|path| path.to_str().unwrap());
        let args: Vec<&str> = std::iter::once(family).chain(tables).collect();
        let output = self.run("ingest", dir, &args);
        assert!(output.status.success(), "{output:?}");
    }

    /// Returns what RocksDB shows, from a copy: an open may change the database.
    pub(crate) fn entries(self, dir: &Path, operator: &[&str]) -> String {
        let copy = tempfile::tempdir().unwrap();
        copy_files(dir, copy.path());
        let output = self.run("read", copy.path(), operator);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

fn compile() -> Option<PathBuf> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rocksdb/peer.cc");
    // Two runs of the tests may compile it at the same time.
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rocksdb_peer");
    let unfinished = program.with_extension(std::process::id().to_string());
    let output = Command::new(compiler)
        .args(["-std=c++17", "-O1", source, "-lrocksdb", "-o"])
        .arg(&unfinished)
        .output();
    let is_missing = |text: &str| {
        text.contains("rocksdb/") && text.contains("No such file") || text.contains("-lrocksdb")
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
