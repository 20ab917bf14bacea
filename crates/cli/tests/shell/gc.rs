//! `gc`, and its reports of damage.

use std::path::PathBuf;

use serde_json::Value;

use crate::foldb::Shell;

/// Lines of keys with large values, of one generation.
fn lines(count: usize, generation: usize) -> Vec<u8> {
    (0..count).flat_map(|n| format!("key{n:03}\t{generation:0300}\n").into_bytes()).collect()
}

/// A database in which some values of two segment files are dead: 31 of 130. With a quarter or
/// more, background garbage collection would run at an unknown moment and change the counts.
fn half_dead() -> Shell {
    let shell = Shell::new();
    shell.ok("keyspaces db --create pages --separate 100");
    for (count, generation) in [(100, 0), (30, 1)] {
        let words = ["load", "db", "--keyspace", "pages"];
        shell.feed(&words, &lines(count, generation)).ok();
        shell.ok("compact db");
    }
    shell.ok("delete db key000 --keyspace pages");
    shell
}

fn segments(shell: &Shell) -> Vec<PathBuf> {
    let files = std::fs::read_dir(shell.path("db")).unwrap();
    let mut names: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "seg"));
    names.sort();
    names
}

#[test]
fn dead_space_comes_back_and_the_rest_is_there() {
    let shell = half_dead();
    let report: Value = serde_json::from_str(&shell.ok("gc db --dead 0 --json")).unwrap();
    assert!(report["bytes_reclaimed"].as_u64() > Some(30 * 300), "{report}");
    assert_eq!((&report["cancelled"], &report["found"]), (&false.into(), &Value::Array(vec![])));
    let ran = shell.run("gc db --dead 0");
    assert!(ran.err.starts_with("collected in "), "{ran:?}");
    assert_eq!(ran.ok(), "");
    assert_eq!(shell.ok("scan db --keyspace pages").lines().count(), 99);
}

#[test]
fn a_file_that_is_missing_is_named_and_others_are_merged() {
    for json in [false, true] {
        let shell = half_dead();
        let lost = segments(&shell).remove(0);
        std::fs::remove_file(&lost).unwrap();
        let name = lost.file_name().unwrap().to_str().unwrap();
        let ran = shell.run(&format!("gc db --dead 0{}", if json { " --json" } else { "" }));
        let (err, out) = (ran.err.clone(), ran.ok());
        if json {
            let report: Value = serde_json::from_str(&out).unwrap();
            let found = report["found"].as_array().unwrap();
            assert!(found.len() == 1 && found[0].as_str().unwrap().contains(name), "{report}");
        } else {
            let (found, merged) = err.split_once('\n').unwrap();
            assert!(found.starts_with("found: corruption: ") && found.contains(name), "{err}");
            assert!(merged.starts_with("collected in "), "{err}");
        }
        assert_eq!(shell.ok("get db key020 --keyspace pages").len(), 301);
        assert!(shell.run("get db key050 --keyspace pages").failed(1).contains(name));
    }
}
