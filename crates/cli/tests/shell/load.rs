//! `load`: with `scan`, dump and restoration.

use std::process::{Command, Stdio};

use crate::foldb::{Shell, command};

/// Scans one database, loads the output into a new one, and compares their scans.
fn copy(shell: &Shell, from: &str, to: &str, forms: &str, operator: &str) {
    let line = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let dump = shell.run_args(&line(format!("scan {from}{forms}")));
    assert_eq!(dump.code, Some(0), "{dump:?}");
    shell.feed(&line(format!("load {to}{forms}{operator}")), &dump.out).ok();
    for forms in [forms, " --as hex --key-format hex"] {
        let scan = |db| shell.run_args(&line(format!("scan {db}{forms}"))).out;
        assert_eq!(scan(from), scan(to), "{forms}");
    }
}

/// Entries of arbitrary bytes, as hex lines.
fn arbitrary(random: &mut fastrand::Rng, entries: usize) -> String {
    let odd = b"\t\n\r\\\0,\"{}\xc3\xa9\xff\xf0\x9f\x92\xa9xtn";
    let mut hex = |most: usize| -> String {
        let bytes = (0..random.usize(..most)).map(|_| match random.u8(..4) {
            0 => random.u8(..),
            _ => odd[random.usize(..odd.len())],
        });
        bytes.map(|byte| format!("{byte:02x}")).collect()
    };
    (0..entries).map(|_| format!("{}\t{}\n", hex(12), hex(30))).collect()
}

#[test]
fn what_scan_prints_of_any_bytes_load_reads() {
    let mut random = fastrand::Rng::with_seed(11);
    for round in 0..5 {
        let shell = Shell::new();
        let lines = arbitrary(&mut random, 400);
        let hex = ["load", "db", "--as", "hex", "--key-format", "hex"];
        shell.feed(&hex, lines.as_bytes()).ok();
        for (number, forms) in [
            "",
            " --json",
            " --as hex --key-format base64",
            " --as base64 --key-format hex --json",
            " --as utf8 --key-format hex",
        ]
        .into_iter()
        .enumerate()
        {
            copy(&shell, "db", &format!("copy{round}-{number}"), forms, "");
        }
    }
}

#[test]
fn the_values_of_every_operator_come_back() {
    let shell = Shell::new();
    let merges = [
        ("uint64add", vec!["18446744073709551615", "7"]),
        ("int64add", vec!["-9223372036854775808", "-1"]),
        ("float64add", vec!["0.1", "-1e300"]),
        ("stringappend:;", vec!["a;b", "\\"]),
        ("list", vec!["", "a,b", ",", "\\e", "tab\there"]),
        ("set", vec!["+", "+a,b", "+\u{e9}", "+x"]),
        ("top:3", vec!["9223372036854775807 a,b", "-1 ", "7 \\e tab\there", "7  x"]),
    ];
    for (number, (operator, operands)) in merges.iter().enumerate() {
        let db = format!("db{number}");
        for (place, operand) in operands.iter().enumerate() {
            for key in ["all", &format!("key{place}")] {
                shell.run_args(&["merge", &db, key, operand, "--operator", operator]).ok();
            }
        }
        for (number, forms) in ["", " --json"].into_iter().enumerate() {
            copy(&shell, &db, &format!("{db}{number}"), forms, &format!(" --operator {operator}"));
        }
    }
}

#[test]
fn sketches_need_a_form_that_keeps_them() {
    let shell = Shell::new();
    for (operator, operand) in [("hyperloglog", "a"), ("stats", "7"), ("histogram", "0.5")] {
        let (db, new) = (format!("{operator}.db"), format!("{operator}.new"));
        shell.ok(&format!("merge {db} k {operand} --operator {operator}"));
        let message = shell.run(&format!("load {new} --operator {operator}")).failed(2);
        assert!(message.contains("--as hex"), "{message}");
        assert!(!shell.path(&new).exists());
        copy(&shell, &db, &new, " --as hex", &format!(" --operator {operator}"));
    }
}

#[test]
fn it_puts_over_what_is_there_and_merges_go_on() {
    let shell = Shell::new();
    shell.feed(&["count", "db"], b"a\nb\nb\n").ok();
    shell.feed(&["load", "db"], b"b\t10\nc\t5\n").ok();
    shell.ok("merge db b 1");
    assert_eq!(shell.ok("scan db"), "a\t1\nb\t11\nc\t5\n");
    // --operator sets the default of a database without one.
    shell.ok("put plain k v");
    shell.feed(&["load", "plain", "--operator", "uint64add"], b"n\t1\n").ok();
    shell.ok("merge plain n 1");
    assert_eq!(shell.ok("get plain n"), "2\n");
    let message = shell.run("load plain --operator int64add").failed(1);
    assert!(message.contains("is already uint64add"), "{message}");
}

#[test]
fn files_and_a_summary() {
    let shell = Shell::new();
    std::fs::write(shell.path("one"), "a\t1\n\nb\t2\r\n").unwrap();
    std::fs::write(shell.path("two"), "c\t\n").unwrap();
    let ran = shell.feed(&["load", "db", "one", "-", "two"], b"\t\n");
    assert!(ran.err.starts_with("4 lines loaded in "), "{}", ran.err);
    assert!(ran.err.contains("1 empty line skipped"), "{}", ran.err);
    assert_eq!(ran.ok(), "");
    assert_eq!(shell.ok("scan db"), "\t\na\t1\nb\t2\nc\t\n");
}

#[test]
fn a_bad_line_is_named_and_those_before_it_are_loaded() {
    let shell = Shell::new();
    for (number, (flags, line, why)) in [
        ("", "no tab", "expected a key, a TAB and a value"),
        ("", "a\tb\tc", "expected one TAB"),
        ("", "\\q\tb", "the key: '\\q' is no escape"),
        ("", "a\tb\\", "the value: '\\' is no escape"),
        ("--as=u64", "a\tx", "the value: 'x' is not u64"),
        ("--key-format=hex", "xy\tx", "the key: 'xy' is not hex"),
    ]
    .into_iter()
    .enumerate()
    {
        let db = format!("db{number}");
        let flags: Vec<&str> = flags.split(' ').filter(|flag| !flag.is_empty()).collect();
        let run = |db: &str, input: &str| {
            shell.feed(&[&["load", db], &flags[..]].concat(), input.as_bytes()).failed(1)
        };
        let message = run("none", &format!("{line}\n00\t1\n"));
        assert!(message.starts_with("line 1: ") && message.contains(why), "{message}");
        assert!(message.ends_with("; nothing is loaded"), "{message}");
        assert!(!shell.path("none").exists());
        let message = run(&db, &format!("00\t1\n01\t2\n{line}\n02\t3\n"));
        assert!(message.starts_with("line 3: ") && message.contains(why), "{message}");
        assert!(message.ends_with("; the 2 lines before it are loaded"), "{message}");
        assert_eq!(shell.ok(&format!("scan {db} --count")), "2\n");
    }
    let message = shell.feed(&["load", "j", "--json"], b"{\"key\":\"a\",\"value\":1}\n").failed(1);
    assert!(message.contains("the value: '1' is not utf8: expected text or"), "{message}");
    let message = shell.feed(&["load", "j", "--json"], b"{\"key\":\"a\"}\n").failed(1);
    assert!(message.contains("missing field `value`"), "{message}");
}

#[test]
fn an_input_that_was_cut_off_is_noticed() {
    let shell = Shell::new();
    let message = shell.feed(&["load", "db"], b"a\t1\nb\t2").failed(1);
    assert!(message.starts_with("line 2: the line does not end in a newline"), "{message}");
    assert!(message.ends_with("the line before it is loaded"), "{message}");
    assert_eq!(shell.ok("scan db"), "a\t1\n");
}

/// Scan and load at once, through a pipe, of more than a batch.
#[test]
fn a_pipe_of_many_lines() {
    let shell = Shell::new();
    let lines: String = (0..30_000).map(|n| format!("key{}\n", n % 12_345)).collect();
    shell.feed(&["count", "db"], lines.as_bytes()).ok();
    let mut scan = command();
    let mut scan =
        scan.args(["scan"]).arg(shell.path("db")).stdout(Stdio::piped()).spawn().unwrap();
    let mut load = Command::new(command().get_program());
    load.arg("load").arg(shell.path("copy")).args(["--operator", "uint64add"]);
    let output = load.stdin(scan.stdout.take().unwrap()).output().unwrap();
    assert!(output.status.success() && scan.wait().unwrap().success());
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("12,345 lines loaded"));
    assert!(shell.ok("scan db") == shell.ok("scan copy"));
}
