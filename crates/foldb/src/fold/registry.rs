//! Which operators a database knows, and by which id its records name them.
//!
//! A record names its operator by id (H27). Ids below 128 are built-ins, the same everywhere; every
//! other (name, version, parameters) gets the next id of this database, is written to the manifest
//! before its first record and is never forgotten, so that old operands keep their meaning whatever
//! the default operator is later.

use std::fmt;
use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};

use crate::error::{Error, ErrorKind, Result};
use crate::fold::builtin::{builtin, builtins};
use crate::fold::definition::Definition;
use crate::fold::operator::{MergeOperator, TextForm};
use crate::key::OperatorId;

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
}

#[derive(Clone, Debug)]
struct Known {
    definition: Definition,
    implementation: Arc<dyn MergeOperator>,
}

impl Resolver {
    /// The built-ins, and nothing else.
    pub(crate) fn builtin_only() -> Resolver {
        let mut resolver = Resolver::default();
        for info in builtins() {
            if let (Some(id), Ok(implementation)) = (info.id, info.instantiate(None)) {
                resolver.insert(id, implementation);
            }
        }
        resolver
    }

    /// The operator of this id.
    #[inline]
    pub(crate) fn implementation(&self, id: OperatorId) -> Option<&dyn MergeOperator> {
        self.known(id).map(|known| &*known.implementation)
    }

    /// Its spec, for messages.
    pub(crate) fn name(&self, id: OperatorId) -> String {
        self.known(id).map_or_else(|| format!("#{id}"), |known| spec_of(&known.definition))
    }

    #[inline]
    fn known(&self, id: OperatorId) -> Option<&Known> {
        self.known.get(id as usize)?.as_ref()
    }

    fn next_id(&self) -> OperatorId {
        self.known.len().max(FIRST_DYNAMIC_ID as usize) as OperatorId
    }

    fn insert(&mut self, id: OperatorId, implementation: Arc<dyn MergeOperator>) {
        let definition = Definition::of(id, &*implementation);
        if self.known.len() <= id as usize {
            self.known.resize(id as usize + 1, None);
        }
        self.known[id as usize] = Some(Known { definition, implementation });
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

    /// Takes in a definition that a file holds.
    ///
    /// # Errors
    /// `UnknownOperator` when nobody implements it, or `Corruption` when its id is taken or not the
    /// next one.
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
        let implementation = self.find(definition).ok_or_else(|| {
            Error::new(
                ErrorKind::UnknownOperator,
                format!(
                    "the database uses merge operator '{}' version {}, which is not built in: \
                     add it to Options::operators",
                    spec_of(definition),
                    definition.version
                ),
            )
        })?;
        resolver.insert(definition.id, implementation);
        self.resolver.store(Arc::new(resolver));
        Ok(())
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
        let info = builtin(name).ok_or_else(|| {
            let message = format!("there is no merge operator '{name}'");
            Error::new(ErrorKind::UnknownOperator, message)
        })?;
        info.instantiate(parameter)
    }

    /// The id of an operator, if it has one.
    pub(crate) fn id_of(&self, operator: &dyn MergeOperator) -> Option<OperatorId> {
        let resolver = self.resolver.load();
        let mut known = resolver.known.iter().flatten();
        known.find(|known| known.definition.describes(operator)).map(|known| known.definition.id)
    }

    /// The definition an operator without an id would get: the next id.
    pub(crate) fn next_definition(&self, operator: &dyn MergeOperator) -> Definition {
        Definition::of(self.resolver.load().next_id(), operator)
    }

    /// The operator of an id, to keep.
    pub(crate) fn implementation(&self, id: OperatorId) -> Option<Arc<dyn MergeOperator>> {
        self.resolver.load().known(id).map(|known| Arc::clone(&known.implementation))
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

    /// Refuses an operand that is malformed.
    ///
    /// # Errors
    /// `InvalidArgument`, saying what was expected.
    pub(crate) fn check_operand(&self, operand: &[u8]) -> Result<()> {
        self.implementation.check_operand(operand).map_err(|expected| {
            Error::invalid_argument(format!("an operand of '{}' must be {expected}", self.spec()))
        })
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({})", self.spec())
    }
}
