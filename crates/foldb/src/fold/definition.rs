//! An operator's identity as files store it: in the manifest, in the log, in tables.
//!
//! ```text
//! +--------+---------+----------+------+----------------+------------+
//! | id     | version | name len | name | parameters len | parameters |
//! | varint | varint  | varint   |      | varint         |            |
//! +--------+---------+----------+------+----------------+------------+
//! ```
//!
//! Files store the parameters, not a hash of them. So a tool that has only the file can fold its
//! operands (H27).

use crate::encoding::{ByteReader, put_length_delimited, put_varint};
use crate::error::{Error, Result};
use crate::fold::operator::MergeOperator;
use crate::key::OperatorId;

/// The operator that an id stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The id in merge records.
    pub id: OperatorId,
    /// Its name.
    pub name: String,
    /// Version of its operand format.
    pub version: u32,
    /// Its exact parameter bytes.
    pub parameters: Vec<u8>,
}

impl Definition {
    /// Makes the definition of an operator under an id.
    pub(crate) fn of(id: OperatorId, operator: &dyn MergeOperator) -> Definition {
        Definition {
            id,
            name: operator.name().to_owned(),
            version: operator.version(),
            parameters: operator.parameters().to_vec(),
        }
    }

    /// Returns whether this is the definition of `operator`.
    pub(crate) fn describes(&self, operator: &dyn MergeOperator) -> bool {
        self.name == operator.name()
            && self.version == operator.version()
            && self.parameters == operator.parameters()
    }

    /// Appends the form drawn above.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.id));
        put_varint(out, u64::from(self.version));
        put_length_delimited(out, self.name.as_bytes());
        put_length_delimited(out, &self.parameters);
    }

    /// Reads a definition.
    ///
    /// # Errors
    /// `Corruption` if a field is malformed. The message names the field.
    pub(crate) fn decode(bytes: &mut ByteReader<'_>) -> Result<Definition> {
        let id = bytes.varint32("operator id")?;
        let version = bytes.varint32("operator version")?;
        let name = bytes.length_delimited("operator name")?;
        let name = String::from_utf8(name.to_vec())
            .map_err(|_| Error::corruption(format!("the name of operator {id} is not UTF-8")))?;
        let parameters = bytes.length_delimited("operator parameters")?.to_vec();
        Ok(Definition { id, name, version, parameters })
    }
}
