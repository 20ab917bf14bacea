//! The operators that a database knows, and the ids by which its records name them.
//!
//! A record names its operator by id (H27). Ids below 128 are built-in operators and mean the same
//! in every database. Every other (name, version, parameters) gets the next id of this database.
//! The manifest holds the id before the first record uses it, and the database never forgets it. So
//! old operands keep their meaning when the default operator changes.
//!
//! An operator may read operands that its older versions wrote. Such operands keep their old id on
//! disk. A fold that meets one upgrades it and writes it under the id of the newer version:
//!
//! ```text
//! 128 acme.list v1, 129 acme.list v2 reads v1
//! a.MERGE.7(129: y) a.MERGE.3(128: x)   ->   a.MERGE.7(129: upgraded x, y)
//! ```

use std::fmt;
use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};

use crate::error::{Error, ErrorKind, Result};
use crate::events::{DifferingFold, Event, Events};
use crate::faults::{Fault, planted};
use crate::fold::builtin::{builtin, builtins};
use crate::fold::definition::Definition;
use crate::fold::expiring::{Expiring, PREFIX};
use crate::fold::operator::{Growth, MergeOperator, TextForm};
use crate::fold::sampled::Samples;
use crate::key::OperatorId;
use crate::limits::MAX_VALUE_BYTES;
use crate::user_code::guarded;

/// The first id that does not belong to a built-in.
pub(crate) const FIRST_DYNAMIC_ID: OperatorId = 128;

/// Returns the spec: `NAME` or `NAME:PARAM`.
fn spec_of(definition: &Definition) -> String {
    if let Some(inner) = definition.inner() {
        // The caller named the operator without its wrapper.
        return spec_of(&inner);
    }
    // If a built-in takes a parameter, a spec without one means the default. So an empty parameter
    // needs its colon.
    let optional = builtin(&definition.name).is_none_or(|builtin| builtin.id.is_some());
    if definition.parameters.is_empty() && optional {
        return definition.name.clone();
    }
    format!("{}:{}", definition.name, String::from_utf8_lossy(&definition.parameters))
}

impl Definition {
    /// Returns the definition of the operator that this one wraps: see [`crate::fold::expiring`].
    fn inner(&self) -> Option<Definition> {
        let name = self.name.strip_prefix(PREFIX)?.to_owned();
        Some(Definition { name, ..self.clone() })
    }

    /// Returns the spec: `NAME` or `NAME:PARAM`.
    pub(crate) fn spec(&self) -> String {
        spec_of(self)
    }
}

/// The operators known at one moment. It is immutable, so folds look operators up without a lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolver {
    /// Indexed by id. Built-ins are below [`FIRST_DYNAMIC_ID`].
    known: Vec<Option<Known>>,
    /// Whether some operator upgrades operands of another id.
    upgrades: bool,
    /// Shared by all resolvers of a registry.
    samples: Arc<Samples>,
}

#[derive(Clone, Debug)]
struct Known {
    definition: Definition,
    standing: Standing,
    /// The operator's growth. It is asked once, because writers need it while they hold their lock.
    growth: Growth,
    /// Whether the operator wraps another one: see [`crate::fold::expiring`].
    expiring: bool,
}

/// Which operator folds the operands of an id.
#[derive(Clone, Debug)]
enum Standing {
    /// The operator itself.
    Implemented(Arc<dyn MergeOperator>),
    /// A newer version. `id` is the id of that version after `settle_upgrades`, and the old id
    /// before.
    Upgraded { newer: Arc<dyn MergeOperator>, id: OperatorId },
    /// No operator: the caller of open did not pass it.
    Unresolved,
}

impl Resolver {
    /// Returns a resolver of the built-ins only.
    pub(crate) fn builtin_only() -> Resolver {
        let mut resolver = Resolver::default();
        for info in builtins() {
            if let (Some(id), Ok(implementation)) = (info.id, info.make(None)) {
                let definition = Definition::of(id, &*implementation);
                resolver.insert(definition, Standing::Implemented(implementation));
            }
        }
        resolver
    }

    /// Returns the operator of this id.
    #[inline]
    pub(crate) fn implementation(&self, id: OperatorId) -> Option<&dyn MergeOperator> {
        match &self.known(id)?.standing {
            Standing::Implemented(implementation) => Some(&**implementation),
            Standing::Upgraded { .. } | Standing::Unresolved => None,
        }
    }

    /// Does some of the folds again in another grouping, in builds with debug assertions. Operands
    /// with stamps are left out: they fold only as far as their ends allow.
    #[inline]
    pub(crate) fn sample(
        &self,
        id: OperatorId,
        key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
    ) {
        if !cfg!(debug_assertions) || operands.len() < 2 || self.is_expiring(id) {
            return;
        }
        if let Some(implementation) = self.implementation(id) {
            self.samples.look(implementation, || self.name(id), key, base, operands);
        }
    }

    /// Returns whether operands of this id grow when they are folded; `None` without an operator.
    #[inline]
    pub(crate) fn growth(&self, id: OperatorId) -> Option<Growth> {
        let known = self.known(id)?;
        let Standing::Implemented(implementation) = &known.standing else { return None };
        if planted(Fault::AskGrowthLate) {
            return Some(implementation.growth());
        }
        Some(known.growth)
    }

    /// Returns whether operands of some id need an upgrade before they fold.
    #[inline]
    pub(crate) fn has_upgrades(&self) -> bool {
        self.upgrades
    }

    /// Upgrades an operand to the newer version of its operator, and returns that version's id.
    /// Returns nothing if the operand needs no upgrade or cannot be read.
    pub(crate) fn upgrade(&self, id: OperatorId, operand: &[u8]) -> Option<(OperatorId, Vec<u8>)> {
        let known = self.known(id)?;
        let Standing::Upgraded { newer, id } = &known.standing else { return None };
        let mut out = Vec::new();
        let upgrade = || newer.upgrade(known.definition.version, operand, &mut out);
        let upgraded = guarded(upgrade).unwrap_or(false) && out.len() <= MAX_VALUE_BYTES;
        upgraded.then_some((*id, out))
    }

    /// Returns the definition of an id.
    pub(crate) fn definition(&self, id: OperatorId) -> Option<&Definition> {
        self.known(id).map(|known| &known.definition)
    }

    /// Returns whether operands of this id cannot fold because their operator is missing.
    pub(crate) fn is_unresolved(&self, id: OperatorId) -> bool {
        self.known(id).is_none_or(|known| matches!(known.standing, Standing::Unresolved))
    }

    /// Returns the definitions without an implementation.
    pub(crate) fn unresolved(&self) -> impl Iterator<Item = &Definition> {
        let known = self.known.iter().flatten();
        known
            .filter(|known| matches!(known.standing, Standing::Unresolved))
            .map(|known| &known.definition)
    }

    /// Returns the spec of an id, for messages.
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
        // An operator that panics here counts as one whose operands grow.
        let growth = match &standing {
            Standing::Implemented(own) => guarded(|| own.growth()).ok(),
            Standing::Upgraded { .. } | Standing::Unresolved => None,
        };
        let growth = growth.unwrap_or(Growth::Grows);
        let expiring = definition.name.starts_with(PREFIX);
        self.known[slot] = Some(Known { definition, standing, growth, expiring });
    }

    /// Returns the id of the operator that wraps this one, if it has an id.
    pub(crate) fn expiring_id(&self, id: OperatorId) -> Option<OperatorId> {
        let inner = self.definition(id)?;
        let mut dynamic = self.dynamic_definitions();
        let wraps = |outer: &&Definition| {
            outer.name.strip_prefix(PREFIX) == Some(&inner.name)
                && (outer.version, &outer.parameters) == (inner.version, &inner.parameters)
        };
        dynamic.find(wraps).map(|outer| outer.id)
    }

    /// Returns whether operands of this id have stamps.
    pub(crate) fn is_expiring(&self, id: OperatorId) -> bool {
        self.known(id).is_some_and(|known| known.expiring)
    }

    /// Returns all definitions, in the order of their ids.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.known.iter().flatten().map(|known| &known.definition)
    }

    /// Returns the definitions of ids that are not built-in, in order.
    pub(crate) fn dynamic_definitions(&self) -> impl Iterator<Item = &Definition> {
        let dynamic = self.known.iter().skip(FIRST_DYNAMIC_ID as usize);
        dynamic.flatten().map(|known| &known.definition)
    }
}

/// A cache of the operators known now, for a caller that looks them up often.
pub(crate) type CachedResolver = Cache<Arc<ArcSwap<Resolver>>, Arc<Resolver>>;

/// The operators of an open database.
#[derive(Debug)]
pub(crate) struct Registry {
    /// The operators of the program. A later one has another name, version or parameters.
    custom: ArcSwap<Vec<Arc<dyn MergeOperator>>>,
    resolver: Arc<ArcSwap<Resolver>>,
}

impl Registry {
    /// Makes a registry with the caller's operators. None of them has an id yet.
    pub(crate) fn new(custom: Vec<Arc<dyn MergeOperator>>) -> Registry {
        let resolver = Arc::new(ArcSwap::from_pointee(Resolver::builtin_only()));
        Registry { custom: ArcSwap::from_pointee(custom), resolver }
    }

    /// Adds an operator of the program. Stored operands that waited for it fold from now on. The
    /// caller holds the lock under which definitions are adopted.
    ///
    /// # Errors
    /// `InvalidArgument` if the program has given an operator of this identity already.
    pub(crate) fn add(&self, operator: Arc<dyn MergeOperator>) -> Result<()> {
        let custom = self.custom.load_full();
        let identity = Definition::of(FIRST_DYNAMIC_ID, &*operator);
        if custom.iter().any(|own| identity.describes(&**own)) {
            return Err(Error::invalid_argument(format!(
                "the database has the operator '{}' already",
                spec_of(&identity)
            )));
        }
        let more = custom.iter().cloned().chain([operator]).collect();
        self.custom.store(Arc::new(more));
        self.resolve_again();
        Ok(())
    }

    /// Looks again for the operators of definitions without one.
    fn resolve_again(&self) {
        let mut resolver = Resolver::clone(&self.resolver.load());
        let unresolved: Vec<_> = resolver.unresolved().cloned().collect();
        for definition in unresolved {
            // An older version waits for the next open, which gives the newer one an id first.
            if let found @ Standing::Implemented(_) = self.standing_of(&definition) {
                resolver.insert(definition, found);
            }
        }
        self.resolver.store(Arc::new(resolver));
    }

    /// Adds a definition that a file holds, even without an implementation. The code that reads
    /// operands finds out whether any record still needs it.
    ///
    /// # Errors
    /// `Corruption` if the id belongs to another definition, or if ids below it are missing.
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
            // Ids are consecutive. Accepting an arbitrary gap would allocate a table as large as
            // the gap.
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

    /// Gives an id to every operator that upgrades an older version's operands. The caller calls
    /// this once all stored definitions are known, and stores the id before it stores a fold.
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
            assert_ne!(id, definition.id, "operands are upgraded to those of another operator");
            resolver.insert(definition, Standing::Upgraded { newer, id });
        }
        self.resolver.store(Arc::new(resolver));
    }

    /// Makes the error for operands without an implementation of their operator.
    pub(crate) fn unknown_operator(&self, definition: &Definition) -> Error {
        let inner = definition.inner();
        let definition = inner.as_ref().unwrap_or(definition);
        let custom = self.custom.load();
        let other = custom.iter().find(|operator| {
            operator.name() == definition.name && operator.parameters() == definition.parameters
        });
        let hint = match other {
            Some(other) => format!(
                "but Options::operators has version {}, which cannot read the stored operands",
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

    /// Returns the operator that a spec (`NAME` or `NAME:PARAM`) names.
    ///
    /// # Errors
    /// `UnknownOperator`, or `InvalidArgument` for a parameter that the operator does not take.
    pub(crate) fn parse(&self, spec: &str) -> Result<Arc<dyn MergeOperator>> {
        let (name, parameter) = match spec.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter.as_bytes())),
            None => (spec, None),
        };
        let all = self.custom.load();
        let custom = all.iter().find(|operator| {
            operator.name() == name
                && parameter.is_none_or(|parameter| operator.parameters() == parameter)
        });
        if let Some(operator) = custom {
            return Ok(Arc::clone(operator));
        }
        let info = builtin(name).ok_or_else(|| self.unknown_name(spec, name))?;
        info.instantiate(parameter)
    }

    /// Makes the error for a spec that matches no operator by name, or by name and parameter.
    fn unknown_name(&self, spec: &str, name: &str) -> Error {
        let custom = self.custom.load();
        let namesake = custom.iter().find(|operator| operator.name() == name);
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

    /// Returns the id of an operator, if it has one.
    pub(crate) fn id_of(&self, operator: &dyn MergeOperator) -> Option<OperatorId> {
        self.resolver.load().id_of(operator)
    }

    /// Returns the id of a definition with this name, version and parameters, if there is one.
    pub(crate) fn id_of_definition(&self, sought: &Definition) -> Option<OperatorId> {
        let resolver = self.resolver.load();
        let mut known = resolver.definitions();
        let found = known.find(|own| Definition { id: own.id, ..sought.clone() } == **own);
        found.map(|own| own.id)
    }

    /// Returns the id that the next definition gets.
    pub(crate) fn next_id(&self) -> OperatorId {
        self.resolver.load().next_id()
    }

    /// Returns the definition that an operator without an id would get: it has the next id.
    pub(crate) fn next_definition(&self, operator: &dyn MergeOperator) -> Definition {
        Definition::of(self.resolver.load().next_id(), operator)
    }

    /// Returns the operator that folds operands of an id, and the id under which the operator
    /// writes. The ids differ if the operands are of an older version.
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

    /// Returns a cache that stays current: each lookup checks for new operators with one atomic
    /// load.
    pub(crate) fn cached_resolver(&self) -> CachedResolver {
        Cache::new(Arc::clone(&self.resolver))
    }

    /// Returns the operators known now.
    #[inline]
    pub(crate) fn resolver(&self) -> arc_swap::Guard<Arc<Resolver>> {
        self.resolver.load()
    }

    /// Reports a sampled fold that another grouping contradicts, if there is one.
    #[inline]
    pub(crate) fn tell_difference(&self, events: &Events) {
        // Other builds sample nothing, and a read of theirs must not pay for the look.
        if cfg!(debug_assertions)
            && let Some(found) = self.resolver().samples.take()
        {
            events.tell(&Event::FoldDiffers(DifferingFold::clone(&found)));
        }
    }

    fn standing_of(&self, definition: &Definition) -> Standing {
        if let Some(inner) = definition.inner() {
            return match self.standing_of(&inner) {
                Standing::Implemented(inner) => {
                    Standing::Implemented(Arc::new(Expiring::new(inner)))
                }
                Standing::Upgraded { newer, id } => {
                    Standing::Upgraded { newer: Arc::new(Expiring::new(newer)), id }
                }
                Standing::Unresolved => Standing::Unresolved,
            };
        }
        if let Some(implementation) = self.find(definition) {
            return Standing::Implemented(implementation);
        }
        let custom = self.custom.load();
        let newer = custom.iter().find(|operator| {
            operator.name() == definition.name
                && operator.parameters() == definition.parameters
                && operator.reads_version(definition.version)
        });
        match newer {
            // The id is settled when all stored definitions are known.
            Some(newer) => Standing::Upgraded { newer: Arc::clone(newer), id: definition.id },
            None => Standing::Unresolved,
        }
    }

    /// Returns the operator that reads the operands of a definition, without the wrapper of
    /// operands that expire.
    ///
    /// # Errors
    /// `UnknownOperator`.
    pub(crate) fn implementation_of(
        &self,
        definition: &Definition,
    ) -> Result<Arc<dyn MergeOperator>> {
        let inner = definition.inner();
        match self.standing_of(inner.as_ref().unwrap_or(definition)) {
            Standing::Implemented(operator) | Standing::Upgraded { newer: operator, .. } => {
                Ok(operator)
            }
            Standing::Unresolved => Err(self.unknown_operator(definition)),
        }
    }

    fn find(&self, definition: &Definition) -> Option<Arc<dyn MergeOperator>> {
        let all = self.custom.load();
        let custom = all.iter().find(|operator| definition.describes(&***operator));
        if let Some(operator) = custom {
            return Some(Arc::clone(operator));
        }
        let parameters = &definition.parameters[..];
        let parameter = (!parameters.is_empty()).then_some(parameters);
        let info = builtin(&definition.name)?;
        // Pass an empty parameter on explicitly, so that the operator does not take its default.
        [parameter, Some(parameters)]
            .into_iter()
            .filter_map(|parameter| info.instantiate(parameter).ok())
            .find(|operator| definition.describes(&**operator))
    }
}

/// A merge operator of one database. Cheap to clone.
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
    /// Returns the spec: `NAME` or `NAME:PARAM`.
    pub fn spec(&self) -> String {
        self.registry.resolver().name(self.id)
    }

    /// Returns the text form of its operands and values.
    pub fn text(&self) -> TextForm {
        self.implementation.text()
    }

    /// Returns whether `registry` gave the operator its id.
    pub(crate) fn belongs_to(&self, registry: &Arc<Registry>) -> bool {
        Arc::ptr_eq(&self.registry, registry)
    }

    /// Checks that an operand is well formed.
    ///
    /// # Errors
    /// `InvalidArgument` if the operand is malformed or if the check panics. The message says which
    /// operands the operator takes, or how it panicked.
    #[inline]
    pub(crate) fn check_operand(&self, operand: &[u8]) -> Result<()> {
        if self.id >= FIRST_DYNAMIC_ID {
            return self.check_operand_guarded(operand);
        }
        // Built-in operators do not panic, and a merge should spend no time on a guard.
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
