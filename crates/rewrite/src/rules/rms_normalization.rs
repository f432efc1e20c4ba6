//! **Pattern**: a normalization by the root of the mean square taken apart: x·r or x / √(v + ε), with v = mean(x²) over the last
//! axes and r = 1/√(v + ε), as a reciprocal of a root or a quotient; and a product of such a normalization, whole, with a
//! constant γ.
//!
//! **Why**: the parts have ranges that no 8-bit grid serves (v spans many powers of two), and with them on the host all of x goes
//! there and back; whole, the op is placed as one.
//! **Preconditions**: the mean keeps its axes and runs over trailing ones. x is not what is left of a value less its mean, which
//! belongs to a layer normalization. Nothing else reads a normalization that takes γ over, and
//! it has none yet.
//! **Exactness**: exact in real numbers; the f32 results differ in the last places.

use super::layer_normalization::{of, trailing};
use crate::matching::{GraphNode, tensor};
use crate::pattern::{Pattern, Slot, op};
use Pattern::{Any, Constant, OneOf};
use strait_core::op::RmsNormalization as Whole;
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term, ValueId};

/// See the module's documentation.
pub struct RmsNormalization;

const X: Slot = Slot(0);
const MEAN: Slot = Slot(1);
const EPSILON: Slot = Slot(2);
const ONE: Slot = Slot(3);
const TWO: Slot = Slot(4);
/// A whole normalization, its factor so far, and the one to come.
const WHOLE: Slot = Slot(5);
const ONES: Slot = Slot(6);
const SCALE: Slot = Slot(7);

const SQUARE: Pattern = OneOf(&[
    of(&[Term::Mul], &[Any(X), Any(X)]),
    of(&[Term::Pow], &[Any(X), Constant(TWO)]),
]);
const MEAN_SQUARE: Pattern = of(&[Term::ReduceMean], &[SQUARE]).keep(MEAN);
const ROOT: Pattern = of(&[Term::Sqrt], &[of(&[Term::Add], &[MEAN_SQUARE, Constant(EPSILON)])]);
const INVERSE: Pattern = OneOf(&[
    of(&[Term::Reciprocal], &[ROOT]),
    of(&[Term::Div], &[Constant(ONE), ROOT]),
]);
/// A whole normalization times γ, or one that is taken apart.
const FORMS: Pattern = OneOf(&[
    op(
        &[Term::Mul],
        &[
            op(&[Term::RmsNormalization], &[Any(X), Constant(ONES)]).keep(WHOLE),
            Constant(SCALE),
        ],
    ),
    op(&[Term::Mul], &[Any(X), INVERSE]),
    op(&[Term::Div], &[Any(X), ROOT]),
]);
const CENTRED: Pattern = op(&[Term::Sub], &[Any(X), of(&[Term::ReduceMean], &[Any(X)])]);

/// True for what is left of a value less its mean.
fn is_centred(site: &GraphNode<'_>, x: ValueId) -> bool {
    let difference = site.producer(x, Term::Sub);
    difference.is_some_and(|difference| CENTRED.at(&difference).is_ok())
}

impl Rule for RmsNormalization {
    fn name(&self) -> &'static str {
        "rms-normalization"
    }

    fn anchors(&self) -> Vec<Term> {
        FORMS.anchors()
    }

    fn depth(&self) -> usize {
        FORMS.depth() + CENTRED.depth()
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let found = match FORMS.at(&site) {
            Ok(found) => found,
            Err(miss) => return Ok(miss),
        };
        // Where the result has the type of x, γ broadcasts to it.
        let x = found.value(X).filter(|&x| site.keeps_type(x));
        let (Some(x), Some(y)) = (x, site.output()) else {
            return Ok(Outcome::NoMatch);
        };
        let is = |slot, number| found.value(slot).is_none_or(|value| site.is_scalar(value, number));
        let floats = |slot| found.value(slot).is_none_or(|value| site.floats(value).is_some());
        let ones = found.value(ONES).and_then(|ones| site.floats(ones));
        let is_plain = ones.is_none_or(|(_, ones)| ones.iter().all(|&one| one == 1.0));
        if !(is(ONE, 1.0) && is(TWO, 2.0) && floats(SCALE) && floats(ONES) && is_plain) {
            return Ok(Outcome::NoMatch);
        }
        let axis = found.node(MEAN).and_then(|mean| trailing(&mean));
        let epsilon = found.value(EPSILON).and_then(|epsilon| site.scalar(epsilon));
        let mut data = Vec::new();
        let (whole, scale) = match (found.node(WHOLE).map(|whole| &whole.node.op), axis, epsilon) {
            (Some(Op::RmsNormalization(whole)), ..) => ((**whole).clone(), found.value(SCALE).map(Source::Old)),
            (None, Some(axis), Some(epsilon)) if !is_centred(&site, x) => {
                data.push(("ones".into(), tensor(&[1], &[1.0])?));
                (Whole { axis, epsilon }, Some(Source::Data(0)))
            }
            _ => return Ok(Outcome::NoMatch),
        };
        Ok(Outcome::Apply(Patch {
            data,
            add: vec![NewNode::new(whole, &[Some(Source::Old(x)), scale], &site.down_to(x))],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
