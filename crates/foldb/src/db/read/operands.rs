//! Reading a chain as it is, unfolded.

use std::sync::Arc;

use foldb_chains::Pins;

use crate::db::core::Core;
use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::read_options::ReadOptions;
use crate::error::Result;
use crate::fold::{Chain, Record};
use crate::key::{Kind, OperatorId};
use crate::value::Value;

/// What a key is made of: a base and the operands merged onto it, as they are stored now. Flushes
/// and compactions fold neighbouring operands, so there may be fewer than were written; applied in
/// order onto the base they always come to what [`Db::get`] answers.
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
    /// The operands, the last one merged first.
    pub fn newest_first(&self) -> impl DoubleEndedIterator<Item = &Operand> + ExactSizeIterator {
        self.newest_first.iter()
    }

    /// The operands in the order in which they apply.
    pub fn oldest_first(&self) -> impl DoubleEndedIterator<Item = &Operand> + ExactSizeIterator {
        self.newest_first.iter().rev()
    }

    /// What the oldest operand applies to.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// How many operands there are.
    pub fn len(&self) -> usize {
        self.newest_first.len()
    }

    /// Whether there are no operands: the key is its base.
    pub fn is_empty(&self) -> bool {
        self.newest_first.is_empty()
    }
}

/// An operand that was merged and is not folded yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    operator: Arc<str>,
    value: Value,
}

impl Operand {
    /// The operator that applies it, as `NAME` or `NAME:PARAM`.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// Its bytes.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// What a chain of operands stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// A value that was put, or to which everything older was folded.
    Put(Value),
    /// The key was deleted.
    Deleted,
    /// The key has no older record.
    Nothing,
}

impl Db {
    /// Reads what a key is made of, without folding it: also where its merge fails.
    ///
    /// # Errors
    /// `Corruption`, `Io`, `Closed`.
    pub fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
        self.get_operands_opt(key, &ReadOptions::default())
    }

    /// [`Db::get_operands`] with options.
    ///
    /// # Errors
    /// As [`Db::get_operands`]; `InvalidArgument` for a snapshot of another database.
    pub fn get_operands_opt(
        &self,
        key: impl AsRef<[u8]>,
        options: &ReadOptions,
    ) -> Result<Operands> {
        self.default_keyspace().get_operands_opt(key, options)
    }
}

impl Keyspace {
    /// As [`Db::get_operands`].
    ///
    /// # Errors
    /// As [`Db::get_operands`]; `KeyspaceDropped`.
    pub fn get_operands(&self, key: impl AsRef<[u8]>) -> Result<Operands> {
        self.get_operands_opt(key, &ReadOptions::default())
    }

    /// [`Keyspace::get_operands`] with options.
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
    /// The operands with their operators' names, of which neighbours mostly share one.
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
