//! Typed merges: blind writes that change a value, over the engine's operators.

mod bags;
#[cfg(feature = "json")]
mod json;
mod numbers;
mod summaries;
mod table;

use foldb::Result;

pub use bags::{LastN, Set, SetChange, Sketch};
#[cfg(feature = "json")]
pub use json::Json;
pub use numbers::{Counter, Max, Min, Sum};
pub use summaries::{Histogram, Quantiles, Stats, TopK};
pub use table::{MergeTable, MergedEntries};

/// How the values of a [`MergeTable`] change: an operator of the engine, with typed operands and
/// values.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::{Merged, MergeTable, Result};
///
/// /// Texts that grow, one line after the other.
/// enum Lines {}
///
/// impl Merged for Lines {
///     type Value = String;
///     type Operand = str;
///
///     fn operator() -> String {
///         "stringappend:\n".to_owned()
///     }
///
///     fn schema() -> String {
///         "acme.lines".to_owned()
///     }
///
///     fn encode(line: &str) -> Result<Vec<u8>> {
///         Ok(line.as_bytes().to_vec())
///     }
///
///     fn decode(value: &[u8]) -> Result<String> {
///         Ok(String::from_utf8_lossy(value).into_owned())
///     }
/// }
///
/// let logs = MergeTable::<u32, Lines>::open(&db, "logs")?;
/// logs.merge(7, "begin")?;
/// logs.merge(7, "end")?;
/// assert_eq!(logs.get(7)?.as_deref(), Some("begin\nend"));
/// # Ok::<(), foldb_typed::Error>(())
/// ```
pub trait Merged {
    /// What a read returns.
    type Value;
    /// What a merge takes.
    type Operand: ?Sized;

    /// Returns the operator, as `NAME` or `NAME:PARAM`. The table's keyspace has it.
    fn operator() -> String;

    /// Returns the name of the format, without spaces. It is stored with the table.
    fn schema() -> String;

    /// Returns the bytes of an operand.
    ///
    /// # Errors
    /// `InvalidArgument` for an operand that cannot be written.
    fn encode(operand: &Self::Operand) -> Result<Vec<u8>>;

    /// Reads a value.
    ///
    /// # Errors
    /// `Corruption` if the bytes are no such value.
    fn decode(value: &[u8]) -> Result<Self::Value>;
}
