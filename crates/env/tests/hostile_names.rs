//! Directories with symbolic links and pipes in place of files, and the modes of created files.
#![cfg(unix)]

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use foldb_env::{FileSystem, PortableFs, PosixFs};

const UMASK_VARIABLE: &str = "FOLDB_TEST_UMASK";

/// Returns the answers of every call that opens a file, on each real file system.
fn files(directory: &Path) -> Vec<(String, std::io::Result<()>)> {
    let path = directory.join("file");
    let real: [&dyn FileSystem; 2] = [&PosixFs, &PortableFs];
    let answers = real.into_iter().flat_map(|fs| {
        let answers = [
            ("create", fs.create(&path).map(drop)),
            ("create a log", fs.create_log(&path).map(drop)),
            ("open", fs.open(&path).map(drop)),
            ("lock", fs.lock(&path).map(drop)),
        ];
        answers.map(|(call, answer)| (format!("{fs:?}: {call}"), answer))
    });
    answers.collect()
}

#[test]
fn a_symbolic_link_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let target = outside.path().join("precious");
    fs::write(&target, "kept").unwrap();
    symlink(&target, directory.path().join("file")).unwrap();
    for (call, outcome) in files(directory.path()) {
        let error = outcome.expect_err(&call);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{call}: {error}");
        assert!(error.to_string().contains("symbolic link"), "{call}: {error}");
    }
    assert_eq!(fs::read(&target).unwrap(), b"kept");
    // Removing one removes the link.
    PosixFs.remove(&directory.path().join("file")).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"kept");
    // The way to a directory may lead through one.
    symlink(directory.path(), outside.path().join("database")).unwrap();
    PosixFs.create(&outside.path().join("database/file")).unwrap();
    PosixFs.sync_dir(&outside.path().join("database")).unwrap();
    assert!(directory.path().join("file").exists());
}

/// Opening a pipe waits until another process opens its other end.
#[test]
fn a_pipe_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let made = Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("there is no mkfifo: nothing was checked");
        return;
    }
    for (call, outcome) in files(directory.path()) {
        assert_eq!(outcome.expect_err(&call).kind(), ErrorKind::InvalidInput, "{call}");
    }
}

/// Not a test of its own: run by the next one under several masks.
#[test]
fn create_one_of_each() {
    let Some(path) = env::var_os(UMASK_VARIABLE) else { return };
    let path = Path::new(&path);
    PosixFs.create_dir_all(&path.join("directory")).unwrap();
    PosixFs.create(&path.join("file")).unwrap();
    PosixFs.create_log(&path.join("log")).unwrap();
    PosixFs.lock(&path.join("lock")).unwrap();
}

#[test]
fn files_are_created_with_the_umask_and_no_more() {
    for mask in [0o022, 0o077, 0o027] {
        let directory = tempfile::tempdir().unwrap();
        let run = Command::new("sh")
            .args(["-c", &format!("umask {mask:03o}; exec \"$0\" --exact create_one_of_each")])
            .arg(env::current_exe().unwrap())
            .env(UMASK_VARIABLE, directory.path())
            .output()
            .unwrap();
        assert!(run.status.success(), "{run:?}");
        for (name, most) in [("directory", 0o777), ("file", 0o666), ("log", 0o666), ("lock", 0o666)]
        {
            let mode = fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, most & !mask, "{name} under {mask:03o}");
        }
    }
}
