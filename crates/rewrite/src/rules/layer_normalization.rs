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
use strait_core::op;
use strait_core::{GraphId, Module, NewNode, NodeId, Op, Outcome, PassError, Patch, Rule, Source, Term, ValueId};

/// See the module's documentation.
pub struct LayerNormalization;

/// The match: the operands of the op that replaces the pattern.
struct Found {
    x: ValueId,
    scale: ValueId,
    bias: ValueId,
    axis: i64,
    epsilon: f32,
}

/// `value` = mean(x) over trailing axes that are kept: the first of them, from the end.
pub(super) fn mean_of(site: &GraphNode<'_>, value: ValueId) -> Option<(ValueId, i64)> {
    let mean = site.producer(value, Term::ReduceMean)?;
    let (Op::Reduce(reduce), Some(x)) = (&mean.node.op, mean.input(0)) else {
        return None;
    };
    let rank = site.graph.value(x)?.ty.shape.len();
    let axes = reduce.reduced(rank).ok()?;
    let trailing = axes.iter().rev().enumerate().all(|(i, &axis)| axis + i + 1 == rank);
    (reduce.keep_dims && trailing && !axes.is_empty()).then_some((x, -(axes.len() as i64)))
}

/// `value` = x², as a product or a power: x.
pub(super) fn square_of(site: &GraphNode<'_>, value: ValueId) -> Option<ValueId> {
    match site.producer(value, Term::Mul) {
        Some(product) if product.input(0) == product.input(1) => product.input(0),
        _ => {
            let power = site.producer(value, Term::Pow)?;
            site.is_scalar(power.input(1)?, 2.0).then_some(power.input(0)?)
        }
    }
}

/// `value` = x − mean(x).
pub(super) fn centred(site: &GraphNode<'_>, value: ValueId) -> Option<(ValueId, i64)> {
    let difference = site.producer(value, Term::Sub)?;
    let (x, axis) = mean_of(site, difference.input(1)?)?;
    (difference.input(0) == Some(x)).then_some((x, axis))
}

/// `value` = mean((x − mean(x))²) + ε.
fn variance(site: &GraphNode<'_>, value: ValueId) -> Option<(ValueId, i64, f32)> {
    let sum = site.producer(value, Term::Add)?;
    sum.both_orders().into_iter().find_map(|(mean, epsilon)| {
        let epsilon = site.scalar(epsilon)?;
        let (square, outer) = mean_of(site, mean)?;
        let (x, axis) = centred(site, square_of(site, square)?)?;
        (outer == axis).then_some((x, axis, epsilon))
    })
}

/// `value` = √(variance + ε).
fn deviation(site: &GraphNode<'_>, value: ValueId) -> Option<(ValueId, i64, f32)> {
    variance(site, site.producer(value, Term::Sqrt)?.input(0)?)
}

/// `value` = 1 / √(variance + ε).
fn inverse_deviation(site: &GraphNode<'_>, value: ValueId) -> Option<(ValueId, i64, f32)> {
    if let Some(reciprocal) = site.producer(value, Term::Reciprocal) {
        return deviation(site, reciprocal.input(0)?);
    }
    let quotient = site.producer(value, Term::Div)?;
    site.is_scalar(quotient.input(0)?, 1.0).then_some(())?;
    deviation(site, quotient.input(1)?)
}

/// x·s + (β − m·s) with s = r·γ.
fn tensorflow(site: &GraphNode<'_>) -> Option<Found> {
    site.both_orders().into_iter().find_map(|(scaled, shift)| {
        let (scaled, shift) = (site.producer(scaled, Term::Mul)?, site.producer(shift, Term::Sub)?);
        let bias = shift.input(0)?;
        site.constant(bias)?;
        let shifted_mean = site.producer(shift.input(1)?, Term::Mul)?;
        scaled.both_orders().into_iter().find_map(|(x, factor)| {
            let mean = shifted_mean.both_orders().into_iter().find(|&(_, s)| s == factor)?.0;
            let mean = mean_of(site, mean)?;
            let product = site.producer(factor, Term::Mul)?;
            product.both_orders().into_iter().find_map(|(inverse, scale)| {
                site.constant(scale)?;
                let (of, axis, epsilon) = inverse_deviation(site, inverse)?;
                (of == x && mean == (x, axis)).then_some(Found {
                    x,
                    scale,
                    bias,
                    axis,
                    epsilon,
                })
            })
        })
    })
}

/// normalised·γ + β, where normalised is (x − m)·r or (x − m)/√(v + ε).
fn pytorch(site: &GraphNode<'_>) -> Option<Found> {
    site.both_orders().into_iter().find_map(|(product, bias)| {
        site.constant(bias)?;
        let product = site.producer(product, Term::Mul)?;
        product.both_orders().into_iter().find_map(|(normalised, scale)| {
            site.constant(scale)?;
            let (x, axis, of) = match site.producer(normalised, Term::Div) {
                Some(quotient) => {
                    let (x, axis) = centred(site, quotient.input(0)?)?;
                    (x, axis, deviation(site, quotient.input(1)?)?)
                }
                None => site
                    .producer(normalised, Term::Mul)?
                    .both_orders()
                    .into_iter()
                    .find_map(|(a, b)| {
                        let (x, axis) = centred(site, a)?;
                        Some((x, axis, inverse_deviation(site, b)?))
                    })?,
            };
            (of.0 == x && of.1 == axis).then_some(Found {
                x,
                scale,
                bias,
                axis,
                epsilon: of.2,
            })
        })
    })
}

impl Rule for LayerNormalization {
    fn name(&self) -> &'static str {
        "layer-normalization"
    }

    fn anchors(&self) -> &'static [Term] {
        &[Term::Add]
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let Some(y) = site.output() else {
            return Ok(Outcome::NoMatch);
        };
        // Where the result has the type of x, γ and β broadcast to it.
        let found = tensorflow(&site).or_else(|| pytorch(&site));
        let Some(found) = found.filter(|found| site.keeps_type(found.x)) else {
            return Ok(Outcome::NoMatch);
        };
        let whole = op::LayerNormalization {
            axis: found.axis,
            epsilon: found.epsilon,
        };
        let operands = [found.x, found.scale, found.bias].map(|v| Some(Source::Old(v)));
        Ok(Outcome::Apply(Patch {
            add: vec![NewNode::new(whole, &operands, &site.down_to(found.x))],
            replace: vec![(y, Source::New(0, 0))],
            remove: vec![at],
            ..Patch::default()
        }))
    }
}
