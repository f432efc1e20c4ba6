//! **Pattern**: a softmax that was taken apart: e / s or e·(1/s), with e = exp(x − max(x)) or exp(x), and s the sum of e
//! along one axis. Maximum and sum keep the axis, or reshapes restore it (JAX).
//! **Why**: as one op it has an integer definition, or is a single layer on the host. No grid can represent e and s well.
//! **Preconditions**: maximum and sum are along the same single axis.
//! **Exactness**: exact in real numbers. The f32 results differ in the last places. Without the maximum, exp overflows from
//! 89 on; the op does not.

use super::layer_normalization::of;
use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::pattern::{Pattern, Slot};
use crate::rows::Rows;
use crate::rule::NodeRule;
use Pattern::{Any, Constant, OneOf, Product, Reshaped};
use strait_core::op::Softmax;
use strait_core::{NewNode, Patch, Source, Term};

/// The rule that recognises a softmax written as several nodes.
pub const RULE: NodeRule = NodeRule {
    name: "softmax-taken-apart",
    anchors: || APART.anchors(),
    depth: || APART.depth(),
    is_fusion: false,
    look,
};

const X: Slot = Slot(0);
const EXP: Slot = Slot(1);
const SUM: Slot = Slot(2);
const ONE: Slot = Slot(3);

const BELOW: Pattern = of(&[Term::Sub], &[Any(X), Reshaped(&of(&[Term::ReduceMax], &[Any(X)]))]);
const E: Pattern = of(&[Term::Exp], &[OneOf(&[BELOW, Any(X)])]).keep(EXP);
const TOTAL: Pattern = Reshaped(&of(&[Term::ReduceSum], &[Any(EXP)]).keep(SUM));
const INVERSE: Pattern = Reshaped(&OneOf(&[
    of(&[Term::Reciprocal], &[TOTAL]),
    of(&[Term::Div], &[Constant(ONE), TOTAL]),
]));
const APART: Pattern = OneOf(&[of(&[Term::Div], &[E, TOTAL]), Product(&[E, INVERSE])]);

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let found = APART.at(site)?;
    let x = found.value(X).filter(|&x| site.keeps_type(x)).ok_or(NoMatch)?;
    let rows = found.node(SUM).and_then(|sum| Rows::of(&sum)).ok_or(NoMatch)?;
    let is_softmax = found.has_numbers(&[(ONE, 1.0)]) && rows.separate(site, site.result()?, x);
    let (&[axis], true) = (&rows.axes[..], is_softmax) else {
        return Err(NoMatch);
    };
    let softmax = Softmax { axis: axis as i64 };
    site.replaced_by(vec![NewNode::new(softmax, &[Some(Source::Old(x))], &site.down_to(x))])
}
