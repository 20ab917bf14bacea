//! `get`, `put`, `delete`, `merge`.

use crate::foldb::Shell;

#[test]
fn put_get_delete() {
    let shell = Shell::new();
    assert_eq!(shell.ok("put db key a_value"), "");
    assert_eq!(shell.ok("get db key"), "a value\n");
    shell.ok("put db key other");
    assert_eq!(shell.ok("get db key"), "other\n");
    shell.ok("delete db key");
    assert_eq!(shell.run("get db key").failed(1), "there is no key 'key' in 'db'");
    shell.ok("delete db key");
}

#[test]
fn a_value_comes_back_as_it_was_put() {
    let shell = Shell::new();
    shell.run_args(&["put", "db", "k", "a\tb\nc\\"]).ok();
    assert_eq!(shell.ok("get db k"), "a\tb\nc\\\n");
    shell.run_args(&["put", "db", "", ""]).ok();
    assert_eq!(shell.run_args(&["get", "db", ""]).ok(), "\n");
    shell.ok("put db -k -v");
    assert_eq!(shell.ok("get db -k"), "-v\n");
    shell.ok("put -- db --k --json");
    assert_eq!(shell.ok("get --json -- db --k"), "{\"key\":\"--k\",\"value\":\"--json\"}\n");
}

#[cfg(unix)]
#[test]
fn keys_and_values_are_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let shell = Shell::new();
    let odd = OsStr::from_bytes(b"\xff\xfe");
    shell.run_args(&["put".as_ref(), "db".as_ref(), odd, odd]).ok();
    let ran = shell.run_args(&["get".as_ref(), "db".as_ref(), odd]);
    assert_eq!(ran.out, b"\xff\xfe\n");
    assert_eq!(shell.ok("get db fffe --key-format hex --as hex"), "fffe\n");
    assert_eq!(shell.ok("scan db"), "\\xff\\xfe\t\\xff\\xfe\n");
    assert_eq!(
        shell.ok("get db fffe --key-format hex --json"),
        "{\"key\":\"fffe\",\"value\":{\"base64\":\"//4=\"}}\n"
    );
    assert_eq!(
        shell.ok("scan db --json"),
        "{\"key\":{\"base64\":\"//4=\"},\"value\":{\"base64\":\"//4=\"}}\n"
    );
}

#[test]
fn numbers_in_and_out() {
    let shell = Shell::new();
    shell.ok("put db n 18446744073709551615 --as u64");
    assert_eq!(shell.ok("get db n --as u64"), "18446744073709551615\n");
    assert_eq!(shell.ok("get db n --as i64"), "-1\n");
    assert_eq!(shell.ok("get db n --as hex"), "ffffffffffffffff\n");
    assert_eq!(
        shell.ok("get db n --as u64 --json"),
        "{\"key\":\"n\",\"value\":\"18446744073709551615\"}\n"
    );
    shell.ok("put db f -1.5 --as f64");
    assert_eq!(shell.ok("get db f --as f64"), "-1.5\n");
    shell.ok("put db short abc");
    let message = shell.run("get db short --as u64").failed(1);
    assert!(message.starts_with("the value of key 'short' has 3 bytes"), "{message}");
}

#[test]
fn text_that_does_not_parse_writes_nothing_and_creates_nothing() {
    let shell = Shell::new();
    for line in [
        "put db k abc --as u64",
        "put db k abc --as hex",
        "put db xyz v --key-format hex",
        "merge db k abc --operator uint64add",
        "merge db k -1 --operator uint64add",
        "merge db k 9223372036854775808 --operator int64add",
        "merge db xyz 1 --operator uint64add --key-format base64",
    ] {
        let message = shell.run(line).failed(1);
        assert!(message.contains("expect"), "{line}: {message}");
        assert!(!shell.path("db").exists(), "{line}");
    }
    assert_eq!(
        shell.run("merge db k 1x --operator uint64add").failed(1),
        "uint64add does not take '1x': it expects a whole number from 0 to 18446744073709551615"
    );
}

#[test]
fn the_first_merge_fixes_the_default_operator() {
    let shell = Shell::new();
    shell.ok("merge db apples 12 --operator int64add");
    shell.ok("merge db apples -5");
    assert_eq!(shell.ok("get db apples"), "7\n");
    assert_eq!(shell.ok("get db apples --json"), "{\"key\":\"apples\",\"value\":7}\n");
    // Another operator holds for its own merges only.
    shell.ok("merge db log a --operator stringappend:;");
    shell.ok("merge db log b --operator stringappend:;");
    assert_eq!(shell.ok("get db log --as utf8"), "a;b\n");
    shell.ok("merge db apples 1");
    assert_eq!(shell.ok("get db apples"), "8\n");
    // auto is the number type of the default operator, also for put.
    shell.ok("put db pears -3");
    assert_eq!(shell.ok("get db pears"), "-3\n");
    let message = shell.run("put db pears many").failed(1);
    assert!(message.starts_with("value 'many' is not i64"), "{message}");
    shell.ok("put db pears many --as utf8");
}

#[test]
fn a_database_without_an_operator_gets_one_by_its_first_merge() {
    let shell = Shell::new();
    shell.ok("put db k v");
    let message = shell.run("merge db k w").failed(2);
    assert!(message.contains("--operator"), "{message}");
    shell.ok("merge db k w --operator append");
    assert_eq!(shell.ok("get db k"), "vw\n");
    shell.ok("merge db k x");
    assert_eq!(shell.ok("get db k"), "vwx\n");
}

#[test]
fn a_refused_operand_fixes_no_operator() {
    let shell = Shell::new();
    shell.ok("put db k v");
    shell.run("merge db k x --operator uint64add").failed(1);
    shell.run("merge db k x").failed(2);
}

#[test]
fn merge_without_an_operator_is_a_usage_error_that_creates_nothing() {
    let shell = Shell::new();
    let message = shell.run("merge db k 1").failed(2);
    assert!(message.contains("--operator"), "{message}");
    assert!(!shell.path("db").exists());
}

#[test]
fn operands_of_other_operators_are_the_bytes_given() {
    let shell = Shell::new();
    shell.ok("merge db k 6162 --operator append --as hex");
    shell.ok("merge db k YwA= --as base64");
    assert_eq!(shell.ok("get db k --as hex"), "61626300\n");
    shell.run("merge db n 1 --operator int64add --as hex").failed(2);
}

#[test]
fn unknown_operators_touch_nothing() {
    let shell = Shell::new();
    for line in ["merge db k 1 --operator uint64ad", "count db --operator uint64ad"] {
        let message = shell.run(line).failed(2);
        assert!(message.contains("the nearest is 'uint64add'"), "{message}");
    }
    shell.run("merge db k 1 --operator int64add:5").failed(2);
    assert!(!shell.path("db").exists());
}

#[test]
fn compact_and_stats() {
    let shell = Shell::new();
    for i in 0..5 {
        shell.ok(&format!("merge db key{} 1 --operator uint64add", i % 3));
    }
    assert_eq!(shell.ok("compact db"), "");
    assert_eq!(shell.ok("scan db"), "key0\t2\nkey1\t2\nkey2\t1\n");
    let table = shell.ok("stats db --keys");
    for part in ["uint64add", "write amplification", "runs", "merges"] {
        assert!(table.contains(part), "{table}");
    }
    let stats: serde_json::Value =
        serde_json::from_str(&shell.ok("stats db --keys --json")).unwrap();
    assert_eq!(stats["keys"], 3);
    assert_eq!(stats["operator"], "uint64add");
    assert_eq!(stats["merges"], 5);
    assert!(stats["levels"].is_array());
}

/// A count of no lines set a number operator, which made text unreadable.
#[test]
fn text_stays_readable_in_a_database_that_counts() {
    let shell = Shell::new();
    shell.ok("put db today buy_apples");
    shell.feed(&["count", "db"], b"").ok();
    shell.ok("merge db visits 7");
    assert_eq!(shell.ok("get db today"), "buy apples\n");
    assert_eq!(shell.ok("scan db"), "today\tbuy apples\nvisits\t7\n");
    // A form named by --as must fit.
    assert!(shell.run("get db today --as u64").failed(1).contains("has 10 bytes, and u64 needs 8"));
}

#[test]
fn a_value_is_read_from_a_file_and_printed_without_a_newline() {
    let shell = Shell::new();
    shell.feed(&["put", "db", "k", "--file", "-"], b"two\nlines\n").ok();
    assert_eq!(shell.ok("get db k --no-newline"), "two\nlines\n");
    std::fs::write(shell.path("seven"), "7\n").unwrap();
    shell.ok("put db n --file seven --as u64");
    assert_eq!(shell.ok("get db n --as u64"), "7\n");
    assert!(shell.run("put db k v --file seven").failed(2).contains("--file"));
    assert!(shell.run("put db k --file none").failed(1).contains("cannot read 'none'"));
    assert!(shell.run("put db k").failed(2).contains("is missing"));
}

/// The shell once read for as long as there was memory.
#[cfg(target_os = "linux")]
#[test]
fn a_file_without_end_is_refused_at_the_limit_of_a_value() {
    let shell = Shell::new();
    let refused = shell.run("put db k --file /dev/zero");
    assert!(refused.failed(1).contains("MAX_VALUE_BYTES = 268435456"));
}

#[test]
fn writes_under_a_condition_write_nothing_if_it_does_not_hold() {
    let shell = Shell::new();
    assert!(shell.run("put db k 1 --if-value 1").failed(1).contains("db"));
    shell.ok("put db k 1 --if-absent");
    assert!(shell.run("put db k 2 --if-absent").failed(1).contains("key 'k' has a value"));
    assert!(shell.run("put db k 2 --if-value 3").failed(1).contains("has another value"));
    assert!(shell.run("put db l 2 --if-value 3").failed(1).contains("key 'l' has no value"));
    assert_eq!(shell.ok("scan db"), "k\t1\n");
    shell.ok("put db k 2 --if-value 1");
    assert_eq!(shell.ok("get db k"), "2\n");
    assert!(shell.run("put db k 2 --if-value 1 --if-absent").failed(2).contains("--if-absent"));
    shell.ok("put db n 7 --as u64");
    shell.ok("put db n 8 --if-value 7 --as u64");
    assert_eq!(shell.ok("get db n --as u64"), "8\n");
}

#[test]
fn a_merge_prints_the_value_after_it() {
    let shell = Shell::new();
    assert_eq!(shell.ok("merge db n 3 --operator uint64add --get"), "3\n");
    assert_eq!(shell.ok("merge db n 4 --get"), "7\n");
    assert_eq!(shell.ok("merge db n 4 --get --json"), "{\"key\":\"n\",\"value\":11}\n");
    assert_eq!(shell.ok("merge db l a --operator stringappend:, --get"), "a\n");
    assert_eq!(shell.ok("merge db l b --operator stringappend:, --get"), "a,b\n");
}

#[test]
fn small_mistakes_are_told_as_they_are() {
    let shell = Shell::new();
    shell.ok("put db k v");
    assert!(!shell.run("frobnicate db").failed(2).contains("nearest"));
    assert!(
        shell
            .run("keyspaces db --operator uint64add")
            .failed(2)
            .contains("--create NAME is missing")
    );
    assert!(shell.run("keyspaces db --drop a --operator set").failed(2).contains("--operator"));
    assert!(shell.run("gc db --dead x").failed(2).contains("from 0 to 100"));
    assert!(shell.run("checkpoint db db/sub").failed(1).contains("is inside of a database"));
}

#[test]
fn lists_and_sets_are_read_without_their_operators() {
    let shell = Shell::new();
    for (form, shown) in [("list", "pear\npear\nfig\n"), ("set", "fig\npear\n")] {
        for element in ["pear", "pear", "fig"] {
            shell.ok(&format!("merge db {form} {element} --operator {form}"));
        }
        shell.ok("keyspaces db --unset-operator default");
        assert_eq!(shell.ok(&format!("get db {form} --as {form}")), shown);
    }
    assert_eq!(
        shell.ok("get db set --as set --json"),
        "{\"key\":\"set\",\"value\":[\"fig\",\"pear\"]}\n"
    );
    // One element in, as a merge takes it.
    shell.ok("put db one pear --as set");
    assert_eq!(shell.ok("get db one --as set"), "pear\n");
    shell.ok("put db text \u{ff}");
    let message = shell.run("get db text --as list").failed(1);
    assert!(message.contains("is no list"), "{message}");
}
