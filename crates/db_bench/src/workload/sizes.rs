//! The numbers and sizes of a benchmark.

use foldb::WriteOptions;

use crate::benchmark::{Benchmark, Scale};
use crate::flags::Flags;
use crate::keys::{KeyForm, Skew};
use crate::values::ValueSizes;

/// Entries in a batch of `fillbatch`.
const FILL_BATCH: u64 = 1000;
/// Bytes of a value of `fill100K`.
const FILL_100K: usize = 100 * 1000;

/// The numbers and sizes of a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    /// Keys of the database, `--num`.
    pub num: u64,
    /// Keys that fills choose from; fewer than `num` in the shortened fills.
    pub keys: u64,
    /// Reads of reading benchmarks.
    pub reads: u64,
    /// Writes of writing benchmarks.
    pub writes: u64,
    /// Deletes of deleting benchmarks.
    pub deletes: u64,
    /// Operations of benchmarks that read and write.
    pub read_writes: u64,
    /// Keys that merges choose from.
    pub merge_keys: u64,
    /// Seconds that random-order benchmarks run instead of a number of operations; 0: off.
    pub seconds: u64,
    /// Operations between two looks at the clock.
    pub look_every: u64,
    /// Entries of one write or read of several.
    pub batch: u64,
    /// The keys.
    pub key: KeyForm,
    /// Which keys random reads choose.
    pub skew: Skew,
    /// The values.
    pub values: ValueSizes,
    /// Bytes of one checksum.
    pub block_size: usize,
    /// The options of writes.
    pub write: WriteOptions,
}

impl Sizes {
    /// Returns the sizes of `benchmark` under checked `flags`.
    pub(crate) fn of(benchmark: &Benchmark, flags: &Flags) -> Sizes {
        let num = flags.num.unsigned_abs();
        let or_num = |count: i64| u64::try_from(count).unwrap_or(num);
        let mut sizes = Sizes {
            num,
            keys: num,
            reads: or_num(flags.reads),
            writes: if flags.writes == 0 { num } else { or_num(flags.writes) },
            deletes: or_num(flags.deletes),
            read_writes: or_num(flags.reads.max(flags.writes)),
            merge_keys: or_num(flags.merge_keys),
            seconds: flags.duration,
            look_every: flags.ops_between_duration_checks,
            batch: flags.batch_size,
            key: key_form(flags, num),
            skew: Skew(flags.read_random_exp_range),
            values: value_sizes(flags),
            block_size: flags.block_size.unwrap_or(4096) as usize,
            write: WriteOptions {
                sync: flags.sync,
                disable_wal: flags.disable_wal,
                ..WriteOptions::default()
            },
        };
        sizes.scale(benchmark.scale, flags);
        sizes
    }

    fn scale(&mut self, scale: Scale, flags: &Flags) {
        match scale {
            Scale::AsGiven => {}
            Scale::InBatches => self.batch = FILL_BATCH.min(self.writes),
            Scale::Synced => {
                self.shorten(1000, flags.writes);
                self.write.sync = true;
            }
            Scale::Large => {
                self.shorten(1000, flags.writes);
                self.values = ValueSizes::Fixed(FILL_100K);
            }
            Scale::FewKeys => self.shorten(10_000, -1),
            Scale::FewReads => self.reads = (self.reads / 1000).max(1),
            Scale::AllKeys => self.reads = self.num,
            Scale::LongerKeys => self.key.size += 1,
        }
    }

    /// Divides the keys. Also divides the writes, unless `--writes` gives their number.
    fn shorten(&mut self, by: u64, writes_given: i64) {
        self.keys = (self.num / by).max(1);
        if writes_given <= 0 {
            self.writes = self.keys;
        }
    }
}

fn key_form(flags: &Flags, num: u64) -> KeyForm {
    let size = flags.key_size as usize;
    let prefixes = num.checked_div(flags.keys_per_prefix).map_or(0, |prefixes| prefixes.max(1));
    KeyForm { size, prefix_size: size.min(flags.prefix_size as usize), prefixes }
}

fn value_sizes(flags: &Flags) -> ValueSizes {
    let (least, most) = (flags.value_size_min as usize, flags.value_size_max as usize);
    match flags.value_size_distribution_type.as_str() {
        "uniform" => ValueSizes::Uniform { least, most },
        "normal" => ValueSizes::Normal { least, most },
        _ => ValueSizes::Fixed(flags.value_size as usize),
    }
}
