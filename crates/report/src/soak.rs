//! Samples of a long run over one open database, and the verdict whether it grew or slowed down.
//!
//! Invariant: a verdict compares medians of the first tenth of the samples after the warm-up and of
//! the last tenth. So one slow second does not decide a verdict.

use std::fmt;

/// Latencies of one kind of operation in an interval, in microseconds; zeros without any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

/// The measurements at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Seconds since the run began.
    pub at: f64,
    /// Bytes of keys and values written so far.
    pub written: u64,
    /// Bytes of the process's memory that are resident.
    pub resident: u64,
    /// Open file descriptors of the process.
    pub handles: u64,
    /// Bytes of all blocks of the database's files.
    pub space: u64,
    /// Bytes that the process has sent to the device so far.
    pub device: u64,
    /// Seconds of stalls so far, over all threads.
    pub stalled: f64,
    /// Garbage collections of value segments so far.
    pub garbage_collections: u64,
    /// Puts since the previous sample.
    pub puts: Percentiles,
    /// Gets since the previous sample.
    pub gets: Percentiles,
    /// Work of the same threads without the database, since the previous sample. It shows delays
    /// that the machine causes.
    pub control: Percentiles,
}

impl Sample {
    /// The first line of a file of samples.
    pub const CSV_HEADER: &str = "seconds,written_bytes,resident_bytes,open_files,directory_bytes,\
        device_bytes,stall_seconds,garbage_collections,put_p50_us,put_p99_us,put_p999_us,put_max_us,\
        get_p50_us,get_p99_us,get_p999_us,get_max_us,control_p50_us,control_p99_us,\
        control_p999_us,control_max_us";

    /// Returns the line of this sample.
    pub fn csv(&self) -> String {
        let Sample { at, written, resident, handles, space, device, stalled, .. } = self;
        let mut line = format!("{at:.3},{written},{resident},{handles},{space},{device}");
        line += &format!(",{stalled:.3},{}", self.garbage_collections);
        for Percentiles { p50, p99, p999, max } in [self.puts, self.gets, self.control] {
            line += &format!(",{p50:.1},{p99:.1},{p999:.1},{max:.1}");
        }
        line
    }
}

/// Bounds of the last tenth, as multiples of the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Bound of memory, file handles and space.
    pub growth: f64,
    /// Bound of latencies.
    pub slowdown: f64,
}

/// One quantity at the beginning and at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Name of the quantity, with its unit.
    pub name: &'static str,
    /// The median of the first tenth.
    pub first: f64,
    /// The median of the last tenth.
    pub last: f64,
    /// Bound of the last tenth, as a multiple of the first.
    pub bound: f64,
    /// For a latency: the ratio of the control's latency at the end to that at the beginning, at
    /// least 1. The machine explains this factor, and the bound applies to the rest. For other
    /// quantities it is 1.
    pub machine: f64,
}

impl Comparison {
    /// Returns whether the end is within the bound.
    pub fn passes(&self) -> bool {
        self.last <= self.first * self.bound * self.machine
    }
}

/// The comparisons of all quantities between the beginning and the end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict(pub Vec<Comparison>);

/// Fewest samples of a tenth.
const LEAST_SAMPLES: usize = 3;

/// A quantity: its name, its value in a sample, and for a latency the control's value.
type Quantity = (&'static str, Of, Option<Of>);
type Of = fn(&Sample) -> f64;

const MIB: f64 = 1_048_576.0;
const CONTROL: [Of; 4] = [
    |sample| sample.control.p50,
    |sample| sample.control.p99,
    |sample| sample.control.p999,
    |sample| sample.control.max,
];
const QUANTITIES: [Quantity; 11] = [
    ("resident memory, MiB", |sample| sample.resident as f64 / MIB, None),
    ("open files", |sample| sample.handles as f64, None),
    ("directory, MiB", |sample| sample.space as f64 / MIB, None),
    ("put p50, us", |sample| sample.puts.p50, Some(CONTROL[0])),
    ("put p99, us", |sample| sample.puts.p99, Some(CONTROL[1])),
    ("put p99.9, us", |sample| sample.puts.p999, Some(CONTROL[2])),
    ("put max, us", |sample| sample.puts.max, Some(CONTROL[3])),
    ("get p50, us", |sample| sample.gets.p50, Some(CONTROL[0])),
    ("get p99, us", |sample| sample.gets.p99, Some(CONTROL[1])),
    ("get p99.9, us", |sample| sample.gets.p999, Some(CONTROL[2])),
    ("get max, us", |sample| sample.gets.max, Some(CONTROL[3])),
];

impl Verdict {
    /// Compares the last tenth of the samples after `warm` written bytes with the first. Returns
    /// `None` if a tenth has fewer than three samples.
    ///
    /// ```
    /// use foldb_report::soak::{Bounds, Sample, Verdict};
    ///
    /// let bounds = Bounds { growth: 1.25, slowdown: 2.0 };
    /// let leaks = |n: u64| Sample { written: n, handles: 20 + n, ..Sample::default() };
    /// let samples: Vec<Sample> = (0..100).map(leaks).collect();
    /// assert!(!Verdict::of(&samples, 10, bounds).unwrap().passes());
    /// ```
    pub fn of(samples: &[Sample], warm: u64, bounds: Bounds) -> Option<Verdict> {
        let samples = &samples[samples.partition_point(|sample| sample.written < warm)..];
        let tenth = samples.len() / 10;
        if tenth < LEAST_SAMPLES {
            return None;
        }
        let (first, last) = (&samples[..tenth], &samples[samples.len() - tenth..]);
        let compared = QUANTITIES.map(|(name, of, control)| Comparison {
            name,
            first: median(first, of),
            last: median(last, of),
            bound: if control.is_some() { bounds.slowdown } else { bounds.growth },
            machine: control.map_or(1.0, |control| {
                let (before, after) = (median(first, control), median(last, control));
                if before > 0.0 { f64::max(after / before, 1.0) } else { 1.0 }
            }),
        });
        Some(Verdict(compared.into()))
    }

    /// Returns whether every quantity is within its bound.
    pub fn passes(&self) -> bool {
        self.0.iter().all(Comparison::passes)
    }
}

fn median(samples: &[Sample], of: Of) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["first tenth", "last tenth", "bound", "machine"];
        let [first, last, bound, machine] = names;
        writeln!(out, "{:<22} {first:>12} {last:>12} {bound:>7} {machine:>8}", "median")?;
        for compared in &self.0 {
            let Comparison { name, first, last, bound, machine } = compared;
            let failed = if compared.passes() { "" } else { "  TOO MUCH" };
            write!(out, "{name:<22} {first:>12.1} {last:>12.1} {bound:>6}x")?;
            writeln!(out, " {machine:>7.2}x{failed}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { growth: 1.25, slowdown: 2.0 };

    fn steady(n: u64) -> Sample {
        let took = Percentiles { p50: 5.0, p99: 9.0, p999: 50.0, max: 900.0 + (n % 7) as f64 };
        Sample {
            written: n * 1000,
            resident: 100 << 20,
            handles: 30 + n % 3,
            space: (5 << 30) + (n % 10) * (10 << 20),
            puts: took,
            gets: took,
            ..Sample::default()
        }
    }

    fn failures(of: impl Fn(u64) -> Sample) -> Vec<&'static str> {
        let samples: Vec<Sample> = (0..200).map(of).collect();
        let verdict = Verdict::of(&samples, 20_000, BOUNDS).unwrap();
        verdict.0.iter().filter(|found| !found.passes()).map(|found| found.name).collect()
    }

    #[test]
    fn a_steady_run_passes_whatever_one_second_was_like() {
        assert!(failures(steady).is_empty());
        let hiccup = |n| match n {
            195 => Sample { handles: 500, ..steady(n) },
            _ => steady(n),
        };
        assert!(failures(hiccup).is_empty());
    }

    #[test]
    fn each_quantity_that_drifts_is_named() {
        let grows = |n| Sample { resident: (100 << 20) + n * (1 << 20), ..steady(n) };
        assert_eq!(failures(grows), ["resident memory, MiB"]);
        assert_eq!(failures(|n| Sample { handles: 30 + n, ..steady(n) }), ["open files"]);
        let slows = |n: u64| Percentiles { p99: 9.0 + n as f64, ..steady(n).gets };
        assert_eq!(failures(|n| Sample { gets: slows(n), ..steady(n) }), ["get p99, us"]);
    }

    #[test]
    fn delays_that_the_control_shares_do_not_count_against_the_database() {
        let busy =
            |n: u64| Percentiles { p999: if n > 100 { 500.0 } else { 50.0 }, ..steady(n).gets };
        let both = |n| Sample { gets: busy(n), control: busy(n), ..steady(n) };
        assert!(failures(both).is_empty());
        assert_eq!(failures(|n| Sample { gets: busy(n), ..steady(n) }), ["get p99.9, us"]);
        let quiet = Percentiles { p999: 1.0, ..steady(0).gets };
        let faster = |n| match n {
            0..150 => both(n),
            _ => Sample { gets: busy(n), control: quiet, ..steady(n) },
        };
        assert_eq!(failures(faster), ["get p99.9, us"], "a quiet end does not tighten the bound");
    }

    #[test]
    fn samples_of_the_warm_up_do_not_count() {
        let begins_small = |n| match n {
            0..20 => Sample { space: 0, ..steady(n) },
            _ => steady(n),
        };
        assert!(failures(begins_small).is_empty());
        let few: Vec<Sample> = (0..49).map(steady).collect();
        assert_eq!(Verdict::of(&few, 20_000, BOUNDS), None);
    }

    #[test]
    fn a_line_has_as_many_fields_as_the_first() {
        let fields = |line: &str| line.split(',').count();
        assert_eq!(fields(&steady(1).csv()), fields(Sample::CSV_HEADER));
    }
}
