//! **Pattern**: a concat with operands that have no elements, for instance an empty cache or an empty slice.
//! **Why**: such an operand adds nothing to the result, and calibration cannot measure a range for it.
//! **Preconditions**: at least one operand with elements is left.
//! **Exactness**: exact.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::{Dim, NewNode, Patch, Source, Term, ValueId};

/// The rule that drops operands without elements from a concat.
pub const RULE: NodeRule = NodeRule {
    name: "concat-without-empty",
    anchors: || vec![Term::Concat],
    depth: || 1,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let has_elements = |value: &ValueId| {
        let value = site.graph.value(*value);
        value.is_none_or(|value| !value.ty.shape.contains(&Dim::Fixed(0)))
    };
    let members = || site.node.inputs.iter().flatten();
    let left: Vec<ValueId> = members().copied().filter(has_elements).collect();
    if left.is_empty() || left.len() == members().count() {
        return Err(NoMatch);
    }
    let left: Vec<Option<Source>> = left.into_iter().map(|value| Some(Source::Old(value))).collect();
    site.replaced_by(vec![NewNode::new(site.node.op.clone(), &left, &[site.id])])
}
