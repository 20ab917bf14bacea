//! The operator of a merge, and the text form of its operands.
//!
//! Invariant: a wrong operator or operand is an error before anything is written, and before a
//! database is created or gets its default operator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb::Options;
use foldb::limits::MAX_VALUE_BYTES;
use foldb::operators::{Full, MergeOperator, Operator, TextForm, builtins};

use crate::args::nearest::hint;
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::{Form, ValueFormat};
use crate::keyspace::{self, Opened};
use crate::location::{self, Location};

/// An operator from the command line: `NAME` or `NAME:PARAM`.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    text: String,
    implementation: Arc<dyn MergeOperator>,
}

impl Spec {
    /// Finds the operator.
    ///
    /// # Errors
    /// A usage error with the nearest name, or with the parameter that the operator takes.
    pub(crate) fn parse(text: &str) -> Outcome<Spec> {
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter.as_bytes())),
            None => (text, None),
        };
        let Some(builtin) = builtins().iter().find(|builtin| builtin.name == name) else {
            let nearest = hint(name, builtins().iter().map(|builtin| builtin.name));
            let name = quoted(name.as_bytes());
            return Err(Exit::usage(format!(
                "there is no operator {name}{nearest} (foldb operators lists them)"
            )));
        };
        let implementation = builtin
            .instantiate(parameter)
            .map_err(|error| Exit::usage(format!("--operator: {error}")))?;
        Ok(Spec { text: text.to_owned(), implementation })
    }

    /// Makes the specification of an operator that is not built in.
    pub(crate) fn of(implementation: Arc<dyn MergeOperator>) -> Spec {
        Spec { text: implementation.name().to_owned(), implementation }
    }

    /// Returns what folds.
    pub(crate) fn implementation(&self) -> Arc<dyn MergeOperator> {
        Arc::clone(&self.implementation)
    }

    /// Returns the text from the command line.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Folds operands onto a base.
    pub(crate) fn fold(
        &self,
        key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        self.implementation.full(key, base, operands, out)
    }

    /// Returns the text form of its values.
    pub(crate) fn text_form(&self) -> TextForm {
        self.implementation.text()
    }

    /// Returns the parser of its operands.
    ///
    /// # Errors
    /// A usage error if `--as` contradicts the operator.
    pub(crate) fn operands(&self, format: ValueFormat) -> Outcome<OperandText> {
        let form = operand_form(&self.text, self.text_form(), format)?;
        let check = Arc::clone(&self.implementation);
        Ok(OperandText { operator: self.text.clone(), form, check })
    }
}

/// A keyspace, or the path for a new database, and the operator of its merges. Nothing is written
/// before [`Target::open`].
pub(crate) struct Target {
    path: PathBuf,
    options: Options,
    operator: Choice,
}

enum Choice {
    /// The keyspace's default.
    Default(Opened, Operator),
    /// Another operator for these merges only; the keyspace's default does not change.
    Other(Opened, Spec),
    /// The database exists, and these merges set the operator of its keyspace `default`.
    Fix(Opened, Spec),
    /// The database does not exist yet.
    Create(Spec),
}

impl Target {
    /// Looks at `path`. If neither the keyspace nor `asked` names an operator, the operator is
    /// `otherwise`.
    ///
    /// # Errors
    /// A usage error if nothing names an operator. Fails if `path` cannot be a database, or if the
    /// keyspace is missing.
    pub(crate) fn find(
        path: &Path,
        keyspace: &str,
        asked: Option<&str>,
        otherwise: Option<&str>,
        options: Options,
    ) -> Outcome<Target> {
        let asked = asked.map(Spec::parse).transpose()?;
        let undecided = |asked: Option<Spec>| match (asked, otherwise) {
            (Some(spec), _) => Ok(spec),
            (None, Some(otherwise)) => Spec::parse(otherwise),
            (None, None) => Err(no_operator(path, keyspace)),
        };
        let operator = match Location::of(path)? {
            Location::Free => {
                keyspace::check_new(path, keyspace)?;
                Choice::Create(undecided(asked)?)
            }
            Location::Database => {
                let opened = Opened::open(path, keyspace, options.clone())?;
                match (opened.keyspace.default_operator(), asked) {
                    (Some(default), None) => Choice::Default(opened, default),
                    (Some(default), Some(spec)) if default.spec() == spec.text => {
                        Choice::Default(opened, default)
                    }
                    (Some(_), Some(spec)) => Choice::Other(opened, spec),
                    (None, asked) => {
                        let missing = opened.missing_operator();
                        let spec = match (asked, missing.clone()) {
                            (None, Some(missing)) => return Err(missing),
                            (asked, _) => undecided(asked)?,
                        };
                        if keyspace == keyspace::DEFAULT && missing.is_none() {
                            Choice::Fix(opened, spec)
                        } else {
                            Choice::Other(opened, spec)
                        }
                    }
                }
            }
        };
        Ok(Target { path: path.to_owned(), options, operator })
    }

    /// Returns the database, if it is already open.
    pub(crate) fn opened(&self) -> Option<&Opened> {
        match &self.operator {
            Choice::Default(opened, _) | Choice::Other(opened, _) | Choice::Fix(opened, _) => {
                Some(opened)
            }
            Choice::Create(_) => None,
        }
    }

    /// Returns the operator as text.
    pub(crate) fn spec(&self) -> String {
        match &self.operator {
            Choice::Default(_, operator) => operator.spec(),
            Choice::Other(_, spec) | Choice::Fix(_, spec) | Choice::Create(spec) => {
                spec.text.clone()
            }
        }
    }

    /// Returns the text form of its operands.
    pub(crate) fn text(&self) -> TextForm {
        match &self.operator {
            Choice::Default(_, operator) => operator.text(),
            Choice::Other(_, spec) | Choice::Fix(_, spec) | Choice::Create(spec) => {
                spec.implementation.text()
            }
        }
    }

    /// Returns the parser of its operands.
    ///
    /// # Errors
    /// A usage error if `--as` contradicts the operator.
    pub(crate) fn operands(&self, format: ValueFormat) -> Outcome<OperandText> {
        let form = operand_form(&self.spec(), self.text(), format)?;
        Ok(OperandText { operator: self.spec(), form, check: self.implementation()? })
    }

    fn implementation(&self) -> Outcome<Arc<dyn MergeOperator>> {
        match &self.operator {
            Choice::Default(_, operator) => Ok(Spec::parse(&operator.spec())?.implementation),
            Choice::Other(_, spec) | Choice::Fix(_, spec) | Choice::Create(spec) => {
                Ok(Arc::clone(&spec.implementation))
            }
        }
    }

    /// Checks that a key can be read after the merge of an operand. `named` is the key in a
    /// message. By the laws of operators, a fold of the operand onto the value is the value after
    /// the merge, so nothing is written.
    ///
    /// # Errors
    /// Says what the key holds instead of a value of the operator, and that nothing was written.
    pub(crate) fn check_merge(&self, key: &[u8], operand: &[u8], named: &str) -> Outcome {
        let Some(opened) = self.opened() else { return Ok(()) };
        let refused = |why: String| Exit::failed(format!("nothing was written: {why}"));
        let value = match opened.keyspace.get(key) {
            Ok(value) => value,
            Err(error) if error.failed_merge().is_some() => {
                return Err(refused(format!(
                    "{named} cannot be read before this merge (foldb get --operands shows what it \
                     holds): {error}"
                )));
            }
            Err(error) => return Err(error.into()),
        };
        let mut out = Vec::new();
        match self.implementation()?.full(key, value.as_deref(), &[operand], &mut out) {
            Full::Fail => {}
            Full::Value if out.len() > MAX_VALUE_BYTES => {}
            _ => return Ok(()),
        }
        let holds = value.map_or("nothing".to_owned(), |value| quoted(&value));
        Err(refused(format!(
            "{} cannot fold this operand onto {named}, which holds {holds}; put or delete the key \
             first, or merge with --blind to store the operand unread",
            self.spec()
        )))
    }

    /// Opens the keyspace, and creates its database if necessary. Also returns the operator.
    pub(crate) fn open(self) -> Outcome<(Opened, Operator)> {
        let mut options = self.options;
        let with_default = |spec: &Spec| {
            options.default.merge_operator = Some(spec.text.clone());
            options
        };
        let opened = match self.operator {
            Choice::Default(opened, operator) => return Ok((opened, operator)),
            Choice::Other(opened, spec) => {
                let operator = opened.keyspace.operator(&spec.text)?;
                return Ok((opened, operator));
            }
            Choice::Fix(opened, spec) => {
                opened.close()?;
                Opened::open(&self.path, keyspace::DEFAULT, with_default(&spec))?
            }
            Choice::Create(spec) => {
                Opened::create(&self.path, keyspace::DEFAULT, with_default(&spec))?
            }
        };
        let operator = opened
            .keyspace
            .default_operator()
            .ok_or_else(|| Exit::failed("the database did not take the operator"))?;
        Ok((opened, operator))
    }
}

fn no_operator(path: &Path, keyspace: &str) -> Exit {
    let lists = "(foldb operators lists them)";
    if keyspace == keyspace::DEFAULT {
        let db = location::shown(path);
        return Exit::usage(format!("{db} has no operator yet: give --operator OP once {lists}"));
    }
    let keyspace = quoted(keyspace.as_bytes());
    Exit::usage(format!("keyspace {keyspace} has no operator: give --operator OP {lists}"))
}

/// Returns the form of operands: decimals for number operators, the form of `--as` for the others.
fn operand_form(operator: &str, text: TextForm, format: ValueFormat) -> Outcome<Form> {
    let form = format.resolve(Some(text));
    let natural = Form::from(text);
    if natural.is_number() && form != natural {
        return Err(Exit::usage(format!(
            "--as {} does not fit {operator}, whose operands are decimals ({})",
            form.name(),
            natural.name()
        )));
    }
    Ok(form)
}

/// The parser for operands of one operator.
pub(crate) struct OperandText {
    operator: String,
    form: Form,
    check: Arc<dyn MergeOperator>,
}

impl OperandText {
    /// Parses an operand.
    ///
    /// # Errors
    /// One line with the operator, the text and what was expected.
    pub(crate) fn parse(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let operand =
            self.form.parse(text).ok_or_else(|| self.refusal(text, &self.form.expected()))?;
        match self.check.check_operand(&operand) {
            Ok(()) => Ok(operand),
            Err(expected) => Err(self.refusal(text, &expected)),
        }
    }

    /// Whether the operator counts, so that it knows an operand for one.
    pub(crate) fn counts(&self) -> bool {
        self.form.is_number()
    }

    /// Returns the operand for one, if the operator counts.
    pub(crate) fn one(&self) -> Result<Vec<u8>, String> {
        match self.form {
            Form::U64 | Form::I64 | Form::F64 => self.parse(b"1"),
            _ => Err(format!("{} needs an operand after a TAB", self.operator)),
        }
    }

    fn refusal(&self, text: &[u8], expected: &str) -> String {
        format!("{} does not take {}: it expects {expected}", self.operator, quoted(text))
    }
}

#[cfg(test)]
mod tests {
    use foldb::operators::Full;

    use super::*;

    /// An operator that takes operands of at most 8 bytes.
    #[derive(Debug)]
    struct Short;

    impl MergeOperator for Short {
        fn name(&self) -> &str {
            "op"
        }

        fn full(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]], _: &mut Vec<u8>) -> Full {
            Full::Existing
        }

        fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
            if operand.len() <= 8 { Ok(()) } else { Err("at most 8 bytes".to_owned()) }
        }
    }

    fn text_of(form: Form) -> OperandText {
        OperandText { operator: "op".to_owned(), form, check: Arc::new(Short) }
    }

    #[test]
    fn the_operator_checks_its_operands() {
        assert_eq!(
            text_of(Form::Utf8).parse(b"123456789").unwrap_err(),
            "op does not take '123456789': it expects at most 8 bytes"
        );
    }

    #[test]
    fn operands_of_number_operators_are_decimals() {
        assert_eq!(text_of(Form::I64).parse(b"-5"), Ok((-5i64).to_le_bytes().to_vec()));
        assert_eq!(
            text_of(Form::U64).parse(b"-5").unwrap_err(),
            "op does not take '-5': it expects a whole number from 0 to 18446744073709551615"
        );
        assert_eq!(text_of(Form::Utf8).parse(b"\xff\t"), Ok(b"\xff\t".to_vec()));
    }

    #[test]
    fn only_number_operators_know_what_one_is() {
        assert_eq!(text_of(Form::U64).one(), Ok(1u64.to_le_bytes().to_vec()));
        assert_eq!(text_of(Form::F64).one(), Ok(1f64.to_le_bytes().to_vec()));
        assert_eq!(text_of(Form::Utf8).one().unwrap_err(), "op needs an operand after a TAB");
    }

    #[test]
    fn as_says_how_the_bytes_of_other_operators_are_given() {
        assert_eq!(operand_form("max", TextForm::Bytes, ValueFormat::Auto), Ok(Form::Utf8));
        assert_eq!(operand_form("max", TextForm::Bytes, ValueFormat::Hex), Ok(Form::Hex));
        assert_eq!(operand_form("add", TextForm::U64, ValueFormat::U64), Ok(Form::U64));
        assert_eq!(operand_form("add", TextForm::U64, ValueFormat::Hex).unwrap_err().code(), 2);
    }

    #[test]
    fn an_unknown_operator_comes_with_the_nearest() {
        let Err(Exit::Usage(message)) = Spec::parse("uint64ad") else { panic!("found") };
        assert_eq!(
            message,
            "there is no operator 'uint64ad'; the nearest is 'uint64add' \
             (foldb operators lists them)"
        );
        assert_eq!(Spec::parse("max:3").unwrap_err().code(), 2);
        assert_eq!(Spec::parse("stringappend:;").unwrap().text, "stringappend:;");
    }
}
