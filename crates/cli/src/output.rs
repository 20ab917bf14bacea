//! Standard output: data, and nothing else.

use std::io::{self, BufWriter, StdoutLock, Write};

use foldb_typed::schema::Schema;
use serde::Serialize;

use crate::exit::{Exit, Outcome};
use crate::form::{Form, Shown, json};

/// Buffered standard output. If its reader has closed the pipe, the command ends quietly.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
}

impl Output {
    /// Takes standard output.
    pub(crate) fn new() -> Output {
        Output { out: BufWriter::with_capacity(64 << 10, io::stdout().lock()) }
    }

    /// Writes some lines.
    pub(crate) fn text(&mut self, text: &str) -> Outcome {
        self.with(|out| out.write_all(text.as_bytes()))
    }

    /// Writes an object as one line of JSON.
    pub(crate) fn json(&mut self, object: &impl Serialize) -> Outcome {
        self.with(|out| {
            serde_json::to_writer(&mut *out, object)?;
            out.write_all(b"\n")
        })
    }

    /// Writes one line with the given function.
    pub(crate) fn with(
        &mut self,
        write: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<()>,
    ) -> Outcome {
        write(&mut self.out).map_err(|error| Exit::stdout(&error))
    }

    /// Flushes the buffer.
    pub(crate) fn flush(&mut self) -> Outcome {
        self.with(|out| out.flush())
    }
}

/// How entries are printed.
#[derive(Clone, Debug)]
pub(crate) struct EntryStyle {
    /// Form of keys.
    pub key: Form,
    /// Form of values.
    pub value: Form,
    /// Whether the form comes from the operator alone. A value that does not fit is then text.
    pub or_text: bool,
    /// Whether to print JSON.
    pub json: bool,
    /// The types of keys, in place of their form. Values that are encoded as keys are typed too, if
    /// the operator alone says their form.
    pub types: Option<Schema>,
}

impl EntryStyle {
    /// Prints `key<TAB>value`, or an object.
    ///
    /// # Errors
    /// Fails with the key's name if the value does not fit its form.
    pub(crate) fn line(&self, output: &mut Output, key: &[u8], value: &[u8]) -> Outcome {
        let typed = self.types.as_ref().map(|types| types.show_key(key)).transpose()?;
        let typed_value = self.typed_value(key, value)?;
        let value = self.shown_value(key, typed_value.as_deref(), value)?;
        let key = match &typed {
            Some(typed) => Shown::Text(typed.as_bytes()),
            None => self.shown_key(key)?,
        };
        if self.json {
            return output.json(&json::Entry { key: json::value(key), value: json::value(value) });
        }
        output.with(|out| {
            key.write_escaped(out)?;
            out.write_all(b"\t")?;
            value.write_escaped(out)?;
            out.write_all(b"\n")
        })
    }

    /// Prints the stored value alone and the end of the line, or an object.
    pub(crate) fn value(
        &self,
        output: &mut Output,
        key: &[u8],
        value: &[u8],
        end: &[u8],
    ) -> Outcome {
        if self.json {
            return self.line(output, key, value);
        }
        let typed = self.typed_value(key, value)?;
        let value = self.shown_value(key, typed.as_deref(), value)?;
        output.with(|out| {
            value.write_plain(out)?;
            out.write_all(end)
        })
    }

    fn shown_key<'a>(&self, key: &'a [u8]) -> Outcome<Shown<'a>> {
        self.key.show(key).map_err(|why| Exit::failed(format!("a key {why}")))
    }

    /// Returns a value as its types show it, if they do.
    fn typed_value(&self, key: &[u8], value: &[u8]) -> Outcome<Option<String>> {
        let Some(types) = self.types.as_ref().filter(|_| self.or_text) else { return Ok(None) };
        let shown = types.show_value(value);
        let named = |error| Exit::failed(format!("{}: {error}", self.key_in_message(key)));
        shown.map_err(named)
    }

    fn shown_value<'a>(
        &self,
        key: &[u8],
        typed: Option<&'a str>,
        value: &'a [u8],
    ) -> Outcome<Shown<'a>> {
        if let Some(typed) = typed {
            return Ok(Shown::Text(typed.as_bytes()));
        }
        let named = || self.key_in_message(key);
        let shown = self.value.show(value);
        let shown = if self.or_text { shown.or_else(|_| Form::Utf8.show(value)) } else { shown };
        shown.map_err(|why| Exit::failed(format!("the value of {} {why}", named())))
    }

    /// Returns a key as a message names it.
    pub(crate) fn key_in_message(&self, key: &[u8]) -> String {
        key_in_message(self.key, key)
    }
}

/// Returns a key as a message names it: in the form of the command line.
pub(crate) fn key_in_message(form: Form, key: &[u8]) -> String {
    let mut text = Vec::new();
    match form.show(key) {
        // Writing to a Vec cannot fail.
        Ok(Shown::Text(_)) | Err(_) => return format!("key {}", crate::form::escape::quoted(key)),
        Ok(shown) => drop(shown.write_plain(&mut text)),
    }
    format!("key {}", crate::form::escape::quoted(&text))
}
