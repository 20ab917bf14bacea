//! Errors of the command line: exit 2, one line, the nearest name, no change.

use crate::foldb::Shell;

#[test]
fn usage_errors_are_one_line_and_exit_2() {
    let shell = Shell::new();
    for (line, part) in [
        ("gte db k", "the nearest is 'get'"),
        ("conut db", "the nearest is 'count'"),
        ("scan db --limt 5", "the nearest is '--limit'"),
        ("get db k --as u46", "the nearest is 'u64'"),
        ("get db k --key-format base46", "the nearest is 'base64'"),
        ("merge db k 1 --operator int64ad", "the nearest is 'int64add'"),
        ("get db", "KEY is missing"),
        ("put db k", "VALUE is missing"),
        ("get db k v", "one argument too many"),
        ("scan db --limit many", "--limit cannot be 'many'"),
        ("scan db --from", "--from needs a value"),
        ("merge db k 1", "--operator"),
        ("--json", "a command is missing"),
    ] {
        let message = shell.run(line).failed(2);
        assert!(message.contains(part), "{line}: {message}");
        assert!(!shell.path("db").exists(), "{line}");
    }
    let nothing: [&str; 0] = [];
    shell.run_args(&nothing).failed(2);
}

#[test]
fn messages_stay_on_one_line_whatever_they_quote() {
    let shell = Shell::new();
    shell.run_args(&["a\nb"]).failed(2);
    shell.run_args(&["get", "no\nsuch", "k"]).failed(1);
    shell.run_args(&["get", "db", "k", "--a\nb"]).failed(2);
}
