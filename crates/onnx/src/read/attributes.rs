//! Access to the attributes of a node by type. At the end, the node is refused if it has an attribute that nobody asked
//! for, because that attribute could change what the node means.

use super::operator_reader::{OperatorReader, Refusal};
use super::tensor::tensor;
use crate::elements::element;
use crate::proto::{AttributeProto, GraphProto, kind};
use strait_core::{Elem, ReasonCode, TensorData};

impl<'a> OperatorReader<'_, 'a> {
    fn attribute(&mut self, key: &'static str, expected: i32) -> Result<Option<&'a AttributeProto>, Refusal> {
        self.asked.push(key);
        let Some(attribute) = self.node.attribute.iter().find(|a| a.name == key) else {
            return Ok(None);
        };
        if attribute.kind == expected {
            return Ok(Some(attribute));
        }
        let (found, expected) = (kind::name(attribute.kind), kind::name(expected));
        Err(Refusal::invalid(
            ReasonCode::AttributeType,
            format!("attribute `{key}` is of type {found}, not {expected}"),
        ))
    }

    /// Returns an integer attribute, or `None` if the node does not have it. If the attribute is present without a
    /// value, it is 0, because protobuf does not store zeros.
    pub(crate) fn int(&mut self, key: &'static str) -> Result<Option<i64>, Refusal> {
        Ok(self.attribute(key, kind::INT)?.map(|a| a.i.unwrap_or(0)))
    }

    /// An attribute that is the number of an element type.
    pub(crate) fn elem(&mut self, key: &'static str) -> Result<Option<Elem>, Refusal> {
        let elem = self.int(key)?.map(element).transpose();
        elem.map_err(|name| Refusal::Unsupported(format!("the element type is {name}")))
    }

    /// A boolean attribute, `false` by default.
    pub(crate) fn flag(&mut self, key: &'static str) -> Result<bool, Refusal> {
        Ok(self.int(key)?.is_some_and(|v| v != 0))
    }

    pub(crate) fn ints(&mut self, key: &'static str) -> Result<Option<&'a [i64]>, Refusal> {
        Ok(self.attribute(key, kind::INTS)?.map(|a| a.ints.as_slice()))
    }

    /// Returns a float attribute, or `None` if the node does not have it. If the attribute is present without a value,
    /// it is 0, because protobuf does not store zeros. NaN is refused.
    pub(crate) fn float(&mut self, key: &'static str) -> Result<Option<f32>, Refusal> {
        let value = self.attribute(key, kind::FLOAT)?.map(|a| a.f.unwrap_or(0.0));
        refuse_nan(key, value.as_slice())?;
        Ok(value)
    }

    /// A list of floats. NaN is refused.
    pub(crate) fn floats(&mut self, key: &'static str) -> Result<Option<&'a [f32]>, Refusal> {
        let values = self.attribute(key, kind::FLOATS)?.map(|a| a.floats.as_slice());
        refuse_nan(key, values.unwrap_or_default())?;
        Ok(values)
    }

    /// A string attribute, or `default` if the attribute is absent.
    pub(crate) fn text(&mut self, key: &'static str, default: &'static str) -> Result<&'a str, Refusal> {
        let bytes = self
            .attribute(key, kind::STRING)?
            .map(|a| a.s.as_deref().unwrap_or_default());
        utf8(key, bytes.unwrap_or(default.as_bytes()))
    }

    /// A string attribute that is one of the words that `parse` knows. Without the attribute, it is `default`.
    pub(crate) fn word<T>(
        &mut self,
        key: &'static str,
        default: &'static str,
        parse: fn(&str) -> Option<T>,
    ) -> Result<T, Refusal> {
        let word = self.text(key, default)?;
        parse(word).ok_or_else(|| Refusal::Unsupported(format!("`{key}` is {word}")))
    }

    /// A list of strings.
    pub(crate) fn texts(&mut self, key: &'static str) -> Result<Option<Vec<&'a str>>, Refusal> {
        let attribute = self.attribute(key, kind::STRINGS)?;
        let texts = attribute.map(|a| a.strings.iter().map(|text| utf8(key, text)).collect());
        texts.transpose()
    }

    pub(crate) fn tensor(&mut self, key: &'static str) -> Result<Option<TensorData>, Refusal> {
        let Some(attribute) = self.attribute(key, kind::TENSOR)? else {
            return Ok(None);
        };
        let proto = attribute.t.as_deref().cloned().unwrap_or_default();
        let tensor = tensor(&proto, self.nodes.files);
        tensor
            .map(Some)
            .map_err(|refusal| refusal.within(&format!("attribute `{key}`")))
    }

    /// An attribute that is a graph. The attribute has to be present.
    pub(crate) fn graph(&mut self, key: &'static str) -> Result<&'a GraphProto, Refusal> {
        let found = self.attribute(key, kind::GRAPH)?.and_then(|a| a.g.as_deref());
        found.ok_or_else(|| Refusal::invalid(ReasonCode::Call, format!("its graph `{key}` is missing")))
    }

    pub(crate) fn ignore(&mut self, keys: &[&'static str]) {
        self.asked.extend_from_slice(keys);
    }

    /// Refuses the node if an attribute has any value other than the one that Strait supports.
    pub(crate) fn only(&mut self, key: &'static str, value: i64) -> Result<(), Refusal> {
        match self.int(key)? {
            Some(other) if other != value => Err(Refusal::Unsupported(format!("`{key}` is {other}"))),
            _ => Ok(()),
        }
    }

    /// Refuses the node if it has an attribute that nobody asked for, because that attribute could change what the node
    /// means.
    pub(crate) fn check_attributes(&self) -> Result<(), Refusal> {
        match self
            .node
            .attribute
            .iter()
            .find(|a| !self.asked.contains(&a.name.as_str()))
        {
            None => Ok(()),
            Some(a) => Err(Refusal::Unsupported(format!("its attribute `{}` is not known", a.name))),
        }
    }
}

fn utf8<'t>(key: &str, text: &'t [u8]) -> Result<&'t str, Refusal> {
    std::str::from_utf8(text)
        .map_err(|_| Refusal::invalid(ReasonCode::AttributeType, format!("attribute `{key}` is not UTF-8")))
}

fn refuse_nan(key: &str, values: &[f32]) -> Result<(), Refusal> {
    match values.iter().any(|value| value.is_nan()) {
        true => Err(Refusal::invalid(ReasonCode::Nan, format!("attribute `{key}` is NaN"))),
        false => Ok(()),
    }
}
