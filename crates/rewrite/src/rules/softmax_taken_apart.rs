//! **Pattern**: several nodes that compute a softmax: e / s or e·(1/s), where e is exp(x − max(x)) or exp(x), and s is the
//! sum of e along one axis. The maximum and the sum keep this axis, or reshapes restore it (JAX).
//! **Why**: no grid can represent the intermediate values e and s well. A single softmax op can be computed by one integer
//! function, or it is a single layer on the host.
//! **Preconditions**: the maximum and the sum are along the same single axis.
//! **Exactness**: exact in real numbers. In f32, the last bits of the results can differ. If the nodes do not subtract the
//! maximum, their exp(x) overflows from x = 89 on. The op does not overflow.

use super::layer_normalization::of;
use crate::matching::GraphNode;
use crate::pattern::{Pattern, Slot};
use crate::rows::Rows;
use Pattern::{Any, Constant, OneOf, Product, Reshaped};
use strait_core::op::Softmax;
use strait_core::{GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Rule, Source, Term};

/// The rule that recognises a softmax written as several nodes.
pub struct SoftmaxTakenApart;

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

impl Rule for SoftmaxTakenApart {
    fn name(&self) -> &'static str {
        "softmax-taken-apart"
    }

    fn anchors(&self) -> Vec<Term> {
        APART.anchors()
    }

    fn depth(&self) -> usize {
        APART.depth()
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let found = match APART.at(&site) {
            Ok(found) => found,
            Err(miss) => return Ok(miss),
        };
        let x = found.value(X).filter(|&x| site.keeps_type(x));
        let rows = found.node(SUM).and_then(|sum| Rows::of(&sum));
        let (Some(x), Some(y), Some(rows)) = (x, site.output(), rows) else {
            return Ok(Outcome::NoMatch);
        };
        let is_one = found.value(ONE).is_none_or(|one| site.is_scalar(one, 1.0));
        let (&[axis], true, true) = (&rows.axes[..], is_one, rows.separate(&site, y, x)) else {
            return Ok(Outcome::NoMatch);
        };
        let softmax = Softmax { axis: axis as i64 };
        Ok(Outcome::Apply(Patch {
            add: vec![NewNode::new(softmax, &[Some(Source::Old(x))], &site.down_to(x))],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
