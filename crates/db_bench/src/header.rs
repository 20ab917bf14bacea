//! The lines before the first result: the run, the machine and the settings.

use std::fs;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use foldb::Compression;

use crate::plan::Plan;

/// Ends the header.
const RULE: &str = "------------------------------------------------";

/// Prints the header: the machine on stderr, the settings on `out`.
///
/// # Errors
/// A failed write to `out`.
pub(crate) fn print(out: &mut impl Write, plan: &Plan) -> io::Result<()> {
    if plan.flags.seed == 0 {
        writeln!(out, "Set seed to {} because --seed was 0", plan.seed)?;
    }
    print_machine();
    print_data(out, plan)?;
    print_engine(out, plan)?;
    if cfg!(debug_assertions) {
        writeln!(out, "WARNING: Assertions are enabled; benchmarks unnecessarily slow")?;
    }
    writeln!(out, "{RULE}")?;
    out.flush()
}

fn print_machine() {
    eprintln!("foldb:      version {}", env!("CARGO_PKG_VERSION"));
    eprintln!("Date:       {}", date(SystemTime::now()));
    let Ok(processors) = fs::read_to_string("/proc/cpuinfo") else { return };
    let values = |key: &str| -> Vec<&str> {
        processors
            .lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim())
            .collect()
    };
    let models = values("model name");
    if let Some(model) = models.first() {
        eprintln!("CPU:        {} * {model}", models.len());
    }
    if let Some(cache) = values("cache size").first() {
        eprintln!("CPUCache:   {cache}");
    }
}

/// Returns a date of Universal Time in the form that scripts expect: `Sat Nov 28 02:46:07 2026`.
fn date(now: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let day = DAYS[(seconds / 86_400 % 7) as usize];
    // Such as 2026-11-28T02:46:07Z.
    let text = humantime::format_rfc3339_seconds(now).to_string();
    let (year, month, rest) = (&text[..4], &text[5..7], &text[8..19]);
    let month = month.parse::<usize>().ok().and_then(|month| MONTHS.get(month - 1));
    format!("{day} {} {} {year}", month.unwrap_or(&"?"), rest.replace('T', " "))
}

fn print_data(out: &mut impl Write, plan: &Plan) -> io::Result<()> {
    let flags = &plan.flags;
    let value = match flags.value_size_distribution_type.as_str() {
        "fixed" => flags.value_size as f64,
        _ => (flags.value_size_min + flags.value_size_max) as f64 / 2.0,
    };
    let (key, num) = (flags.key_size as f64, flags.num as f64);
    let compressed = value * flags.compression_ratio;
    let megabytes = |bytes_each: f64| bytes_each * num / f64::from(1 << 20);
    writeln!(out, "Keys:       {} bytes each (+ 0 bytes user-defined timestamp)", flags.key_size)?;
    match flags.value_size_distribution_type.as_str() {
        "fixed" => writeln!(
            out,
            "Values:     {} bytes each ({} bytes after compression)",
            flags.value_size,
            (compressed + 0.5) as u64
        )?,
        other => writeln!(
            out,
            "Values:     {} to {} bytes, {other}",
            flags.value_size_min, flags.value_size_max
        )?,
    }
    writeln!(out, "Entries:    {}", flags.num)?;
    writeln!(out, "RawSize:    {:.1} MB (estimated)", megabytes(key + value))?;
    writeln!(out, "FileSize:   {:.1} MB (estimated)", megabytes(key + compressed))?;
    writeln!(out, "Write rate: {} bytes/second", flags.benchmark_write_rate_limit)?;
    writeln!(out, "Read rate: {} ops/second", flags.benchmark_read_rate_limit)
}

fn print_engine(out: &mut impl Write, plan: &Plan) -> io::Result<()> {
    let (flags, options) = (&plan.flags, &plan.options);
    let own = |absent: bool| if absent { " (foldb's own)" } else { "" };
    let compression = match options.default.compression() {
        Compression::None => "NoCompression",
        Compression::Lz4 => "LZ4",
        Compression::Snappy => "Snappy",
        Compression::Zstd => "ZSTD",
        other => other.name(),
    };
    writeln!(out, "Compression: {compression}{}", own(flags.compression_type.is_none()))?;
    let filter = match options.default.bloom_bits() {
        0 => "none".to_owned(),
        bits => format!("{bits} bits per key"),
    };
    writeln!(out, "Filter:     {filter}{}", own(flags.bloom_bits < 0.0))?;
    let compaction = options.default.compaction().name();
    writeln!(out, "Compaction: {compaction}{}", own(flags.compaction_style.is_none()))?;
    writeln!(out, "Buffer:     {} bytes", options.write_buffer_size)?;
    writeln!(out, "Cache:      {} bytes", options.block_cache_size)?;
    if let Some(least) = options.default.value_separation_min {
        writeln!(out, "Separated:  values of {least} bytes and more")?;
    }
    match &options.default.merge_operator {
        None => writeln!(out, "Operator:   none")?,
        Some(operator) if plan.lenient => writeln!(
            out,
            "Operator:   {operator} (because --value_size is {}: an operand or base that is not 8 \
             bytes counts as 0)",
            flags.value_size
        )?,
        Some(operator) => writeln!(out, "Operator:   {operator}")?,
    }
    writeln!(out, "Seed:       {}", plan.seed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_have_the_form_that_scripts_expect() {
        assert_eq!(date(UNIX_EPOCH), "Thu Jan 01 00:00:00 1970");
        let later = UNIX_EPOCH + Duration::from_secs(1_795_833_967);
        assert_eq!(date(later), "Sat Nov 28 02:46:07 2026");
    }
}
