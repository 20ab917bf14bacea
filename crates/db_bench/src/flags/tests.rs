use super::accepted::{BOOLEANS, VALUED};
use super::parse::Parsed;
use super::*;
use crate::failure::Failure;

fn read(arguments: &[&str]) -> Result<Parsed, String> {
    parse(arguments.iter().map(Into::into)).map_err(|failure| match failure {
        Failure::Message(message) => message,
        Failure::OutputClosed => unreachable!(),
    })
}

fn flags(arguments: &[&str]) -> Flags {
    read(arguments).unwrap().flags
}

#[test]
fn every_name_is_in_one_table_once() {
    for table in [BOOLEANS, VALUED] {
        assert!(table.is_sorted_by(|a, b| a < b), "not sorted, or one name twice");
    }
    let mut names: Vec<&str> = HONOURED.iter().map(|flag| flag.name).collect();
    names.extend(BOOLEANS.iter().chain(VALUED));
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn values_come_after_the_equals_sign_or_in_the_next_argument() {
    assert_eq!(flags(&["--num=7"]).num, 7);
    assert_eq!(flags(&["-num=7"]).num, 7);
    assert_eq!(flags(&["--num", "7"]).num, 7);
    assert_eq!(flags(&["-num", "7", "--threads", "2"]).threads, 2);
    assert_eq!(flags(&["--reads", "-1"]).reads, -1);
    assert_eq!(flags(&["--num=0x10"]).num, 16);
    assert_eq!(flags(&["--db=a=b"]).db.as_deref(), Some("a=b"));
}

#[test]
fn booleans_take_a_value_after_the_equals_sign() {
    assert!(flags(&["--histogram"]).histogram);
    assert!(flags(&["-histogram", "--num=1"]).histogram);
    for on in ["1", "true", "T", "yes", "y"] {
        assert!(flags(&[&format!("--histogram={on}")]).histogram, "{on}");
    }
    for off in ["--histogram=0", "--histogram=false", "--nohistogram", "-nohistogram"] {
        assert!(!flags(&["--histogram", off]).histogram, "{off}");
    }
    for on in ["1", "true"] {
        let flags = flags(&["--histogram", on, "--num=3"]);
        assert!(flags.histogram && flags.num == 3, "{on}");
    }
    // gflags would switch the flag on.
    let message = read(&["--histogram", "false"]).unwrap_err();
    assert!(message.starts_with("'false' is not a flag"), "{message}");
}

#[test]
fn names_after_undefok_may_be_unknown() {
    for accepted in [&["--undefok=new_flag,newer-flag"][..], &["--undefok", "new_flag,newer_flag"]]
    {
        let line = [&["--new_flag=7", "--nonewer_flag"][..], accepted, &["--num=3"]].concat();
        let parsed = read(&line).unwrap();
        assert_eq!(parsed.flags.num, 3);
        assert_eq!(parsed.without_effect, ["new_flag", "nonewer_flag"]);
    }
    assert!(read(&["--undefok=new_flag", "--other_flag=1"]).is_err());
    assert!(read(&["--undefok=num", "--num=many"]).is_err(), "known flags are checked");
}

#[test]
fn the_last_value_stands() {
    assert_eq!(flags(&["--num=1", "--num=2"]).num, 2);
}

#[test]
fn dashes_in_a_name_are_underscores() {
    assert_eq!(flags(&["--value-size=8"]).value_size, 8);
}

#[test]
fn absent_flags_have_the_documented_defaults() {
    let flags = flags(&[]);
    assert_eq!((flags.num, flags.key_size, flags.value_size), (1_000_000, 16, 100));
    assert_eq!((flags.threads, flags.seed), (1, 0));
    assert_eq!((flags.block_size, flags.num_levels), (None, None));
    assert!(flags.options.is_empty());
    assert_eq!(flags.compaction_style, None);
    assert_eq!(flags, Flags::default());
}

#[test]
fn known_flags_without_effect_are_collected_with_their_values() {
    let parsed = read(&[
        "--disable_seek_compaction=1",
        "--mmap_read=0",
        "--max_grandparent_overlap_factor",
        "10",
        "--nommap_read",
        "--num=3",
    ])
    .unwrap();
    assert_eq!(parsed.flags.num, 3);
    assert_eq!(
        without_effect_list(&parsed.without_effect),
        " --disable_seek_compaction --mmap_read --max_grandparent_overlap_factor"
    );
}

#[test]
fn unknown_flags_tell_the_nearest() {
    assert_eq!(
        read(&["--vlaue_size=8"]).unwrap_err(),
        "unknown flag --vlaue_size; the nearest is --value_size"
    );
    assert_eq!(
        read(&["--mmap_reads=0"]).unwrap_err(),
        "unknown flag --mmap_reads; the nearest is --mmap_read"
    );
    assert!(read(&["--nonum"]).unwrap_err().starts_with("unknown flag --nonum;"));
    assert!(read(&["--nohistogram=1"]).unwrap_err().starts_with("unknown flag --nohistogram;"));
}

#[test]
fn bad_values_tell_what_was_expected() {
    assert_eq!(read(&["--num=1e6"]).unwrap_err(), "--num must be a whole number, not '1e6'");
    assert_eq!(
        read(&["--value_size=-1"]).unwrap_err(),
        "--value_size must be a whole number of at least 0, not '-1'"
    );
    assert_eq!(read(&["--histogram=2"]).unwrap_err(), "--histogram must be true or false, not '2'");
    assert_eq!(read(&["--num"]).unwrap_err(), "--num needs a value");
    assert!(read(&["fillseq"]).unwrap_err().contains("'fillseq' is not a flag"));
    assert!(read(&["--"]).is_err());
}

#[test]
fn help_and_version_are_requests() {
    assert_eq!(read(&["--help", "--num=1"]).unwrap().request, Request::Help);
    assert_eq!(read(&["-version"]).unwrap().request, Request::Version);
}

/// docs/db_bench.md lists every flag with an effect.
#[test]
fn documentation_lists_every_honoured_flag_with_what_it_steers() {
    let page = include_str!("../../../../docs/db_bench.md");
    let defaults = Flags::default();
    for flag in HONOURED {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", flag.name)))
            .unwrap_or_else(|| panic!("{} is missing", flag.name));
        // Flags of the workload have a table of their own.
        let is_named = flag.steers == "workload" || row.contains(flag.steers);
        assert!(is_named, "{row} should say {}", flag.steers);
        let default = defaults.show(flag.name);
        assert!(
            flag.name == "benchmarks" || default.is_empty() || row.contains(&default),
            "{row} should say {default}"
        );
    }
}

#[test]
fn documentation_lists_every_benchmark() {
    let page = include_str!("../../../../docs/db_bench.md");
    for entry in crate::benchmark::TABLE {
        assert!(page.contains(&format!("| `{}` |", entry.name)), "{}", entry.name);
    }
}
