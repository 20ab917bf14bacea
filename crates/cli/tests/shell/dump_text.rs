//! `dump` and `load`: a whole database as text and back.

use crate::foldb::{Shell, command};

/// Three keyspaces of different operators, options and bytes.
fn make(shell: &Shell) {
    shell.feed(&["count", "db"], b"the\na\nthe\n").ok();
    shell.ok("put db text buy_apples --as utf8");
    shell.ok("put db big 18446744073709551615 --as u64");
    shell.ok("keyspaces db --create tags --operator set --separate 1000");
    shell.run_args(&["merge", "db", "post", "a,b\t\u{e9}", "--keyspace", "tags"]).ok();
    shell.ok("merge db post red --keyspace tags");
    shell.ok("put db raw 00ff0a --as hex --keyspace tags");
    shell.ok("keyspaces db --create plain --operator none");
    shell.ok("put db ff00 0a0d5c --as hex --key-format hex --keyspace plain");
    shell.ok("keyspaces db --create ratios --operator float64add");
    for (number, text) in ["0.1", "-0.0", "1e300", "inf", "nan"].iter().enumerate() {
        let key = format!("key{number}");
        shell.run_args(&["put", "db", &key, text, "--as", "f64", "--keyspace", "ratios"]).ok();
    }
    shell.ok("keyspaces db --create empty");
}

#[test]
fn a_dump_that_is_loaded_dumps_the_same() {
    let shell = Shell::new();
    make(&shell);
    let dump = shell.ok("dump db --text");
    for line in [
        r#""name":"tags","operator":"set","comparator":"foldb.bytewise","options":{"compression":"lz4","#,
        r#""name":"plain","operator":null"#,
        r#""value_separation_min":1000"#,
        r#"{"key":"the","value":2}"#,
        r#"{"key":"text","value":"buy apples"}"#,
        r#"{"key":"big","value":{"base64":"//////////8="}}"#,
        r#"{"key":"post","value":["a,b\té","red"]}"#,
        r#"{"key":{"base64":"/wA="},"value":"\n\r\\"}"#,
        r#"{"end":12}"#,
    ] {
        assert!(dump.contains(line), "{line}\n{dump}");
    }
    let loaded = shell.feed(&["load", "copy"], dump.as_bytes());
    assert!(loaded.err.starts_with("19 lines loaded in "), "{loaded:?}");
    assert_eq!(shell.ok("dump copy --text"), dump);
    for keyspace in ["default", "tags", "plain", "ratios", "empty"] {
        for forms in ["scan DB --as hex --key-format hex --keyspace", "options DB --keyspace"] {
            let of = |db| shell.ok(&format!("{} {keyspace}", forms.replace("DB", db)));
            assert_eq!(of("db"), of("copy"), "{keyspace}");
        }
    }
    // Merges continue, and the keyspace without an operator did not inherit one.
    shell.ok("merge copy the 40");
    assert_eq!(shell.ok("get copy the"), "42\n");
    assert_eq!(shell.run("merge copy k 1 --keyspace plain").code, Some(2));
}

/// Entries of any bytes, under operators of every form.
#[test]
fn no_bytes_are_lost_whatever_the_operator() {
    let mut random = fastrand::Rng::with_seed(7);
    let shell = Shell::new();
    let operators = [
        "none",
        "uint64add",
        "int64add",
        "float64add",
        "list",
        "set",
        "hyperloglog",
        "stats",
        "top",
        "histogram",
    ];
    for operator in operators {
        shell.ok(&format!("keyspaces db --create {operator} --operator {operator}"));
        let mut hex =
            |len: usize| -> String { (0..len).map(|_| format!("{:02x}", random.u8(..))).collect() };
        let mut lines: String = (0..40).map(|n| format!("{n:04x}\t{}\n", hex(8))).collect();
        lines.extend((40..80).map(|n| format!("{n:04x}{}\t{}\n", hex(n % 5), hex(n % 12))));
        let within = ["--keyspace", operator, "--as", "hex", "--key-format", "hex"];
        shell.feed(&[&["load", "db"], &within[..]].concat(), lines.as_bytes()).ok();
    }
    let dump = shell.ok("dump db --text");
    shell.feed(&["load", "copy"], dump.as_bytes()).ok();
    assert_eq!(shell.ok("dump copy --text"), dump);
    for operator in operators {
        let of =
            |db| shell.ok(&format!("scan {db} --as hex --key-format hex --keyspace {operator}"));
        assert_eq!(of("db"), of("copy"), "{operator}");
    }
}

/// A bad first line creates nothing. After a later bad line, the error says that the database is
/// incomplete.
#[test]
fn a_bad_dump_is_refused_by_the_number_of_its_line() {
    let shell = Shell::new();
    make(&shell);
    let dump = shell.ok("dump db --text");
    let lines: Vec<&str> = dump.lines().collect();
    let load = |db: &str, input: &str| shell.feed(&["load", db], input.as_bytes()).failed(1);
    for (from, to, why) in [
        (r#"{"foldb_dump":1"#, r#"{"foldb_dump":2"#, "version 1, found 2"),
        (
            r#""operator":"set""#,
            r#""operator":"sett""#,
            "keyspace 'tags': there is no operator 'sett'",
        ),
        (r#""operator":"set""#, r#""operator":"app.mine""#, "there is no operator 'app.mine'"),
        ("lz4", "lz5", "'lz5' for compression: expected one of none, lz4"),
        ("lazy leveled", "lazy", "'lazy' for compaction"),
        (r#""bloom_bits":10"#, r#""bloom_bits":100"#, "bloom_bits"),
        (r#""name":"plain""#, r#""name":"tags""#, "keyspace 'tags' is listed twice"),
        (r#""name":"default""#, r#""name":"other""#, "expected a keyspace 'default'"),
        ("foldb.bytewise", "app.backwards", "no comparator 'app.backwards'"),
        (r#""name":"plain""#, r#""nome":"plain""#, "unknown field `nome`"),
        (r#""name":"plain""#, r#""name":"""#, "a keyspace cannot be called ''"),
    ] {
        assert!(lines[0].contains(from), "{from}");
        let message = load("none", &format!("{}\n", lines[0].replacen(from, to, 1)));
        assert!(message.starts_with("line 1: ") && message.contains(why), "{message}");
        assert!(message.ends_with("; nothing is loaded"), "{message}");
        assert!(!shell.path("none").exists());
    }
    for (number, (place, line, why)) in [
        (2, r#"{"key":"a","value":1}"#, "expected the line of a keyspace before"),
        (2, r#"{"keyspace":"nope"}"#, "there is no keyspace 'nope' in the first line"),
        (4, "a\t1", "expected a line of a dump, but column 1"),
        (4, r#"{"key":"a"}"#, "expected a key with its value"),
        (4, r#"{"key":"a","value":-1}"#, "the value: '-1' is not u64"),
        (4, r#"{"key":1,"value":"x"}"#, "the key: '1' is not utf8"),
        (4, lines[0], "unknown field `foldb_dump`"),
        (lines.len(), r#"{"end":11}"#, "expected 11 entries in the dump, found 12"),
        (lines.len() + 1, r#"{"keyspace":"plain"}"#, "expected no line after the last line"),
    ]
    .into_iter()
    .enumerate()
    {
        let db = format!("bad{number}");
        let input = [&lines[..place - 1], &[line]].concat().join("\n") + "\n";
        let message = load(&db, &input);
        assert!(message.starts_with(&format!("line {place}: ")), "{message}");
        assert!(message.contains(why), "{message}");
        assert!(message.ends_with(&format!("loaded; '{db}' is incomplete")), "{message}");
    }
    let message = load("cut", &(lines[..7].join("\n") + "\n"));
    assert!(message.starts_with("the dump was cut off after 4 entries"), "{message}");
    assert!(message.ends_with("'cut' is incomplete"), "{message}");
    let message = load("cut2", dump.trim_end());
    assert!(message.contains("the line does not end in a newline"), "{message}");
}

#[test]
fn a_dump_makes_a_new_database_only() {
    let shell = Shell::new();
    shell.ok("put db k v");
    let dump = shell.ok("dump db --text");
    let message = shell.feed(&["load", "db"], dump.as_bytes()).failed(1);
    assert!(message.contains("a dump makes a new database, but 'db' exists already"), "{message}");
    for flags in [["--as", "hex"], ["--operator", "uint64add"], ["--key-format", "hex"]] {
        let words = [&["load", "new"], &flags[..]].concat();
        let message = shell.feed(&words, dump.as_bytes()).failed(1);
        assert!(message.contains("leave out --operator, --as and --key-format"), "{message}");
        assert!(!shell.path("new").exists());
    }
    // A scan that looks similar is not a dump.
    shell.feed(&["load", "j", "--json"], b"{\"key\":\"foldb_dump\",\"value\":\"1\"}\n").ok();
    assert_eq!(shell.ok("scan j"), "foldb_dump\t1\n");
    let message = shell.run("dump missing --text").failed(1);
    assert!(message.contains("there is no database at 'missing'"), "{message}");
}

/// A key that cannot be folded ends a dump, which then loads as one that was cut off.
#[test]
fn a_dump_of_what_cannot_be_folded_is_not_taken_for_a_whole_one() {
    let shell = Shell::new();
    shell.ok("merge db a 1 --operator uint64add");
    shell.ok("put db b text --as utf8");
    shell.ok("merge db b 1 --blind");
    shell.ok("merge db c 2");
    let dump = shell.run("dump db --text");
    assert_eq!(dump.code, Some(1));
    assert!(dump.err.contains("key 'b'"), "{}", dump.err);
    let message = shell.feed(&["load", "cut"], &dump.out).failed(1);
    assert!(message.contains("was cut off after 1 entries"), "{message}");
    let dump = shell.run("dump db --text --skip-failed");
    assert_eq!(dump.code, Some(3));
    assert!(dump.err.contains("2 entries were printed, 1 skipped"), "{}", dump.err);
    shell.feed(&["load", "rest"], &dump.out).ok();
    assert_eq!(shell.ok("scan rest"), "a\t1\nc\t2\n");
}

/// A reader that closes the pipe gets a part of the dump, so the dump fails.
#[test]
fn a_closed_pipe_ends_a_dump() {
    let shell = Shell::new();
    let lines: String = (0..30_000).map(|n| format!("key{n}\n")).collect();
    shell.feed(&["count", "db"], lines.as_bytes()).ok();
    let mut dump = command();
    let mut dump = dump
        .args(["dump", "--text"])
        .arg(shell.path("db"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(dump.stdout.take());
    assert_eq!(dump.wait().unwrap().code(), Some(1));
}
