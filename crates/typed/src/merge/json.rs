//! JSON documents, changed by JSON merge patches (RFC 7396).

use foldb::{Error, Result};

use crate::merge::Merged;

/// A JSON document that patches change: a member of the patch replaces one of the document, and
/// `null` removes it.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::{Json, MergeTable};
/// use serde_json::json;
///
/// let people = MergeTable::<u64, Json>::open(&db, "people")?;
/// people.merge(7, &json!({"name": "ann", "age": 30}))?;
/// people.merge(7, &json!({"age": null, "city": "berlin"}))?;
/// assert_eq!(people.get(7)?.unwrap(), json!({"name": "ann", "city": "berlin"}));
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Json {}

impl Merged for Json {
    type Value = serde_json::Value;
    type Operand = serde_json::Value;

    fn operator() -> String {
        "json_merge_patch".to_owned()
    }

    fn schema() -> String {
        "json".to_owned()
    }

    fn encode(patch: &serde_json::Value) -> Result<Vec<u8>> {
        Ok(patch.to_string().into_bytes())
    }

    fn decode(value: &[u8]) -> Result<serde_json::Value> {
        serde_json::from_slice(value)
            .map_err(|error| Error::corruption(format!("value: expected JSON: {error}")))
    }
}
