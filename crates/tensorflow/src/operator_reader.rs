//! A node as the functions in [`crate::ops`] read it: a [`Layer`] together with TensorFlow's attributes.
//!
//! Attributes that begin with `_`, and those that are types of operands or results, do not change what a node computes.
//! Every other attribute could change what the node computes. So a node is refused if it has such an attribute and the
//! function that reads the node has not asked for it.

use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;
use strait_core::{Elem, ReasonCode, TensorData};
use strait_import::{Entry, Layer, Refusal};

use crate::elements::element;
use crate::proto::{ListValue, NodeDef, Value, attribute};

/// A node while it is being read.
pub(crate) struct OperatorReader<'b, 'a> {
    pub(crate) layer: Layer<'b, 'a>,
    pub(crate) def: &'a NodeDef,
    pub(crate) asked: SmallVec<[&'static str; 8]>,
}

impl<'b, 'a> Deref for OperatorReader<'b, 'a> {
    type Target = Layer<'b, 'a>;

    fn deref(&self) -> &Layer<'b, 'a> {
        &self.layer
    }
}

impl DerefMut for OperatorReader<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.layer
    }
}

fn wrong(key: &str, found: &Value, expected: &str) -> Refusal {
    let text = format!("attribute `{key}` is of type {}, not {expected}", found.kind());
    Refusal::invalid(ReasonCode::AttributeType, text)
}

impl<'a> OperatorReader<'_, 'a> {
    /// The name of the node's operator.
    pub(crate) fn op(&self) -> &'a str {
        &self.def.op
    }

    fn value(&mut self, key: &'static str) -> Option<&'a Value> {
        self.asked.push(key);
        attribute(self.def, key)
    }

    /// True if the node has an attribute of this name.
    pub(crate) fn has_attribute(&self, key: &str) -> bool {
        attribute(self.def, key).is_some()
    }

    /// Makes one of the node's results a constant.
    pub(crate) fn define_constant(&mut self, result: usize, tensor: TensorData) {
        let position = self.layer.position();
        let results = self.layer.builder.wiring().results(position);
        if let Some(id) = results.get(result).copied().flatten() {
            self.layer.builder.define(id, Entry::Constant(tensor));
        }
    }

    /// An integer attribute.
    pub(crate) fn int(&mut self, key: &'static str) -> Result<Option<i64>, Refusal> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Int(value)) => Ok(Some(*value)),
            Some(other) => Err(wrong(key, other, "int")),
        }
    }

    /// A boolean attribute; `false` if it is absent.
    pub(crate) fn flag(&mut self, key: &'static str) -> Result<bool, Refusal> {
        match self.value(key) {
            None => Ok(false),
            Some(Value::Flag(value)) => Ok(*value),
            Some(other) => Err(wrong(key, other, "bool")),
        }
    }

    /// A float attribute. NaN is refused.
    pub(crate) fn float(&mut self, key: &'static str) -> Result<Option<f32>, Refusal> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Float(value)) if value.is_nan() => {
                Err(Refusal::invalid(ReasonCode::Nan, format!("attribute `{key}` is NaN")))
            }
            Some(Value::Float(value)) => Ok(Some(*value)),
            Some(other) => Err(wrong(key, other, "float")),
        }
    }

    /// A string attribute. If it is absent, the result is `default`.
    pub(crate) fn text(&mut self, key: &'static str, default: &'static str) -> Result<&'a str, Refusal> {
        match self.value(key) {
            None => Ok(default),
            Some(Value::Text(bytes)) => std::str::from_utf8(bytes)
                .map_err(|_| Refusal::invalid(ReasonCode::AttributeType, format!("attribute `{key}` is not UTF-8"))),
            Some(other) => Err(wrong(key, other, "text")),
        }
    }

    fn list(&mut self, key: &'static str) -> Result<Option<&'a ListValue>, Refusal> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::List(list)) => Ok(Some(list)),
            Some(other) => Err(wrong(key, other, "list")),
        }
    }

    /// An attribute that is a list of integers.
    pub(crate) fn ints(&mut self, key: &'static str) -> Result<Option<&'a [i64]>, Refusal> {
        Ok(self.list(key)?.map(|list| list.i.as_slice()))
    }

    /// An attribute that is an element type.
    pub(crate) fn elem(&mut self, key: &'static str) -> Result<Option<Elem>, Refusal> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Type(number)) => {
                let elem = element(*number);
                elem.map(Some)
                    .map_err(|name| Refusal::Unsupported(format!("`{key}` is {name}")))
            }
            Some(other) => Err(wrong(key, other, "type")),
        }
    }

    /// Accepts these attributes without reading them, because they have no effect at inference.
    pub(crate) fn ignore(&mut self, keys: &[&'static str]) {
        self.asked.extend_from_slice(keys);
    }

    /// Refuses a node that has an attribute for which the reading function has not asked.
    pub(crate) fn check_attributes(&self) -> Result<(), Refusal> {
        let unknown = self.def.attr.iter().find(|(key, attr)| {
            let is_type = match &attr.value {
                Some(Value::Type(_)) | None => true,
                Some(Value::List(list)) => !list.types.is_empty() || *list == ListValue::default(),
                Some(_) => false,
            };
            !(is_type || key.starts_with('_') || self.asked.contains(&key.as_str()))
        });
        match unknown {
            None => Ok(()),
            Some((key, _)) => Err(Refusal::Unsupported(format!("its attribute `{key}` is not known"))),
        }
    }
}
