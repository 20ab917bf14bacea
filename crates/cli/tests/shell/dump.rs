//! `dump` and `restore`: a whole database as a file and back.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::foldb::{Shell, command, contents};

/// Two keyspaces, and a key whose merge fails.
fn make(shell: &Shell) {
    shell.feed(&["count", "db"], b"the\na\nthe\n").ok();
    shell.ok("keyspaces db --create tags --operator set --separate 1000");
    shell.ok("merge db post red --keyspace tags");
    shell.ok("put db bad not_a_number --as utf8");
    shell.ok("merge db bad 7 --blind");
}

#[test]
fn a_dump_is_restored() {
    let shell = Shell::new();
    make(&shell);
    let ran = shell.run("dump db --output out.dump");
    assert!(ran.err.starts_with("dumped 2 keyspaces, 4 keys ("), "{ran:?}");
    let ran = shell.run("restore out.dump copy");
    assert!(ran.err.starts_with("restored 2 keyspaces, 4 keys ("), "{ran:?}");
    for line in ["scan DB --skip-failed", "options DB --keyspace tags"] {
        let of = |db| shell.run(&line.replace("DB", db)).out;
        assert_eq!(of("db"), of("copy"), "{line}");
        assert!(!of("copy").is_empty(), "{line}");
    }
    shell.ok("merge copy the 40");
    assert_eq!(shell.ok("get copy the"), "42\n");
    assert!(shell.run("get copy bad").failed(1).contains("uint64add"));
    shell.ok("verify copy");

    // Through a pipe, the same bytes.
    let piped = shell.run("dump db");
    assert_eq!(piped.code, Some(0), "{piped:?}");
    assert!(piped.out == fs::read(shell.path("out.dump")).unwrap());
    let ran = shell.feed(&["restore", "-", "piped", "--json"], &piped.out);
    assert!(ran.ok().starts_with(r#"{"keyspaces":2,"keys":4,"operands":1,"bytes":"#));
    assert!(shell.path("piped/CURRENT").exists());
    assert!(!shell.path("out.dump.unfinished").exists());
}

#[test]
fn what_is_no_whole_dump_is_refused_and_leaves_nothing() {
    let shell = Shell::new();
    make(&shell);
    shell.ok("dump db --output out.dump");
    let whole = fs::read(shell.path("out.dump")).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut broken = whole.clone();
        broken[at] ^= 0x10;
        fs::write(shell.path("broken"), &broken).unwrap();
        let message = shell.run("restore broken copy").failed(1);
        assert!(message.contains("(broken, offset "), "{message}");
        assert!(!shell.path("copy").exists() && !shell.path("copy.unfinished").exists());
    }
    let message = shell.feed(&["restore", "-", "copy"], &whole[..whole.len() - 1]).failed(1);
    assert!(message.contains("cut off") && message.contains("standard input"), "{message}");
    assert!(!shell.path("copy").exists());

    let text = shell.run("dump db --text --skip-failed").out;
    fs::write(shell.path("text"), text).unwrap();
    let message = shell.run("restore text copy").failed(1);
    assert!(message.contains("`foldb load` reads"), "{message}");
    let message = shell.run("load copy out.dump").failed(1);
    assert!(message.contains("foldb restore reads it"), "{message}");
    assert!(shell.run("restore missing copy").failed(1).contains("cannot read 'missing'"));
    assert!(shell.run("restore db copy").failed(1).contains("is a directory"));
    let before = contents(&shell.path("db"));
    let message = shell.run("restore out.dump db").failed(1);
    assert!(message.contains("exists and is not empty"), "{message}");
    assert!(contents(&shell.path("db")) == before);
    assert!(!shell.path("copy").exists() && !shell.path("copy.unfinished").exists());
}

#[test]
fn the_command_line_is_checked() {
    let shell = Shell::new();
    make(&shell);
    assert!(shell.run("dump db --json").failed(2).contains("give --output FILE"));
    assert_eq!(shell.run("dump db --skip-failed").code, Some(2));
    let report = shell.ok("dump db --output new --json");
    assert!(report.starts_with(r#"{"keyspaces":2,"#), "{report}");
    assert!(shell.run("dump nothing --output new2").failed(1).contains("no database"));
    assert!(!shell.path("new2").exists() && !shell.path("new2.unfinished").exists());
}

/// `kill -9` at any moment leaves the whole database or none, and the next restore succeeds.
#[test]
fn a_killed_restore_leaves_nothing_half() {
    let shell = Shell::new();
    let mut random = fastrand::Rng::with_seed(7);
    let lines: String =
        (0..60_000).map(|n| format!("key{n:06}\t{:032x}\n", random.u128(..))).collect();
    shell.feed(&["load", "db"], lines.as_bytes()).ok();
    shell.ok("dump db --output out.dump");
    let expected = shell.ok("scan db");
    let mut killed = 0;
    for run in 0..12 {
        let mut child = command()
            .args(["restore", "out.dump", "copy"])
            .current_dir(shell.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(random.u64(1..20 + 40 * run)));
        child.kill().unwrap();
        child.wait().unwrap();
        if shell.path("copy").exists() {
            assert!(shell.ok("scan copy") == expected, "run {run}: a part of the database");
            fs::remove_dir_all(shell.path("copy")).unwrap();
        } else {
            killed += 1;
        }
    }
    assert!(killed > 2, "only {killed} restores were killed before their end");
    shell.ok("restore out.dump copy");
    assert!(shell.ok("scan copy") == expected);
    assert!(!shell.path("copy.unfinished").exists());
}
