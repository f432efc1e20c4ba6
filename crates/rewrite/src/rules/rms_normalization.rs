//! **Pattern**: several nodes that compute an RMS normalization (a division by the root mean square): x·r, x·(r·γ) or x /
//! √(v + ε). v is mean(x²), and r is 1/√(v + ε), which can be written as the reciprocal of a root, as a quotient or as a
//! power. The mean keeps the axes that it reduces, or reshapes restore these axes.
//! **Why**: the mean square v spans many powers of two, so no 8-bit grid can represent v and the values that are computed
//! from it. If the nodes that compute them run on the host, all of x has to be transferred to the host and back. A single op
//! needs no grids for its intermediate values. It runs as a whole, either on the accelerator or on the host.
//! **Preconditions**: x is not the difference of a value and its mean, because the nodes then belong to a layer
//! normalization. If the axes of the mean are not the last ones, the new op is put between two transposes.
//! **Exactness**: exact in real numbers. In f32, the last bits of the results can differ.

use super::layer_normalization::of;
use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::pattern::{Pattern, Slot, op};
use crate::rows::Rows;
use crate::rule::NodeRule;
use Pattern::{Any, Constant, OneOf, Product, Reshaped};
use strait_core::op::{Mul, RmsNormalization as Whole};
use strait_core::{Op, Patch, Term, ValueId};

/// The rule that recognises an RMS normalization written as several nodes.
pub const RULE: NodeRule = NodeRule {
    name: "rms-normalization",
    anchors: || FORMS.anchors(),
    depth: || FORMS.depth() + CENTRED.depth(),
    is_fusion: false,
    look,
};

const X: Slot = Slot(0);
const MEAN: Slot = Slot(1);
const EPSILON: Slot = Slot(2);
const ONE: Slot = Slot(3);
const TWO: Slot = Slot(4);
const HALF: Slot = Slot(5);
const MINUS_HALF: Slot = Slot(6);
const SCALE: Slot = Slot(7);

const SQUARE: Pattern = OneOf(&[
    of(&[Term::Mul], &[Any(X), Any(X)]),
    of(&[Term::Pow], &[Any(X), Constant(TWO)]),
]);
const MEAN_SQUARE: Pattern = Reshaped(&of(&[Term::ReduceMean], &[SQUARE]).keep(MEAN));
const GUARDED: Pattern = Reshaped(&of(&[Term::Add], &[MEAN_SQUARE, Constant(EPSILON)]));
const ROOT: Pattern = Reshaped(&OneOf(&[
    of(&[Term::Sqrt], &[GUARDED]),
    of(&[Term::Pow], &[GUARDED, Constant(HALF)]),
]));
const INVERSE: Pattern = Reshaped(&OneOf(&[
    of(&[Term::Reciprocal], &[ROOT]),
    of(&[Term::Div], &[Constant(ONE), ROOT]),
    of(&[Term::Pow], &[GUARDED, Constant(MINUS_HALF)]),
]));
const FORMS: Pattern = OneOf(&[
    Product(&[Any(X), INVERSE]),
    Product(&[Any(X), INVERSE, Constant(SCALE)]),
    op(&[Term::Div], &[Any(X), ROOT]),
]);
const CENTRED: Pattern = op(&[Term::Sub], &[Any(X), Reshaped(&of(&[Term::ReduceMean], &[Any(X)]))]);

/// True for a value that is the difference of another value and the mean of that value.
fn is_centred(site: &GraphNode<'_>, x: ValueId) -> bool {
    let difference = site.producer(x, Term::Sub);
    difference.is_some_and(|difference| CENTRED.at(&difference).is_ok())
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let found = FORMS.at(site)?;
    // If the result has the same type as x, γ broadcasts to this type.
    let x = found.value(X).filter(|&x| site.keeps_type(x) && !is_centred(site, x));
    let rows = found.node(MEAN).and_then(|mean| Rows::of(&mean));
    let epsilon = found.value(EPSILON).and_then(|epsilon| site.scalar(epsilon));
    let (Some(x), Some(rows), Some(epsilon)) = (x, rows, epsilon) else {
        return Err(NoMatch);
    };
    let numbers = [(ONE, 1.0), (TWO, 2.0), (HALF, 0.5), (MINUS_HALF, -0.5)];
    if !(found.has_numbers(&numbers) && rows.separate(site, site.result()?, x)) {
        return Err(NoMatch);
    }
    let op = Whole {
        axis: rows.first(),
        epsilon,
    };
    let factor = found.value(SCALE).map(|scale| (Op::from(Mul::float()), scale));
    rows.normalization(site, x, op, factor.into_iter().collect())
}
