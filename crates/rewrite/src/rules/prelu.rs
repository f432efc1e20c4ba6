//! **Pattern**: several nodes that compute a PReLU: x where x is positive, and α·x elsewhere. α is a constant slope. Factors
//! and terms can be in any order:
//! - relu(x) + ½·(α·(x − |x|)), or relu(x) + α·(½·(x − |x|));
//! - relu(x) − α·relu(−x), or relu(x) + (−α)·relu(−x);
//! - max(x, 0) + α·min(x, 0), or the same with relu(x) instead of max(x, 0);
//! - max(x, α·x) with a single slope of at most 1.
//!
//! **Why**: if all channels share one slope, the result is one `leaky_relu`. Otherwise the result is relu(x) + α·min(x, 0),
//! which is also the form in which Strait reads ONNX's PRelu. In this form, one of the two terms is always zero, both are
//! computed by clamps, and α is multiplied by min(x, 0), whose range is not wider than that of x. In the first form of the
//! list, α is multiplied by x − |x|, whose range is twice as wide.
//! **Preconditions**: the slopes are finite constants. x has the type of the result. A max(x, α·x) with different slopes for
//! the channels is not changed, because it already consists of only two ops.
//! **Exactness**: exact, except for the sign of a zero, and except where x − |x| = 2·x overflows in the original nodes.
//! Before and after the rewrite, the product with α is rounded once.

use crate::matching::{GraphNode, tensor};
use crate::miss::{Miss, NoMatch};
use crate::pattern::{Match, Pattern, Slot, op};
use crate::rule::NodeRule;
use Pattern::{Any, Constant, OneOf, Through};
use strait_core::op::{Add, Clip, LeakyRelu, Mul, Relu};
use strait_core::{NewNode, NodeId, Op, Patch, Reason, ReasonCode, Source, Term, ValueId, refused};

/// The rule that recognises a PReLU written as several nodes.
pub const RULE: NodeRule = NodeRule {
    name: "prelu",
    anchors: || vec![Term::Add, Term::Sub, Term::Maximum],
    depth: || SHAPES.iter().map(|(_, pattern)| pattern.depth()).max().unwrap_or(0),
    is_fusion: false,
    look,
};

const X: Pattern = Any(Slot(0));
const SLOPES: Slot = Slot(1);
/// The slope. A frozen graph may read the slope through an identity.
const ALPHA: Pattern = Through(&Constant(SLOPES));
/// The slots of numbers in a match: ½, zeros, and the bounds of a clip.
const HALF: Slot = Slot(2);
const ZERO_BELOW: Slot = Slot(3);
const ZERO_ABOVE: Slot = Slot(4);
const CLIP: Slot = Slot(5);
const RELU: Slot = Slot(6);

/// A pattern for a node that other nodes may read too.
const fn of(terms: &'static [Term], operands: &'static [Pattern]) -> Pattern {
    op(terms, operands).shared()
}

const fn mul(operands: &'static [Pattern; 2]) -> Pattern {
    of(&[Term::Mul], operands)
}

const POSITIVE: Pattern = OneOf(&[
    of(&[Term::Relu], &[X]).keep(RELU),
    of(&[Term::Maximum], &[X, Constant(ZERO_BELOW)]),
]);
const NEGATIVE: Pattern = OneOf(&[
    of(&[Term::Minimum], &[X, Constant(ZERO_ABOVE)]),
    of(&[Term::Clip], &[X]).keep(CLIP),
]);
/// Patterns for −min(x, 0) and 2·min(x, 0).
const OPPOSITE: Pattern = of(&[Term::Relu], &[of(&[Term::Neg], &[X])]);
const TWICE: Pattern = of(&[Term::Sub], &[X, of(&[Term::Abs], &[X])]);
const HALF_BEHIND: Pattern = mul(&[Constant(HALF), mul(&[ALPHA, TWICE])]);
const HALF_INSIDE: Pattern = mul(&[ALPHA, mul(&[Constant(HALF), TWICE])]);

/// The patterns, each with the factor that turns its constant into the slope.
const SHAPES: &[(f32, Pattern)] = &[
    (1.0, of(&[Term::Add], &[POSITIVE, HALF_BEHIND])),
    (1.0, of(&[Term::Add], &[POSITIVE, HALF_INSIDE])),
    (1.0, of(&[Term::Add], &[POSITIVE, mul(&[ALPHA, NEGATIVE])])),
    (1.0, of(&[Term::Sub], &[POSITIVE, mul(&[ALPHA, OPPOSITE])])),
    (-1.0, of(&[Term::Add], &[POSITIVE, mul(&[ALPHA, OPPOSITE])])),
    (1.0, of(&[Term::Maximum], &[X, mul(&[ALPHA, X])])),
];

/// True if the constants of a match are the numbers of the pattern.
fn has_numbers(site: &GraphNode<'_>, found: &Match<'_>) -> bool {
    let is = |slot, number| {
        let constant = found.value(slot);
        constant.is_none_or(|constant| site.scalar(constant) == Some(number))
    };
    let clips = found
        .node(CLIP)
        .is_none_or(|node| matches!(&node.node.op, Op::Clip(clip) if is_negative(clip)));
    is(HALF, 0.5) && is(ZERO_BELOW, 0.0) && is(ZERO_ABOVE, 0.0) && clips
}

fn is_negative(clip: &Clip) -> bool {
    clip.min == f32::NEG_INFINITY && clip.max == 0.0
}

/// The single slope that all channels share. `None` if the slopes differ.
fn one(slopes: &[f32]) -> Option<f32> {
    let (slope, others) = slopes.split_first()?;
    others.iter().all(|other| other == slope).then_some(*slope)
}

/// Makes the nodes that replace the match. A single slope needs only one op. Several slopes need the sum of a positive
/// and a negative side. The positive side may already exist in the graph.
fn made(found: &Match<'_>, x: ValueId, alpha: Option<Source>, slopes: &[f32], nodes: &[NodeId]) -> Vec<NewNode> {
    let x = Some(Source::Old(x));
    if let Some(alpha) = one(slopes) {
        return vec![NewNode::new(LeakyRelu { alpha }, &[x], nodes)];
    }
    // The last node takes the name of the sum.
    let inner: Vec<NodeId> = nodes.iter().rev().copied().collect();
    let clip = Clip {
        min: f32::NEG_INFINITY,
        max: 0.0,
    };
    let new = |node| Some(Source::New(node, 0));
    let mut made = vec![
        NewNode::new(clip, &[x], &inner),
        NewNode::new(Mul::float(), &[new(0), alpha], &inner),
    ];
    let positive = found.value(RELU).map(Source::Old).or_else(|| {
        made.push(NewNode::new(Relu {}, &[x], &inner));
        new(2)
    });
    made.push(NewNode::new(Add {}, &[positive, new(1)], nodes));
    made
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let mut found = SHAPES.iter().filter_map(|(sign, pattern)| {
        let found = pattern.at(site).ok().filter(|found| has_numbers(site, found))?;
        let (shape, slopes) = site.floats(found.value(SLOPES)?)?;
        let slopes: Vec<f32> = slopes.iter().map(|slope| slope * sign).collect();
        Some((*sign, shape, slopes, found))
    });
    let (sign, shape, slopes, found) = found.next().ok_or(NoMatch)?;
    let is_made = found.value(CLIP).is_some() && found.value(RELU).is_some();
    let stays = match site.node.op.term() {
        Term::Maximum => one(&slopes).is_none_or(|slope| slope > 1.0),
        _ => is_made && one(&slopes).is_none(),
    };
    if stays {
        return Err(NoMatch);
    }
    if !slopes.iter().all(|slope| slope.is_finite()) {
        return refused(ReasonCode::NotFinite, "a slope is not finite");
    }
    let x = found.value(Slot(0)).filter(|&x| site.keeps_type(x));
    let text = "the slopes make another shape of what they scale";
    let x = x.ok_or_else(|| Reason::new(ReasonCode::NotPerChannel, text))?;
    let mut patch = Patch::default();
    let mut alpha = found.value(SLOPES).map(Source::Old);
    if sign < 0.0 && slopes.len() > 1 {
        patch.data.push(("slopes".into(), tensor(shape.shape(), &slopes)?));
        alpha = Some(Source::Data(0));
    }
    patch.add = made(&found, x, alpha, &slopes, &site.down_to(x));
    site.completed(patch)
}
