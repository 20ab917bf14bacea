//! Values of an options text that are objects: operators, orders of keys, prefixes, codecs.
//!
//! RocksDB finds them by their names among those that it has. An object of the program has no name
//! there, so it is set with its own function.

use std::ffi::c_int;
use std::sync::Arc;

use crate::objects::comparator::ForeignComparator;
use crate::objects::merge_operator::FamilyOperator;
use crate::objects::slice_transform::SliceTransform;
use crate::options::text::{no_value, pairs, unbraced, unknown};
use crate::options::values::Number as _;
use crate::options::{CompressionChoice, names, rocksdb_options_t};
use crate::status::{Outcome, Status};

/// Sets an option whose value is an object. Returns false for an option of another kind.
///
/// # Errors
/// `Not implemented` for an object that this library lacks.
pub(crate) fn set_object(
    options: &mut rocksdb_options_t,
    name: &str,
    value: &str,
) -> Outcome<bool> {
    match name {
        "merge_operator" => options.merge_operator = operator(value)?,
        "comparator" => options.comparator = comparator(value)?,
        "prefix_extractor" => options.prefix_extractor = prefixes(value)?,
        "compression_per_level" => options.compression_per_level = codecs(value)?,
        "compaction_filter" | "compaction_filter_factory" if !is_none(value) => {
            return Err(Status::unsupported(format!("the {name} {value} from a text")));
        }
        "disallow_memtable_writes" if value != "false" && value != "0" => {
            return Err(Status::unsupported(name));
        }
        "compaction_filter" | "compaction_filter_factory" | "disallow_memtable_writes" => {}
        _ => return Ok(false),
    }
    Ok(true)
}

fn is_none(value: &str) -> bool {
    value.is_empty() || value == "nullptr"
}

/// Splits an object, `NAME` or `{id=NAME;PART=VALUE}`, into its name and its parts.
fn object(value: &str) -> Outcome<(&str, Vec<(&str, &str)>)> {
    let inner = unbraced(value);
    if !inner.contains('=') {
        return Ok((inner, Vec::new()));
    }
    let parts = pairs(inner)?;
    let name = parts.iter().find(|(part, _)| *part == "id").map_or("", |(_, name)| name);
    Ok((name, parts))
}

/// RocksDB's operators, and which of the engine's gives the same answers.
const OPERATORS: [(&[&str], &str); 5] = [
    // RocksDB counts an operand of another width as 0.
    (&["UInt64AddOperator", "uint64add"], FamilyOperator::UINT64_ADD),
    (&["PutOperator", "put", "put_v1"], "put"),
    (&["MaxOperator", "max"], "max"),
    (&["BytesXOR", "bytesxor"], "bytesxor"),
    (&["StringAppendOperator", "stringappend"], STRING_APPEND),
];

const STRING_APPEND: &str = "stringappend";

fn operator(value: &str) -> Outcome<Option<FamilyOperator>> {
    if is_none(value) {
        return Ok(None);
    }
    let (name, parts) = object(value)?;
    let known = OPERATORS.iter().find(|(names, _)| names.contains(&name));
    let Some(&(_, spec)) = known else {
        return Err(Status::unsupported(format!("the merge operator {name}")));
    };
    let spec = match spec {
        STRING_APPEND => {
            let delimiter = parts.iter().find(|(part, _)| matches!(*part, "delimiter" | "delim"));
            format!("{spec}:{}", delimiter.map_or(",", |(_, delimiter)| delimiter))
        }
        spec => spec.to_owned(),
    };
    Ok(Some(FamilyOperator::Builtin(spec.into())))
}

/// Returns the text of an operator. `None` if a text cannot hold it.
pub(crate) fn operator_text(operator: &FamilyOperator) -> Option<String> {
    let spec = match operator {
        FamilyOperator::Foreign(own) => return Some(own.name.clone()),
        FamilyOperator::Builtin(spec) => &**spec,
    };
    if let Some(delimiter) = spec.strip_prefix(STRING_APPEND) {
        let delimiter = delimiter.strip_prefix(':').unwrap_or(delimiter);
        let is_plain = delimiter.trim() == delimiter && !delimiter.contains([';', '{', '}']);
        return is_plain.then(|| format!("{{id=StringAppendOperator;delimiter={delimiter};}}"));
    }
    let known = OPERATORS.iter().find(|(_, own)| *own == spec);
    known.and_then(|(names, _)| names.first()).map(|&name| name.to_owned())
}

fn comparator(value: &str) -> Outcome<Option<Arc<ForeignComparator>>> {
    match object(value)?.0 {
        "" | "nullptr" | "leveldb.BytewiseComparator" => Ok(None),
        ForeignComparator::REVERSE => Ok(Some(Arc::new(ForeignComparator::reverse()))),
        other => Err(Status::unsupported(format!("the comparator {other}"))),
    }
}

fn prefixes(value: &str) -> Outcome<Option<Arc<SliceTransform>>> {
    let (name, _) = object(value)?;
    let len = |prefix: &str| name.strip_prefix(prefix).and_then(usize::read);
    if let Some(len) = len("fixed:").or_else(|| len("rocksdb.FixedPrefix.")) {
        return Ok(Some(Arc::new(SliceTransform::Fixed(len))));
    }
    match name {
        "" | "nullptr" => Ok(None),
        "rocksdb.Noop" => Ok(Some(Arc::new(SliceTransform::Noop))),
        other => Err(Status::unsupported(format!("the prefix extractor {other}"))),
    }
}

fn codecs(value: &str) -> Outcome<Vec<c_int>> {
    let wrong = || no_value("compression_per_level", value);
    let codecs = value.split(':').filter(|codec| !codec.is_empty());
    codecs.map(|codec| names::codec(codec).map(c_int::from).ok_or_else(wrong)).collect()
}

/// Sets how a codec works, from numbers with colons or from named parts.
pub(crate) fn compression_of(
    own: &mut CompressionChoice,
    value: &str,
    parts: Vec<(&str, &str)>,
) -> Outcome<()> {
    const ORDER: [&str; 10] = [
        "window_bits",
        "level",
        "strategy",
        "max_dict_bytes",
        "zstd_max_train_bytes",
        "parallel_threads",
        "enabled",
        "max_dict_buffer_bytes",
        "use_zstd_dict_trainer",
        "max_compressed_bytes_per_kb",
    ];
    let numbers = ORDER.into_iter().zip(value.split(':'));
    let parts = if parts.is_empty() { numbers.collect() } else { parts };
    parts.into_iter().try_for_each(|(part, value)| compression_part(own, part, value))
}

fn compression_part(own: &mut CompressionChoice, part: &str, value: &str) -> Outcome<()> {
    let wrong = || no_value(part, value);
    let number = || c_int::read(value).ok_or_else(wrong);
    match part {
        "window_bits" => own.window_bits = number()?,
        "level" => own.level = number()?,
        "strategy" => own.strategy = number()?,
        "max_dict_bytes" => own.max_dict_bytes = number()?,
        "zstd_max_train_bytes" => own.zstd_max_train_bytes = number()?,
        "enabled" => own.enabled = u8::read(value).ok_or_else(wrong)?.kept(),
        "max_dict_buffer_bytes" => {
            own.max_dict_buffer_bytes = u64::read(value).ok_or_else(wrong)?;
        }
        "use_zstd_dict_trainer" => {
            own.use_zstd_dict_trainer = u8::read(value).ok_or_else(wrong)?.kept();
        }
        "parallel_threads" | "max_compressed_bytes_per_kb" | "checksum" => drop(number()?),
        _ => return Err(unknown(part)),
    }
    Ok(())
}
