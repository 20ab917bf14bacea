//! Rows of CSV and JSON lines, imported and exported.

use std::fs;
use std::process::Stdio;

use crate::foldb::{Ran, Shell, command};

fn with_file(name: &str, bytes: impl AsRef<[u8]>) -> Shell {
    let shell = Shell::new();
    fs::write(shell.path(name), bytes).unwrap();
    shell
}

fn read(shell: &Shell, name: &str) -> String {
    fs::read_to_string(shell.path(name)).unwrap()
}

/// A refused import says why, and creates no database.
fn refused(csv: impl AsRef<[u8]>, rest: &str, code: i32) -> String {
    let shell = with_file("in", csv);
    let message = shell.run(&format!("import --from csv in db {rest}")).failed(code);
    assert!(!shell.path("db").exists(), "{message}");
    message
}

const TOWNS: &str = "country,town,people\n\
                     de,\"Frankfurt, Oder\",58000\n\
                     de,\"two\nlines\",1\n\
                     fr,\"the \"\"old\"\" town\",7\n";

#[test]
fn a_csv_comes_back_as_the_same_rows() {
    let shell = with_file("in.csv", TOWNS);
    let import = "import --from csv in.csv db --key country,town --value people --as u64";
    let ran = shell.run(import);
    assert!(ran.err.starts_with("3 rows imported in "), "{ran:?}");
    assert_eq!(shell.ok("get db de/Frankfurt,_Oder --as u64"), "58000\n");
    shell.ok("export --to csv db out.csv --key country,town --value people --as u64");
    assert_eq!(read(&shell, "out.csv"), TOWNS);
    let out = shell.ok("export --to csv db - --key country,town --value people --as u64");
    assert_eq!(out, TOWNS);
    let rows = shell.ok("export --to jsonl db - --key a,b --as u64 --start de/G --limit 1");
    assert_eq!(rows, "{\"a\":\"de\",\"b\":\"two\\nlines\",\"value\":1}\n");
}

#[test]
fn whole_rows_come_back_as_the_same_rows() {
    let shell = with_file("in.csv", TOWNS);
    shell.ok("import --from csv in.csv db --key town");
    let first = shell.ok("get db Frankfurt,_Oder");
    let expected = r#"{"country":"de","town":"Frankfurt, Oder","people":"58000"}"#;
    assert_eq!(first, format!("{expected}\n"));
    shell.ok("export --to csv db out.csv --value json");
    let sorted = "country,town,people\nde,\"Frankfurt, Oder\",58000\n\
                  fr,\"the \"\"old\"\" town\",7\nde,\"two\nlines\",1\n";
    assert_eq!(read(&shell, "out.csv"), sorted);
    // JSON lines stay as they are written, numbers too.
    let lines = "{\"id\":\"a\",\"n\":1.50, \"big\":12345678901234567890123}\n{\"id\":\"b\"}\n";
    shell.feed(&["import", "--from", "jsonl", "-", "lines", "--key", "id"], lines.as_bytes()).ok();
    assert_eq!(shell.ok("export --to jsonl lines - --value json"), lines);
    let message = shell.run("export --to csv lines bad.csv --value json").failed(1);
    assert!(message.contains("has the columns id, and the first row has id,n,big"), "{message}");
    assert!(!shell.path("bad.csv").exists());
}

#[test]
fn columns_without_a_header_have_numbers() {
    let shell = with_file("in.csv", "x;1;q\ny;2;q\n");
    let flags = "--no-header --delimiter ;";
    shell.ok(&format!("import --from csv in.csv db --key 1 --value 2 {flags}"));
    assert_eq!(shell.ok("scan db"), "x\t1\ny\t2\n");
    assert_eq!(shell.ok(&format!("export --to csv db - {flags}")), "x;1\ny;2\n");
    shell.ok(&format!("import --from csv in.csv all --key 1 {flags}"));
    assert_eq!(shell.ok("get all y"), "[\"y\",\"2\",\"q\"]\n");
    let all = shell.ok(&format!("export --to csv all - --value json {flags}"));
    assert_eq!(all, "x;1;q\ny;2;q\n");
    let message = shell.run(&format!("import --from csv in.csv no --key 4 {flags}")).failed(1);
    assert!(message.contains("has no column '4'; it has the columns 1 to 3"), "{message}");
    let message = shell.run("import --from csv in.csv no --key 1 --delimiter ab").failed(2);
    assert!(message.contains("--delimiter cannot be 'ab'"), "{message}");
}

#[test]
fn merges_count_and_add() {
    let shell = with_file("in.csv", "page,ms\nhome,5\nabout,7\nhome,6\n");
    shell.ok("import --from csv in.csv hits --key page --merge uint64add");
    assert_eq!(shell.ok("scan hits"), "about\t1\nhome\t2\n");
    shell.ok("import --from csv in.csv hits --key page --merge uint64add");
    assert_eq!(shell.ok("scan hits"), "about\t2\nhome\t4\n");
    shell.ok("import --from csv in.csv sums --key page --value ms --merge int64add");
    assert_eq!(shell.ok("scan sums"), "about\t7\nhome\t11\n");
    shell.ok("import --from csv in.csv lists --key page --value ms --merge listlast:2");
    assert_eq!(
        shell.ok("export --to csv lists - --value ms"),
        "page,ms\n".replace("page", "key") + "about,7\nhome,\"5,6\"\n"
    );
    let lines = "{\"k\":\"a\",\"p\":{\"x\":1}}\n{\"k\":\"a\",\"p\":{\"y\":2}}\n";
    let merge = ["import", "--from", "jsonl", "-", "docs", "--key", "k", "--value", "p"];
    shell.feed(&[&merge[..], &["--merge", "json_merge_patch"]].concat(), lines.as_bytes()).ok();
    assert_eq!(shell.ok("get docs a"), "{\"x\":1,\"y\":2}\n");
    let message = shell.run("import --from csv in.csv no --key page --merge uint64ad").failed(2);
    assert!(message.starts_with("there is no operator 'uint64ad'; the nearest"), "{message}");
    let message = shell.run("import --from csv in.csv no --key page --merge set").failed(2);
    assert!(message.contains("--value names its operands"), "{message}");
    assert!(!shell.path("no").exists());
}

#[test]
fn types_make_a_table_of_typed_keys() {
    let shell = with_file("in.csv", "user,at,n\nann,300,1\nann,20,2\nbob,1,3\n");
    let import = "import --from csv in.csv db --key user,at --value n --keyspace events";
    let message = shell.run(import).failed(1);
    assert!(message.contains("there is no keyspace 'events'"), "{message}");
    shell.ok(&format!("{import} --key-types str,u64"));
    let typed = "--keyspace events --key-format typed";
    let all = "(\"ann\", 20)\t2\n(\"ann\", 300)\t1\n(\"bob\", 1)\t3\n";
    assert_eq!(shell.ok(&format!("scan db {typed}")), all);
    let out = shell.ok("export --to csv db - --keyspace events --key user,at --value n");
    assert_eq!(out, "user,at,n\nann,20,2\nann,300,1\nbob,1,3\n");
    let out = shell.ok("export --to jsonl db - --keyspace events --start (\"ann\",21) --limit 1");
    assert_eq!(out, "{\"key1\":\"ann\",\"key2\":300,\"value\":\"1\"}\n");
    // The keyspace has its types now.
    shell.ok(import);
    let message = shell.run(&format!("{import} --key-types str,i64")).failed(1);
    assert!(message.contains("the types of its keys are (str,u64)"), "{message}");
    let message = shell.run("import --from csv in.csv db --key user --keyspace events").failed(2);
    assert!(message.contains("--key names 1 column,"), "{message}");
    let message = shell.run("import --from csv in.csv x --key user,at --key-types str").failed(2);
    assert!(message.contains("--key-types has 1 type,"), "{message}");
    let message = shell.run("import --from csv in.csv x --key user --key-types text").failed(2);
    assert!(message.contains("--key-types: the type 'text'"), "{message}");
    let merged = "import --from csv in.csv db --key user --keyspace sums --value n";
    shell.ok(&format!("{merged} --merge uint64add --key-types str"));
    assert!(shell.ok("keyspaces db").contains("foldb-typed/1 keys=str values=sum(u64)"));
    assert_eq!(shell.ok("scan db --keyspace sums --key-format typed"), "\"ann\"\t3\n\"bob\"\t3\n");
    // Structs name their columns.
    shell.ok("import --from csv in.csv s --key user,at --value n --key-types {who:str,at:u64}");
    assert!(shell.ok("export --to csv s -").starts_with("who,at,value\nann,20,2\n"));
}

#[test]
fn a_bad_row_ends_the_import_unless_it_is_kept_aside() {
    let rows = "k,n\na,1\nb,x\nc\n,4\nd,5\n";
    let shell = with_file("in.csv", rows);
    let import = "import --from csv in.csv db --key k --value n --as u64";
    let message = shell.run(import).failed(1);
    assert_eq!(
        message,
        "'in.csv' line 3: 'n': 'x' is not u64: expected a whole number from 0 to \
         18446744073709551615; the first row is in the database (--skip 1 goes on)"
    );
    assert_eq!(shell.ok("scan db --as u64"), "a\t1\n");
    let message = shell.run(&format!("{import} --skip 1 --rejected bad.csv")).failed(3);
    assert!(message.starts_with("1 row imported, 3 rejected; the first: line 3"), "{message}");
    assert_eq!(read(&shell, "bad.csv"), "k,n\nb,x\nc\n,4\n");
    assert_eq!(shell.ok("scan db --as u64"), "a\t1\nd\t5\n");
    let message = shell.run(&format!("{import} --max-rejected 2")).failed(1);
    assert!(
        message.contains("line 5: the key column 'k' is empty (2 rows rejected before it"),
        "{message}"
    );
    let ran = shell.run(&format!("{import} --max-rejected 3 --json"));
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let json = String::from_utf8(ran.out).unwrap();
    assert!(
        json.starts_with(r#"{"imported":2,"rejected":3,"skipped":0,"first_rejected":{"line":3"#)
    );
    let message = shell.run(&format!("{import} --skip 9")).failed(1);
    assert!(message.contains("has 5 rows, fewer than --skip 9"), "{message}");
    // The fixed rows go in from the file of rejected ones.
    fs::write(shell.path("bad.csv"), read(&shell, "bad.csv").replace("b,x\nc\n,4", "b,2")).unwrap();
    shell.ok("import --from csv bad.csv db --key k --value n --as u64");
    assert_eq!(shell.ok("scan db --as u64"), "a\t1\nb\t2\nd\t5\n");
}

#[test]
fn a_bad_header_creates_no_database() {
    let message = refused("a,b\n1,2\n", "--key c", 1);
    assert!(message.starts_with("'in' has no column 'c'"), "{message}");
    let message = refused("town,b\n1,2\n", "--key twon", 1);
    assert!(message.contains("the nearest is 'town'"), "{message}");
    let message = refused("a,b,a\n1,2,3\n", "--key b", 1);
    assert!(message.contains("the header has 'a' twice"), "{message}");
    let message = refused("", "--key a", 1);
    assert!(message.contains("is empty: it has no row"), "{message}");
    let message = refused(b"a,\xff\n1,2\n", "--key a", 1);
    assert!(message.contains("is not UTF-8"), "{message}");
    let message = refused("a,n\n1,x\n", "--key a --value n --as u64", 1);
    assert!(message.contains("; no row is in the database"), "{message}");
    let message = refused("a,n\n1\n", "--key a --merge uint64add", 1);
    assert!(message.contains("; no row is in the database"), "{message}");
    let message = refused("a\n1\n", "--key a,a", 2);
    assert!(message.contains("names the column 'a' twice"), "{message}");
    let message = refused("a\n1\n", "--value a", 2);
    assert!(message.contains("--key is missing"), "{message}");
    let message = refused("a\n1\n", "--key a --operator set", 2);
    assert!(message.contains("--operator is for --from leveldb"), "{message}");
    let message = refused("a\n1\n", "--key a --key-format typed", 2);
    assert!(message.contains("needs a keyspace with typed keys"), "{message}");
}

#[test]
fn rows_that_are_no_rows_are_rejected() {
    let shell = with_file("in.csv", b"k,v\n\xff,1\na,2\nb\n");
    let flags = "--key k --value v --rejected bad";
    let message = shell.run(&format!("import --from csv in.csv db {flags}")).failed(3);
    assert!(message.contains("2 rejected; the first: line 2: the row is not UTF-8"));
    assert_eq!(fs::read(shell.path("bad")).unwrap(), b"k,v\n\xff,1\nb\n");
    let lines = "\u{feff}{\"k\":\"a\",\"v\":1}\nnot json\n\n{\"v\":2}\n{\"k\":null,\"v\":1}\n\
                 {\"k\":[1],\"v\":1}\n{\"k\":\"b\",\"k\":\"c\",\"v\":1}\n{\"k\":5,\"v\":true}\n";
    fs::write(shell.path("in.jsonl"), lines).unwrap();
    let message = shell.run(&format!("import --from jsonl in.jsonl lines {flags}")).failed(3);
    assert!(message.contains("2 rows imported, 5 rejected; the first: line 2: expected a JSON"));
    assert_eq!(shell.ok("scan lines"), "5\ttrue\na\t1\n");
    assert_eq!(read(&shell, "bad").lines().count(), 5);
    let empty = shell.feed(&["import", "--from", "jsonl", "-", "none", "--key", "k"], b"");
    assert!(empty.err.starts_with("0 rows imported"), "{empty:?}");
}

#[test]
fn bytes_that_are_no_text_need_a_form() {
    let shell = Shell::new();
    shell.ok("put db 61ff fe --key-format hex --as hex");
    let message = shell.run("export --to csv db out.csv").failed(1);
    assert!(message.contains("is not UTF-8, which CSV needs"), "{message}");
    assert!(!shell.path("out.csv").exists());
    let out = shell.ok("export --to csv db - --key-format hex --as base64");
    assert_eq!(out, "key,value\n61ff,/g==\n");
    let out = shell.ok("export --to jsonl db rows.jsonl");
    assert_eq!(out, "");
    shell.ok("import --from jsonl rows.jsonl copy --key key --value value");
    assert_eq!(shell.ok("scan copy --key-format hex --as hex"), "61ff\tfe\n");
}

#[test]
fn keys_that_would_be_ambiguous_are_rejected() {
    let shell = with_file("in.csv", "a,b\nx/y,1\n");
    let message = shell.run("import --from csv in.csv db --key a,b").failed(1);
    assert!(message.contains("the key 'x/y/1' does not tell its columns apart"), "{message}");
    shell.ok("import --from csv in.csv db --key a,b --separator |");
    assert_eq!(shell.ok("scan db --limit 1").split('\t').next(), Some("x/y|1"));
    let message = shell.run("export --to csv db - --key a,b --separator ;").failed_after_output(1);
    assert!(message.contains("has 1 part between ';', and --key names 2"), "{message}");
}

#[test]
fn flags_of_rows_are_not_for_other_engines() {
    let shell = with_file("in.csv", "a\n1\n");
    let message = shell.run("import --from leveldb src dst --key a").failed(2);
    assert_eq!(message, "--key is for csv, jsonl and parquet, not for leveldb");
    let message = shell.run("export --to leveldb src dst --limit 1").failed(2);
    assert_eq!(message, "--limit is for csv, jsonl and parquet, not for leveldb");
    let message = shell.run("import --from csv missing.csv db --key a").failed(1);
    assert!(message.starts_with("cannot read 'missing.csv'"), "{message}");
}

#[test]
fn many_rows_stream_through() {
    let shell = Shell::new();
    let mut rows = "k,v\n".to_owned();
    for n in 0..50_000 {
        rows += &format!("key{n:06},value {n}\n");
    }
    let import = ["import", "--from", "csv", "-", "db", "--key", "k", "--value", "v"];
    let ran = shell.feed(&import, rows.as_bytes());
    assert!(ran.err.starts_with("50,000 rows imported in"), "{ran:?}");
    // A reader that has enough closes the pipe.
    for to in ["csv", "jsonl"] {
        let path = shell.path("db");
        let mut child = command();
        child.args(["export", "--to", to]).arg(&path).arg("-").stderr(Stdio::piped());
        let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!((ran.code, &ran.err[..]), (Some(0), ""), "{ran:?}");
    }
    let report = shell.ok("export --to csv db out.csv --key k --value v --json");
    assert_eq!(report, "{\"rows\":50000}\n");
    assert!(read(&shell, "out.csv") == rows);
}

/// An interrupted import says how many rows are in, and --skip goes on behind them.
#[cfg(unix)]
#[test]
fn ctrl_c_tells_how_many_rows_are_in() {
    use std::io::Write;
    use std::process::Command;
    use std::time::{Duration, Instant};

    let shell = Shell::new();
    let rows: String = (0..5000).map(|n| format!("{n},1\n")).collect();
    let import = ["import", "--from", "csv", "-", "db", "--key", "k", "--merge", "uint64add"];
    let mut child = command()
        .args(import)
        .current_dir(shell.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("k,v\n{rows}").as_bytes()).unwrap();
    let start = Instant::now();
    while !shell.path("db").join("LOCK").exists() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let message = Ran::of(child.wait_with_output().unwrap()).failed(130);
    drop(stdin);
    let (_, after) = message.split_once("(--skip ").expect(&message);
    let skip = after.trim_end_matches(" goes on)");
    assert_eq!(shell.ok("scan db --count"), format!("{skip}\n"));
    fs::write(shell.path("in"), format!("k,v\n{rows}")).unwrap();
    shell.ok(&format!("import --from csv in db --key k --merge uint64add --skip {skip}"));
    assert_eq!(shell.ok("scan db --count"), "5000\n");
    let counts = shell.ok("scan db");
    assert!(counts.lines().all(|line| line.ends_with("\t1")), "no row counts twice");
}

/// A missing keyspace once ended the import, although `--merge` says what it is.
#[test]
fn a_merge_into_a_missing_keyspace_creates_it() {
    let shell = with_file("in.csv", "country,sold,cents\nde,2,300\nfr,1,500\nde,5,700\n");
    let import = "import --from csv in.csv db --key country --merge int64add";
    // There is no database either.
    let ran = shell.run(&format!("{import} --value sold --keyspace sold"));
    assert!(ran.err.starts_with("3 rows imported into the new keyspace 'sold' in "), "{ran:?}");
    let json = shell.ok(&format!("{import} --value cents --keyspace cents --json"));
    assert!(json.contains("\"created_keyspace\":\"cents\""), "{json}");
    assert_eq!(shell.ok("scan db --keyspace sold"), "de\t7\nfr\t1\n");
    assert_eq!(shell.ok("scan db --keyspace cents"), "de\t1000\nfr\t500\n");
    assert_eq!(shell.ok("scan db --count"), "0\n");
    // The keyspace is there now, and has the operator.
    let ran = shell.run(&format!("{import} --value sold --keyspace sold"));
    assert!(ran.err.starts_with("3 rows imported in "), "{ran:?}");
    shell.ok("merge db de 1 --keyspace sold");
    assert_eq!(shell.ok("get db de --keyspace sold"), "15\n");
    let json = shell.ok(&format!("{import} --value cents --keyspace cents --json"));
    assert!(json.contains("\"created_keyspace\":null"), "{json}");
    // A put may have a misspelt name.
    let puts = "import --from csv in.csv db --key country --value sold --keyspace slod";
    let message = shell.run(puts).failed(1);
    assert!(message.contains("there is no keyspace 'slod'"), "{message}");
    let message = shell.run(&format!("{import} --keyspace new --expires 60")).failed(1);
    assert!(message.contains("there is no keyspace 'new', and --expires needs one"), "{message}");
    assert!(!shell.ok("keyspaces db").contains("new"));
}

/// Without the feature, the format is known, and the message says what to do.
#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_refused_by_a_build_without_it() {
    let shell = with_file("in.parquet", "PAR1");
    shell.ok("put db k v");
    for line in ["import --from parquet in.parquet new --key k", "export --to parquet db out"] {
        let message = shell.run(line).failed(1);
        assert!(
            message.contains("`cargo install --path crates/cli --features parquet`"),
            "{message}"
        );
    }
    assert!(!shell.path("new").exists() && !shell.path("out").exists());
}
