//! **Pattern**: several nodes that compute one of these functions, with factors and terms in any order:
//! - SiLU (Swish): x · sigmoid(x), or x / (1 + e^−x);
//! - Mish: x · tanh(softplus(x)), where softplus is one op or ln(1 + e^x);
//! - GELU: ½x · (1 + erf(x / √2)), or ½x · (1 + tanh(√(2/π) · (x + 0.044715·x³))). x³ can be a power or a product, and x ·
//!   (1 + 0.044715·x²) can stand for the sum x + 0.044715·x³;
//! - HardSwish: x · hard_sigmoid(x) with the parameters 1/6 and ½, or x · clip(x + 3, 0, 6) · 1/6.
//!
//! A product of more than two factors can be nested in any way.
//! **Why**: a function of one variable that is a single op needs one table lookup and one rounding. As several nodes, it
//! also needs grids for intermediate values, which nothing else reads.
//! **Exactness**: exact in real numbers. In f32, the last bits of the results can differ. For SiLU and Mish, the difference
//! is a single rounding.

use crate::matching::{GraphNode, near, unary};
use crate::miss::{Miss, NoMatch};
use crate::pattern::{Match, Pattern, Slot, op};
use crate::rule::NodeRule;
use strait_core::op::Function;
use strait_core::{NewNode, Op, Patch, Source, Term};

/// The slot of the variable.
const VARIABLE: Slot = Slot(0);
const X: Pattern = Pattern::Any(VARIABLE);
/// The slot of a node whose attributes include numbers of the function.
const NODE: Slot = Slot(1);

/// The constants that occur in the patterns.
const NUMBERS: [f32; 8] = [
    1.0,
    0.5,
    std::f32::consts::SQRT_2,
    std::f32::consts::FRAC_1_SQRT_2,
    3.0,
    0.797_884_6, // √(2/π)
    0.044_715,
    1.0 / 6.0,
];
const ONE: Pattern = number(0);
const HALF: Pattern = number(1);
const SQRT_2: Pattern = number(2);
const FRAC_1_SQRT_2: Pattern = number(3);
const THREE: Pattern = number(4);
const ROOT: Pattern = number(5);
const CUBIC: Pattern = number(6);
const SIXTH: Pattern = number(7);

const fn slot(number: u8) -> Slot {
    Slot(2 + number)
}

const fn number(index: u8) -> Pattern {
    Pattern::Constant(slot(index))
}

/// A pattern for a node that other nodes may read too.
const fn of(terms: &'static [Term], operands: &'static [Pattern]) -> Pattern {
    op(terms, operands).shared()
}

const fn add(operands: &'static [Pattern; 2]) -> Pattern {
    of(&[Term::Add], operands)
}

const fn div(operands: &'static [Pattern; 2]) -> Pattern {
    of(&[Term::Div], operands)
}

/// A pattern for a multiplication of the patterns in `factors`, in any order and nesting.
const fn product(factors: &'static [Pattern]) -> Pattern {
    Pattern::Product(factors)
}

const EXP: Pattern = of(&[Term::Exp], &[X]);
const SOFTPLUS: Pattern = Pattern::OneOf(&[of(&[Term::Softplus], &[X]), of(&[Term::Log], &[add(&[ONE, EXP])])]);
const BY_ROOT: Pattern = Pattern::OneOf(&[div(&[X, SQRT_2]), product(&[X, FRAC_1_SQRT_2])]);
const EXACT_GATE: Pattern = add(&[ONE, of(&[Term::Erf], &[BY_ROOT])]);
const CUBE: Pattern = of(&[Term::Pow], &[X, THREE]);
const CUBIC_TERM: Pattern = Pattern::OneOf(&[product(&[CUBIC, X, X, X]), product(&[CUBIC, CUBE])]);
const INNER: Pattern = Pattern::OneOf(&[
    product(&[ROOT, add(&[X, CUBIC_TERM])]),
    product(&[ROOT, X, add(&[ONE, product(&[CUBIC, X, X])])]),
]);
const TANH_GATE: Pattern = add(&[ONE, of(&[Term::Tanh], &[INNER])]);
const CLIPPED: Pattern = of(&[Term::Clip], &[add(&[X, THREE])]).keep(NODE);
const HARD_SIGMOID: Pattern = of(&[Term::HardSigmoid], &[X]).keep(NODE);
const NEG_EXP: Pattern = of(&[Term::Exp], &[of(&[Term::Neg], &[X])]);

/// The functions, each with the pattern in which exporters write it.
const SHAPES: &[(Function, Pattern)] = &[
    (Function::Silu, product(&[X, of(&[Term::Sigmoid], &[X])])),
    (Function::Silu, div(&[X, add(&[ONE, NEG_EXP])])),
    (Function::Mish, product(&[X, of(&[Term::Tanh], &[SOFTPLUS])])),
    (Function::Gelu, product(&[X, HALF, EXACT_GATE])),
    (Function::GeluTanh, product(&[X, HALF, TANH_GATE])),
    (Function::HardSwish, product(&[X, HARD_SIGMOID])),
    (Function::HardSwish, product(&[X, CLIPPED, SIXTH])),
];

/// True if all constants of a match are the numbers in the definition of the function. Small differences are allowed,
/// because exporters round the numbers.
fn has_numbers(site: &GraphNode<'_>, found: &Match<'_>) -> bool {
    let own = found.node(NODE).is_none_or(|node| match &node.node.op {
        Op::Clip(clip) => near(clip.min, 0.0) && near(clip.max, 6.0),
        Op::HardSigmoid(op) => near(op.alpha, 1.0 / 6.0) && near(op.beta, 0.5),
        _ => false,
    });
    let mut numbers = NUMBERS.iter().zip(0..);
    own && numbers.all(|(&number, index)| {
        let constant = found.value(slot(index));
        constant.is_none_or(|constant| site.is_scalar(constant, number))
    })
}

/// The rule that recognises a function that an exporter wrote as several nodes.
pub const RULE: NodeRule = NodeRule {
    name: "function",
    anchors: || vec![Term::Mul, Term::Div],
    depth: || SHAPES.iter().map(|(_, pattern)| pattern.depth()).max().unwrap_or(0),
    is_fusion: false,
    look,
};

/// The function whose last node is the node at `site`.
pub(super) fn found<'a>(site: &GraphNode<'a>) -> Option<(Function, Match<'a>)> {
    SHAPES.iter().find_map(|(function, pattern)| {
        let found = pattern.at(site).ok().filter(|found| has_numbers(site, found))?;
        found.value(VARIABLE).filter(|&x| site.keeps_type(x))?;
        Some((*function, found))
    })
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (function, found) = found(site).ok_or(NoMatch)?;
    let x = found.value(VARIABLE).ok_or(NoMatch)?;
    site.replaced_by(vec![NewNode::new(
        unary(function),
        &[Some(Source::Old(x))],
        &site.down_to(x),
    )])
}
