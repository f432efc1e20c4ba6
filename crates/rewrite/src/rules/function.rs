//! **Pattern**: a function that an exporter has taken apart, in any order of the factors and terms:
//! - SiLU (Swish): x · sigmoid(x), x / (1 + e^−x);
//! - Mish: x · tanh(softplus(x)), with softplus as one op or as ln(1 + e^x);
//! - GELU: ½x · (1 + erf(x / √2)), and ½x · (1 + tanh(√(2/π) · (x + 0.044715·x³))) with x³ as a power or a product;
//! - HardSwish: x · hard_sigmoid(x) with 1/6 and ½, and x · clip(x + 3, 0, 6) / 6.
//!
//! A factor stands behind the product of the others, or at one of them.
//!
//! **Why**: as one function of one variable it is one table lookup with one rounding; in between, grids would have to hold
//! what nobody but the function reads.
//! **Exactness**: exact in real numbers; the f32 results differ in the last place, those of SiLU and Mish by one rounding.

use crate::matching::{GraphNode, unary};
use strait_core::op::Function;
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term, ValueId};

/// An expression of one variable.
#[derive(Clone, Copy)]
enum Expression {
    /// The variable.
    X,
    /// A constant with one element.
    Number(f32),
    /// An op of one operand.
    Of(Term, &'static Expression),
    /// An op of two operands; of a sum or a product in both orders.
    Both(Term, &'static [Expression; 2]),
    /// A clip to these bounds.
    Clip([f32; 2], &'static Expression),
    /// A hard sigmoid with this slope and offset.
    HardSigmoid([f32; 2], &'static Expression),
    /// One of these.
    Any(&'static [Expression]),
}

use Expression::{Any, Both, Clip, HardSigmoid, Number, Of, X};

macro_rules! add {
    ($a:expr, $b:expr) => {
        Both(Term::Add, &[$a, $b])
    };
}

macro_rules! mul {
    ($a:expr, $b:expr) => {
        Both(Term::Mul, &[$a, $b])
    };
}

macro_rules! div {
    ($a:expr, $b:expr) => {
        Both(Term::Div, &[$a, $b])
    };
}

const ONE: Expression = Number(1.0);
const HALF: Expression = Number(0.5);
const SOFTPLUS: Expression = Any(&[Of(Term::Softplus, &X), Of(Term::Log, &add!(ONE, Of(Term::Exp, &X)))]);
const EXACT_GATE: Expression = add!(
    ONE,
    Of(
        Term::Erf,
        &Any(&[
            div!(X, Number(std::f32::consts::SQRT_2)),
            mul!(X, Number(std::f32::consts::FRAC_1_SQRT_2)),
        ])
    )
);
const CUBE: Expression = Any(&[Both(Term::Pow, &[X, Number(3.0)]), mul!(X, mul!(X, X))]);
/// √(2/π).
const ROOT: f32 = 0.797_884_6;
const TANH_GATE: Expression = add!(
    ONE,
    Of(Term::Tanh, &mul!(Number(ROOT), add!(X, mul!(Number(0.044_715), CUBE))))
);
const CLIPPED: Expression = Clip([0.0, 6.0], &add!(X, Number(3.0)));
const SIXTH: Expression = Number(1.0 / 6.0);
const SIX: Expression = Number(6.0);

/// The functions as exporters write them.
const SHAPES: &[(Function, Expression)] = &[
    (Function::Silu, mul!(X, Of(Term::Sigmoid, &X))),
    (Function::Silu, div!(X, add!(ONE, Of(Term::Exp, &Of(Term::Neg, &X))))),
    (Function::Mish, mul!(X, Of(Term::Tanh, &SOFTPLUS))),
    (Function::Gelu, mul!(mul!(HALF, X), EXACT_GATE)),
    (Function::Gelu, mul!(HALF, mul!(X, EXACT_GATE))),
    (Function::Gelu, mul!(X, mul!(HALF, EXACT_GATE))),
    (Function::GeluTanh, mul!(mul!(HALF, X), TANH_GATE)),
    (Function::GeluTanh, mul!(HALF, mul!(X, TANH_GATE))),
    (Function::GeluTanh, mul!(X, mul!(HALF, TANH_GATE))),
    (Function::HardSwish, mul!(X, HardSigmoid([1.0 / 6.0, 0.5], &X))),
    (Function::HardSwish, div!(mul!(X, CLIPPED), SIX)),
    (Function::HardSwish, mul!(X, div!(CLIPPED, SIX))),
    (Function::HardSwish, mul!(SIXTH, mul!(X, CLIPPED))),
    (Function::HardSwish, mul!(X, mul!(SIXTH, CLIPPED))),
    (Function::HardSwish, mul!(CLIPPED, mul!(SIXTH, X))),
];

/// True if an exporter's rounding of `wanted` is `found`.
fn near(found: f32, wanted: f32) -> bool {
    (found - wanted).abs() <= 1e-6 * wanted.abs()
}

impl Expression {
    /// The variable, if `value` is this expression of it; `x` where it is known already.
    fn find(&self, site: &GraphNode<'_>, value: ValueId, x: Option<ValueId>) -> Option<ValueId> {
        match *self {
            X => (site.graph.data_of(value).is_none() && x.is_none_or(|x| x == value)).then_some(value),
            // A constant says nothing of the variable, which another part has found before.
            Number(number) => x.filter(|_| site.is_scalar(value, number)),
            Of(term, of) => of.find(site, site.producer(value, term)?.input(0)?, x),
            Both(term, parts) => {
                let node = site.producer(value, term)?;
                let commutes = matches!(term, Term::Add | Term::Mul);
                let mut orders = node.both_orders().into_iter().take(if commutes { 2 } else { 1 });
                orders.find_map(|(a, b)| pair(site, parts, [a, b], x))
            }
            Clip(bounds, of) => {
                let clip = site.producer(value, Term::Clip)?;
                let Op::Clip(op) = &clip.node.op else { return None };
                let same = near(op.min, bounds[0]) && near(op.max, bounds[1]);
                of.find(site, clip.input(0)?, x).filter(|_| same)
            }
            HardSigmoid(wanted, of) => {
                let sigmoid = site.producer(value, Term::HardSigmoid)?;
                let Op::HardSigmoid(op) = &sigmoid.node.op else {
                    return None;
                };
                let same = near(op.alpha, wanted[0]) && near(op.beta, wanted[1]);
                of.find(site, sigmoid.input(0)?, x).filter(|_| same)
            }
            Any(forms) => forms.iter().find_map(|form| form.find(site, value, x)),
        }
    }
}

/// Two operands in this order; the part that is a number comes last, when the variable is known.
fn pair(site: &GraphNode<'_>, parts: &[Expression; 2], [a, b]: [ValueId; 2], x: Option<ValueId>) -> Option<ValueId> {
    let [first, second] = parts;
    match (first, x) {
        (Number(_), None) => first.find(site, a, second.find(site, b, x)),
        _ => second.find(site, b, Some(first.find(site, a, x)?)),
    }
}

/// See the module's documentation.
pub struct TakenApart;

impl Rule for TakenApart {
    fn name(&self) -> &'static str {
        "function"
    }

    fn anchors(&self) -> &'static [Term] {
        &[Term::Mul, Term::Div]
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let Some(y) = site.output() else {
            return Ok(Outcome::NoMatch);
        };
        let mut found = SHAPES
            .iter()
            .filter_map(|(function, shape)| Some((*function, shape.find(&site, y, None)?)));
        let Some((function, x)) = found.find(|&(_, x)| site.keeps_type(x)) else {
            return Ok(Outcome::NoMatch);
        };
        Ok(Outcome::Apply(Patch {
            add: vec![NewNode::new(unary(function), &[Some(Source::Old(x))], &site.down_to(x))],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
