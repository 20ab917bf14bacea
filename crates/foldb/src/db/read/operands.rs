//! Reading the chain of a key unfolded.

use std::sync::Arc;

use foldb_chains::Pins;

use crate::db::core::Core;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::read_options::ReadOptions;
use crate::error::Result;
use crate::fold::{Chain, Record};
use crate::key::{Kind, OperatorId};
use crate::value::Value;

/// The stored parts of a key: a base and the operands merged onto it. Flushes and compactions fold
/// neighbouring operands, so there may be fewer operands than were written. Applied in order to the
/// base, they always give the value that [`Keyspace::get`] returns.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options {
/// #     create_if_missing: true,
/// #     merge_operator: Some("stringappend:,".to_owned()),
/// #     ..Default::default()
/// # };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::Base;
///
/// db.put("colours", "red")?;
/// db.merge("colours", "green")?;
/// db.merge("colours", "blue")?;
///
/// let chain = db.get_operands("colours")?;
/// assert!(matches!(chain.base(), Base::Put(value) if value == b"red"));
/// let values: Vec<_> = chain.oldest_first().map(|operand| operand.value()).collect();
/// assert_eq!(values, [b"green".as_slice(), b"blue"]);
/// let newest = chain.newest_first().next().unwrap();
/// assert_eq!((newest.operator(), &**newest.value()), ("stringappend:,", b"blue".as_slice()));
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operands {
    newest_first: Vec<Operand>,
    base: Base,
}

impl Operands {
    /// Returns the operands, the last one merged first.
    pub fn newest_first(&self) -> impl DoubleEndedIterator<Item = &Operand> + ExactSizeIterator {
        self.newest_first.iter()
    }

    /// Returns the operands in the order in which they apply.
    pub fn oldest_first(&self) -> impl DoubleEndedIterator<Item = &Operand> + ExactSizeIterator {
        self.newest_first.iter().rev()
    }

    /// Returns the base that the oldest operand applies to.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// Returns the number of operands.
    pub fn len(&self) -> usize {
        self.newest_first.len()
    }

    /// Returns whether there are no operands, so that the value is the base.
    pub fn is_empty(&self) -> bool {
        self.newest_first.is_empty()
    }
}

/// A merged operand that is not folded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    operator: Arc<str>,
    value: Value,
}

impl Operand {
    /// Returns the operator that applies the operand, as `NAME` or `NAME:PARAM`.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// Returns the bytes of the operand.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// The base of a chain of operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// A value that was put, or that older records were folded into.
    Put(Value),
    /// The key was deleted.
    Deleted,
    /// The key has no older record.
    Nothing,
}

impl Keyspace {
    /// Reads the base and the operands of a key without folding them. The call works even if the
    /// merge of the key fails.
    ///
    /// # Errors
    /// `Corruption`, `Io`, `Closed`.
    pub fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
        self.get_operands_opt(key, &ReadOptions::default())
    }

    /// Reads base and operands with options; see [`Keyspace::get_operands`].
    ///
    /// # Errors
    /// As [`Keyspace::get_operands`]; `InvalidArgument` for a snapshot of another database.
    pub fn get_operands_opt(
        &self,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Operands> {
        let (core, keyspace) = (self.core(), self.state());
        core.check_open()?;
        keyspace.check_key(key.as_ref())?;
        // The view first, the sequence number second (H3).
        let view = keyspace.view.load_full();
        let seqno = core.read_seqno(keyspace, options, Pins::pin)?;
        let mut chain = Chain::default();
        core.collect(keyspace, &view, key.as_ref(), seqno, options, &mut chain)?;
        keyspace.resolve(&view.version, key.as_ref(), &mut chain)?;
        let (operands, base) = chain.into_records();
        Ok(Operands { newest_first: core.named(operands), base: base_of(base) })
    }
}

impl Core {
    /// Adds the names of the operators. Neighbouring operands mostly share one name.
    fn named(&self, operands: impl IntoIterator<Item = Record>) -> Vec<Operand> {
        let resolver = self.registry.resolver();
        let mut last: Option<(OperatorId, Arc<str>)> = None;
        let operands = operands.into_iter().map(|Record { header, value }| {
            let operator = match &last {
                Some((id, name)) if *id == header.operator => Arc::clone(name),
                _ => resolver.name(header.operator).into(),
            };
            last = Some((header.operator, Arc::clone(&operator)));
            Operand { operator, value }
        });
        operands.collect()
    }
}

fn base_of(base: Option<Record>) -> Base {
    match base {
        None => Base::Nothing,
        Some(base) if base.header.kind == Kind::Put => Base::Put(base.value),
        Some(_) => Base::Deleted,
    }
}
