//! Reading the chain of a key unfolded.

use std::sync::Arc;

use crate::db::core::Core;
use crate::db::read::key_walk::Sought;
use crate::db::read::operands::{Base, Operand, Operands};
use crate::db::read::settings::ReadSettings;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::Result;
use crate::fold::{Chain, ReadTime, Record, without_stamps};
use crate::key::{Kind, OperatorId};

impl Core {
    /// Returns the records of a key, not folded, and the moment of the read if the keyspace has an
    /// expiry.
    pub(crate) fn chain_of(
        &self,
        keyspace: &KeyspaceState,
        key: &[u8],
        options: ReadSettings<'_>,
    ) -> Result<(Chain, Option<ReadTime>)> {
        self.check_open()?;
        keyspace.check_key(key)?;
        let (view, time, seqno) = self.begin_read(keyspace, options, Core::pin)?;
        let mut chain = Chain::default();
        self.collect(keyspace, &view, &Sought::new(key, seqno), options, &mut chain)?;
        keyspace.resolve(&view.version, key, &mut chain)?;
        Ok((chain, time))
    }

    /// Returns the parts of a chain that was collected newest first.
    pub(crate) fn operands_of(&self, mut chain: Chain, time: Option<ReadTime>) -> Result<Operands> {
        let time = time.filter(|time| !time.as_stored);
        if let Some(time) = &time {
            time.keep_living(&mut chain)?;
        }
        let (mut operands, mut base) = chain.into_records();
        if time.is_some() {
            without_stamps(&mut operands, &mut base);
        }
        Ok(Operands { newest_first: self.named(operands), base: base_of(base) })
    }

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
