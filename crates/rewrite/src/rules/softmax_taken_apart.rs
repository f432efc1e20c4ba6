//! **Pattern**: several nodes that compute a softmax: e / s or e·(1/s), where e is exp(x − max(x)) or exp(x), and s is the
//! sum of e along one axis. The maximum and the sum keep this axis, or reshapes restore it (JAX).
//! **Why**: no grid can represent the intermediate values e and s well. A single softmax op can be computed by one integer
//! function, or it is a single layer on the host.
//! **Preconditions**: the maximum and the sum are along the same single axis.
//! **Exactness**: exact in real numbers. In f32, the last bits of the results can differ. If the nodes do not subtract the
//! maximum, their exp(x) overflows from x = 89 on. The op does not overflow.

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
