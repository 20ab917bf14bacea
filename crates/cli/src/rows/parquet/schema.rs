//! Which Parquet columns an import reads, and which it refuses by name.

use parquet::basic::{
    Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical,
};
use parquet::schema::types::{ColumnPath, Type};

/// Most digits of a decimal that fit into 128 bits.
const MAX_DIGITS: i32 = 38;

/// Checks that JSON holds every column.
///
/// # Errors
/// A message that names the column and its type.
pub(super) fn check(root: &Type) -> Result<(), String> {
    if root.get_fields().is_empty() {
        return Err("the file has no columns".to_owned());
    }
    root.get_fields().iter().try_for_each(|field| check_below(field, field.name()))
}

fn check_below(field: &Type, path: &str) -> Result<(), String> {
    let refused = |what: &str| Err(format!("the column '{path}' has {what}"));
    if let Some(LogicalType::Variant(_)) = field.get_basic_info().logical_type_ref() {
        return refused("the type VARIANT, which foldb does not read");
    }
    if field.is_primitive() {
        return match refusal(field) {
            Some(what) => refused(what),
            None => Ok(()),
        };
    }
    let fields = field.get_fields();
    let is_well_formed = match field.get_basic_info().converted_type() {
        ConvertedType::LIST => fields.len() == 1 && is_repeated(&fields[0]),
        ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => {
            fields.len() == 1
                && is_repeated(&fields[0])
                && fields[0].is_group()
                && matches!(fields[0].get_fields().len(), 1 | 2)
        }
        _ => !fields.is_empty(),
    };
    if !is_well_formed {
        return refused("a nested type that is not well-formed");
    }
    fields.iter().try_for_each(|child| check_below(child, &format!("{path}.{}", child.name())))
}

fn is_repeated(field: &Type) -> bool {
    let info = field.get_basic_info();
    info.has_repetition() && info.repetition() == Repetition::REPEATED
}

/// Returns why a column of values is refused.
fn refusal(field: &Type) -> Option<&'static str> {
    let Type::PrimitiveType { physical_type, precision, .. } = field else { return None };
    match (physical_type, field.get_basic_info().converted_type()) {
        (Physical::INT96, _) => Some(
            "timestamps of the outdated type INT96: write the file with timestamps in \
             microseconds (Spark: spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS)",
        ),
        (_, ConvertedType::INTERVAL) => Some("the type INTERVAL, which foldb does not read"),
        (_, ConvertedType::DECIMAL) if *precision > MAX_DIGITS => {
            Some("decimals of more than 38 digits, which foldb does not read")
        }
        _ => None,
    }
}

/// Checks that this build has the codec of a column.
///
/// # Errors
/// A message that names the column and the codec.
pub(super) fn check_codec(codec: Compression, path: &ColumnPath) -> Result<(), String> {
    let name = match codec {
        Compression::UNCOMPRESSED | Compression::SNAPPY => return Ok(()),
        Compression::ZSTD(_) if cfg!(feature = "zstd") => return Ok(()),
        Compression::ZSTD(_) => {
            return Err(format!(
                "the column '{}' is compressed with zstd, the cargo feature `zstd` of foldb-cli, \
                 which this foldb lacks: write the file with snappy",
                path.string()
            ));
        }
        Compression::GZIP(_) => "gzip",
        Compression::LZO => "LZO",
        Compression::BROTLI(_) => "brotli",
        Compression::LZ4 | Compression::LZ4_RAW => "LZ4",
    };
    Err(format!(
        "the column '{}' is compressed with {name}, which foldb does not read: write the file with \
         snappy",
        path.string()
    ))
}

/// Returns the type of the elements of a list.
pub(super) fn element(list: &Type) -> &Type {
    let is_annotated = list.get_basic_info().converted_type() != ConvertedType::NONE;
    match list.get_fields_if_group().and_then(<[_]>::first) {
        Some(repeated) if is_annotated => match is_wrapper(list, repeated) {
            true => &repeated.get_fields()[0],
            false => repeated,
        },
        _ => list,
    }
}

/// Whether a repeated group stands only around one element, as in lists of three levels.
fn is_wrapper(list: &Type, repeated: &Type) -> bool {
    let is_legacy =
        repeated.name() == "array" || repeated.name() == format!("{}_tuple", list.name());
    let has_one = repeated.is_group() && repeated.get_fields().len() == 1;
    has_one && (!is_legacy || is_repeated(&repeated.get_fields()[0]))
}

/// Returns the types of the keys and values of a map.
pub(super) fn key_value(map: &Type) -> Option<(&Type, &Type)> {
    match map.get_fields_if_group()?.first()?.get_fields_if_group()? {
        [key, value] => Some((key, value)),
        _ => None,
    }
}

/// What a whole number of a column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// Nanoseconds since midnight.
    Time,
    /// Nanoseconds since 1970, and whether they are in UTC.
    Timestamp { is_utc: bool },
}

/// Returns what the nanoseconds of a column are; `None` if it has other numbers.
pub(super) fn nanoseconds(field: &Type) -> Option<Clock> {
    match field.get_basic_info().logical_type_ref()? {
        LogicalType::Time(time) if time.unit == TimeUnit::NANOS => Some(Clock::Time),
        LogicalType::Timestamp(stamp) if stamp.unit == TimeUnit::NANOS => {
            Some(Clock::Timestamp { is_utc: stamp.is_adjusted_to_u_t_c })
        }
        _ => None,
    }
}

/// Whether timestamps are in UTC. Those without a logical type are.
pub(super) fn is_utc(field: &Type) -> bool {
    match field.get_basic_info().logical_type_ref() {
        Some(LogicalType::Timestamp(stamp)) => stamp.is_adjusted_to_u_t_c,
        _ => true,
    }
}

trait Fields {
    fn get_fields_if_group(&self) -> Option<&[std::sync::Arc<Type>]>;
}

impl Fields for Type {
    fn get_fields_if_group(&self) -> Option<&[std::sync::Arc<Type>]> {
        self.is_group().then(|| self.get_fields())
    }
}
