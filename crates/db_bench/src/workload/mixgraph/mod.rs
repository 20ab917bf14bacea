//! The benchmark of a social graph's database: gets, puts and seeks.
//!
//! Keys follow a power law, or a law of key ranges. Sizes of values and lengths of scans follow
//! generalized Pareto distributions. The laws are those of "Characterizing, Modeling, and
//! Benchmarking RocksDB Key-Value Workloads at Facebook" (FAST 2020), as RocksDB's `MixGraph` uses
//! them: one draw decides key, kind of operation and size.

mod laws;

use foldb::Result;

use self::laws::{Kind, Mix, Pareto, PowerLaw, Ranges};
use super::Task;
use crate::flags::Flags;
use crate::histogram::Operation;

/// The least bytes of a value, and the most.
const VALUE_BYTES: (u64, u64) = (10, 1 << 20);

/// The laws of one run.
struct Laws {
    mix: Mix,
    keys: Keys,
    value_size: Pareto,
    value_most: u64,
    scan_len: Pareto,
    scan_most: u64,
}

/// The law of keys.
enum Keys {
    Alike,
    Power(PowerLaw),
    Ranges(Ranges, PowerLaw),
}

impl Laws {
    fn new(flags: &Flags, num: u64) -> Laws {
        let power = PowerLaw { a: flags.key_dist_a, b: flags.key_dist_b };
        let law = [
            flags.keyrange_dist_a,
            flags.keyrange_dist_b,
            flags.keyrange_dist_c,
            flags.keyrange_dist_d,
        ];
        let keys = if power.a == 0.0 || power.b == 0.0 {
            Keys::Alike
        } else if law.iter().any(|parameter| *parameter != 0.0) {
            Keys::Ranges(Ranges::new(num, flags.keyrange_num, law), power)
        } else {
            Keys::Power(power)
        };
        let pareto = |theta, k, sigma| Pareto { theta, k, sigma };
        Laws {
            mix: Mix::new([flags.mix_get_ratio, flags.mix_put_ratio, flags.mix_seek_ratio]),
            keys,
            value_size: pareto(flags.value_theta, flags.value_k, flags.value_sigma),
            value_most: flags.mix_max_value_size.clamp(1, VALUE_BYTES.1),
            scan_len: pareto(flags.iter_theta, flags.iter_k, flags.iter_sigma),
            scan_most: flags.mix_max_scan_len.max(1),
        }
    }

    /// Returns the key of a draw below `num`.
    fn key(&self, drawn: u64, num: u64) -> u64 {
        match &self.keys {
            Keys::Alike => drawn,
            Keys::Power(power) => power.scattered(drawn as f64 / num as f64) % num,
            Keys::Ranges(ranges, power) => ranges.key(drawn, power),
        }
    }

    fn value_size(&self, unit: f64) -> usize {
        let size = self.value_size.at(unit);
        let size = if size > self.value_most { size % self.value_most } else { size };
        size.max(VALUE_BYTES.0) as usize
    }
}

impl Task<'_> {
    /// Gets, puts and seeks (RocksDB: `MixGraph`).
    pub(super) fn mix_graph(&mut self) -> Result<()> {
        let (laws, num) = (Laws::new(self.flags, self.sizes.num), self.sizes.num);
        let (mut gets, mut puts, mut seeks, mut found) = (0_u64, 0_u64, 0_u64, 0_u64);
        let (mut value_bytes, mut scanned) = (0_u64, 0_u64);
        self.repeat(self.sizes.reads, |task, key| {
            task.draws.skip();
            let drawn = task.skewed(num);
            let unit = drawn as f64 / num as f64;
            let key = key.set(laws.key(drawn, num));
            match laws.mix.kind(drawn) {
                Kind::Get => {
                    gets += 1;
                    task.await_reads(1);
                    if let Some(value) = task.db.get(key)? {
                        found += 1;
                        task.recorder.bytes(key.len() + value.len());
                    }
                    Ok(Operation::Read)
                }
                Kind::Put => {
                    puts += 1;
                    let value = task.values.of(laws.value_size(unit));
                    value_bytes += value.len() as u64;
                    task.await_write(1, key.len() + value.len());
                    task.db.with(&task.sizes.write).put(key, value)?;
                    Ok(Operation::Write)
                }
                Kind::Seek => {
                    seeks += 1;
                    task.await_reads(1);
                    let mut iter = task.db.iter()?;
                    let valid = iter.seek(key)?;
                    found += u64::from(valid && iter.key() == key);
                    let len = laws.scan_len.at(unit) % laws.scan_most;
                    scanned += task.read_entries(&mut iter, valid, len, true)?;
                    Ok(Operation::Seek)
                }
            }
        })?;
        let average = |sum: u64, count: u64| sum as f64 / count.max(1) as f64;
        let message = format!(
            "( Gets:{gets} Puts:{puts} Seek:{seeks}, reads {found} in {} found, avg size: {:.1} \
             value, {:.1} scan)",
            gets + seeks,
            average(value_bytes, puts),
            average(scanned, seeks),
        );
        self.recorder.message(&message);
        Ok(())
    }
}
