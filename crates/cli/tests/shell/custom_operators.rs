//! Databases with operands of an operator that only another program has.

use std::sync::Arc;

use foldb::operators::{Full, MergeOperator};
use foldb::{Db, KeyspaceOptions, Options};

use crate::foldb::Shell;

/// Keeps the longest operand.
#[derive(Debug)]
struct Longest;

impl MergeOperator for Longest {
    fn name(&self) -> &str {
        "app.longest"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let longest = base.into_iter().chain(operands.iter().copied()).max_by_key(|it| it.len());
        out.extend_from_slice(longest.unwrap_or_default());
        Full::Value
    }
}

/// Makes a database with plain keys, and with operands in a table and in the log.
fn make(shell: &Shell) {
    let options = Options {
        create_if_missing: true,
        operators: vec![Arc::new(Longest)],
        default: KeyspaceOptions::with_operator("app.longest"),
        ..Options::default()
    };
    let db = Db::open(shell.path("db"), options).unwrap();
    let own = KeyspaceOptions::with_operator("uint64add");
    let counts = db.create_keyspace("counts", own).unwrap();
    counts.merge("visits", 7u64.to_le_bytes()).unwrap();
    db.put("a", "plain").unwrap();
    db.merge("folded", "pear").unwrap();
    db.flush().unwrap();
    db.merge("folded", "apple").unwrap();
    db.put("z", "last").unwrap();
    db.close().unwrap();
}

/// Commands that need the operator name it in their error. All others work.
#[test]
fn the_shell_works_with_an_operator_that_it_does_not_have() {
    let shell = Shell::new();
    make(&shell);
    assert_eq!(shell.ok("get db a"), "plain\n");
    assert_eq!(shell.ok("get db visits --keyspace counts"), "7\n");
    assert!(shell.ok("stats db").contains("merges"));
    assert!(shell.ok("keyspaces db").contains("app.longest"));
    assert!(shell.ok("explain db folded").contains("app.longest"));
    assert_eq!(shell.ok("scan db --count"), "3\n");
    // None of these commands changes the default operator.
    let others = ["merge db folded x", "count db", "load db --operator uint64add"];
    for failing in ["get db folded"].iter().chain(&others) {
        let message = shell.run(failing).failed(1);
        assert!(message.contains("app.longest"), "{failing}: {message}");
    }
    let scan = shell.run("scan db");
    assert_eq!(String::from_utf8_lossy(&scan.out), "a\tplain\n");
    assert!(scan.failed_after_output(1).contains("app.longest"));
    let scan = shell.run("scan db --skip-failed");
    assert_eq!(String::from_utf8_lossy(&scan.out), "a\tplain\nz\tlast\n");
    assert!(scan.failed_after_output(3).contains("2 entries were printed, 1 skipped"));

    shell.ok("put db b new");
    shell.ok("delete db b");
    shell.ok("merge db visits 1 --keyspace counts");
    shell.ok("checkpoint db copy");
    shell.ok("compact copy");
    assert_eq!(shell.ok("get copy visits --keyspace counts"), "8\n");
    shell.ok("verify copy");
    let load =
        shell.feed(&["load", "new"], &shell.run("dump db --text --skip-failed").out).failed(1);
    assert!(load.contains("keyspace 'default': there is no operator 'app.longest'"), "{load}");
    shell.ok("keyspaces db --unset-operator default");
    let dump = shell.run("dump db --text --skip-failed");
    shell.feed(&["load", "new"], &dump.out).ok();
    assert_eq!(shell.ok("scan new"), "a\tplain\nz\tlast\n");

    // The program that has the operator finds everything.
    let options = Options { operators: vec![Arc::new(Longest)], ..Options::default() };
    for name in ["db", "copy"] {
        let db = Db::open(shell.path(name), options.clone()).unwrap();
        assert_eq!(db.get("folded").unwrap().unwrap(), b"apple", "{name}");
        db.close().unwrap();
    }
}
