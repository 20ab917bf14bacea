//! The keyspace into which rows are imported.
//!
//! Invariant: nothing is created before the columns of the file are known to be right. The first
//! write creates the database, and a keyspace for typed keys or for the operands of `--merge`.

use std::path::PathBuf;

use foldb::expiry::Expires;
use foldb::operators::{Operator, TextForm};
use foldb::{KeyspaceOptions, Options, WriteBatch};
use foldb_typed::schema::Schema;

use crate::args::{Common, Import};
use crate::command::ends;
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::{ValueFormat, counted};
use crate::keyspace::{self, DEFAULT, Opened};
use crate::location::{self, Location};
use crate::operator::{self, OperandText, Spec};

/// The keyspace, or what makes it.
pub(super) struct Target {
    path: PathBuf,
    keyspace: String,
    options: Options,
    merge: Option<Spec>,
    /// The types of keys.
    schema: Option<Schema>,
    place: Place,
    /// Whether the import created the keyspace, which is not [`DEFAULT`].
    is_new: bool,
}

enum Place {
    /// The keyspace is open; an operator merges into it.
    Open(Opened, Option<Operator>),
    /// The database is there, without the keyspace.
    NoKeyspace,
    /// There is no database.
    Nothing,
    /// The rules of `merge` say what the first write makes. Empty only during that.
    Merge(Option<Box<operator::Target>>),
}

impl Target {
    /// Looks at the path, and opens the keyspace if it exists. Keys have this number of columns.
    ///
    /// # Errors
    /// A usage error for an unknown operator or type. Fails if the keyspace is missing, unless
    /// `--key-types` or `--merge` says how to create it.
    pub(super) fn find(args: &Import, columns: usize, common: &Common) -> Outcome<Target> {
        let rows = &args.rows;
        let keyspace = rows.keyspace.as_deref().unwrap_or(DEFAULT);
        ends::check_default(&rows.ends, keyspace)?;
        let merge = rows.merge.as_deref().map(Spec::parse).transpose()?;
        let types = rows.key_types.as_deref();
        let asked = types.map(|types| schema_of(types, columns, merge.as_ref())).transpose()?;
        let mut target = Target {
            path: args.dst.clone(),
            keyspace: keyspace.to_owned(),
            options: common.options(),
            merge,
            schema: asked,
            place: Place::Nothing,
            is_new: false,
        };
        target.look()?;
        match target.opened() {
            Some(opened) => ends::check(&rows.ends, opened)?,
            None => ends::check_new(&rows.ends, keyspace)?,
        }
        Ok(target)
    }

    fn look(&mut self) -> Outcome {
        if let Location::Database = Location::of(&self.path)? {
            self.place = Place::NoKeyspace;
            let db = location::open(&self.path, self.options.clone())?;
            let is_there = db.keyspaces().contains(&self.keyspace);
            if !is_there && self.says_what_to_create() {
                return Ok(db.close()?);
            }
            let opened = Opened::of(db, &self.path, &self.keyspace)?;
            let found = opened.keyspace.schema().and_then(Schema::parse);
            self.check_types(found.as_ref())?;
            self.schema = found;
            if self.merge.is_none() {
                self.place = Place::Open(opened, None);
                return Ok(());
            }
            opened.close()?;
        } else if self.schema.is_some() || self.keyspace != DEFAULT && self.merge.is_some() {
            return Ok(());
        } else {
            keyspace::check_new(&self.path, &self.keyspace)?;
        }
        if let Some(merge) = &self.merge {
            let asked = Some(merge.text());
            let options = self.options.clone();
            let found = operator::Target::find(&self.path, &self.keyspace, asked, None, options)?;
            self.place = Place::Merge(Some(Box::new(found)));
        }
        Ok(())
    }

    fn says_what_to_create(&self) -> bool {
        self.schema.is_some() || self.merge.is_some()
    }

    /// Compares `--key-types` with the types of an existing keyspace.
    fn check_types(&self, found: Option<&Schema>) -> Outcome {
        let Some(asked) = &self.schema else { return Ok(()) };
        if found.is_some_and(|found| found.keys == asked.keys) {
            return Ok(());
        }
        let name = quoted(self.keyspace.as_bytes());
        let has = found.map_or("none", |found| &found.keys);
        Err(Exit::failed(format!(
            "keyspace {name} exists, and the types of its keys are {has}: leave out --key-types, \
             or import into a new keyspace"
        )))
    }

    /// Returns the types of keys, if they have some.
    pub(super) fn schema(&self) -> Option<&Schema> {
        self.schema.as_ref()
    }

    /// Returns the name of the keyspace if the import created it.
    pub(super) fn created(&self) -> Option<&str> {
        self.is_new.then_some(&self.keyspace)
    }

    /// Returns the parser of operands, if rows are merged.
    ///
    /// # Errors
    /// A usage error if `--as` contradicts the operator.
    pub(super) fn operands(&self, format: ValueFormat) -> Outcome<Option<OperandText>> {
        self.merge.as_ref().map(|merge| merge.operands(format)).transpose()
    }

    /// Returns the text form of the keyspace's operator.
    pub(super) fn operator_text(&self) -> Option<TextForm> {
        self.opened()?.operator_text()
    }

    fn opened(&self) -> Option<&Opened> {
        match &self.place {
            Place::Open(opened, _) => Some(opened),
            Place::Merge(target) => target.as_ref()?.opened(),
            Place::NoKeyspace | Place::Nothing => None,
        }
    }

    /// Adds an entry to a batch. The first entry creates what is missing.
    ///
    /// # Errors
    /// Fails if the database cannot be created or opened.
    pub(super) fn add(
        &mut self,
        batch: &mut WriteBatch,
        expires: Option<Expires>,
        key: &[u8],
        value: &[u8],
    ) -> Outcome {
        let (opened, operator) = self.open()?;
        batch.set_expires(expires);
        match operator {
            Some(operator) => batch.merge_with_in(operator, &opened.keyspace, key, value),
            None => batch.put_in(&opened.keyspace, key, value),
        };
        Ok(())
    }

    /// Writes a batch, atomically.
    pub(super) fn write(&mut self, batch: &WriteBatch) -> Outcome {
        Ok(self.open()?.0.db.write(batch)?)
    }

    /// Makes all written batches durable. Creates the database if no row was written.
    pub(super) fn sync(&mut self) -> Outcome {
        Ok(self.open()?.0.db.sync()?)
    }

    /// Makes all written batches durable, and creates nothing.
    pub(super) fn sync_if_open(&self) -> Outcome {
        match &self.place {
            Place::Open(opened, _) => Ok(opened.db.sync()?),
            _ => Ok(()),
        }
    }

    /// Closes the database.
    pub(super) fn close(self) -> Outcome {
        match self.place {
            Place::Open(opened, _) => opened.close(),
            _ => Ok(()),
        }
    }

    fn open(&mut self) -> Outcome<(&Opened, Option<&Operator>)> {
        if !matches!(self.place, Place::Open(..)) {
            self.place = self.make()?;
        }
        match &self.place {
            Place::Open(opened, operator) => Ok((opened, operator.as_ref())),
            _ => unreachable!("opened above"),
        }
    }

    fn make(&mut self) -> Outcome<Place> {
        if let Place::Merge(target) = &mut self.place {
            let target = target.take().ok_or_else(|| Exit::failed("the database did not open"))?;
            let (opened, operator) = target.open()?;
            return Ok(Place::Open(opened, Some(operator)));
        }
        let own = KeyspaceOptions {
            schema: self.schema.as_ref().map(Schema::to_string),
            merge_operator: self.merge.as_ref().map(|merge| merge.text().to_owned()),
            ..self.options.default.clone()
        };
        let options = match self.keyspace == DEFAULT {
            true => Options { default: own.clone(), ..self.options.clone() },
            false => self.options.clone(),
        };
        let db = match self.place {
            Place::Nothing => location::create(&self.path, options)?,
            _ => location::open(&self.path, options)?,
        };
        if self.keyspace != DEFAULT {
            let created = db.create_keyspace(&self.keyspace, own)?;
            self.is_new = true;
            if self.merge.is_none() && created.default_operator().is_some() {
                // A new keyspace takes the operator of the keyspace `default`.
                created.unset_default_operator()?;
            }
        }
        let opened = Opened::of(db, &self.path, &self.keyspace)?;
        let operator = self.merge.as_ref().map(|_| opened.keyspace.default_operator());
        match operator {
            Some(None) => Err(Exit::failed("the database did not take the operator")),
            operator => Ok(Place::Open(opened, operator.flatten())),
        }
    }
}

/// Returns the schema of keys of these types. Values have that of the operator, so that a program
/// opens the keyspace as a table of sums.
fn schema_of(types: &str, columns: usize, merge: Option<&Spec>) -> Outcome<Schema> {
    let is_whole = columns == 1 || types.starts_with(['(', '{']);
    let keys = if is_whole { types.to_owned() } else { format!("({types})") };
    let values = match merge.map(Spec::text) {
        Some("uint64add") => "sum(u64)",
        Some("int64add") => "sum(i64)",
        Some("float64add") => "sum(f64)",
        _ => "raw",
    };
    let schema = Schema { keys, values: values.to_owned() };
    match schema.key_columns() {
        Ok(found) if found.count() == columns => Ok(schema),
        Ok(found) => Err(Exit::usage(format!(
            "--key-types has {}, and --key names {}",
            counted(found.count() as u64, "type"),
            counted(columns as u64, "column")
        ))),
        Err(error) => Err(Exit::usage(format!("--key-types: {error}"))),
    }
}
