//! What each column family asks for: the order of its keys, and its merge operator.

use std::path::PathBuf;
use std::sync::Arc;

use foldb_rocksdb_format::manifest::{self, Manifest};
use foldb_rocksdb_format::names;
use foldb_rocksdb_format::options::{Options, object};

use super::brought::{BROUGHT, Summed};
use super::operators;
use super::order::Order;
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::operator::Spec;

/// What the command line says about an import.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    /// Operators, as `FAMILY=NAME` or `FAMILY=NAME:PARAM`.
    pub(crate) operators: Vec<String>,
    /// Comparators, as `FAMILY=NAME`.
    pub(crate) comparators: Vec<String>,
    /// Whether damaged parts are given up.
    pub(crate) skip_damaged: bool,
    /// Whether values of several columns lose all but their default column.
    pub(crate) only_default_column: bool,
    /// Where the logs are, if they are not beside the tables.
    pub(crate) logs: Option<PathBuf>,
}

/// A column family.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// Its number.
    pub(crate) id: u32,
    /// Its name.
    pub(crate) name: String,
    /// The order of its keys.
    pub(crate) order: Order,
    /// The operator of its operands.
    pub(crate) operator: Option<Spec>,
    /// Whether a program brings the operator, and the import only keeps the operands.
    pub(crate) is_brought: bool,
}

const BYTEWISE: [&str; 3] = ["leveldb.BytewiseComparator", "bytewise", "foldb.bytewise"];
const REVERSE: [&str; 2] = ["rocksdb.ReverseBytewiseComparator", "reverse_bytewise"];
/// The ends of the names of comparators whose keys end with a timestamp.
const WITH_TIMESTAMP: [&str; 2] = [".u64ts", ".with-u64-ts"];

/// Returns the families, in the order of their numbers.
///
/// # Errors
/// Fails for an order or operator that foldb lacks, and names it; and for a choice of a family that
/// the database lacks.
pub(super) fn of(
    manifest: &Manifest,
    options: &Options,
    operator_in_tables: &dyn Fn(u32) -> Outcome<Option<String>>,
    choices: &Choices,
) -> Outcome<Vec<Family>> {
    let mut operators = pairs("--operator", &choices.operators, manifest)?;
    let mut comparators = pairs("--comparator", &choices.comparators, manifest)?;
    let mut families = Vec::new();
    for (&id, found) in &manifest.families {
        let name = String::from_utf8(found.name.clone()).map_err(|_| {
            let name = quoted(&found.name);
            Exit::failed(format!("the name of column family {name} is not text"))
        })?;
        let order = order_of(&name, found, take(&mut comparators, &name))?;
        let chosen = take(&mut operators, &name);
        let is_brought = chosen.as_deref() == Some(BROUGHT);
        let operator = match chosen {
            Some(_) if is_brought => Some(brought(&name)?),
            Some(chosen) => Some(Spec::parse(&chosen)?),
            None => {
                let stored = options.families.get(&name).and_then(|own| own.get("merge_operator"));
                let stored = match stored {
                    Some(stored) => Some(stored.clone()),
                    None => operator_in_tables(id)?,
                };
                stored.and_then(|stored| object(&stored)).map_or(Ok(None), |(operator, own)| {
                    let known = operators::known(&operator, &own);
                    let known = known.ok_or_else(|| unknown_operator(&name, &operator))?;
                    Spec::parse(&known).map(Some)
                })?
            }
        };
        families.push(Family { id, name, order, operator, is_brought });
    }
    Ok(families)
}

fn take(pairs: &mut Vec<(String, String)>, family: &str) -> Option<String> {
    let at = pairs.iter().position(|(name, _)| name == family)?;
    Some(pairs.swap_remove(at).1)
}

/// Splits the values of a flag.
fn pairs(flag: &str, values: &[String], manifest: &Manifest) -> Outcome<Vec<(String, String)>> {
    let split = |value: &String| {
        let Some((family, name)) = value.split_once('=') else {
            return Err(Exit::usage(format!(
                "{flag} {value}: from rocksdb, it is FAMILY=NAME, such as default={value}"
            )));
        };
        let is_there = manifest.families.values().any(|own| own.name == family.as_bytes());
        match is_there {
            true => Ok((family.to_owned(), name.to_owned())),
            false => Err(Exit::usage(format!(
                "{flag} {value}: there is no column family {}",
                quoted(family.as_bytes())
            ))),
        }
    };
    values.iter().map(split).collect()
}

fn order_of(family: &str, found: &manifest::Family, chosen: Option<String>) -> Outcome<Order> {
    let is_chosen = chosen.is_some();
    let stored = found.comparator.as_deref().map(|name| String::from_utf8_lossy(name).into_owned());
    let name = chosen.or(stored).unwrap_or_else(|| BYTEWISE[0].to_owned());
    if BYTEWISE.contains(&name.as_str()) {
        return Ok(Order::Bytewise);
    }
    if REVERSE.contains(&name.as_str()) {
        return Ok(Order::Reverse);
    }
    let (family, shown) = (quoted(family.as_bytes()), quoted(name.as_bytes()));
    if is_chosen {
        return Err(Exit::usage(format!(
            "--comparator: foldb has no comparator {shown}: expected {} or {}",
            BYTEWISE[0], REVERSE[0]
        )));
    }
    if WITH_TIMESTAMP.iter().any(|end| name.ends_with(end)) {
        return Err(Exit::failed(format!(
            "the keys of column family {family} have user-defined timestamps (comparator {shown}), \
             which foldb does not read"
        )));
    }
    Err(Exit::failed(format!(
        "column family {family} orders its keys by the comparator {shown}, which foldb does not \
         have: if it orders them by their bytes, say so with --comparator {family}={}",
        BYTEWISE[0]
    )))
}

/// Returns the operator that a program will bring.
fn brought(family: &str) -> Outcome<Spec> {
    let Some(name) = names::operator_of(family) else {
        return Err(Exit::failed(format!(
            "--operator {}={BROUGHT}: the name of the column family is too long for an operator",
            quoted(family.as_bytes())
        )));
    };
    Ok(Spec::of(Arc::new(Summed { name })))
}

fn unknown_operator(family: &str, operator: &str) -> Exit {
    let (family, operator) = (quoted(family.as_bytes()), quoted(operator.as_bytes()));
    Exit::failed(format!(
        "column family {family} merges with the operator {operator}, which foldb does not have: \
         name one with the same answers with --operator {family}=NAME (foldb operators lists \
         them), or say --operator {family}={BROUGHT} if a program will open the database with \
         foldb's librocksdb and bring the operator"
    ))
}
