//! The options of a database as the text that an `OPTIONS` file has.
//!
//! `foldb_rocksdb_format::options` draws the text and reads it. Plain values come with RocksDB's
//! names. Objects come with their names: a load finds RocksDB's own ones by it.

use foldb::custom::Comparator as _;
use foldb_leveldb_format::BYTEWISE;

use crate::objects::slice_transform::SliceTransform;
use crate::options::names::{self, CHANGEABLE, FIXED};
use crate::options::text_objects::operator_text;
use crate::options::{CompressionChoice, rocksdb_options_t};

/// What the file of this library begins with. RocksDB's files begin with another line.
pub(crate) const MARK: &str = "# foldb wrote these options, in the form of RocksDB's file.";

/// Values that have functions in C, and no name in texts.
const WITHOUT_A_NAME: [&str; 8] = [
    "compression_options_max_dict_buffer_bytes",
    "compression_options_parallel_threads",
    "compression_options_use_zstd_dict_trainer",
    "compression_options_zstd_max_train_bytes",
    "min_level_to_compress",
    "partition_pinning_tier",
    "top_level_index_pinning_tier",
    "unpartitioned_pinning_tier",
];

/// Returns the text for a database and its families. A family whose name has a quote or ends a line
/// is left out: no title can hold it.
pub(crate) fn text_of(
    database: &rocksdb_options_t,
    families: &[(&str, &rocksdb_options_t)],
) -> String {
    let mut text = format!("{MARK}\n\n[Version]\n");
    text += "  rocksdb_version=10.4.2\n  options_file_version=1.1\n\n[DBOptions]\n";
    let values = plain(database.values.texts());
    values.iter().filter(|(name, _)| !is_of_family(name)).for_each(|own| add(&mut text, own));
    for (name, own) in families {
        if name.contains(['"', '\n', '\r']) {
            continue;
        }
        let title = escaped(name);
        text += &format!("\n[CFOptions \"{title}\"]\n");
        of_family(own).iter().for_each(|own| add(&mut text, own));
        text += &format!("\n[TableOptions/BlockBasedTable \"{title}\"]\n");
        of_tables(own).iter().for_each(|own| add(&mut text, own));
    }
    text
}

/// Returns the lines about the options that the file of events begins with.
pub(crate) fn info_log_text(options: &rocksdb_options_t) -> String {
    // The library takes its memory from the system's allocator.
    let mut text = String::from("Jemalloc supported: 0\n");
    for (name, value) in options.values.texts() {
        text += &format!("Options.{}: {}\n", names::in_texts(name), as_number(&value));
    }
    for (name, value) in options.table.values.texts() {
        text += &format!("  {}: {}\n", names::in_texts(name), as_number(&value));
    }
    text
}

/// Returns a value as RocksDB writes it among events: a flag is 0 or 1, a fraction has six digits.
fn as_number(value: &str) -> String {
    match (value, value.parse::<f64>()) {
        ("true", _) => "1".to_owned(),
        ("false", _) => "0".to_owned(),
        (_, Ok(number)) if value.contains('.') => format!("{number:.6}"),
        _ => value.to_owned(),
    }
}

/// An option: its name, and the text of its value.
type Pair = (&'static str, String);

fn add(text: &mut String, (name, value): &Pair) {
    *text += &format!("  {name}={}\n", escaped(value));
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('#', "\\#")
}

fn is_of_family(name: &str) -> bool {
    CHANGEABLE.contains(&name) || FIXED.contains(&name)
}

/// Returns the plain values with the names that texts have for options and values.
fn plain(values: Vec<Pair>) -> Vec<Pair> {
    let named = values.into_iter().filter(|(name, _)| !WITHOUT_A_NAME.contains(name));
    named
        .filter_map(|(name, value)| Some((names::in_texts(name), named_value(name, value)?)))
        .collect()
}

/// Returns the name of a value, if its option names values. `None` for a number without a name.
fn named_value(name: &str, value: String) -> Option<String> {
    if names::has_codecs(name) {
        return names::codec_name(value.parse().ok()?).map(str::to_owned);
    }
    match names::named_values(name) {
        None => Some(value),
        Some(values) => values.get(value.parse::<usize>().ok()?).map(|&name| name.to_owned()),
    }
}

fn of_family(own: &rocksdb_options_t) -> Vec<Pair> {
    let mut all = plain(own.values.texts());
    all.retain(|(name, _)| is_of_family(name));
    all.push(("compression_opts", codec_parts(&own.compression)));
    all.push(("bottommost_compression_opts", codec_parts(&own.bottommost)));
    let levels: Option<Vec<&str>> =
        own.compression_per_level.iter().map(|&codec| names::codec_name(codec)).collect();
    all.push(("compression_per_level", levels.unwrap_or_default().join(":")));
    all.push(("compaction_options_universal", braced(&plain(own.universal.texts()))));
    all.push(("compaction_options_fifo", braced(&plain(own.fifo.texts()))));
    let order = own.comparator.as_ref().map_or(BYTEWISE, |order| order.name());
    all.push(("comparator", order.to_owned()));
    let operator = own.merge_operator.as_ref();
    all.extend(
        match operator.map(operator_text) {
            None => Some("nullptr".to_owned()),
            Some(text) => text,
        }
        .map(|text| ("merge_operator", text)),
    );
    all.push(("prefix_extractor", prefix_text(own.prefix_extractor.as_deref())));
    all.push(("table_factory", "BlockBasedTable".to_owned()));
    all.retain(|(_, value)| !value.contains(['\n', '\r']));
    all
}

fn of_tables(own: &rocksdb_options_t) -> Vec<Pair> {
    let mut all = plain(own.table.values.texts());
    let filter = own.table.filter_bits.map(|bits| format!("bloomfilter:{bits}:false"));
    all.push(("filter_policy", filter.unwrap_or_else(|| "nullptr".to_owned())));
    all
}

/// Returns how an extractor is named. One of the program is set anew after a load.
fn prefix_text(own: Option<&SliceTransform>) -> String {
    match own {
        Some(SliceTransform::Fixed(len)) => format!("rocksdb.FixedPrefix.{len}"),
        Some(SliceTransform::Noop) => "rocksdb.Noop".to_owned(),
        Some(SliceTransform::Foreign { .. }) | None => "nullptr".to_owned(),
    }
}

fn codec_parts(own: &CompressionChoice) -> String {
    braced(&[
        ("window_bits", own.window_bits.to_string()),
        ("level", own.level.to_string()),
        ("strategy", own.strategy.to_string()),
        ("max_dict_bytes", own.max_dict_bytes.to_string()),
        ("zstd_max_train_bytes", own.zstd_max_train_bytes.to_string()),
        ("use_zstd_dict_trainer", (own.use_zstd_dict_trainer != 0).to_string()),
        ("max_dict_buffer_bytes", own.max_dict_buffer_bytes.to_string()),
        ("enabled", (own.enabled != 0).to_string()),
    ])
}

fn braced(parts: &[Pair]) -> String {
    let parts: String = parts.iter().map(|(name, value)| format!("{name}={value};")).collect();
    format!("{{{parts}}}")
}
