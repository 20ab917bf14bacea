//! The changes that an edit makes to one keyspace. Module `edit` draws their encoding.

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, Result};
use crate::key::{KeyspaceId, OperatorId, SeqNo};
use crate::settings::KeyspaceSettings;
use crate::version::edit::{Fields, TreeEdit, tag};

/// Changes of one keyspace. A field that is `None` changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeyspaceEdit {
    pub(crate) id: KeyspaceId,
    /// Name of a keyspace that the edit creates.
    pub(crate) name: Option<String>,
    pub(crate) comparator: Option<String>,
    pub(crate) num_levels: Option<u64>,
    pub(crate) default_operator: Option<OperatorId>,
    pub(crate) settings: Option<KeyspaceSettings>,
    /// Name of the filter policy with which the keyspace was created.
    pub(crate) filter_policy: Option<String>,
    /// How the program encodes keys and values.
    pub(crate) schema: Option<String>,
    /// Tables hold all writes up to this sequence number, so replay skips them.
    pub(crate) flushed_through: Option<SeqNo>,
    pub(crate) dead_share: Option<f64>,
    /// Changes of the tree, applied in this order.
    pub(crate) tree: Vec<TreeEdit>,
}

impl KeyspaceEdit {
    /// Makes an edit of the tree alone.
    pub(crate) fn of_tree(id: KeyspaceId, tree: Vec<TreeEdit>) -> KeyspaceEdit {
        KeyspaceEdit { id, tree, ..KeyspaceEdit::default() }
    }

    pub(super) fn encode(&self, fields: &mut Fields<'_>) {
        fields.add(tag::KEYSPACE, |body| put_varint(body, u64::from(self.id)));
        if let Some(name) = &self.name {
            fields.add(tag::NAME, |body| body.extend_from_slice(name.as_bytes()));
        }
        if let Some(comparator) = &self.comparator {
            fields.add(tag::COMPARATOR, |body| body.extend_from_slice(comparator.as_bytes()));
        }
        for (tag, number) in [
            (tag::NUM_LEVELS, self.num_levels),
            (tag::DEFAULT_OPERATOR, self.default_operator.map(u64::from)),
        ] {
            if let Some(number) = number {
                fields.add(tag, |body| put_varint(body, number));
            }
        }
        if let Some(settings) = &self.settings {
            fields.add(tag::SETTINGS, |body| settings.encode(body));
        }
        if let Some(policy) = &self.filter_policy {
            fields.add(tag::FILTER_POLICY, |body| body.extend_from_slice(policy.as_bytes()));
        }
        if let Some(schema) = &self.schema {
            fields.add(tag::SCHEMA, |body| body.extend_from_slice(schema.as_bytes()));
        }
        if let Some(seqno) = self.flushed_through {
            fields.add(tag::FLUSHED_THROUGH, |body| put_varint(body, seqno));
        }
        for change in &self.tree {
            change.encode(fields);
        }
        if let Some(share) = self.dead_share {
            fields.add(tag::DEAD_SHARE, |body| body.extend_from_slice(&share.to_le_bytes()));
        }
    }

    /// Reads a field of the section.
    pub(super) fn decode_field(&mut self, tag: u64, body: &mut ByteReader<'_>) -> Result<()> {
        match tag {
            tag::NAME => self.name = Some(text(body, "name")?),
            tag::COMPARATOR => {
                let name = body.take(body.remaining(), "comparator")?;
                self.comparator = Some(String::from_utf8_lossy(name).into_owned());
            }
            tag::FILTER_POLICY => {
                let name = body.take(body.remaining(), "filter policy")?;
                self.filter_policy = Some(String::from_utf8_lossy(name).into_owned());
            }
            tag::SCHEMA => self.schema = Some(text(body, "schema")?),
            tag::NUM_LEVELS => self.num_levels = Some(body.varint("number of levels")?),
            tag::DEFAULT_OPERATOR => {
                self.default_operator = Some(body.varint32("default operator")?);
            }
            tag::SETTINGS => self.settings = Some(KeyspaceSettings::decode(body)?),
            tag::FLUSHED_THROUGH => self.flushed_through = Some(body.varint("flushed through")?),
            tag::DEAD_SHARE => {
                let share = f64::from_bits(body.u64("dead share")?);
                if !(0.0..=1.0).contains(&share) {
                    return Err(Error::corruption(format!("dead share {share} is not in 0..=1")));
                }
                self.dead_share = Some(share);
            }
            _ => self.tree.push(TreeEdit::decode(tag, body)?),
        }
        Ok(())
    }
}

/// Reads a whole field as text.
fn text(body: &mut ByteReader<'_>, what: &str) -> Result<String> {
    let bytes = body.take(body.remaining(), what)?;
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::corruption(format!("the {what} of a keyspace is not UTF-8")))?;
    Ok(text.to_owned())
}
