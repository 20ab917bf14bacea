//! Imports of databases that the original LevelDB wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::foldb::{Shell, command, contents};
use crate::original::{Original, copy_files};

const IMPORT: &str = "import --from leveldb src dst";

/// Imports `src` into `dst`, which must succeed and change nothing in `src`. Returns the entries.
fn imported(shell: &Shell) -> String {
    let before = contents(&shell.path("src"));
    shell.ok(IMPORT);
    assert!(contents(&shell.path("src")) == before, "the import changed the database");
    assert!(!shell.path("dst.unfinished").exists());
    scanned(shell, "dst")
}

fn scanned(shell: &Shell, db: &str) -> String {
    shell.ok(&format!("scan {db} --key-format hex --as hex"))
}

/// Imports `src`, which must fail and leave nothing. Returns the message.
fn refused(shell: &Shell) -> String {
    let before = contents(&shell.path("src"));
    let message = shell.run(IMPORT).failed(1);
    assert!(contents(&shell.path("src")) == before, "the import changed the database");
    assert!(!shell.path("dst").exists() && !shell.path("dst.unfinished").exists());
    message
}

fn remove(shell: &Shell, db: &str) {
    fs::remove_dir_all(shell.path(db)).unwrap();
}

fn file_ending(dir: &Path, ending: &str) -> PathBuf {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    files.retain(|path| path.to_str().unwrap().contains(ending));
    files.into_iter().next().unwrap()
}

#[test]
fn every_entry_of_a_database_of_the_original_is_imported() {
    let Some(original) = Original::find() else { return };
    for (seed, flags) in
        ["e", "z", "zu", "zb", "zc", "zo", "zco", "uo", "l", "zl"].into_iter().enumerate()
    {
        let shell = Shell::new();
        let src = shell.path("src");
        let count = if flags.contains('l') { 150 } else { 2500 };
        original.write(&src, seed as u64, count, flags);
        let expected = original.entries(&src).unwrap();
        assert!(expected.lines().count() > 500, "{flags}");
        assert!(imported(&shell) == expected, "{flags}");
        shell.ok("verify dst");
    }
}

#[test]
fn a_killed_database_is_imported_as_the_original_recovers_it() {
    let Some(original) = Original::find() else { return };
    let mut random = fastrand::Rng::with_seed(11);
    let (mut with_tables, mut with_tail) = (0, 0);
    for round in 0..24u64 {
        let shell = Shell::new();
        let src = shell.path("src");
        let flags = ["z", "zc", "zo", "zl", "e", "zs"][round as usize % 6];
        let seed = round.to_string();
        let mut child = original.start(&["fill", &seed, flags], &src);
        std::thread::sleep(Duration::from_millis(random.u64(0..250)));
        child.kill().unwrap();
        child.wait().unwrap();
        let expected = original.entries(&src).unwrap();
        assert!(imported(&shell) == expected, "round {round}");
        let report = {
            remove(&shell, "dst");
            shell.ok(&format!("{IMPORT} --json"))
        };
        with_tables += u32::from(!report.contains("\"tables\":0"));
        with_tail += u32::from(!report.contains("\"tail_bytes\":0"));
    }
    eprintln!("{with_tables} with tables, {with_tail} with a torn log");
    assert!(with_tables > 3, "{with_tables}");
}

#[test]
fn a_log_that_is_cut_anywhere_is_imported_as_the_original_recovers_it() {
    let Some(original) = Original::find() else { return };
    let whole = Shell::new();
    original.write(&whole.path("src"), 5, 300, "e");
    let log = fs::read(file_ending(&whole.path("src"), ".log")).unwrap();
    let name = file_ending(&whole.path("src"), ".log").file_name().unwrap().to_owned();
    let cuts = (0..40).chain((40..log.len()).step_by(log.len() / 20)).chain([32767, 32768, 32770]);
    for cut in cuts.filter(|&cut| cut < log.len()) {
        let shell = Shell::new();
        let src = shell.path("src");
        copy_files(&whole.path("src"), &src);
        fs::write(src.join(&name), &log[..cut]).unwrap();
        assert!(imported(&shell) == original.entries(&src).unwrap(), "{cut}");
        // What a crash of the system leaves.
        remove(&shell, "dst");
        let zeros = [&log[..cut], &[0; 50_000]].concat();
        fs::write(src.join(&name), zeros).unwrap();
        assert!(imported(&shell) == original.entries(&src).unwrap(), "{cut} and zeros");
    }
}

#[test]
fn damage_is_an_error_that_names_the_file_or_does_no_harm() {
    let Some(original) = Original::find() else { return };
    let whole = Shell::new();
    original.write(&whole.path("src"), 3, 4000, "zbo");
    let expected = imported(&whole);
    let mut random = fastrand::Rng::with_seed(3);
    let (mut found, mut harmless) = (0, 0);
    for ending in [".ldb", "MANIFEST-", "CURRENT", ".log"] {
        let name = file_ending(&whole.path("src"), ending).file_name().unwrap().to_owned();
        let bytes = fs::read(whole.path("src").join(&name)).unwrap();
        for _ in 0..16 {
            let shell = Shell::new();
            copy_files(&whole.path("src"), &shell.path("src"));
            let mut damaged = bytes.clone();
            match random.u32(0..3) {
                0 if ending != ".log" => damaged.truncate(random.usize(..bytes.len())),
                _ => damaged[random.usize(..bytes.len())] ^= 1 << random.u32(..8),
            }
            fs::write(shell.path("src").join(&name), &damaged).unwrap();
            let ran = shell.run(IMPORT);
            if ran.code == Some(0) {
                harmless += 1;
                // The end of a log may be what a crash left; nothing else may be less.
                let is_prefix = ending == ".log" && ran.err.contains("incomplete write");
                let is_same = scanned(&shell, "dst") == expected;
                assert!(is_same || is_prefix, "{ending}");
            } else {
                found += 1;
                let message = ran.failed(1);
                // A manifest that was cut names files that are gone.
                let is_named = message.contains(name.to_str().unwrap())
                    || (ending == "MANIFEST-" && message.contains("is missing"));
                assert!(is_named, "{name:?}: {message}");
                assert!(!shell.path("dst").exists() && !shell.path("dst.unfinished").exists());
            }
        }
    }
    eprintln!("{found} found, {harmless} without harm");
    assert!(found > 30, "{found}");
}

#[test]
fn a_missing_file_is_an_error_and_an_old_name_is_none() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    let src = shell.path("src");
    original.write(&src, 8, 4000, "zo");
    let expected = original.entries(&src).unwrap();
    let table = file_ending(&src, ".ldb");
    let away = shell.path("away");
    fs::rename(&table, &away).unwrap();
    let message = refused(&shell);
    assert!(message.contains("is missing") && message.contains("src/"), "{message}");
    fs::rename(&away, &table).unwrap();
    let log = file_ending(&src, ".log");
    fs::rename(&log, &away).unwrap();
    let message = refused(&shell);
    assert!(message.contains("the log 'src/") && message.contains("is missing"), "{message}");
    fs::rename(&away, &log).unwrap();
    for entry in fs::read_dir(&src).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "ldb") {
            fs::rename(&path, path.with_extension("sst")).unwrap();
        }
    }
    assert!(imported(&shell) == expected);
}

#[test]
fn an_empty_database_is_imported() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    original.write(&shell.path("src"), 1, 0, "e");
    assert_eq!(imported(&shell), "");
}

#[test]
fn a_repaired_database_is_imported() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    let src = shell.path("src");
    original.write(&src, 2, 3000, "z");
    fs::remove_file(src.join("CURRENT")).unwrap();
    let message = refused(&shell);
    assert!(message.contains("no CURRENT: repair the database with LevelDB"), "{message}");
    original.run(&["repair"], &src).unwrap();
    assert!(imported(&shell) == original.entries(&src).unwrap());
}

#[test]
fn another_comparator_is_refused_by_its_name() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    original.write(&shell.path("src"), 1, 100, "r");
    let message = refused(&shell);
    assert!(message.contains("'test.Reverse'"), "{message}");
}

#[test]
fn an_open_database_is_refused_also_under_another_name() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    let (src, moved) = (shell.path("src"), shell.path("moved"));
    original.write(&src, 1, 100, "e");
    let mut child = original.start(&["hold"], &src);
    assert!(refused(&shell).contains("a program has 'src' open"));
    fs::rename(&src, &moved).unwrap();
    let message = shell.run("import --from leveldb moved dst").failed(1);
    assert!(message.contains("a program has 'moved' open"), "{message}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    fs::rename(&moved, &src).unwrap();
    assert!(imported(&shell) == original.entries(&src).unwrap());
}

#[cfg(unix)]
#[test]
fn a_database_without_write_permission_is_imported() {
    use std::os::unix::fs::PermissionsExt;
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    let src = shell.path("src");
    original.write(&src, 1, 1000, "z");
    let expected = original.entries(&src).unwrap();
    let allow = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for entry in fs::read_dir(&src).unwrap() {
        allow(&entry.unwrap().path(), 0o444);
    }
    allow(&src, 0o555);
    assert!(imported(&shell) == expected);
    allow(&src, 0o755);
}

#[test]
fn a_killed_import_never_looks_finished_and_can_run_again() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    let src = shell.path("src");
    original.write(&src, 4, 8000, "zc");
    let expected = original.entries(&src).unwrap();
    let before = contents(&src);
    let mut unfinished = 0;
    for step in 0..25 {
        let mut child =
            command().args(IMPORT.split(' ')).current_dir(shell.path("")).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(step * 5));
        child.kill().unwrap();
        child.wait().unwrap();
        if shell.path("dst").exists() {
            // The kill came after the last step.
            assert!(scanned(&shell, "dst") == expected, "{step}");
            remove(&shell, "dst");
        }
        unfinished += u32::from(shell.path("dst.unfinished").exists());
    }
    assert!(unfinished > 3, "{unfinished} kills left something");
    assert!(contents(&src) == before);
    assert!(imported(&shell) == expected);
}

#[test]
fn ctrl_c_ends_an_import_and_leaves_nothing() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    original.write(&shell.path("src"), 4, 8000, "z");
    let mut interrupted = 0;
    for step in 0..20 {
        let mut import = command();
        import.args(IMPORT.split(' ')).current_dir(shell.path("")).stderr(Stdio::null());
        let mut child = import.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(10 + step * 5));
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let status = child.wait().unwrap();
        assert!(!shell.path("dst.unfinished").exists(), "{step}");
        if status.code() == Some(130) {
            interrupted += 1;
            assert!(!shell.path("dst").exists(), "{step}");
        } else if status.success() {
            remove(&shell, "dst");
        }
        assert!(kill.success() || status.success());
    }
    assert!(interrupted > 0);
}

#[test]
fn the_new_database_takes_an_operator() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    original.write(&shell.path("src"), 1, 0, "e");
    shell.ok(&format!("{IMPORT} --operator uint64add"));
    shell.ok("merge dst visits 3");
    assert_eq!(shell.ok("get dst visits"), "3\n");
    let message = shell.run("import --from leveldb src other --operator sum").failed(2);
    assert!(message.contains("there is no operator 'sum'"), "{message}");
}

#[test]
fn what_is_not_leveldb_is_refused() {
    let shell = Shell::new();
    assert!(refused_kind(&shell, "src").contains("there is no LevelDB database at 'src'"));
    fs::create_dir(shell.path("src")).unwrap();
    assert!(refused_kind(&shell, "src").contains("'src' is not a LevelDB database"));
    fs::write(shell.path("file"), "text").unwrap();
    assert!(
        refused_kind(&shell, "file").contains("'file' is not a LevelDB database: it is a file")
    );
    shell.ok("put own k v");
    assert!(refused_kind(&shell, "own").contains("is a foldb database already"));
    let message = shell.run("import --from berkeleydb src dst").failed(2);
    assert!(message.contains("leveldb"), "{message}");
    let message = shell.run("import --from leveldb --skip-damaged src dst").failed(2);
    assert!(message.contains("--skip-damaged is for --from rocksdb"), "{message}");
    let message = shell.run("import src dst").failed(2);
    assert!(message.contains("--from"), "{message}");
}

fn refused_kind(shell: &Shell, src: &str) -> String {
    let message = shell.run(&format!("import --from leveldb {src} dst")).failed(1);
    assert!(!shell.path("dst").exists() && !shell.path("dst.unfinished").exists());
    message
}

#[test]
fn a_destination_in_use_is_refused() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    original.write(&shell.path("src"), 1, 10, "e");
    shell.ok("put dst k v");
    let message = shell.run(IMPORT).failed(1);
    assert!(message.contains("exists and is not empty"), "{message}");
    let before = contents(&shell.path("src"));
    let message = shell.run("import --from leveldb src src/dst").failed(1);
    assert!(message.contains("is inside of 'src'"), "{message}");
    assert!(contents(&shell.path("src")) == before);
    shell.run("import --from leveldb src src").failed(1);
    assert!(contents(&shell.path("src")) == before);
}

#[test]
fn every_command_refuses_a_database_of_the_original() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    let src = shell.path("src");
    original.write(&src, 1, 2000, "z");
    let before = contents(&src);
    for line in [
        "get src k",
        "put src k v",
        "delete src k",
        "scan src",
        "load src",
        "stats src",
        "compact src",
        "gc src",
        "repair src --in-place",
        "repair src",
        "verify src",
        "dump src",
        "checkpoint src copy",
        "explain src k",
        "finalize src",
        "options src",
        "keyspaces src",
        "export --to leveldb src copy",
        "demo --words 10 --keep src",
        "merge src k 1 --operator uint64add",
    ] {
        let message = shell.run(line).failed(1);
        assert!(message.contains("foldb import --from leveldb") || line.contains("demo"), "{line}");
        assert!(contents(&src) == before, "{line}");
    }
    assert_eq!(fs::read_dir(shell.path("")).unwrap().count(), 1);
}
