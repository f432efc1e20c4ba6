//! An op of a target's own format.

use super::prelude::*;
use crate::attribute::{Attribute, AttributeError, Attributes};

/// A node of an external format, such as `AscendQuant` or `QLinearConv`. It occurs only in the export stage. Strait
/// cannot infer the types of its results, so the code that adds the node sets them.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// The namespace of the format.
    pub domain: String,
    /// The operator's name in the format.
    pub name: String,
    /// The attributes, in the order in which they are written.
    pub attributes: Vec<(String, Attribute)>,
}

/// The attributes of a `Foreign` op have arbitrary names. In the text form and in IR bytes, `x.` is written before each
/// name, and the two attributes `domain` and `name` come first.
/// [`Op::from_attribute_list`](super::Op::from_attribute_list) reads such a list.
impl Attributes for Foreign {
    const NAME: &'static str = "foreign";
    const VERSION: u16 = 1;
    const ARITY: (usize, usize) = (0, 65_536);
    const KEYS: &'static [&'static str] = &["domain", "name"];

    fn words(_: &str) -> Vec<&'static str> {
        Vec::new()
    }

    fn is_list(_: &str) -> bool {
        false
    }

    fn write(&self, put: &mut dyn FnMut(&'static str, Attribute)) {
        put("domain", Attribute::Text(self.domain.clone()));
        put("name", Attribute::Text(self.name.clone()));
    }

    fn read(get: &mut dyn FnMut(&'static str) -> Option<Attribute>) -> Result<Self, AttributeError> {
        Ok(Foreign {
            domain: crate::attribute::field("foreign", "domain", get, None)?,
            name: crate::attribute::field("foreign", "name", get, None)?,
            attributes: Vec::new(),
        })
    }
}

impl Foreign {
    /// The kind of computation that this op does.
    pub const KIND: Kind = Kind::Elsewhere;
}

impl OpFacts for Foreign {
    fn infer(&self, _: &Operands<'_>) -> Result<Results, Reason> {
        Err(Reason::new(
            ReasonCode::Foreign,
            format!("{}.{} is not ours to infer", self.domain, self.name),
        ))
    }
}
