//! Which operators a database knows, and by which id its records name them.
//!
//! A record names its operator by id (H27). Ids below 128 are built-ins, the same everywhere; every
//! other (name, version, parameters) gets the next id of this database, is written to the manifest
//! before its first record and is never forgotten, so that old operands keep their meaning whatever
//! the default operator is later.
//!
//! An operator may take over the operands of its older versions. Those keep their id on disk until
//! a fold meets them and passes them on as operands of the newer one:
//!
//! ```text
//! 128 acme.list v1, 129 acme.list v2 reads v1
//! a.MERGE.7(129: y) a.MERGE.3(128: x)   ->   a.MERGE.7(129: upgraded x, y)
//! ```

use std::fmt;
use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};

use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::fold::builtin::{builtin, builtins};
use crate::fold::definition::Definition;
use crate::fold::operator::{Growth, MergeOperator, TextForm};
use crate::key::OperatorId;
use crate::limits::MAX_VALUE_BYTES;
use crate::user_code::guarded;

/// First id that is not a built-in's.
pub(crate) const FIRST_DYNAMIC_ID: OperatorId = 128;

/// `NAME` or `NAME:PARAM`.
fn spec_of(definition: &Definition) -> String {
    // Without its parameter a parameterised built-in would mean its default.
    let optional = builtin(&definition.name).is_none_or(|builtin| builtin.id.is_some());
    if definition.parameters.is_empty() && optional {
        return definition.name.clone();
    }
    format!("{}:{}", definition.name, String::from_utf8_lossy(&definition.parameters))
}

/// The operators known at one moment; immutable, so that folds look them up without a lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolver {
    /// By id; built-ins below [`FIRST_DYNAMIC_ID`].
    known: Vec<Option<Known>>,
    /// Whether some operator takes over operands of another id.
    upgrades: bool,
}

#[derive(Clone, Debug)]
struct Known {
    definition: Definition,
    standing: Standing,
    /// What its operator says, asked once: writers want to know with their lock held.
    growth: Growth,
}

/// Who folds the operands of an id.
#[derive(Clone, Debug)]
enum Standing {
    /// The operator itself.
    Implemented(Arc<dyn MergeOperator>),
    /// A newer version of it, under its own id once that is settled.
    Upgraded { newer: Arc<dyn MergeOperator>, id: OperatorId },
    /// Nobody: whoever opened the database did not give it.
    Unresolved,
}

impl Resolver {
    /// The built-ins, and nothing else.
    pub(crate) fn builtin_only() -> Resolver {
        let mut resolver = Resolver::default();
        for info in builtins() {
            if let (Some(id), Ok(implementation)) = (info.id, info.instantiate(None)) {
                let definition = Definition::of(id, &*implementation);
                resolver.insert(definition, Standing::Implemented(implementation));
            }
        }
        resolver
    }

    /// The operator of this id.
    #[inline]
    pub(crate) fn implementation(&self, id: OperatorId) -> Option<&dyn MergeOperator> {
        match &self.known(id)?.standing {
            Standing::Implemented(implementation) => Some(&**implementation),
            Standing::Upgraded { .. } | Standing::Unresolved => None,
        }
    }

    /// Whether operands of this id grow when they are folded; `None` where nobody folds them.
    #[inline]
    pub(crate) fn growth(&self, id: OperatorId) -> Option<Growth> {
        let known = self.known(id)?;
        let Standing::Implemented(implementation) = &known.standing else { return None };
        if planted(Fault::AskGrowthLate) {
            return Some(implementation.growth());
        }
        Some(known.growth)
    }

    /// Whether operands of some id must be upgraded before they fold.
    #[inline]
    pub(crate) fn has_upgrades(&self) -> bool {
        self.upgrades
    }

    /// The operand as the newer version of its operator has it, and that one's id; nothing where
    /// the operand needs no upgrade or cannot be read.
    pub(crate) fn upgrade(&self, id: OperatorId, operand: &[u8]) -> Option<(OperatorId, Vec<u8>)> {
        let known = self.known(id)?;
        let Standing::Upgraded { newer, id } = &known.standing else { return None };
        let mut out = Vec::new();
        let upgrade = || newer.upgrade(known.definition.version, operand, &mut out);
        let upgraded = guarded(upgrade).unwrap_or(false) && out.len() <= MAX_VALUE_BYTES;
        upgraded.then_some((*id, out))
    }

    /// What an id stands for.
    pub(crate) fn definition(&self, id: OperatorId) -> Option<&Definition> {
        self.known(id).map(|known| &known.definition)
    }

    /// Whether operands of this id cannot fold for want of their operator.
    pub(crate) fn is_unresolved(&self, id: OperatorId) -> bool {
        self.known(id).is_none_or(|known| matches!(known.standing, Standing::Unresolved))
    }

    /// Definitions that nobody implements.
    pub(crate) fn unresolved(&self) -> impl Iterator<Item = &Definition> {
        let known = self.known.iter().flatten();
        known
            .filter(|known| matches!(known.standing, Standing::Unresolved))
            .map(|known| &known.definition)
    }

    /// Its spec, for messages.
    pub(crate) fn name(&self, id: OperatorId) -> String {
        self.known(id).map_or_else(|| format!("#{id}"), |known| spec_of(&known.definition))
    }

    #[inline]
    fn known(&self, id: OperatorId) -> Option<&Known> {
        self.known.get(id as usize)?.as_ref()
    }

    fn id_of(&self, operator: &dyn MergeOperator) -> Option<OperatorId> {
        let mut known = self.known.iter().flatten();
        known.find(|known| known.definition.describes(operator)).map(|known| known.definition.id)
    }

    fn next_id(&self) -> OperatorId {
        self.known.len().max(FIRST_DYNAMIC_ID as usize) as OperatorId
    }

    fn insert(&mut self, definition: Definition, standing: Standing) {
        let slot = definition.id as usize;
        if self.known.len() <= slot {
            self.known.resize(slot + 1, None);
        }
        self.upgrades |= matches!(standing, Standing::Upgraded { .. });
        // An operator that panics is taken for one that says nothing.
        let growth = match &standing {
            Standing::Implemented(own) => guarded(|| own.growth()).ok(),
            Standing::Upgraded { .. } | Standing::Unresolved => None,
        };
        let growth = growth.unwrap_or(Growth::Grows);
        self.known[slot] = Some(Known { definition, standing, growth });
    }

    /// All definitions, in the order of their ids.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.known.iter().flatten().map(|known| &known.definition)
    }

    /// Definitions of the ids that are not built-in, in order.
    pub(crate) fn dynamic_definitions(&self) -> impl Iterator<Item = &Definition> {
        let dynamic = self.known.iter().skip(FIRST_DYNAMIC_ID as usize);
        dynamic.flatten().map(|known| &known.definition)
    }
}

/// The operators known now, kept by one who asks often.
pub(crate) type CachedResolver = Cache<Arc<ArcSwap<Resolver>>, Arc<Resolver>>;

/// The operators of an open database.
#[derive(Debug)]
pub(crate) struct Registry {
    custom: Vec<Arc<dyn MergeOperator>>,
    resolver: Arc<ArcSwap<Resolver>>,
}

impl Registry {
    /// A registry with the caller's operators; none of them has an id yet.
    pub(crate) fn new(custom: Vec<Arc<dyn MergeOperator>>) -> Registry {
        let resolver = Arc::new(ArcSwap::from_pointee(Resolver::builtin_only()));
        Registry { custom, resolver }
    }

    /// Takes in a definition that a file holds. One that nobody implements is taken in too: whether
    /// anything still needs it is for who reads operands to find out.
    ///
    /// # Errors
    /// `Corruption` when its id is taken or not the next one.
    pub(crate) fn adopt(&self, definition: &Definition) -> Result<()> {
        let mut resolver = Resolver::clone(&self.resolver.load());
        if let Some(known) = resolver.known(definition.id) {
            if known.definition == *definition {
                return Ok(());
            }
            return Err(Error::corruption(format!(
                "operator id {} is both '{}' and '{}'",
                definition.id,
                spec_of(&known.definition),
                spec_of(definition)
            )));
        }
        let next = resolver.next_id();
        if definition.id > next {
            // Ids are given one after the other, and a gap as wide as a number can say would be
            // a table as large.
            return Err(Error::corruption(format!(
                "expected operator id {next} or less, found {} for '{}'",
                definition.id,
                spec_of(definition)
            )));
        }
        resolver.insert(definition.clone(), self.standing_of(definition));
        self.resolver.store(Arc::new(resolver));
        Ok(())
    }

    /// Gives every operator that takes over an older version's operands an id, which must be stored
    /// before a fold is. To be called once all stored definitions are known.
    pub(crate) fn settle_upgrades(&self) {
        let mut resolver = Resolver::clone(&self.resolver.load());
        for slot in FIRST_DYNAMIC_ID as usize..resolver.known.len() {
            let Some(Known { standing: Standing::Upgraded { newer, .. }, definition, .. }) =
                resolver.known[slot].clone()
            else {
                continue;
            };
            let id = resolver.id_of(&*newer).unwrap_or_else(|| {
                let own = Definition::of(resolver.next_id(), &*newer);
                let id = own.id;
                resolver.insert(own, Standing::Implemented(Arc::clone(&newer)));
                id
            });
            resolver.insert(definition, Standing::Upgraded { newer, id });
        }
        self.resolver.store(Arc::new(resolver));
    }

    /// The error for operands that nobody can fold.
    pub(crate) fn unknown_operator(&self, definition: &Definition) -> Error {
        let other = self.custom.iter().find(|operator| {
            operator.name() == definition.name && operator.parameters() == definition.parameters
        });
        let hint = match other {
            Some(other) => format!(
                "Options::operators has version {}, which does not read it",
                other.version()
            ),
            None => "which is not built in: add it to Options::operators".to_owned(),
        };
        Error::new(
            ErrorKind::UnknownOperator,
            format!(
                "the database uses merge operator '{}' version {}, {hint}",
                spec_of(definition),
                definition.version
            ),
        )
    }

    /// The operator a spec (`NAME` or `NAME:PARAM`) names.
    ///
    /// # Errors
    /// `UnknownOperator`, or `InvalidArgument` for a parameter it does not take.
    pub(crate) fn parse(&self, spec: &str) -> Result<Arc<dyn MergeOperator>> {
        let (name, parameter) = match spec.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter.as_bytes())),
            None => (spec, None),
        };
        let custom = self.custom.iter().find(|operator| {
            operator.name() == name
                && parameter.is_none_or(|parameter| operator.parameters() == parameter)
        });
        if let Some(operator) = custom {
            return Ok(Arc::clone(operator));
        }
        let info = builtin(name).ok_or_else(|| self.unknown_name(spec, name))?;
        info.instantiate(parameter)
    }

    /// The error for a spec whose name no operator has, or none with its parameter.
    fn unknown_name(&self, spec: &str, name: &str) -> Error {
        let namesake = self.custom.iter().find(|operator| operator.name() == name);
        let message = match namesake {
            Some(namesake) => format!(
                "the operator '{name}' of Options::operators has the parameter '{}', not that of \
                 '{spec}'",
                namesake.parameters().escape_ascii()
            ),
            None if spec != name => format!(
                "there is no merge operator '{name}' for '{spec}': a spec is NAME or NAME:PARAM, and \
                 the name must be a built-in operator's or that of one in Options::operators"
            ),
            None => format!(
                "there is no merge operator '{name}': it is not built in, and no operator of \
                 Options::operators has this name"
            ),
        };
        Error::new(ErrorKind::UnknownOperator, message)
    }

    /// The id of an operator, if it has one.
    pub(crate) fn id_of(&self, operator: &dyn MergeOperator) -> Option<OperatorId> {
        self.resolver.load().id_of(operator)
    }

    /// The definition an operator without an id would get: the next id.
    pub(crate) fn next_definition(&self, operator: &dyn MergeOperator) -> Definition {
        Definition::of(self.resolver.load().next_id(), operator)
    }

    /// The operator that stands for an id, to keep, with the id under which it writes: another
    /// one where it took over an older version.
    pub(crate) fn standing_for(
        &self,
        id: OperatorId,
    ) -> Option<(OperatorId, Arc<dyn MergeOperator>)> {
        match &self.resolver.load().known(id)?.standing {
            Standing::Implemented(implementation) => Some((id, Arc::clone(implementation))),
            Standing::Upgraded { newer, id } => Some((*id, Arc::clone(newer))),
            Standing::Unresolved => None,
        }
    }

    /// The operators known at any time, for one who asks again and again: costs a load.
    pub(crate) fn cached_resolver(&self) -> CachedResolver {
        Cache::new(Arc::clone(&self.resolver))
    }

    /// The operators known now.
    #[inline]
    pub(crate) fn resolver(&self) -> arc_swap::Guard<Arc<Resolver>> {
        self.resolver.load()
    }

    fn standing_of(&self, definition: &Definition) -> Standing {
        if let Some(implementation) = self.find(definition) {
            return Standing::Implemented(implementation);
        }
        let newer = self.custom.iter().find(|operator| {
            operator.name() == definition.name
                && operator.parameters() == definition.parameters
                && operator.reads_version(definition.version)
        });
        match newer {
            // The id comes when all stored ones are known.
            Some(newer) => Standing::Upgraded { newer: Arc::clone(newer), id: definition.id },
            None => Standing::Unresolved,
        }
    }

    fn find(&self, definition: &Definition) -> Option<Arc<dyn MergeOperator>> {
        let custom = self.custom.iter().find(|operator| definition.describes(&***operator));
        if let Some(operator) = custom {
            return Some(Arc::clone(operator));
        }
        let parameters = &definition.parameters[..];
        let parameter = (!parameters.is_empty()).then_some(parameters);
        let info = builtin(&definition.name)?;
        // An operator whose parameter may be empty is told so rather than given its default.
        [parameter, Some(parameters)]
            .into_iter()
            .filter_map(|parameter| info.instantiate(parameter).ok())
            .find(|operator| definition.describes(&**operator))
    }
}

/// An operator as one database knows it. Cheap to clone.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// let list = db.operator("stringappend:;")?;
/// db.merge_with(&list, "colours", "red")?;
/// db.merge_with(&list, "colours", "blue")?;
/// assert_eq!(db.get("colours")?.unwrap(), b"red;blue");
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone)]
pub struct Operator {
    pub(crate) id: OperatorId,
    pub(crate) registry: Arc<Registry>,
    pub(crate) implementation: Arc<dyn MergeOperator>,
}

impl Operator {
    /// `NAME` or `NAME:PARAM`.
    pub fn spec(&self) -> String {
        self.registry.resolver().name(self.id)
    }

    /// How people write its operands and values.
    pub fn text(&self) -> TextForm {
        self.implementation.text()
    }

    /// Whether `registry` gave it its id.
    pub(crate) fn belongs_to(&self, registry: &Arc<Registry>) -> bool {
        Arc::ptr_eq(&self.registry, registry)
    }

    /// Refuses an operand that is malformed, or over which the operator's check panics.
    ///
    /// # Errors
    /// `InvalidArgument`, saying what was expected.
    #[inline]
    pub(crate) fn check_operand(&self, operand: &[u8]) -> Result<()> {
        if self.id >= FIRST_DYNAMIC_ID {
            return self.check_operand_guarded(operand);
        }
        // A built-in operator does not panic, and a merge is the last place to spend time.
        self.implementation.check_operand(operand).map_err(|expected| self.malformed(&expected))
    }

    #[inline(never)]
    fn check_operand_guarded(&self, operand: &[u8]) -> Result<()> {
        match guarded(|| self.implementation.check_operand(operand)) {
            Ok(checked) => checked.map_err(|expected| self.malformed(&expected)),
            Err(panic) => Err(Error::invalid_argument(format!(
                "the check of an operand of '{}' panicked: {panic}",
                self.spec()
            ))),
        }
    }

    #[cold]
    fn malformed(&self, expected: &str) -> Error {
        Error::invalid_argument(format!("an operand of '{}' must be {expected}", self.spec()))
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({})", self.spec())
    }
}
