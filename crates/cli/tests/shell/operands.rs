//! Tests that a merge makes no key unreadable, `get --operands`, and `operands drop-last`.

use crate::foldb::Shell;

/// This merge once exited with 0. Then no command showed the old value, and none took the operand
/// off.
#[test]
fn a_merge_that_would_make_a_key_unreadable_writes_nothing() {
    let shell = Shell::new();
    shell.ok("put db k 1");
    let message = shell.run("merge db k 1 --operator uint64add").failed(1);
    for part in ["nothing was written", "uint64add cannot fold", "key 'k'", "holds '1'", "--blind"]
    {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(shell.ok("get db k"), "1\n");
    assert_eq!(shell.ok("get db k --operands"), "base\t-\t1\n");
    // The refused merge did not set the operator of the database either.
    assert!(shell.run("merge db other 1").failed(2).contains("has no operator yet"));
    // Keys without a value, or with a number, take the operand.
    shell.ok("merge db other 1 --operator uint64add");
    shell.ok("put db n 41 --as u64");
    assert_eq!(shell.ok("merge db n 1 --get"), "42\n");
    shell.run("merge db k 1").failed(1);
    shell.run("merge db k 1 --get").failed(1);
    shell.run("merge db k 1 --blind --get").failed(2);
}

#[test]
fn an_operand_that_does_not_fold_is_shown_and_taken_off() {
    let shell = Shell::new();
    shell.ok("put db k 1");
    shell.ok("merge db k 7 --operator uint64add --blind");
    shell.run("get db k").failed(1);
    assert_eq!(shell.ok("get db k --operands"), "base\t-\t1\noperand\tuint64add\t7\n");
    assert_eq!(
        shell.ok("get db k --operands --json"),
        "{\"key\":\"k\",\"base\":\"1\",\"operands\":[{\"operator\":\"uint64add\",\"operand\":7}]}\n"
    );
    let message = shell.run("merge db k x --operator append").failed(1);
    assert!(message.contains("cannot be read before this merge"), "{message}");
    assert_eq!(shell.ok("operands drop-last db k"), "took 1 off key 'k', 0 left\n");
    assert_eq!(shell.ok("get db k"), "1\n");
    assert_eq!(shell.ok("get db k --operands"), "base\t-\t1\n");
    shell.ok("verify db");
}

#[test]
fn the_older_operands_stay() {
    let shell = Shell::new();
    shell.ok("put db k base");
    for operand in ["a", "b", "c"] {
        shell.ok(&format!("merge db k {operand} --operator stringappend:;"));
    }
    shell.ok("merge db k red --operator set --blind");
    shell.ok("merge db k 1 --operator uint64add --blind");
    let shown = shell.ok("get db k --operands");
    assert!(shown.starts_with("base\t-\tbase\noperand\tstringappend:;\ta\n"), "{shown}");
    assert!(shown.ends_with("operand\tset\tred\noperand\tuint64add\t1\n"), "{shown}");
    let taken = shell.ok("operands drop-last db k --json");
    assert_eq!(taken, "{\"taken\":1,\"left\":4,\"readable\":false}\n");
    assert!(shell.ok("operands drop-last db k").ends_with("3 left\n"));
    assert_eq!(shell.ok("get db k"), "base;a;b;c\n");
    assert_eq!(shell.ok("operands drop-last db k --newest 2"), "took 2 off key 'k', 1 left\n");
    assert_eq!(shell.ok("get db k"), "base;a\n");
}

#[test]
fn a_key_without_a_base_is_absent_after_its_last_operand() {
    let shell = Shell::new();
    shell.ok("merge db tags red --operator set");
    assert_eq!(shell.ok("get db tags --operands"), "operand\tset\tred\n");
    assert_eq!(shell.ok("operands drop-last db tags"), "took 1 off key 'tags', 0 left\n");
    shell.run("get db tags").failed(1);
    let message = shell.run("get db tags --operands").failed(1);
    assert!(message.contains("there is no key 'tags'"), "{message}");
}

#[test]
fn bad_calls_of_operands_write_nothing() {
    let shell = Shell::new();
    shell.ok("put db plain v");
    shell.ok("merge db tags red --operator set");
    for (line, code, part) in [
        ("operands drop-last db missing", 1, "there is no key 'missing'"),
        ("operands drop-last db plain", 1, "key 'plain' has no operands, only a value"),
        ("operands drop-last db tags --newest 2", 1, "key 'tags' has 1 operand"),
        ("operands drop-last db tags --newest 0", 2, "from 1 to"),
        ("operands drop-first db tags", 2, "drop-last"),
        ("operands db tags", 2, "drop-last"),
        ("operands drop-last db", 2, "KEY"),
        ("operands drop-last other tags", 1, "other"),
        ("operands drop-last db tags --keyspace none", 1, "there is no keyspace 'none'"),
        ("get db tags --operands --no-newline", 2, "--no-newline"),
    ] {
        let message = shell.run(line).failed(code);
        assert!(message.contains(part), "{line}: {message}");
    }
    assert_eq!(shell.ok("get db tags"), "red\n");
    shell.ok("keyspaces db --create short --expiry after-last-write:60");
    shell.ok("merge db t red --operator set --keyspace short");
    let message = shell.run("operands drop-last db t --keyspace short").failed(1);
    assert!(message.contains("has an expiry"), "{message}");
}
