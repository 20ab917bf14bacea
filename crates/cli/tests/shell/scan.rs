//! `scan`.

use std::io::Read;
use std::process::Stdio;

use crate::foldb::{Shell, command};

fn letters() -> Shell {
    let shell = Shell::new();
    for key in ["a", "b", "ba", "bb", "c"] {
        shell.ok(&format!("put db {key} {key}{key}"));
    }
    shell
}

fn keys(shell: &Shell, flags: &str) -> String {
    let out = shell.ok(format!("scan db {flags}").trim_end());
    out.lines().map(|line| line.split('\t').next().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn count_is_the_number_of_lines() {
    let shell = letters();
    for flags in [
        "",
        "--from b --to bb",
        "--prefix b",
        "--prefix b --reverse --limit 2",
        "--limit 0",
        "--limit 2",
        "--from z",
        "--from b --to a",
    ] {
        let lines = shell.ok(format!("scan db {flags}").trim_end()).lines().count();
        assert_eq!(shell.ok(format!("scan --count db {flags}").trim_end()), format!("{lines}\n"));
    }
    assert_eq!(shell.ok("scan db --count --json"), "{\"count\":5}\n");
    // Also entries that do not fit --as, and entries that cannot be folded.
    assert_eq!(shell.ok("scan db --count --as u64"), "5\n");
    shell.ok("merge db bb 1 --operator uint64add --blind");
    shell.run("get db bb").failed(1);
    assert_eq!(shell.ok("scan db --count --prefix b"), "3\n");
}

#[test]
fn ranges_prefixes_limits_and_both_directions() {
    let shell = letters();
    assert_eq!(shell.ok("scan db --limit 2"), "a\taa\nb\tbb\n");
    assert_eq!(keys(&shell, ""), "a b ba bb c");
    assert_eq!(keys(&shell, "--from b --to bb"), "b ba", "from included, to excluded");
    assert_eq!(keys(&shell, "--prefix b"), "b ba bb");
    assert_eq!(keys(&shell, "--prefix b --from ba"), "ba bb");
    assert_eq!(keys(&shell, "--prefix b --to bb"), "b ba");
    assert_eq!(keys(&shell, "--reverse"), "c bb ba b a");
    assert_eq!(keys(&shell, "--reverse --limit 2 --to c"), "bb ba");
    assert_eq!(keys(&shell, "--reverse --prefix b --from ba"), "bb ba");
    assert_eq!(keys(&shell, "--limit 0"), "");
    assert_eq!(keys(&shell, "--from z"), "");
    assert_eq!(keys(&shell, "--from c --to a"), "");
    assert_eq!(keys(&shell, "--from 62 --to 6262 --key-format hex"), "62 6261");
}

#[test]
fn lines_stay_lines() {
    let shell = Shell::new();
    shell.run_args(&["put", "db", "a\tb", "c\nd\r\\"]).ok();
    assert_eq!(shell.ok("scan db"), "a\\tb\tc\\nd\\r\\\\\n");
    assert_eq!(shell.ok("scan db --json"), "{\"key\":\"a\\tb\",\"value\":\"c\\nd\\r\\\\\"}\n");
    assert_eq!(shell.ok("scan db --as base64 --key-format hex"), "610962\tYwpkDVw=\n");
}

#[test]
fn a_value_that_does_not_fit_stops_the_scan_and_names_its_key() {
    let shell = Shell::new();
    shell.ok("put db a 1 --as u64");
    shell.ok("put db b text");
    shell.ok("put db c 3 --as u64");
    let ran = shell.run("scan db --as u64");
    assert_eq!(ran.out, b"a\t1\n");
    let message = ran.failed_after_output(1);
    assert!(message.contains("key 'b'"), "{message}");
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let shell = Shell::new();
    let lines: String = (0..50_000).map(|n| format!("a-rather-long-key-{n}\n")).collect();
    shell.feed(&["count", "db"], lines.as_bytes()).ok();
    let mut child = command()
        .args(["scan"])
        .arg(shell.path("db"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    // Its end of the pipe is closed here.
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// One key that cannot be folded once ended every dump.
#[test]
fn entries_that_cannot_be_printed_are_skipped_and_told() {
    let shell = Shell::new();
    shell.ok("put db a 1 --as u64");
    shell.ok("put db b text");
    shell.ok("put db c 3 --as u64");
    let ran = shell.run("scan db --as u64 --skip-failed");
    assert_eq!((ran.code, &ran.out[..]), (Some(3), &b"a\t1\nc\t3\n"[..]), "{ran:?}");
    assert!(
        ran.err.starts_with("foldb: 2 entries were printed, 1 skipped; the first: "),
        "{ran:?}"
    );
    shell.ok("merge db b 1 --operator uint64add --blind");
    let ran = shell.run("scan db --skip-failed");
    assert_eq!((ran.code, &ran.out[..]), (Some(3), &b"a\t1\nc\t3\n"[..]), "{ran:?}");
    assert_eq!(shell.run("scan db --limit 1 --skip-failed").code, Some(0));
}
