//! **Pattern**: layer normalization taken apart. With m = mean(x), v = mean((x − m)²) over the last axes and
//! r = 1/√(v + ε), as a reciprocal of a root or a quotient:
//! - x·(r·γ) + (β − m·(r·γ)) (TensorFlow), and
//! - (x − m)·r·γ + β, or (x − m)/√(v + ε)·γ + β (PyTorch).
//!
//! **Why**: the parts have ranges that no 8-bit grid serves (v spans many powers of two); whole, the op is placed as
//! one.
//! **Preconditions**: the mean keeps its axes and runs over trailing ones; γ and β are constants.
//! **Exactness**: exact in real numbers; the f32 results differ in the last places.

use crate::matching::GraphNode;
use crate::pattern::{Match, Pattern, Slot, op};
use Pattern::{Any, Constant, OneOf};
use strait_core::op::LayerNormalization as Whole;
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term, ValueId};

/// See the module's documentation.
pub struct LayerNormalization;

const X: Slot = Slot(0);
const SCALE: Slot = Slot(1);
const BIAS: Slot = Slot(2);
const EPSILON: Slot = Slot(3);
const ONE: Slot = Slot(4);
const TWO: Slot = Slot(5);
/// x − m below the root, r·γ, and the means: m, m below the root, and v.
const CENTRED: Slot = Slot(6);
const FACTOR: Slot = Slot(7);
const MEANS: [Slot; 3] = [Slot(8), Slot(9), Slot(10)];

/// A node that others may read, too.
pub(super) const fn of(terms: &'static [Term], operands: &'static [Pattern]) -> Pattern {
    op(terms, operands).shared()
}

const MEAN: Pattern = of(&[Term::ReduceMean], &[Any(X)]).keep(MEANS[0]);
const DIFFERENCE: Pattern = of(&[Term::Sub], &[Any(X), MEAN]);
const INNER_MEAN: Pattern = of(&[Term::ReduceMean], &[Any(X)]).keep(MEANS[1]);
const INNER: Pattern = of(&[Term::Sub], &[Any(X), INNER_MEAN]).keep(CENTRED);
const SQUARE: Pattern = OneOf(&[
    of(&[Term::Mul], &[INNER, Any(CENTRED)]),
    of(&[Term::Pow], &[INNER, Constant(TWO)]),
]);
const VARIANCE: Pattern = of(&[Term::ReduceMean], &[SQUARE]).keep(MEANS[2]);
const DEVIATION: Pattern = of(&[Term::Sqrt], &[of(&[Term::Add], &[VARIANCE, Constant(EPSILON)])]);
const INVERSE: Pattern = OneOf(&[
    of(&[Term::Reciprocal], &[DEVIATION]),
    of(&[Term::Div], &[Constant(ONE), DEVIATION]),
]);
const SCALED_INVERSE: Pattern = of(&[Term::Mul], &[INVERSE, Constant(SCALE)]).keep(FACTOR);
const SHIFT: Pattern = of(&[Term::Sub], &[Constant(BIAS), of(&[Term::Mul], &[MEAN, Any(FACTOR)])]);
const NORMALISED: Pattern = OneOf(&[
    of(&[Term::Div], &[DIFFERENCE, DEVIATION]),
    of(&[Term::Mul], &[DIFFERENCE, INVERSE]),
]);
const TENSORFLOW: Pattern = op(&[Term::Add], &[of(&[Term::Mul], &[Any(X), SCALED_INVERSE]), SHIFT]);
const PYTORCH: Pattern = op(
    &[Term::Add],
    &[of(&[Term::Mul], &[NORMALISED, Constant(SCALE)]), Constant(BIAS)],
);
const APART: Pattern = OneOf(&[TENSORFLOW, PYTORCH]);

/// The first of the axes of a mean over trailing axes that are kept, from the end.
pub(super) fn trailing(mean: &GraphNode<'_>) -> Option<i64> {
    let (Op::Reduce(reduce), Some(x)) = (&mean.node.op, mean.input(0)) else {
        return None;
    };
    let rank = mean.graph.value(x)?.ty.shape.len();
    let axes = reduce.reduced(rank).ok()?;
    let trailing = axes.iter().rev().enumerate().all(|(i, &axis)| axis + i + 1 == rank);
    (reduce.keep_dims && trailing && !axes.is_empty()).then_some(-(axes.len() as i64))
}

/// The op, if all means are over the same axes and all numbers are what they must be.
fn whole(site: &GraphNode<'_>, found: &Match<'_>) -> Option<Whole> {
    let [axis, inner, outer] = MEANS.map(|mean| trailing(&found.node(mean)?));
    let is = |slot, number| found.value(slot).is_none_or(|value| site.is_scalar(value, number));
    let epsilon = site.scalar(found.value(EPSILON)?)?;
    (axis == inner && axis == outer && is(ONE, 1.0) && is(TWO, 2.0)).then_some(Whole { axis: axis?, epsilon })
}

impl Rule for LayerNormalization {
    fn name(&self) -> &'static str {
        "layer-normalization"
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
        let operands: [Option<ValueId>; 3] = [X, SCALE, BIAS].map(|slot| found.value(slot));
        // Where the result has the type of x, γ and β broadcast to it.
        let x = operands[0].filter(|&x| site.keeps_type(x));
        let (Some(whole), Some(x), Some(y)) = (whole(&site, &found), x, site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let operands = operands.map(|operand| operand.map(Source::Old));
        Ok(Outcome::Apply(Patch {
            add: vec![NewNode::new(whole, &operands, &site.down_to(x))],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
