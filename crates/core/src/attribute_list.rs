//! An op as a name and a list of (key, attribute), from which the text form, IR bytes, JSON and DOT are made.

use crate::attribute::{Attribute, AttributeError};
use crate::op::Op;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The prefix of the attribute keys of a `foreign` op. It keeps these keys apart from the keys that Strait itself uses.
pub const FOREIGN_PREFIX: &str = "x.";

/// Why no op can be made from a name and a list of attributes. The cause is the text or the IR bytes that were read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OpError {
    /// This version of Strait does not have the op.
    #[error("there is no op `{0}`")]
    UnknownOp(String),
    /// This version of Strait has the op, but not the attribute.
    #[error("{op} has no attribute `{key}`; it has {}", if .known.is_empty() { "none".into() } else { .known.join(", ") })]
    UnknownAttribute {
        /// The name of the op.
        op: &'static str,
        /// The unknown key.
        key: String,
        /// The keys that the op has.
        known: &'static [&'static str],
    },
    /// A key appears twice.
    #[error("attribute `{0}` is given twice")]
    Twice(String),
    /// An attribute is missing or has a wrong value.
    #[error(transparent)]
    Attribute(#[from] AttributeError),
}

impl Op {
    /// Returns the name, version and attribute keys of the op called `name`.
    pub fn find(name: &str) -> Option<(&'static str, u16, &'static [&'static str])> {
        Op::ALL.iter().copied().find(|(known, ..)| *known == name)
    }

    /// Returns the attribute with the key `wanted`.
    pub fn attribute(&self, wanted: &str) -> Option<Attribute> {
        let mut found = None;
        self.attributes(&mut |key, value| {
            if key == wanted {
                found = Some(value);
            }
        });
        found
    }

    /// Returns the key of the first attribute whose value is NaN, or a list that contains NaN.
    pub fn nan_attribute(&self) -> Option<&'static str> {
        let mut found = None;
        self.attributes(&mut |key, value| {
            let is_nan = match value {
                Attribute::Float(value) => value.is_nan(),
                Attribute::Floats(values) => values.iter().any(|value| value.is_nan()),
                _ => false,
            };
            found = found.or(is_nan.then_some(key));
        });
        found
    }

    /// Returns every attribute, in order. For a `foreign` op, its two fixed attributes come first, and then the
    /// attributes of the foreign operator, each with the prefix [`FOREIGN_PREFIX`].
    pub fn attribute_list(&self) -> Vec<(Cow<'static, str>, Attribute)> {
        let mut list = Vec::new();
        self.attributes(&mut |key, value| list.push((Cow::Borrowed(key), value)));
        if let Op::Foreign(foreign) = self {
            let theirs = foreign.attributes.iter();
            list.extend(theirs.map(|(key, value)| (format!("{FOREIGN_PREFIX}{key}").into(), value.clone())));
        }
        list
    }

    /// Makes the op with this name and these attributes; the inverse of [`Op::attribute_list`].
    pub fn from_attribute_list(name: &str, list: Vec<(String, Attribute)>) -> Result<Op, OpError> {
        let (op, _, known) = Op::find(name).ok_or_else(|| OpError::UnknownOp(name.into()))?;
        let is_foreign = op == <crate::op::Foreign as crate::Attributes>::NAME;
        let mut own: BTreeMap<String, Attribute> = BTreeMap::new();
        let mut theirs: Vec<(String, Attribute)> = Vec::new();
        let mut their_keys: BTreeSet<String> = BTreeSet::new();
        for (key, value) in list {
            let foreign_key = key.strip_prefix(FOREIGN_PREFIX).filter(|_| is_foreign);
            if let Some(foreign_key) = foreign_key {
                if !their_keys.insert(foreign_key.into()) {
                    return Err(OpError::Twice(key));
                }
                theirs.push((foreign_key.into(), value));
            } else if !known.contains(&key.as_str()) {
                return Err(OpError::UnknownAttribute { op, key, known });
            } else if own.insert(key.clone(), value).is_some() {
                return Err(OpError::Twice(key));
            }
        }
        let read = Op::read(op, &mut |key| own.remove(key));
        let mut read = read.ok_or_else(|| OpError::UnknownOp(name.into()))??;
        if let Op::Foreign(foreign) = &mut read {
            foreign.attributes = theirs;
        }
        Ok(read)
    }
}
