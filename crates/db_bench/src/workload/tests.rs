use super::*;

fn sizes(benchmark: Benchmark, arguments: &[&str]) -> Sizes {
    let parsed = crate::flags::parse(arguments.iter().map(Into::into)).unwrap();
    Sizes::of(benchmark, &parsed.flags)
}

#[test]
fn counts_follow_num_unless_given() {
    let sizes = sizes(Benchmark::MergeRandom, &["--num=5000"]);
    assert_eq!((sizes.reads, sizes.writes, sizes.read_writes), (5000, 5000, 5000));
    assert_eq!((sizes.keys, sizes.merge_keys), (5000, 5000));
}

#[test]
fn read_writes_are_the_larger_of_both_if_one_is_given() {
    let of = |arguments: &[&str]| sizes(Benchmark::UpdateRandom, arguments).read_writes;
    assert_eq!(of(&["--num=5000", "--reads=10"]), 10);
    assert_eq!(of(&["--num=5000", "--reads=10", "--writes=20"]), 20);
}

#[test]
fn fillsync_and_fill100k_are_a_thousandth() {
    let fillsync = sizes(Benchmark::FillSync, &["--num=5000"]);
    assert_eq!((fillsync.keys, fillsync.writes, fillsync.write.sync), (5, 5, true));
    let fill100k = sizes(Benchmark::Fill100K, &["--num=500"]);
    assert_eq!((fill100k.keys, fill100k.writes, fill100k.value_size), (1, 1, 100_000));
    let given = sizes(Benchmark::FillSync, &["--num=5000", "--writes=70"]);
    assert_eq!((given.keys, given.writes), (5, 70));
}

#[test]
fn fillbatch_writes_a_thousand_at_once_or_all() {
    assert_eq!(sizes(Benchmark::FillBatch, &["--num=5000"]).batch, 1000);
    assert_eq!(sizes(Benchmark::FillBatch, &["--num=300"]).batch, 300);
}

#[test]
fn readmissing_has_longer_keys_and_open_fewer_rounds() {
    assert_eq!(sizes(Benchmark::ReadMissing, &[]).key_size, 17);
    assert_eq!(sizes(Benchmark::Open, &["--num=50000"]).keys, 5);
    assert_eq!(sizes(Benchmark::Open, &["--num=5"]).keys, 1);
}

#[test]
fn write_options_come_from_the_flags() {
    let write = sizes(Benchmark::Overwrite, &["--sync"]).write;
    assert!(write.sync && !write.disable_wal);
    let write = sizes(Benchmark::Overwrite, &["--disable_wal=1"]).write;
    assert!(!write.sync && write.disable_wal);
}
