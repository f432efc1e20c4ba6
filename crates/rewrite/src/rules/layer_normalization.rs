//! **Pattern**: several nodes that compute a layer normalization, in one of the following forms. m is mean(x), v is the
//! variance, and r is 1/√(v + ε), which can be written as the reciprocal of a root, as a quotient or as a power:
//! - (x − m)·r, (x − m)·(r·γ) or (x − m)/√(v + ε);
//! - x·(r·γ) + (β − m·(r·γ)) (TensorFlow).
//!
//! The variance v is mean((x − m)²) or mean(x²) − m². The latter may be clamped to be at least zero (JAX, Flax). The means
//! keep the axes that they reduce, or reshapes restore these axes.
//! **Why**: the variance v spans many powers of two, so no 8-bit grid can represent v and the values that are computed from
//! it. A single op needs no grids for its intermediate values. It runs as a whole, either on the accelerator or on the host.
//! **Preconditions**: all means are over the same axes. If these axes are not the last ones, the new op is put between two
//! transposes. γ and β are constants.
//! **Exactness**: exact in real numbers. In f32, the last bits of the results can differ. Nodes that compute v as mean(x²) −
//! m² lose precision if v is small compared with m². The op loses none, because it computes v as mean((x − m)²).

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::pattern::{Pattern, Slot, op};
use crate::rows::Rows;
use crate::rule::NodeRule;
use Pattern::{Any, Constant, OneOf, Product, Reshaped};
use strait_core::op::{Add, LayerNormalization as Whole, Mul};
use strait_core::{Op, Patch, Term};

/// The rule that recognises a layer normalization written as several nodes.
pub const RULE: NodeRule = NodeRule {
    name: "layer-normalization",
    anchors: || APART.anchors(),
    depth: || APART.depth(),
    is_fusion: false,
    look,
};

const X: Slot = Slot(0);
const SCALE: Slot = Slot(1);
const BIAS: Slot = Slot(2);
const EPSILON: Slot = Slot(3);
const ONE: Slot = Slot(4);
const TWO: Slot = Slot(5);
/// The slots of three values: the x − m from which the root is computed, r·γ, and one of the means.
const CENTRED: Slot = Slot(6);
const FACTOR: Slot = Slot(7);
const MEAN_OF: Slot = Slot(8);
/// The slots of numbers that occur if the root is written as a power, or if v is clamped.
const HALF: Slot = Slot(9);
const MINUS_HALF: Slot = Slot(10);
const ZERO: Slot = Slot(11);
const CLIP: Slot = Slot(12);

/// A pattern for a node that other nodes may read too.
pub(super) const fn of(terms: &'static [Term], operands: &'static [Pattern]) -> Pattern {
    op(terms, operands).shared()
}

const MEAN: Pattern = Reshaped(&of(&[Term::ReduceMean], &[Any(X)]));
const DIFFERENCE: Pattern = of(&[Term::Sub], &[Any(X), MEAN]);
const SQUARE: Pattern = OneOf(&[
    of(&[Term::Mul], &[DIFFERENCE.keep(CENTRED), Any(CENTRED)]),
    of(&[Term::Pow], &[DIFFERENCE, Constant(TWO)]),
]);
const SQUARE_OF_X: Pattern = OneOf(&[
    of(&[Term::Mul], &[Any(X), Any(X)]),
    of(&[Term::Pow], &[Any(X), Constant(TWO)]),
]);
const SQUARE_OF_MEAN: Pattern = OneOf(&[
    of(&[Term::Mul], &[MEAN, MEAN]),
    of(&[Term::Pow], &[MEAN, Constant(TWO)]),
]);
const MEAN_OF_SQUARES: Pattern = of(&[Term::ReduceMean], &[SQUARE]).keep(MEAN_OF);
const LESS: Pattern = of(
    &[Term::Sub],
    &[
        Reshaped(&of(&[Term::ReduceMean], &[SQUARE_OF_X]).keep(MEAN_OF)),
        Reshaped(&SQUARE_OF_MEAN),
    ],
);
const VARIANCE: Pattern = Reshaped(&OneOf(&[
    MEAN_OF_SQUARES,
    LESS,
    of(&[Term::Relu], &[LESS]),
    of(&[Term::Clip], &[LESS]).keep(CLIP),
    of(&[Term::Maximum], &[LESS, Constant(ZERO)]),
]));
const GUARDED: Pattern = Reshaped(&of(&[Term::Add], &[VARIANCE, Constant(EPSILON)]));
const DEVIATION: Pattern = Reshaped(&OneOf(&[
    of(&[Term::Sqrt], &[GUARDED]),
    of(&[Term::Pow], &[GUARDED, Constant(HALF)]),
]));
const INVERSE: Pattern = Reshaped(&OneOf(&[
    of(&[Term::Reciprocal], &[DEVIATION]),
    of(&[Term::Div], &[Constant(ONE), DEVIATION]),
    of(&[Term::Pow], &[GUARDED, Constant(MINUS_HALF)]),
]));
const SCALED_INVERSE: Pattern = of(&[Term::Mul], &[INVERSE, Constant(SCALE)]).keep(FACTOR);
const SHIFT: Pattern = of(&[Term::Sub], &[Constant(BIAS), of(&[Term::Mul], &[MEAN, Any(FACTOR)])]);
const APART: Pattern = OneOf(&[
    of(&[Term::Div], &[DIFFERENCE, DEVIATION]),
    Product(&[DIFFERENCE, INVERSE]),
    Product(&[DIFFERENCE, INVERSE, Constant(SCALE)]),
    of(&[Term::Add], &[of(&[Term::Mul], &[Any(X), SCALED_INVERSE]), SHIFT]),
]);

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let found = APART.at(site)?;
    // If the result has the same type as x, γ and β broadcast to this type.
    let x = found.value(X).filter(|&x| site.keeps_type(x));
    let rows = found.node(MEAN_OF).and_then(|mean| Rows::of(&mean));
    let epsilon = found.value(EPSILON).and_then(|epsilon| site.scalar(epsilon));
    let (Some(x), Some(rows), Some(epsilon)) = (x, rows, epsilon) else {
        return Err(NoMatch);
    };
    let numbers = [(ONE, 1.0), (TWO, 2.0), (HALF, 0.5), (MINUS_HALF, -0.5), (ZERO, 0.0)];
    let clips = found
        .node(CLIP)
        .is_none_or(|clip| matches!(&clip.node.op, Op::Clip(clip) if clip.min == 0.0 && clip.max == f32::INFINITY));
    if !(clips && found.has_numbers(&numbers) && rows.separate(site, site.result()?, x)) {
        return Err(NoMatch);
    }
    let op = Whole {
        axis: rows.first(),
        epsilon,
    };
    let factor = found.value(SCALE).map(|scale| (Op::from(Mul::float()), scale));
    let summand = found.value(BIAS).map(|bias| (Op::from(Add {}), bias));
    rows.normalization(site, x, op, factor.into_iter().chain(summand).collect())
}
