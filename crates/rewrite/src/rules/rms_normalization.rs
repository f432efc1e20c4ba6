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

use crate::matching::{GraphNode, tensor};
use strait_core::op;
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term, ValueId};

use super::layer_normalization::{centred, mean_of, square_of};

/// See the module's documentation.
pub struct RmsNormalization;

/// `value` = √(mean(x²) + ε): x, the first of the axes, and ε.
fn root(site: &GraphNode<'_>, value: ValueId) -> Option<(ValueId, i64, f32)> {
    let sum = site.producer(site.producer(value, Term::Sqrt)?.input(0)?, Term::Add)?;
    sum.both_orders().into_iter().find_map(|(mean, epsilon)| {
        let epsilon = site.scalar(epsilon)?;
        let (square, axis) = mean_of(site, mean)?;
        Some((square_of(site, square)?, axis, epsilon))
    })
}

/// `value` = 1 / √(mean(x²) + ε).
fn inverse_root(site: &GraphNode<'_>, value: ValueId) -> Option<(ValueId, i64, f32)> {
    if let Some(reciprocal) = site.producer(value, Term::Reciprocal) {
        return root(site, reciprocal.input(0)?);
    }
    let quotient = site.producer(value, Term::Div)?;
    site.is_scalar(quotient.input(0)?, 1.0).then_some(())?;
    root(site, quotient.input(1)?)
}

/// The node is x·r or x / √(v + ε).
fn normalised(site: &GraphNode<'_>) -> Option<(ValueId, i64, f32)> {
    let of = |x: ValueId, found: (ValueId, i64, f32)| (found.0 == x && centred(site, x).is_none()).then_some(found);
    match site.node.op.term() {
        Term::Div => of(site.input(0)?, root(site, site.input(1)?)?),
        _ => {
            let mut orders = site.both_orders().into_iter();
            orders.find_map(|(x, inverse)| of(x, inverse_root(site, inverse)?))
        }
    }
}

/// The node is the product of a whole normalization, without a factor yet, and a constant: that one's operation and operand.
fn scaled(site: &GraphNode<'_>) -> Option<(op::RmsNormalization, ValueId, ValueId)> {
    site.both_orders().into_iter().find_map(|(value, factor)| {
        let whole = site.producer(value, Term::RmsNormalization)?;
        let Op::RmsNormalization(op) = &whole.node.op else {
            return None;
        };
        site.floats(factor)?;
        let (_, ones) = site.floats(whole.input(1)?)?;
        let plain = ones.iter().all(|&one| one == 1.0) && site.used_once(value);
        plain.then_some(((**op).clone(), whole.input(0)?, factor))
    })
}

impl Rule for RmsNormalization {
    fn name(&self) -> &'static str {
        "rms-normalization"
    }

    fn anchors(&self) -> &'static [Term] {
        &[Term::Mul, Term::Div]
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let Some(y) = site.output() else {
            return Ok(Outcome::NoMatch);
        };
        let mut data = Vec::new();
        let (whole, x, scale) = if let Some((whole, x, factor)) = scaled(&site) {
            (whole, x, Source::Old(factor))
        } else if let Some((x, axis, epsilon)) = normalised(&site) {
            data.push(("ones".into(), tensor(&[1], &[1.0])?));
            (op::RmsNormalization { axis, epsilon }, x, Source::Data(0))
        } else {
            return Ok(Outcome::NoMatch);
        };
        // Where the result has the type of x, γ broadcasts to it.
        if !site.keeps_type(x) {
            return Ok(Outcome::NoMatch);
        }
        Ok(Outcome::Apply(Patch {
            data,
            add: vec![NewNode::new(
                whole,
                &[Some(Source::Old(x)), Some(scale)],
                &site.down_to(x),
            )],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
        }))
    }
}
