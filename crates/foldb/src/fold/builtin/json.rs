//! `json_merge_patch`: JSON documents changed by JSON merge patches (RFC 7396).
//!
//! Values have one spelling: no spaces, keys ascending. So equal documents are equal bytes. Numbers
//! other than 64-bit integers are 64-bit fractions.
//!
//! Some pairs of patches have no single patch with the same effect (H7). `partial` keeps such
//! pairs:
//! ```text
//! {"a":1} {"b":2}          ->  {"a":1,"b":2}
//! {"a":null} {"a":{"b":1}} ->  kept: no patch says "replace what was in a"
//! ```

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::fold::operator::{Full, MergeOperator, Partial};

/// This build has the operator.
pub(super) const MISSING_FEATURE: Option<&str> = None;

#[derive(Debug)]
struct JsonMergePatch;

pub(super) fn make_json_merge_patch(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(JsonMergePatch) as Arc<dyn MergeOperator>)
}

fn parse(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

/// Applies a patch to a document.
fn apply(document: Value, patch: Value) -> Value {
    let Value::Object(patch) = patch else { return patch };
    let mut members = match document {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    for (name, change) in patch {
        let before = members.remove(&name);
        if !change.is_null() {
            members.insert(name, apply(before.unwrap_or(Value::Null), change));
        }
    }
    Value::Object(members)
}

/// Returns the single patch with the effect of the first patch and then the second, if there is
/// one.
fn compose(first: Value, second: Value) -> Option<Value> {
    let Value::Object(second) = second else { return Some(second) };
    let Value::Object(mut members) = first else { return None };
    for (name, change) in second {
        let composed = match members.remove(&name) {
            Some(before) => compose(before, change)?,
            None => change,
        };
        members.insert(name, composed);
    }
    Some(Value::Object(members))
}

/// Writes a document without spaces, keys ascending.
fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            out.push(b'{');
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(Value::String(name.clone()).to_string().as_bytes());
                out.push(b':');
                write(member, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        scalar => out.extend_from_slice(scalar.to_string().as_bytes()),
    }
}

impl MergeOperator for JsonMergePatch {
    fn name(&self) -> &str {
        "json_merge_patch"
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        let base = base.map_or(Some(Value::Null), parse);
        let folded = base.and_then(|base| {
            operands.iter().try_fold(base, |value, patch| Some(apply(value, parse(patch)?)))
        });
        match folded {
            Some(value) => {
                write(&value, out);
                Full::Value
            }
            None => Full::Fail,
        }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let mut patches = operands.iter().map(|operand| parse(operand));
        let first = patches.next().flatten();
        let composed =
            first.and_then(|first| patches.try_fold(first, |all, next| compose(all, next?)));
        match composed {
            Some(patch) => {
                write(&patch, out);
                Partial::Operand
            }
            None => Partial::Keep,
        }
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        serde_json::from_slice::<Value>(operand)
            .map(drop)
            .map_err(|error| format!("a JSON document: {error}"))
    }
}
