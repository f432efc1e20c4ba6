//! **Pattern**: GELU taken apart, with tanh or with the error function:
//! - ½x · (1 + tanh(√(2/π) · (x + 0.044715·x³))), where x³ is a power or a product;
//! - ½x · (1 + erf(x / √2)), also as x · (1 + erf(x / √2)) · ½.
//!
//! **Why**: as one function of one variable it is one table lookup.
//! **Exactness**: exact in real numbers; the f32 results differ in the last place.

use crate::matching::{GraphNode, unary};
use strait_core::op::Function;
use strait_core::{GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Rule, Source, Term, ValueId};

/// See the module's documentation.
pub struct Gelu;

/// The other factor of a product with a constant.
fn times(site: &GraphNode<'_>, value: ValueId, constant: f32) -> Option<ValueId> {
    let product = site.producer(value, Term::Mul)?;
    product
        .both_orders()
        .into_iter()
        .find(|&(_, c)| site.is_scalar(c, constant))
        .map(|(x, _)| x)
}

/// The other term of a sum with a constant.
fn plus(site: &GraphNode<'_>, value: ValueId, constant: f32) -> Option<ValueId> {
    let sum = site.producer(value, Term::Add)?;
    sum.both_orders()
        .into_iter()
        .find(|&(_, c)| site.is_scalar(c, constant))
        .map(|(x, _)| x)
}

/// True if `value` is x³.
fn is_cube(site: &GraphNode<'_>, value: ValueId, x: ValueId) -> bool {
    if let Some(power) = site.producer(value, Term::Pow) {
        return power.input(0) == Some(x) && power.input(1).is_some_and(|e| site.is_scalar(e, 3.0));
    }
    let is_square = |v| {
        site.producer(v, Term::Mul)
            .is_some_and(|m| m.input(0) == Some(x) && m.input(1) == Some(x))
    };
    site.producer(value, Term::Mul)
        .is_some_and(|m| m.both_orders().into_iter().any(|(a, b)| a == x && is_square(b)))
}

/// True if `value` is x + 0.044715·x³.
fn is_inner(site: &GraphNode<'_>, value: ValueId, x: ValueId) -> bool {
    site.producer(value, Term::Add).is_some_and(|sum| {
        sum.both_orders()
            .into_iter()
            .any(|(a, b)| a == x && times(site, b, 0.044_715).is_some_and(|cube| is_cube(site, cube, x)))
    })
}

/// Which GELU has `value` = 1 + tanh(…) or 1 + erf(…) of x.
fn gate(site: &GraphNode<'_>, value: ValueId, x: ValueId) -> Option<Function> {
    let inner = plus(site, value, 1.0)?;
    if let Some(tanh) = site.producer(inner, Term::Tanh) {
        let scaled = times(site, tanh.input(0)?, (2.0 / std::f32::consts::PI).sqrt())?;
        return is_inner(site, scaled, x).then_some(Function::GeluTanh);
    }
    let argument = site.producer(inner, Term::Erf)?.input(0)?;
    let by_product = times(site, argument, std::f32::consts::FRAC_1_SQRT_2) == Some(x);
    let by_quotient = site.producer(argument, Term::Div).is_some_and(|d| {
        d.input(0) == Some(x) && d.input(1).is_some_and(|c| site.is_scalar(c, std::f32::consts::SQRT_2))
    });
    (by_product || by_quotient).then_some(Function::Gelu)
}

fn find(site: &GraphNode<'_>) -> Option<(Function, ValueId)> {
    for (a, b) in site.both_orders() {
        // (½·x) · gate
        if let Some(x) = times(site, a, 0.5)
            && let Some(function) = gate(site, b, x)
        {
            return Some((function, x));
        }
        // ½ · (x · gate)
        if site.is_scalar(a, 0.5)
            && let Some(product) = site.producer(b, Term::Mul)
        {
            for (x, g) in product.both_orders() {
                if let Some(function) = gate(site, g, x) {
                    return Some((function, x));
                }
            }
        }
        // x · (½ · gate)
        if let Some(g) = times(site, b, 0.5)
            && let Some(function) = gate(site, g, a)
        {
            return Some((function, a));
        }
    }
    None
}

impl Rule for Gelu {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn anchors(&self) -> &'static [Term] {
        &[Term::Mul]
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        let found = find(&site).filter(|&(_, x)| site.keeps_type(x));
        let (Some(y), Some((function, x))) = (site.output(), found) else {
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
