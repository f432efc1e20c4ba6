//! Describes a node of the model for the code of a target.

use crate::spec::{self, OpSite};
use std::borrow::Cow;
use strait_core::{Attribute, Elem, TensorType, Term};

/// Plain data about a node of the float model, for the target's own code. The node is within the limits of the target's
/// table.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate<'a> {
    name: Cow<'a, str>,
    term: Term,
    attributes: Vec<(Cow<'static, str>, Attribute)>,
    operands: Vec<Option<Operand>>,
    result: Operand,
}

/// An operand or the result of a [`Candidate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Type of the operand's elements.
    pub element: Elem,
    /// Extents of the operand; `None` if not all of them are known.
    pub extents: Option<Vec<u64>>,
    /// True if the operand is a constant tensor of the model.
    pub constant: bool,
}

impl Operand {
    fn new(ty: &TensorType, constant: bool) -> Operand {
        Operand {
            element: ty.elem,
            extents: ty.dims().map(|dims| dims.to_vec()),
            constant,
        }
    }
}

impl<'a> Candidate<'a> {
    /// Describes the node called `name`, with its operands and its result.
    pub fn new(name: &'a str, site: OpSite<'_>) -> Candidate<'a> {
        let mut attributes = Vec::new();
        site.op
            .attributes(&mut |key, value| attributes.push((Cow::Borrowed(key), value)));
        let operand = |operand: &spec::Operand<'_>| Operand::new(operand.ty, operand.constant);
        let operands = site.operands.iter().map(|known| known.as_ref().map(operand));
        Candidate::of(
            name.into(),
            site.op.term(),
            attributes,
            operands.collect(),
            Operand::new(site.result, false),
        )
    }

    /// Makes a candidate from the description that another process has sent. Such a description has no attributes that
    /// are tensors of the model or requantizations.
    pub fn of(
        name: Cow<'a, str>,
        term: Term,
        mut attributes: Vec<(Cow<'static, str>, Attribute)>,
        operands: Vec<Option<Operand>>,
        result: Operand,
    ) -> Candidate<'a> {
        attributes.retain(|(_, value)| !matches!(value, Attribute::Data(_) | Attribute::Form(_)));
        Candidate {
            name,
            term,
            attributes,
            operands,
            result,
        }
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Term of the node. Later versions of Strait have more terms, so a target's code must also handle terms that it
    /// does not know.
    pub fn term(&self) -> Term {
        self.term
    }

    /// The attribute that has the name `key` in the text form of a graph; `None` if the node has no such attribute.
    pub fn attribute(&self, key: &str) -> Option<Attribute> {
        let mut attributes = self.attributes.iter();
        Some(attributes.find(|(own, _)| own == key)?.1.clone())
    }

    /// All attributes, with their names.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &Attribute)> {
        self.attributes.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// Number of operands, including optional ones that are absent.
    pub fn operands(&self) -> usize {
        self.operands.len()
    }

    /// The operand at this position; `None` if the node does not have it.
    pub fn operand(&self, operand: usize) -> Option<&Operand> {
        self.operands.get(operand)?.as_ref()
    }

    /// True if the operand at this position is a constant tensor of the model.
    pub fn is_constant(&self, operand: usize) -> bool {
        self.operand(operand).is_some_and(|operand| operand.constant)
    }

    /// Extents of an operand; `None` if the operand is absent, or if not all of its extents are known.
    pub fn extents(&self, operand: usize) -> Option<Vec<u64>> {
        self.operand(operand)?.extents.clone()
    }

    /// Extents of the first result; `None` if not all of them are known.
    pub fn result(&self) -> Option<Vec<u64>> {
        self.result.extents.clone()
    }

    /// Type and extents of the first result.
    pub fn result_type(&self) -> &Operand {
        &self.result
    }
}
