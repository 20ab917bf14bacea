use super::*;
use crate::benchmark::Benchmark;
use crate::values::ValueSizes;

fn sizes(benchmark: &str, arguments: &[&str]) -> Sizes {
    let parsed = crate::flags::parse(arguments.iter().map(Into::into)).unwrap();
    Sizes::of(Benchmark::find(benchmark).unwrap(), &parsed.flags)
}

#[test]
fn counts_follow_num_unless_given() {
    let sizes = sizes("mergerandom", &["--num=5000"]);
    assert_eq!((sizes.reads, sizes.writes, sizes.read_writes), (5000, 5000, 5000));
    assert_eq!((sizes.keys, sizes.merge_keys), (5000, 5000));
}

#[test]
fn read_writes_are_the_larger_of_both_if_one_is_given() {
    let of = |arguments: &[&str]| sizes("updaterandom", arguments).read_writes;
    assert_eq!(of(&["--num=5000", "--reads=10"]), 10);
    assert_eq!(of(&["--num=5000", "--reads=10", "--writes=20"]), 20);
}

#[test]
fn fillsync_and_fill100k_are_a_thousandth() {
    let fillsync = sizes("fillsync", &["--num=5000"]);
    assert_eq!((fillsync.keys, fillsync.writes, fillsync.write.sync), (5, 5, true));
    let fill100k = sizes("fill100K", &["--num=500"]);
    assert_eq!(
        (fill100k.keys, fill100k.writes, fill100k.values),
        (1, 1, ValueSizes::Fixed(100_000))
    );
    let given = sizes("fillsync", &["--num=5000", "--writes=70"]);
    assert_eq!((given.keys, given.writes), (5, 70));
}

#[test]
fn fillbatch_writes_a_thousand_at_once_or_all() {
    assert_eq!(sizes("fillbatch", &["--num=5000"]).batch, 1000);
    assert_eq!(sizes("fillbatch", &["--num=300"]).batch, 300);
}

#[test]
fn readmissing_has_longer_keys_and_open_fewer_rounds() {
    assert_eq!(sizes("readmissing", &[]).key.size, 17);
    assert_eq!(sizes("open", &["--num=50000"]).keys, 5);
    assert_eq!(sizes("open", &["--num=5"]).keys, 1);
}

#[test]
fn write_options_come_from_the_flags() {
    let write = sizes("overwrite", &["--sync"]).write;
    assert!(write.sync && !write.disable_wal);
    let write = sizes("overwrite", &["--disable_wal=1"]).write;
    assert!(!write.sync && write.disable_wal);
}
