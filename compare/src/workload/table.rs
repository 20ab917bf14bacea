//! The table: all jobs and their rows, in order.

use super::job::{Job, Row, Task};
use super::{grown, stores};
use crate::engine::{Name, Preset};
use crate::failure::{Failure, Result};
use crate::scale::Scale;

const M: u64 = 1_000_000;
/// Engines that merge, and that can run without a log.
const MERGING: &[Name] = &[Name::Foldb, Name::RocksDb];
/// Engines for workloads with a log. Some of them cannot merge.
const LOGGING: &[Name] = &[Name::Foldb, Name::RocksDb, Name::Fjall, Name::LevelDb];
/// Engines of the comparison of compaction styles.
const COMPACTING: &[Name] = &[
    Name::Foldb,
    Name::LevelDb,
    Name::RocksDb,
    Name::RocksDbUniversal,
    Name::Fjall,
    Name::MergeDb,
];
/// Engines of the comparison of separated values. LevelDB keeps values in the tree.
const SEPARATING: &[Name] = &[Name::Foldb, Name::RocksDb, Name::LevelDb];
/// Bytes of a cache that holds all read data.
const AMPLE: Option<usize> = Some(1 << 30);

/// Returns a row without bar and aim.
pub(super) const fn row(name: &'static str, about: &'static str) -> Row {
    Row {
        name,
        about,
        peer: None,
        against: None,
        bar: None,
        aim: None,
        percentile: None,
        fastest: false,
        only: None,
    }
}

impl Row {
    pub(super) const fn needs(self, peer: Name, bar: f64, aim: f64) -> Row {
        Row { peer: Some(peer), bar: Some(bar), aim: Some(aim), ..self }
    }

    pub(super) const fn needs_no_less(self, peer: Name, bar: f64) -> Row {
        Row { peer: Some(peer), bar: Some(bar), ..self }
    }

    const fn needs_of(self, own_row: &'static str, bar: f64, aim: f64) -> Row {
        Row { against: Some(own_row), bar: Some(bar), aim: Some(aim), ..self }
    }

    pub(super) const fn beside(self, peer: Name) -> Row {
        Row { peer: Some(peer), ..self }
    }

    pub(super) const fn needs_of_fastest(self, bar: f64, aim: f64) -> Row {
        Row { fastest: true, bar: Some(bar), aim: Some(aim), ..self }
    }

    pub(super) const fn needs_no_less_of(self, own_row: &'static str, bar: f64) -> Row {
        Row { against: Some(own_row), bar: Some(bar), ..self }
    }

    pub(super) const fn aims_at(self, peer: Name, aim: f64) -> Row {
        Row { peer: Some(peer), aim: Some(aim), ..self }
    }

    const fn at_percentile(self, percent: f64) -> Row {
        Row { percentile: Some(percent), ..self }
    }

    pub(super) const fn only(self, engines: &'static [Name]) -> Row {
        Row { only: Some(engines), ..self }
    }
}

/// The common settings of jobs: 8-byte counters, no log, the defaults of `db_bench`.
pub(super) const COUNTERS: Job = Job {
    name: "",
    task: Task::Merge { threads: 1 },
    preset: Preset::Defaults,
    wal: false,
    operations: 0,
    keys: 0,
    keys_scale: true,
    reads: 0,
    value: 8,
    compressed: 0.5,
    cache: None,
    separated: false,
    engines: MERGING,
    rows: &[],
    seconds: 0.0,
};

const HOT: Job = Job { operations: 20 * M, keys: 1000, keys_scale: false, ..COUNTERS };

const MAX: Job = Job { wal: true, operations: 10_000, value: 10_240, seconds: 3.0, ..COUNTERS };

const SEPARATED: Job = Job {
    task: Task::FillThenScan,
    wal: true,
    operations: 2 * M,
    keys: 2 * M,
    value: 4096,
    compressed: 1.0,
    separated: true,
    engines: SEPARATING,
    seconds: 400.0,
    ..COUNTERS
};

/// Everything that can be run.
pub const JOBS: &[Job] = &[
    Job {
        name: "merge-random/5m",
        preset: Preset::Published,
        operations: 5 * M,
        keys: 5 * M,
        rows: &[row("merge-random/5m", "one uint64add merge a random key of 5 M, published flags")
            .needs(Name::RocksDb, 12.0, 15.0)],
        seconds: 25.0,
        ..COUNTERS
    },
    Job {
        name: "merge-random/50m",
        preset: Preset::Published,
        operations: 50 * M,
        keys: 50 * M,
        rows: &[row("merge-random/50m", "the same with 50 M, as published").needs(
            Name::RocksDb,
            8.0,
            12.0,
        )],
        seconds: 300.0,
        ..COUNTERS
    },
    Job {
        name: "hot-counters/wal-off",
        rows: &[row("hot-counters/wal-off", "20 M merges on 1000 keys, no log").needs(
            Name::RocksDb,
            20.0,
            30.0,
        )],
        seconds: 25.0,
        ..HOT
    },
    Job {
        name: "hot-counters/wal-on",
        wal: true,
        engines: LOGGING,
        rows: &[row(
            "hot-counters/wal-on",
            "the same with a log, not synced; get and put without merge",
        )
        .needs(Name::RocksDb, 15.0, 20.0)],
        seconds: 60.0,
        ..HOT
    },
    Job {
        name: "hot-counters-4/wal-off",
        task: Task::Merge { threads: 4 },
        rows: &[row(
            "hot-counters-4/wal-off",
            "the same 20 M by 4 threads, no log; against our own one",
        )
        .needs_of("hot-counters/wal-off", 1.0, 1.5)],
        seconds: 25.0,
        ..HOT
    },
    Job {
        name: "hot-counters-4/wal-on",
        task: Task::Merge { threads: 4 },
        wal: true,
        rows: &[row(
            "hot-counters-4/wal-on",
            "by 4 threads with a log, not synced; against our own one",
        )
        .needs_of("hot-counters/wal-on", 1.0, 1.5)],
        seconds: 60.0,
        ..HOT
    },
    Job {
        name: "offered-rate",
        task: Task::Offered { threads: 16, a_second: 30_000 },
        operations: 600_000,
        rows: &[row(
            "offered-rate",
            "merges on 1000 keys, no log, offered at 30 000 a second by 16 threads",
        )
        .needs(Name::RocksDb, 1.0, 2.0)
        .at_percentile(99.0)],
        seconds: 20.0,
        ..HOT
    },
    Job {
        name: "update-random",
        task: Task::Update,
        preset: Preset::Published,
        operations: 5 * M,
        keys: 5 * M,
        rows: &[row("update-random", "get, then put a new value to the same key, published flags")
            .needs(Name::RocksDb, 6.0, 8.0)],
        seconds: 60.0,
        ..COUNTERS
    },
    Job {
        name: "read-after-merge",
        task: Task::MergeThenRead,
        operations: 5 * M,
        keys: 5 * M,
        reads: 5 * M,
        cache: AMPLE,
        rows: &[row(
            "read-after-merge",
            "random reads after 5 M merges on 5 M keys, all in memory",
        )
        .needs(Name::RocksDb, 6.0, 8.0)],
        seconds: 45.0,
        ..COUNTERS
    },
    Job {
        name: "readseq-max/memtable-1",
        task: Task::Max { cached: false, per_key: 1 },
        keys: 10_000,
        rows: &[row(
            "readseq-max/memtable-1",
            "readseq of 10 KiB operands of max in the memtable, 1 a key",
        )
        .needs(Name::RocksDb, 4.0, 5.0)],
        ..MAX
    },
    Job {
        name: "readseq-max/memtable-10",
        task: Task::Max { cached: false, per_key: 10 },
        keys: 1000,
        rows: &[row("readseq-max/memtable-10", "the same, 10 a key").needs(
            Name::RocksDb,
            4.0,
            5.0,
        )],
        ..MAX
    },
    Job {
        name: "readseq-max/cache-1",
        task: Task::Max { cached: true, per_key: 1 },
        keys: 10_000,
        cache: Some(1_000_000_000),
        rows: &[row(
            "readseq-max/cache-1",
            "readseq of 10 KiB operands of max in the block cache, 1 a key",
        )
        .needs(Name::RocksDb, 4.0, 5.0)],
        ..MAX
    },
    Job {
        name: "readseq-max/cache-10",
        task: Task::Max { cached: true, per_key: 10 },
        keys: 1000,
        cache: Some(1_000_000_000),
        rows: &[row("readseq-max/cache-10", "the same, 10 a key").needs(Name::RocksDb, 4.0, 5.0)],
        ..MAX
    },
    Job {
        name: "scan-8b",
        task: Task::Scans,
        wal: true,
        operations: 5 * M,
        keys: 5 * M,
        reads: M,
        cache: AMPLE,
        engines: LOGGING,
        rows: &[
            row("scan-8b/readseq", "all of 5 M 8-byte values in key order, all in memory").needs(
                Name::RocksDb,
                2.2,
                3.0,
            ),
            row("scan-8b/readreverse", "the same in reverse").needs(Name::RocksDb, 3.0, 3.0),
            row("scan-8b/seekrandom", "seeks of random keys among them, an iterator each").needs(
                Name::RocksDb,
                2.5,
                3.0,
            ),
        ],
        seconds: 60.0,
        ..COUNTERS
    },
    Job {
        name: "fill-4k",
        task: Task::FillThenReadCold,
        preset: Preset::SmallBuffer,
        wal: true,
        operations: 2 * M,
        keys: 2 * M,
        reads: 20_000,
        value: 4096,
        compressed: 1.0,
        engines: COMPACTING,
        rows: &[
            row("fill-4k", "puts of 4 KiB values to random keys of 2 M, write buffer of 2 MB")
                .needs(Name::Fjall, 1.3, 1.6),
            row("read-cold", "random reads after it, the page cache dropped").needs(
                Name::RocksDb,
                1.1,
                1.3,
            ),
        ],
        seconds: 400.0,
        ..COUNTERS
    },
    Job {
        name: "separated-4k/2mb",
        preset: Preset::SmallBuffer,
        rows: &[
            row("separated-4k/fill-2mb", "the puts of fill-4k with values outside the tree")
                .needs_no_less(Name::LevelDb, 5.0),
            row("separated-4k/readseq-2mb", "all of them in key order, at rest")
                .needs_no_less(Name::RocksDb, 1.0),
        ],
        ..SEPARATED
    },
    Job {
        name: "separated-4k/defaults",
        rows: &[
            row("separated-4k/fill-defaults", "the same with a write buffer of 64 MB")
                .needs_no_less(Name::RocksDb, 1.0),
            row("separated-4k/readseq-defaults", "all of them in key order, at rest")
                .needs_no_less(Name::RocksDb, 1.0),
        ],
        ..SEPARATED
    },
    grown::GROWTH_1M,
    grown::GROWTH_10M,
    grown::GROWTH_50M,
    grown::GROWTH_LARGE,
    stores::TRANSACT_1,
    stores::TRANSACT_4,
    stores::SYNCED_1,
    stores::SYNCED_4,
    stores::COUNT_4,
    stores::LOAD,
    stores::READ,
    stores::INSERT_PUTS,
    stores::INSERT_BATCHES,
    stores::QUEUE_MEMORY,
    stores::QUEUE_FLUSHED,
    stores::TAKE_FIRST,
    stores::MERGE_GET,
    stores::TRANSACT_IN_MEMORY,
    stores::PUBLISHED,
];

/// Returns all rows, in the order of the table, with their jobs.
pub fn rows() -> impl Iterator<Item = (&'static Job, &'static Row)> {
    JOBS.iter().flat_map(|job| job.rows.iter().map(move |row| (job, row)))
}

/// The job of this name.
pub fn find(name: &str) -> Option<&'static Job> {
    JOBS.iter().find(|job| job.name == name)
}

/// The row of this name.
pub fn row_named(name: &str) -> Option<&'static Row> {
    rows().map(|(_, row)| row).find(|row| row.name == name)
}

/// Returns the jobs that `names` select, in the order of the table. A name is `all`, a row, or the
/// part of a row's name before the slash.
///
/// # Errors
/// Fails for an unknown name; the error lists the known ones.
pub fn select(names: &[String]) -> Result<Vec<&'static Job>> {
    let known = |name: &str| name == "all" || rows().any(|(job, row)| matches(job, row, name));
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let names: Vec<_> = groups();
        return Err(Failure::new(format!(
            "unknown workload {unknown}; there are all, {} and their rows",
            names.join(", ")
        )));
    }
    let wanted = |job: &Job| {
        let asked =
            |name: &String| name == "all" || job.rows.iter().any(|row| matches(job, row, name));
        names.iter().any(asked)
    };
    Ok(JOBS.iter().filter(|job| wanted(job)).collect())
}

/// Returns those of `jobs` that have a scale, and names the others on standard error.
///
/// # Errors
/// Fails if none of them has the scale.
pub fn at_scale(jobs: Vec<&'static Job>, scale: Scale) -> Result<Vec<&'static Job>> {
    let (jobs, others): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.has(scale));
    let names = |jobs: &[&Job]| jobs.iter().map(|job| job.name).collect::<Vec<_>>().join(", ");
    if jobs.is_empty() {
        let having: Vec<_> = JOBS.iter().filter(|job| job.has(scale)).collect();
        let what = if scale == Scale::Large { names(&having) } else { "the other jobs".to_owned() };
        return Err(Failure::new(format!(
            "{} not at scale {scale}, which is for {what}",
            names(&others)
        )));
    }
    if !others.is_empty() {
        eprintln!("foldb-compare: left out at scale {scale}: {}", names(&others));
    }
    Ok(jobs)
}

fn matches(job: &Job, row: &Row, name: &str) -> bool {
    job.name == name || row.name == name || group(row) == name
}

fn group(row: &Row) -> &'static str {
    row.name.split('/').next().unwrap_or(row.name)
}

fn groups() -> Vec<&'static str> {
    let mut groups: Vec<_> = rows().map(|(_, row)| group(row)).collect();
    groups.dedup();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(names: &[&str]) -> Vec<&'static str> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        select(&names).unwrap().iter().map(|job| job.name).collect()
    }

    #[test]
    fn rows_have_each_name_once() {
        let names: Vec<_> = rows().map(|(_, row)| row.name).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{name}");
            assert!(row_named(name).is_some());
        }
    }

    #[test]
    fn a_name_selects_a_row_its_group_or_all() {
        assert_eq!(selected(&["hot-counters/wal-on"]), ["hot-counters/wal-on"]);
        assert_eq!(selected(&["hot-counters"]), ["hot-counters/wal-off", "hot-counters/wal-on"]);
        assert_eq!(selected(&["read-cold"]), ["fill-4k"]);
        assert_eq!(selected(&["scan-8b/readreverse"]), ["scan-8b"]);
        assert_eq!(selected(&["growth/read-10m"]), ["growth/10m"]);
        assert_eq!(selected(&["all"]).len(), JOBS.len());
        assert_eq!(
            selected(&["update-random", "merge-random/5m"]),
            ["merge-random/5m", "update-random"]
        );
    }

    #[test]
    fn jobs_without_a_scale_are_left_out_or_refused() {
        let jobs = |name: &str| select(&[name.to_owned()]).unwrap();
        let large = at_scale(jobs("growth"), Scale::Large).unwrap();
        assert_eq!(large.iter().map(|job| job.name).collect::<Vec<_>>(), ["growth/large"]);
        assert_eq!(at_scale(jobs("growth"), Scale::Full).unwrap().len(), 3);
        assert_eq!(
            at_scale(jobs("update-random"), Scale::Large).unwrap_err().to_string(),
            "update-random not at scale large, which is for growth/large"
        );
    }

    #[test]
    fn an_unknown_name_is_told_with_those_there_are() {
        assert_eq!(
            select(&["fillseq".to_owned()]).unwrap_err().to_string(),
            "unknown workload fillseq; there are all, merge-random, hot-counters, hot-counters-4, \
             offered-rate, update-random, read-after-merge, readseq-max, scan-8b, fill-4k, read-cold, separated-4k, \
             growth, store, redb-bench and their rows"
        );
    }

    #[test]
    fn every_row_of_a_peer_is_run_by_it() {
        for (job, row) in rows() {
            assert_eq!(job.engines[0], Name::Foldb, "{}", row.name);
            assert!(row.peer.is_none_or(|peer| job.engines.contains(&peer)), "{}", row.name);
            assert!(row.against.is_none_or(|own| row_named(own).is_some()), "{}", row.name);
        }
    }
}
