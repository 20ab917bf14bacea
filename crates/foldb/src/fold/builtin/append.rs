//! `append` and `stringappend:SEP`: values that grow at their end. A put of one element gives the
//! same bytes as a merge of it onto nothing.
//!
//! ```text
//! operand:                  bytes
//! partial result = value:   | operand | separator | operand | separator | … | operand |
//! ```

use std::sync::Arc;

use crate::fold::operator::{Full, MergeOperator, Partial};
use crate::limits::is_too_long;

#[derive(Debug)]
struct Append {
    name: &'static str,
    separator: Box<[u8]>,
}

pub(super) fn make_append(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    let operator = Append { name: "append", separator: Box::default() };
    parameter.is_none().then(|| Arc::new(operator) as Arc<dyn MergeOperator>)
}

pub(super) fn make_stringappend(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    let separator = parameter.unwrap_or(b",").into();
    Some(Arc::new(Append { name: "stringappend", separator }))
}

impl Append {
    fn join(&self, base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) {
        let pieces = base.iter().chain(operands);
        out.reserve(pieces.clone().map(|piece| piece.len() + self.separator.len()).sum());
        for (index, piece) in pieces.enumerate() {
            if index > 0 {
                out.extend_from_slice(&self.separator);
            }
            out.extend_from_slice(piece);
        }
    }
}

impl MergeOperator for Append {
    fn name(&self) -> &str {
        self.name
    }

    fn parameters(&self) -> &[u8] {
        &self.separator
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        if base.is_none() && operands.len() == 1 {
            return Full::Operand(0);
        }
        if is_too_long(base, operands) {
            return Full::Fail;
        }
        self.join(base, operands, out);
        Full::Value
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if is_too_long(None, operands) {
            return Partial::Keep;
        }
        self.join(None, operands, out);
        Partial::Operand
    }
}
