use super::*;
use crate::exit::Exit;

fn understand(line: &str) -> Outcome<Cli> {
    parse(line.split(' ').map(|word| OsString::from(word.replace('_', " "))))
}

fn usage_error(line: &str) -> String {
    match understand(line) {
        Err(Exit::Usage(message)) => {
            assert!(!message.contains('\n'), "{message}");
            message
        }
        other => panic!("{line}: {other:?}"),
    }
}

fn merge_of(line: &str) -> Merge {
    match understand(line).unwrap().command {
        Command::Merge(merge) => merge,
        other => panic!("{other:?}"),
    }
}

#[test]
fn definitions_hold_together() {
    Cli::command().debug_assert();
}

#[test]
fn flags_may_stand_anywhere() {
    for line in [
        "foldb merge db k -5 --operator int64add",
        "foldb merge db k --operator int64add -5",
        "foldb merge --operator int64add db k -5",
        "foldb --operator int64add merge db k -5",
        "foldb merge --operator=int64add -- db k -5",
        "foldb merge db --operator max --operator int64add k -5",
    ] {
        let merge = merge_of(line);
        assert_eq!(merge.db.as_os_str(), "db", "{line}");
        assert_eq!((merge.key, merge.operand), ("k".into(), "-5".into()), "{line}");
        assert_eq!(merge.operator.as_deref(), Some("int64add"), "{line}");
    }
    let cli = understand("foldb --json get --key-format hex db --as u64 6b").unwrap();
    assert!(cli.common.json);
    assert_eq!(cli.common.key_form(), Form::Hex);
    assert_eq!(cli.common.value_format, ValueFormat::U64);
}

#[test]
fn arguments_may_begin_with_a_hyphen() {
    let merge = merge_of("foldb merge db -k -");
    assert_eq!((merge.key, merge.operand), ("-k".into(), "-".into()));
    let merge = merge_of("foldb merge -- db --k --json");
    assert_eq!((merge.key, merge.operand), ("--k".into(), "--json".into()));
    let Command::Scan(scan) = understand("foldb scan db --from -5 --to=--z").unwrap().command
    else {
        panic!("not a scan")
    };
    assert_eq!(scan.from, Some("-5".into()));
    assert_eq!(scan.to, Some("--z".into()));
}

#[cfg(unix)]
#[test]
fn arguments_may_be_any_bytes() {
    use std::os::unix::ffi::OsStringExt;
    let odd = OsString::from_vec(b"\xff=\n".to_vec());
    let mut from = OsString::from("--from=");
    from.push(&odd);
    let args = ["foldb".into(), "scan".into(), from, odd.clone(), "--to".into(), odd.clone()];
    let Command::Scan(scan) = parse(args).unwrap().command else { panic!("not a scan") };
    assert_eq!(
        (scan.db.into_os_string(), scan.from, scan.to),
        (odd.clone(), Some(odd.clone()), Some(odd))
    );
}

#[test]
fn empty_keys_and_values_are_arguments() {
    let args = ["foldb", "put", "db", "", ""].map(OsString::from);
    let Command::Put(put) = parse(args).unwrap().command else { panic!("not a put") };
    assert_eq!((put.key, put.value), ("".into(), Some("".into())));
}

#[test]
fn errors_name_the_nearest_valid_name() {
    assert_eq!(
        usage_error("foldb gte db k"),
        "there is no command 'gte'; the nearest is 'get' (foldb --help lists the commands)"
    );
    assert_eq!(
        usage_error("foldb scan db --limt 5"),
        "scan has no flag '--limt'; the nearest is '--limit' (after --, words are arguments)"
    );
    assert_eq!(
        usage_error("foldb count db --acks=1"),
        "count has no flag '--acks'; the nearest is '--ack' (after --, words are arguments)"
    );
    assert_eq!(
        usage_error("foldb get db k --as u46"),
        "--as cannot be 'u46'; the nearest is 'u64'; valid are auto, utf8, hex, base64, \
         u64, i64, f64, list, set, stats, top, histogram"
    );
    assert_eq!(
        usage_error("foldb get db k --profile small-memory"),
        "--profile cannot be 'small-memory'; the nearest is 'small_memory'; \
         valid are balanced, write_heavy, small_memory, small"
    );
    assert_eq!(
        usage_error("foldb get db k --option compresion=none"),
        "--option cannot be 'compresion=none': no option has this name; the nearest is \
         'compression' (foldb options lists all)"
    );
    assert_eq!(
        usage_error("foldb get db k --option compression=rar"),
        "--option cannot be 'compression=rar': option compression=rar: unknown value 'rar' for \
         compression: expected one of none, lz4, snappy, zstd"
    );
    assert_eq!(
        usage_error("foldb get db k --key-format HEX"),
        "--key-format cannot be 'HEX'; the nearest is 'hex'; valid are utf8, hex, base64, typed"
    );
}

#[test]
fn a_word_with_a_hyphen_in_place_of_the_command_is_an_unknown_flag() {
    assert_eq!(
        usage_error("foldb --jsn"),
        "there is no flag '--jsn'; the nearest is '--json' (after --, words are arguments)"
    );
    assert!(usage_error("foldb -v").starts_with("there is no flag '-v'; the nearest is "));
    assert!(
        usage_error("foldb -as x get").starts_with("there is no flag '-as'; the nearest is '--as'")
    );
}

#[test]
fn a_flag_of_another_command_is_unknown() {
    assert_eq!(
        usage_error("foldb get db k --ack"),
        "get has no flag '--ack'; the nearest is '--as' (after --, words are arguments)"
    );
    assert_eq!(
        usage_error("foldb operators --limit 4"),
        "operators has no flag '--limit' (after --, words are arguments)"
    );
}

#[test]
fn too_few_and_too_many_arguments() {
    let missing = "a command is missing; foldb --help lists the commands";
    assert_eq!(usage_error("foldb"), missing);
    assert_eq!(usage_error("foldb --json"), missing);
    assert_eq!(
        usage_error("foldb get db"),
        "KEY is missing; usage: foldb get DB KEY [--no-newline | --operands] [FLAGS]"
    );
    assert_eq!(
        usage_error("foldb put"),
        "DB and KEY and VALUE are missing; usage: foldb put DB KEY (VALUE | --file FILE) \
         [--if-absent | --if-value OLD] [--expires SECONDS|never] [FLAGS]"
    );
    assert_eq!(
        usage_error("foldb count"),
        "DB is missing; usage: foldb count DB [FILE…] [--operator OP] [--ack] [--resume] \
         [--expires SECONDS|never] [FLAGS]"
    );
    assert_eq!(
        usage_error("foldb load"),
        "DB is missing; usage: foldb load DB [FILE…] [--operator OP] [--expires SECONDS|never] \
         [FLAGS]"
    );
    assert_eq!(
        usage_error("foldb get db k -x"),
        "'-x' is one argument too many; usage: foldb get DB KEY [--no-newline | --operands] [FLAGS]"
    );
    assert_eq!(usage_error("foldb scan db --limit"), "--limit needs a value after it");
    assert_eq!(usage_error("foldb scan db --from --limit 5"), "--from needs a value after it");
    assert_eq!(usage_error("foldb scan db --reverse=1"), "--reverse takes no value");
}

#[test]
fn values_out_of_range() {
    assert!(usage_error("foldb scan db --limit -5").starts_with("--limit cannot be '-5': "));
    assert_eq!(
        usage_error("foldb scan db --limit x"),
        "--limit cannot be 'x': expected a whole number from 0 to 18446744073709551615"
    );
    assert_eq!(
        usage_error("foldb demo --words 0"),
        "--words cannot be '0': expected a whole number from 1 to 1000000000"
    );
    assert!(usage_error("foldb demo --words 0").starts_with("--words cannot be '0': "));
}

#[test]
fn help_of_every_command_has_an_example() {
    let commands: Vec<String> =
        Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
    assert_eq!(commands.len(), 35);
    for command in commands {
        let lines = ["foldb X --help", "foldb --help X", "foldb X db -h", "foldb help X"];
        let helps = lines.map(|line| match understand(&line.replace('X', &command)) {
            Err(Exit::Answer(help)) => help,
            other => panic!("{command}: {other:?}"),
        });
        assert!(
            helps[0].contains("Example") && helps[0].contains(&format!("  foldb {command}"))
                || helps[0].contains(&format!("| foldb {command}")),
            "{}",
            helps[0]
        );
        assert!(helps.iter().all(|help| *help == helps[0]));
    }
}

#[test]
fn help_of_count_says_first_that_it_adds_one() {
    let Err(Exit::Answer(help)) = understand("foldb count --help") else { panic!("no help") };
    assert!(help.lines().next().unwrap().starts_with("Adds one to each key that it reads"));
}

#[test]
fn help_and_version_of_the_whole() {
    for line in ["foldb --help", "foldb -h", "foldb help"] {
        let Err(Exit::Answer(help)) = understand(line) else { panic!("no help") };
        assert!(help.contains("Examples:") && help.contains("operators"), "{help}");
    }
    assert!(
        matches!(understand("foldb --version"), Err(Exit::Answer(text)) if text.starts_with("foldb "))
    );
    assert!(usage_error("foldb help gte").contains("nearest is 'get'"));
}

/// A shell completes paths only for arguments that are known to be paths.
#[test]
fn every_path_has_a_hint_for_completions() {
    let paths = ["DB", "DIR", "DST", "SRC", "FILE", "FILE|-"];
    for command in Cli::command().get_subcommands() {
        for arg in command.get_arguments() {
            let names: Vec<&str> = arg
                .get_value_names()
                .unwrap_or_default()
                .iter()
                .map(|name| name.as_str())
                .collect();
            let is_path = names.iter().any(|name| paths.contains(name));
            let has_hint = arg.get_value_hint() != clap::ValueHint::Unknown;
            assert_eq!(is_path, has_hint, "{} {}", command.get_name(), arg.get_id());
        }
    }
}
