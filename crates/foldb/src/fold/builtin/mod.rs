//! The built-in operators. An operator that RocksDB has too bears RocksDB's name.
//!
//! Operators without parameters have ids that never change. The others get an id from the database
//! at their first use.

mod append;
mod bits;
mod counter;
mod extremum;
pub mod histogram;
pub mod hyperloglog;
#[cfg_attr(not(feature = "json"), path = "json_absent.rs")]
mod json;
pub mod list;
mod number;
mod put;
mod putifabsent;
pub mod set;
mod sortlist;
pub mod stats;
pub mod top;

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::fold::operator::{MergeOperator, TextForm};
use crate::key::OperatorId;

/// A built-in operator as `foldb operators` lists it.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinInfo {
    /// Its name.
    pub name: &'static str,
    /// The parameter after the colon, if it takes one.
    pub parameter: Option<&'static str>,
    /// How operands and values are written as text.
    pub text: TextForm,
    /// What it does, in one line.
    pub summary: &'static str,
    /// An operand as text.
    pub example: &'static str,
    /// The permanent id of the operator without a parameter.
    pub(crate) id: Option<OperatorId>,
    /// The cargo feature that the operator needs, if this build lacks it.
    missing_feature: Option<&'static str>,
    make: Make,
}

/// Makes the operator with these parameter bytes; `None` if it takes no such parameter.
type Make = fn(Option<&[u8]>) -> Option<Arc<dyn MergeOperator>>;

/// Ids are on disk: never renumber.
const BUILTINS: &[BuiltinInfo] = &[
    BuiltinInfo {
        name: "uint64add",
        parameter: Some("rocksdb_lenient (another width counts as 0)"),
        text: TextForm::U64,
        summary: "adds, wrapping at 2^64",
        example: "1",
        id: Some(1),
        missing_feature: None,
        make: counter::make_uint64add,
    },
    BuiltinInfo {
        name: "int64add",
        parameter: None,
        text: TextForm::I64,
        summary: "adds, with negative operands, wrapping at 2^63",
        example: "-1",
        id: Some(2),
        missing_feature: None,
        make: counter::make_int64add,
    },
    BuiltinInfo {
        name: "max",
        parameter: None,
        text: TextForm::Bytes,
        summary: "keeps the largest operand in the order of the bytes",
        example: "2026-01-31",
        id: Some(3),
        missing_feature: None,
        make: extremum::make_max,
    },
    BuiltinInfo {
        name: "min",
        parameter: None,
        text: TextForm::Bytes,
        summary: "keeps the smallest operand in the order of the bytes",
        example: "2026-01-31",
        id: Some(4),
        missing_feature: None,
        make: extremum::make_min,
    },
    BuiltinInfo {
        name: "append",
        parameter: None,
        text: TextForm::Bytes,
        summary: "appends the bytes",
        example: "abc",
        id: Some(5),
        missing_feature: None,
        make: append::make_append,
    },
    BuiltinInfo {
        name: "stringappend",
        parameter: Some("SEP (without it a comma)"),
        text: TextForm::Bytes,
        summary: "appends with a separator between",
        example: "abc",
        id: None,
        missing_feature: None,
        make: append::make_stringappend,
    },
    BuiltinInfo {
        name: "put",
        parameter: None,
        text: TextForm::Bytes,
        summary: "keeps the last operand",
        example: "abc",
        id: Some(6),
        missing_feature: None,
        make: put::make_put,
    },
    BuiltinInfo {
        name: "float64add",
        parameter: None,
        text: TextForm::F64,
        summary: "adds fractions, from the oldest to the newest",
        example: "0.5",
        id: Some(7),
        missing_feature: None,
        make: number::make_float64add,
    },
    BuiltinInfo {
        name: "uint64max",
        parameter: None,
        text: TextForm::U64,
        summary: "keeps the largest number",
        example: "7",
        id: Some(8),
        missing_feature: None,
        make: number::make_uint64max,
    },
    BuiltinInfo {
        name: "uint64min",
        parameter: None,
        text: TextForm::U64,
        summary: "keeps the smallest number",
        example: "7",
        id: Some(9),
        missing_feature: None,
        make: number::make_uint64min,
    },
    BuiltinInfo {
        name: "bytesxor",
        parameter: None,
        text: TextForm::Bytes,
        summary: "combines bytes with exclusive or; a missing byte is 00",
        example: "abc",
        id: Some(10),
        missing_feature: None,
        make: bits::make_bytesxor,
    },
    BuiltinInfo {
        name: "bitor",
        parameter: None,
        text: TextForm::Bytes,
        summary: "combines bytes with or; a missing byte is 00",
        example: "abc",
        id: Some(11),
        missing_feature: None,
        make: bits::make_bitor,
    },
    BuiltinInfo {
        name: "bitand",
        parameter: None,
        text: TextForm::Bytes,
        summary: "combines bytes with and; a missing byte is ff",
        example: "abc",
        id: Some(12),
        missing_feature: None,
        make: bits::make_bitand,
    },
    BuiltinInfo {
        name: "list",
        parameter: None,
        text: TextForm::List,
        summary: "appends elements, each kept apart",
        example: "abc",
        id: Some(13),
        missing_feature: None,
        make: list::make_list,
    },
    BuiltinInfo {
        name: "listlast",
        parameter: Some("N (without it 100)"),
        text: TextForm::List,
        summary: "appends elements and keeps the last N",
        example: "abc",
        id: None,
        missing_feature: None,
        make: list::make_listlast,
    },
    BuiltinInfo {
        name: "set",
        parameter: None,
        text: TextForm::Set,
        summary: "adds and removes members; an empty set deletes the key",
        example: "+red",
        id: Some(14),
        missing_feature: None,
        make: set::make_set,
    },
    BuiltinInfo {
        name: "putifabsent",
        parameter: None,
        text: TextForm::Bytes,
        summary: "keeps what is there, or else the first operand",
        example: "abc",
        id: Some(15),
        missing_feature: None,
        make: putifabsent::make_putifabsent,
    },
    BuiltinInfo {
        name: "json_merge_patch",
        parameter: None,
        text: TextForm::Bytes,
        summary: "patches a JSON document (RFC 7396)",
        example: "{\"a\":null}",
        id: Some(16),
        missing_feature: json::MISSING_FEATURE,
        make: json::make_json_merge_patch,
    },
    BuiltinInfo {
        name: "hyperloglog",
        parameter: None,
        text: TextForm::Sketch,
        summary: "estimates how many different elements, within about 1 %",
        example: "ann",
        id: Some(17),
        missing_feature: None,
        make: hyperloglog::make_hyperloglog,
    },
    BuiltinInfo {
        name: "stats",
        parameter: None,
        text: TextForm::Stats,
        summary: "count, sum, least and greatest of whole numbers",
        example: "12",
        id: Some(18),
        missing_feature: None,
        make: stats::make_stats,
    },
    BuiltinInfo {
        name: "top",
        parameter: Some("K, 1 to 4096 (without it 10)"),
        text: TextForm::Top,
        summary: "keeps the K items with the highest scores",
        example: "7 ada",
        id: None,
        missing_feature: None,
        make: top::make_top,
    },
    BuiltinInfo {
        name: "histogram",
        parameter: Some("PERCENT: 10, 5, 2, 1, 0.5, 0.2 or 0.1 (without it 1)"),
        text: TextForm::Histogram,
        summary: "quantiles of fractions, within PERCENT of a sample",
        example: "0.25",
        id: None,
        missing_feature: None,
        make: histogram::make_histogram,
    },
    BuiltinInfo {
        name: "sortlist",
        parameter: None,
        text: TextForm::Bytes,
        summary: "merges sorted lists of whole numbers with commas between",
        example: "3,12",
        id: Some(19),
        missing_feature: None,
        make: sortlist::make_sortlist,
    },
];

/// Returns all built-in operators.
///
/// # Example
/// ```
/// assert!(foldb::operators::builtins().iter().any(|operator| operator.name == "uint64add"));
/// ```
pub fn builtins() -> &'static [BuiltinInfo] {
    BUILTINS
}

/// Returns the built-in of this name.
pub(crate) fn builtin(name: &str) -> Option<&'static BuiltinInfo> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

impl BuiltinInfo {
    /// Makes the operator with these parameter bytes.
    ///
    /// # Errors
    /// `InvalidArgument` if it takes no such parameter; `Unsupported` if this build has no such
    /// operator.
    pub fn instantiate(&self, parameter: Option<&[u8]>) -> Result<Arc<dyn MergeOperator>> {
        if let Some(feature) = self.missing_feature {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "operator '{}' is not in this build: build foldb with its cargo feature \
                     `{feature}` (--features {feature})",
                    self.name
                ),
            ));
        }
        self.make(parameter)
    }

    /// Makes the operator. If this build lacks its cargo feature, makes one that folds nothing.
    ///
    /// # Errors
    /// `InvalidArgument` if it takes no such parameter.
    pub(crate) fn make(&self, parameter: Option<&[u8]>) -> Result<Arc<dyn MergeOperator>> {
        (self.make)(parameter).ok_or_else(|| {
            let wanted = self.parameter.unwrap_or("none");
            let given = parameter.unwrap_or_default().escape_ascii();
            Error::invalid_argument(format!(
                "operator '{}' does not take the parameter '{given}'; it takes: {wanted}",
                self.name
            ))
        })
    }
}
