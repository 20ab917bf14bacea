//! Where the bytes of a keyspace are.

use std::fs;

use crate::foldb::Shell;

fn make(shell: &Shell) {
    let entries = "a/1\t12345\na/2\t1\nb/1\t123\nplain\tx\nzz\ty\n";
    shell.feed(&["load", "db"], entries.as_bytes()).ok();
    shell.ok("keyspaces db --create counts --operator uint64add");
    for _ in 0..3 {
        shell.ok("merge db hot 1 --keyspace counts --blind");
    }
    shell.ok("merge db cold 1 --keyspace counts");
    shell.ok("put db plain 1 --keyspace counts --as u64");
}

#[test]
fn the_largest_entries_come_first() {
    let shell = Shell::new();
    make(&shell);
    assert_eq!(shell.ok("keys db --largest 3"), "8\ta/1\n6\tb/1\n6\tplain\n");
    assert_eq!(shell.ok("keys db --largest 0"), "");
    assert_eq!(shell.ok("keys db --largest 1 --json"), "{\"key\":\"a/1\",\"bytes\":8}\n");
    assert_eq!(shell.ok("keys db --largest 1 --key-format hex"), "8\t612f31\n");
}

#[test]
fn a_separated_value_counts_by_its_length() {
    let shell = Shell::new();
    shell.ok("put db other 1");
    shell.ok("keyspaces db --create pages --separate 100");
    fs::write(shell.path("value"), vec![b'x'; 5000]).unwrap();
    shell.ok("put db page --file value --keyspace pages");
    shell.ok("compact db");
    assert_eq!(shell.ok("keys db --largest 1 --keyspace pages"), "5004\tpage\n");
}

#[test]
fn prefixes_have_the_sizes_of_their_entries() {
    let shell = Shell::new();
    make(&shell);
    let by_slash = "12\t2\ta/\n6\t1\tb/\n9\t2\t\n";
    assert_eq!(shell.ok("keys db --by-prefix /"), by_slash);
    assert_eq!(shell.ok("keys db --by-prefix / --largest 2"), "12\t2\ta/\n9\t2\t\n");
    assert_eq!(shell.ok("keys db --by-prefix 1"), "12\t2\ta\n6\t1\tb\n6\t1\tp\n3\t1\tz\n");
    assert_eq!(
        shell.ok("keys db --by-prefix / --json --largest 1"),
        "{\"prefix\":\"a/\",\"bytes\":12,\"entries\":2}\n"
    );
}

#[test]
fn typed_keys_are_shown_and_cut_by_their_fields() {
    let shell = Shell::new();
    let rows = "user,at,n\nann,1,a\nann,2,b\nbob,1,c\n";
    fs::write(shell.path("in.csv"), rows).unwrap();
    shell.ok("import --from csv in.csv db --key user,at --value n --key-types str,u64");
    let typed = "--key-format typed";
    assert_eq!(shell.ok(&format!("keys db --largest 1 {typed}")), "13\t(\"ann\", 1)\n");
    assert_eq!(shell.ok(&format!("keys db --by-prefix 1 {typed}")), "26\t2\tann\n13\t1\tbob\n");
    shell.run(&format!("keys db --by-prefix / {typed}")).failed(2);
}

#[test]
fn the_longest_chains_are_those_of_unfolded_operands() {
    let shell = Shell::new();
    make(&shell);
    let counts = "keys db --keyspace counts --longest-chains";
    let chains = shell.ok(&format!("{counts} 9"));
    assert!(chains.starts_with("3\thot\n") || chains.starts_with("1\tcold\n"), "{chains}");
    assert!(!chains.contains("plain"), "a put is no operand: {chains}");
    let one = shell.ok(&format!("{counts} 1 --json"));
    assert!(one.contains("\"operands\":") && one.lines().count() == 1, "{one}");
    shell.ok("compact db");
    shell.ok("finalize db");
    assert_eq!(shell.ok(&format!("{counts} 9")), "");
}

#[test]
fn an_entry_that_cannot_be_read_is_told_and_left_out() {
    let shell = Shell::new();
    make(&shell);
    shell.ok("put db hot abc --keyspace counts --as utf8");
    shell.ok("merge db hot 1 --keyspace counts --blind");
    let message = shell.run("keys db --largest 9 --keyspace counts").failed_after_output(3);
    assert!(message.contains("1 skipped; the first: hot: "), "{message}");
}

#[test]
fn one_of_the_measures_is_asked_for() {
    let shell = Shell::new();
    make(&shell);
    let message = shell.run("keys db").failed(2);
    assert_eq!(message, "give one of --largest N, --longest-chains N and --by-prefix CUT");
    shell.run("keys db --largest 1 --longest-chains 1").failed(2);
    shell.run("keys db --largest x").failed(2);
    shell.run("keys missing --largest 1").failed(1);
}
