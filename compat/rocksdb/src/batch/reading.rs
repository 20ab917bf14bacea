//! Reads through a batch: its writes over what the database has.

use foldb::Value;
use foldb::operators::{Full, MergeOperator};

use crate::batch::index::OwnState;
use crate::database::Family;
use crate::keyspaces::DEFAULT_FAMILY;
use crate::objects::merge_operator::NamedOperator;
use crate::options::calls::rocksdb_readoptions_t;
use crate::options::rocksdb_options_t;
use crate::status::{Code, Outcome, Status};

impl Family {
    /// Folds operands, oldest first, over a value, as the engine does.
    ///
    /// # Errors
    /// `Invalid argument` without an operator, `Corruption` if the operator fails.
    pub(crate) fn fold(
        &self,
        key: &[u8],
        base: Option<&[u8]>,
        operands: &[Vec<u8>],
    ) -> Outcome<Option<Vec<u8>>> {
        Family::fold_with(&self.options, key, base, operands)
    }

    /// Folds as [`Family::fold`], with the operator of an options object.
    pub(crate) fn fold_with(
        options: &rocksdb_options_t,
        key: &[u8],
        base: Option<&[u8]>,
        operands: &[Vec<u8>],
    ) -> Outcome<Option<Vec<u8>>> {
        if operands.is_empty() {
            return Ok(base.map(<[u8]>::to_vec));
        }
        let operator = options.merge_operator.as_ref();
        let operator = operator
            .ok_or_else(|| Status::invalid("merge_operator is not properly initialized."))?;
        let operator = NamedOperator::of(DEFAULT_FAMILY, operator)?;
        let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
        let mut out = Vec::new();
        match operator.full(key, base, &operands, &mut out) {
            Full::Value => Ok(Some(out)),
            Full::Operand(index) => Ok(operands.get(index).map(|operand| operand.to_vec())),
            Full::Existing => Ok(base.map(<[u8]>::to_vec)),
            Full::Delete => Ok(None),
            Full::Fail => Err(Status::new(Code::Corruption, "Merge operator failed")),
        }
    }

    /// Returns the value of a key that has `state` in a batch.
    ///
    /// # Errors
    /// Those of reads and of [`Family::fold`].
    pub(crate) fn get_over(
        &self,
        options: &rocksdb_readoptions_t,
        key: &[u8],
        state: OwnState,
    ) -> Outcome<Option<Value>> {
        let folded = match state {
            OwnState::Untouched => return self.get(options, key),
            OwnState::Deleted(operands) => self.fold(key, None, &operands)?,
            OwnState::Put(value, operands) => self.fold(key, Some(&value), &operands)?,
            OwnState::Merged(operands) => {
                let base = self.get(options, key)?;
                self.fold(key, base.as_deref(), &operands)?
            }
        };
        Ok(folded.map(|value| Value::from(value.as_slice())))
    }
}
