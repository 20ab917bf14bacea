//! Operators of an open database: how they are registered, and on which keys they fail.

use std::sync::Arc;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::writer::WriterState;
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::fold::expiring::Expiring;
use crate::fold::{Definition, MergeOperator, Operator};
use crate::key::OperatorId;
use crate::options::check_operator;
use crate::version::Edit;
use crate::wal::{LogWriter, encode_definition};

impl Core {
    /// Removes a keyspace's default operator: writes a new manifest without it.
    pub(crate) fn unset_default_operator(&self, keyspace: &KeyspaceState) -> Result<()> {
        self.check_writable()?;
        self.check_not_inside()?;
        let mut tree = self.lock_tree();
        keyspace.check_exists()?;
        if keyspace.unset_operator(true) {
            return Ok(());
        }
        self.begin_manifest(&mut tree).inspect_err(|_| {
            keyspace.unset_operator(false);
        })
    }

    /// Returns the operator of a spec, and registers it durably if it is new to the database.
    pub(crate) fn operator(self: &Arc<Core>, spec: &str) -> Result<Operator> {
        self.check_open()?;
        let implementation = self.registry.parse(spec)?;
        let id = self.register(&*implementation)?;
        let operator = Operator { id, registry: Arc::clone(&self.registry), implementation };
        if self.time.is_used() && !self.standing.is_read_only() {
            self.wrapping_operator(&operator)?;
        }
        Ok(operator)
    }

    /// Registers an operator of the program, for this open.
    pub(crate) fn add_operator(&self, operator: Arc<dyn MergeOperator>) -> Result<()> {
        check_operator(&*operator)?;
        self.standing.check_process()?;
        self.check_not_inside()?;
        // Definitions are adopted under the same lock.
        let _writer = self.lock_writer()?;
        self.check_open()?;
        self.registry.add(operator)
    }

    /// Returns the operator of a definition that another database may have stored. Parameters are
    /// compared as bytes: not all of them are text, and two operators may share a name.
    ///
    /// # Errors
    /// `UnknownOperator` if this program has no operator that reads its operands.
    pub(crate) fn operator_of(self: &Arc<Core>, definition: &Definition) -> Result<Operator> {
        self.check_open()?;
        let implementation = self.registry.implementation_of(definition)?;
        let id = self.register(&*implementation)?;
        Ok(Operator { id, registry: Arc::clone(&self.registry), implementation })
    }

    /// Returns the id under which a keyspace stores operands of an operator. In a keyspace with
    /// expiry the operands have stamps, so another operator wraps this one.
    #[inline]
    pub(crate) fn stored_operator(
        &self,
        keyspace: &KeyspaceState,
        operator: &Operator,
    ) -> Result<OperatorId> {
        if !keyspace.stamps || !operator.belongs_to(&self.registry) {
            return Ok(operator.id);
        }
        self.wrapping_operator(operator)
    }

    /// Returns the id of the operator that wraps one. The first call for an operator waits for a
    /// synced edit of the manifest, so calls without a deadline make it.
    #[cold]
    pub(crate) fn wrapping_operator(&self, operator: &Operator) -> Result<OperatorId> {
        match self.registry.resolver().expiring_id(operator.id) {
            Some(id) => Ok(id),
            None => self.register(&Expiring::new(Arc::clone(&operator.implementation))),
        }
    }

    /// Returns the id of an operator, and registers the operator durably if it is new to the
    /// database.
    fn register(&self, operator: &dyn MergeOperator) -> Result<OperatorId> {
        self.standing.check_process()?;
        self.check_not_inside()?;
        // While this thread holds the writer lock, no log without the definition begins.
        let mut writer = self.lock_writer()?;
        self.check_open()?;
        let id = match self.registry.id_of(operator) {
            Some(id) => id,
            None => {
                self.check_writable()?;
                let definition = self.registry.next_definition(operator);
                let edit = Edit { operators: vec![definition.clone()], ..Edit::default() };
                // The next full description of the tree, in a manifest or a checkpoint, includes
                // the operator.
                let mut tree = self.lock_tree();
                self.append_edit(&mut tree, &edit)?;
                self.registry.adopt(&definition)?;
                debug_assert_eq!(
                    self.registry.id_of(operator),
                    Some(definition.id),
                    "an operator keeps the id under which files name it"
                );
                definition.id
            }
        };
        // The next log defines all operators.
        if !self.standing.is_read_only() && writer.log.takes_records() {
            // An earlier attempt may have registered the operator in the manifest, but not in the
            // log.
            let WriterState { log, defined, .. } = &mut *writer;
            let before = log.len();
            self.define_operators(log, defined)?;
            self.totals.add_exclusive(Total::BytesLog, log.len() - before);
        }
        Ok(id)
    }

    /// Writes the operator definitions that the log lacks. Built-in ids are the same in every
    /// database and need no definition.
    pub(crate) fn define_operators(&self, log: &mut LogWriter, defined: &mut usize) -> Result<()> {
        let resolver = self.registry.resolver();
        for definition in resolver.dynamic_definitions().skip(*defined) {
            encode_definition(definition, log.begin());
            let appended = log.append();
            if appended.is_ok() || planted(Fault::ForgetDefinition) {
                *defined += 1;
            }
            appended?;
        }
        Ok(())
    }
}
